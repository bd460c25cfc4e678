"""Alibaba DTS's Avro records: what a record says of tables."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from engine.decode.dts_kinds import CONTROLS, FILLER_BYTES, OPS
from engine.decode.dts_schema import message_schema
from engine.decode.dts_types import EITHER
from engine.decode.dts_values import DECIMALS, JSONB
from engine.decode.schemas import key_columns
from engine.recognise.fact import Fact
from engine.recognise.wire import UNREAD, body

ORDER: Final = "the source's log: sourcePosition, then the record's id"
_ABSENT: Final = "NONE"
_NO_CHARSET: Final = ("", "binary")
_LOGICAL: Final = ("l_db_name", "l_tb_name")


def record(data: bytes | None) -> Any:
    """The record in a message, of either generation; None for a filler of the transport; UNREAD where it is neither."""
    if data is None or len(data) <= FILLER_BYTES:
        return None
    found = body(data, _schema(born=True), kinds=True)
    return body(data, _schema(born=False), kinds=True) if found == UNREAD else found


def facts(record: Any) -> Sequence[Fact] | None:
    """A change of a row; nothing for control events; None for what is no record."""
    if not isinstance(record, Mapping) or record.get("operation") not in (*OPS, *CONTROLS):
        return None
    table, fields = _table(record), record["fields"]
    image = record["beforeImages" if record["operation"] == "DELETE" else "afterImages"]
    is_row = isinstance(fields, list) and isinstance(image, list) and len(fields) == len(image)
    if record["operation"] not in OPS or table is None or not is_row:
        return []
    schema = {"dts": record["source"]["sourceType"], "fields": fields, "told": _told(record, image)}
    row = {field["name"]: _plain(value) for field, value in zip(fields, image, strict=True) if value != _ABSENT}
    inserted = record["operation"] in ("INSERT", "INIT")
    return [Fact(table, _keys(record), schema, row, inserted, _is_keyless(record, image))]


@cache
def _schema(born: bool) -> Any:
    import fastavro

    return fastavro.parse_schema(message_schema(born))


def _table(record: Mapping[str, Any]) -> str | None:
    """The last two parts of the object's name, or the logical names of both."""
    parts = (record["objectName"] or "").split(".")
    if len(parts) == 1:
        return None
    own = [re.sub(r"(?i)\\u002e", ".", part) for part in parts[-2:]]
    return ".".join(record["tags"].get(tag) or name for tag, name in zip(_LOGICAL, own, strict=True))


def _keys(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the primary key, or of the only unique one."""
    try:
        return key_columns(f'{{"pk_uk_info":{json.dumps(_key_info(record) or {})}}}')
    except AttributeError:  # no object
        return ()


def _key_info(record: Mapping[str, Any]) -> Any:
    """What the record says of keys; None where it says nothing, or no JSON."""
    try:
        return json.loads(record["tags"].get("pk_uk_info") or "null")
    except ValueError:
        return None


def _is_keyless(record: Mapping[str, Any], image: Sequence[Any]) -> bool | None:
    """Whether the record says that there is no key, and has the rows whole, by which a run then knows them."""
    told = _key_info(record)
    if not isinstance(told, Mapping):
        return None
    known_by = record["beforeImages"] if record["operation"] == "UPDATE" else image
    return not any(told.values()) and isinstance(known_by, list) and _ABSENT not in known_by


def _told(record: Mapping[str, Any], image: Sequence[Any]) -> str:
    """What the values of an update's images, or of the only one, say of their columns, as the engine writes it."""
    old = record["beforeImages"] if record["operation"] == "UPDATE" else None
    images = [old, image] if isinstance(old, list) and len(old) == len(image) else [image]
    facts = (
        dict.fromkeys(_fact(field["dataTypeNumber"], value) for value in values)
        for field, *values in zip(record["fields"], *images, strict=True)
    )
    return ";".join(EITHER.join(filter(None, said)) for said in facts)


def _fact(number: int, value: Any) -> str:
    """What a value says of its column beside the type's number."""
    if not isinstance(value, tuple):
        return ""
    kind, parts = value
    is_bytes = kind == "BinaryGeometry" or (kind == "BinaryObject" and number != JSONB)
    if is_bytes or (kind == "Character" and parts["charset"] in _NO_CHARSET):
        return "b"
    if number not in DECIMALS:
        return ""
    return f"{parts['precision']},{parts['scale']}" if kind == "Decimal" else "i" if kind == "Integer" else "t"


def _plain(value: Any) -> str | None:
    """The value as some text that differs where the values do."""
    if not isinstance(value, tuple):
        return None
    inside = value[1].get("value")
    return inside if isinstance(inside, str) else repr(value[1] if inside is None else inside)
