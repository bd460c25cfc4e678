"""The fields of a Debezium event that its flattened row carries, and the event that they were.

    {"id": 1, "__op": "u", "__lsn": 29, "__source_ts_ms": 15, "__ts_ms": 16, "__transaction_id": "7:29"}

    gives  row {"id": 1}, op "u", ts_ms 16, source {"lsn": 29, "ts_ms": 15}, transaction {"id": "7:29"}

A field without the name of its part is the event's own, the transaction's (`id`, `total_order`), or else one of the
source block, as the transform has it. Other fields whose names begin with two underscores are columns.
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
    """A row, and what is left of its event."""

    row: dict[str, Any]
    event: dict[str, Any]
    source: dict[str, Any]
    transaction: dict[str, Any]


def flat_fields(row: Mapping[str, Any], headers: Iterable[tuple[str, Any]], prefix: str) -> FlatFields:
    """The fields of a row and of its headers by the part of the event that they are from; those of the row count.

    `prefix`: how the names of such fields begin.
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
    """The part of an event, and the field of it, that a field of a row is; None of a column."""
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
