r"""Documents of MongoDB as rows: extended JSON becomes plain JSON, and the changed fields of an update become a row.

    key       {"id": "{\"$oid\": \"596e27...\"}"}
    gives     {"_id": "596e27..."}
    document  {"_id": {"$numberLong": "1004"}, "at": {"$date": 0}}
    gives     {"_id": 1004, "at": "1970-01-01T00:00:00.000Z"}
    update    {"updatedFields": "{\"name\": \"Anne\", \"a.b\": 1}", "removedFields": ["old"], "truncatedArrays": null}
    gives     {"_id": 1004, "name": "Anne", "old": null, "_unknown": ["a.b"]}

    https://debezium.io/documentation/reference/stable/connectors/mongodb.html
    https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/

Both versions of extended JSON and all their modes are read: a connector can write documents in one mode and the fields
of updates in another. Instants become text in UTC with milliseconds; object ids, UUIDs and symbols become their text;
binary values become base64; numbers keep their digits. Values without a plain form (regular expressions, code) stay
objects.

An update can name a path inside a field. If the event has no document, the value of that field is unknown: the path is
listed under `_unknown`, which is never a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.formats.json_fields import content_of, whole_number
from siltstone.engine.decode.json_value import PARSE_ERRORS, Number, parse, parse_object, text_of

KEY: Final = "_id"
_OF_MESSAGE: Final = "id"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,39})")
_DOLLAR: Final = b'"$'


class _Cut(msgspec.Struct, gc=False):
    field: str


class _Description(
    msgspec.Struct,
    gc=False,
    rename={"updated": "updatedFields", "removed": "removedFields", "cut": "truncatedArrays"},
):
    updated: msgspec.Raw = msgspec.Raw(b"null")
    removed: list[str] | None = None
    cut: list[_Cut] | None = None


_description: Final = msgspec.json.Decoder(_Description)


def plain_document(text: bytes) -> bytes:
    """A document without the wrappers of extended JSON; a text that is not a JSON object stays unchanged."""
    if _DOLLAR not in text:
        return text
    fields = _fields(text)
    return text if fields is None else text_of(_plain(fields))


def plain_key(text: bytes) -> bytes:
    """The key of a document under the name of its field in the document; other keys stay unchanged."""
    fields = _fields(text)
    if fields is None or fields.keys() != {_OF_MESSAGE}:
        return text
    return text_of({KEY: _plain(_opened(fields[_OF_MESSAGE]))})


def updated_fields(description: bytes, key: bytes | None) -> bytes | None:
    """The changes of an update as a row that has only the changed columns; None if the description is unreadable."""
    try:
        changes = _description.decode(description)
    except PARSE_ERRORS:
        return None
    written = content_of(changes.updated)
    updated = {} if written is None else _fields(written)
    if updated is None:
        return None
    removed, cut = changes.removed or (), changes.cut or ()
    known = {name: _plain(value) for name, value in updated.items() if "." not in name}
    known |= dict.fromkeys(name for name in removed if "." not in name)
    inside = sorted({*_inside(updated), *_inside(removed), *(one.field for one in cut)})
    rest = {names.UNKNOWN: inside} if inside else {}
    return text_of({**((None if key is None else _fields(key)) or {}), **known, **rest})


def _inside(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if "." in path)


def _fields(text: bytes | str) -> dict[str, Any] | None:
    try:
        return parse_object(text)
    except PARSE_ERRORS:
        return None


def _opened(written: Any) -> Any:
    """The value of JSON text; a text that is not JSON stays unchanged."""
    if not isinstance(written, str):
        return written
    try:
        return parse(written)
    except PARSE_ERRORS:
        return written


# --- values ---------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    wrapped = next(iter(value), "")
    read = _WRAPPERS.get(wrapped)
    if read is not None and value.keys() <= {wrapped, "$type"}:
        return read(value[wrapped], value)
    return {name: _plain(field) for name, field in value.items()}


def _content(inside: Any, whole: dict[str, Any]) -> Any:
    return inside if isinstance(inside, str) else whole


def _number(inside: Any, whole: dict[str, Any]) -> Any:
    """The number in a text; the text itself for NaN and Infinity."""
    if not isinstance(inside, str):
        return whole
    if _WHOLE.fullmatch(inside):
        return int(inside)
    return Number(inside) if _NUMBER.fullmatch(inside) else inside


def _binary(inside: Any, whole: dict[str, Any]) -> Any:
    found = inside.get("base64") if isinstance(inside, dict) else inside
    return found if isinstance(found, str) else whole


def _instant(inside: Any, whole: dict[str, Any]) -> Any:
    """An instant in UTC with milliseconds; outside of the calendar, it stays the milliseconds since 1970."""
    if isinstance(inside, dict):
        inside = inside.get("$numberLong")
    millis = _millis_of(inside)
    if millis is None:
        return whole
    try:
        return (_EPOCH + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return millis


def _millis_of(written: Any) -> int | None:
    number = whole_number(written) if isinstance(written, str | int) else None
    if number is not None or not isinstance(written, str):
        return number
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def _undefined(_inside: Any, _whole: dict[str, Any]) -> None:
    return None


_WRAPPERS: Final[dict[str, Callable[[Any, dict[str, Any]], Any]]] = {
    "$oid": _content,
    "$uuid": _content,
    "$symbol": _content,
    "$numberInt": _number,
    "$numberLong": _number,
    "$numberDouble": _number,
    "$numberDecimal": _number,
    "$binary": _binary,
    "$date": _instant,
    "$undefined": _undefined,
}
