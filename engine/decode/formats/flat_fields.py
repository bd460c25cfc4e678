"""The fields of a Debezium event in its flattened row, sorted back into the parts of the event.

    {"id": 1, "__op": "u", "__lsn": 29, "__source_ts_ms": 15, "__ts_ms": 16, "__transaction_id": "7:29"}

    gives  row {"id": 1}, op "u", ts_ms 16, source {"lsn": 29, "ts_ms": 15}, transaction {"id": "7:29"}

A field without the name of its part belongs to the event itself, to the transaction (`id`, `total_order`), or else to
the source block, as in the transform. Other fields whose names begin with two underscores are columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from siltstone.engine.decode.formats.debezium_envelope import Source, Transaction
from siltstone.engine.decode.formats.json_fields import whole_number

Part = Literal["event", "source", "transaction"]
_EVENT: Final = frozenset(("op", "deleted", "ts_ms", "ts_us", "ts_ns"))
_TRANSACTION: Final = frozenset(("id", "total_order", "data_collection_order"))
_ALSO_OF_SOURCE: Final = frozenset(
    (
        *("snapshot", "server_id", "gtid", "thread", "query", "xmin", "origin", "origin_lsn", "rs", "wallTime"),
        *("user_name", "redo_sql", "row_id", "lcr_position", "start_scn", "start_ts_ms", "begin_lsn", "h", "tord"),
        *("tablet_id", "partition_id", "record_time", "cluster", "stxnid"),
    )
)
_FIELDS: Final = {
    field.encode_name: field.type for struct in (Source, Transaction) for field in msgspec.structs.fields(struct)
}
_SOURCE: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Source)) | _ALSO_OF_SOURCE
_NUMBERS: Final = frozenset(name for name, kind in _FIELDS.items() if str not in get_args(kind)) | {"ts_ms", "ts_us"}


class FlatFields(NamedTuple):
    """A row, and the fields of its event that it still has."""

    row: dict[str, Any]
    event: dict[str, Any]
    source: dict[str, Any]
    transaction: dict[str, Any]


def flat_fields(row: Mapping[str, Any], headers: Iterable[tuple[str, Any]], prefix: str) -> FlatFields:
    """The fields of a row and its headers, sorted into the parts of the event. Fields of the row win over headers.

    `prefix`: the beginning of the names of such fields.
    """
    found = FlatFields({}, {}, {}, {})
    for name, value in headers:
        place = place_of(name, prefix)
        if place is not None:
            _keep(found, place, value)
    for name, value in row.items():
        place = place_of(name, prefix)
        if place is None:
            found.row[name] = value
        else:
            _keep(found, place, value)
    return found


def _keep(found: FlatFields, place: tuple[Part, str], value: Any) -> None:
    part, field = place
    number = whole_number(value) if isinstance(value, str) and field in _NUMBERS else None
    getattr(found, part)[field] = value if number is None else number


@lru_cache(maxsize=1_000)
def place_of(name: str, prefix: str) -> tuple[Part, str] | None:
    """The part and the field of an event that a field of a row holds; None for a column."""
    if not name.startswith(prefix):
        return None
    bare = name[len(prefix) :]
    part, _, field = bare.partition("_")
    if part == "source" and field:
        return "source", field
    if part == "transaction" and field:
        return "transaction", field
    if bare in _EVENT:
        return "event", bare
    if bare in _TRANSACTION:
        return "transaction", bare
    return ("source", bare) if bare in _SOURCE else None
