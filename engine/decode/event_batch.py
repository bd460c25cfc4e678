"""Converts Arrow to messages, and events to Arrow: some thousand at a time, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa
import xxhash

from siltstone.engine.decode.event import CHANGE, Announced, Event, Message

MICROS: Final = pa.timestamp("us", tz="UTC")
ANNOUNCED: Final = pa.struct(
    [
        ("size", pa.int64()),  # how many records the transaction has (`tx_order` numbers them)
        ("partitions", pa.int64()),  # over how many partitions
        ("partition", pa.string()),  # the record's own partition
        ("is_last", pa.bool_()),  # whether it is the transaction's last record in its partition
    ]
)
COLUMNS: Final[tuple[tuple[str, str, pa.DataType], ...]] = (
    ("file", "file", pa.string()),
    ("line", "line", pa.int64()),
    ("text", "text", pa.string()),
    ("kind", "kind", pa.string()),
    ("reason", "reason", pa.string()),
    ("connector", "connector", pa.string()),
    ("source", "source", pa.string()),
    ("table", "table", pa.string()),
    ("op", "op", pa.string()),
    ("origin", "origin", pa.string()),
    ("key_json", "key", pa.string()),
    ("before_json", "before", pa.string()),
    ("after_json", "after", pa.string()),
    ("schema_hash", "schema_hash", pa.int64()),
    ("position", "position", pa.string()),
    ("commit_ts", "commit_us", MICROS),
    ("ingest_ts", "ingest_us", MICROS),
    ("event_id", "event_id", pa.string()),
    ("tx_id", "tx_id", pa.string()),
    ("tx_order", "tx_order", pa.int64()),
    ("old_key_json", "old_key", pa.string()),
    ("new_key_json", "new_key", pa.string()),
    ("channel", "channel", pa.string()),
    ("kafka_partition", "kafka_partition", pa.int32()),
    ("kafka_offset", "kafka_offset", pa.int64()),
    ("control_kind", "control_kind", pa.string()),
    ("control_json", "control", pa.string()),
    ("is_whole", "is_whole", pa.bool_()),
    ("log_file", "log_file", pa.string()),
    ("columns_json", "columns", pa.string()),
)
"""Column, field of `Event`, type. Schemas are no columns: they are long, and most events have equal ones. `columns` has
them."""
SCHEMA: Final = pa.schema([*((name, kind) for name, _, kind in COLUMNS), ("announced", ANNOUNCED)])
"""The frame of events."""
TEXT_HASH: Final = "text_hash"
SCHEMA_WITHOUT_TEXTS: Final = SCHEMA.append(pa.field(TEXT_HASH, pa.int64()))
"""The frame of events with a hash in place of the text of a change."""
BYTES: Final = frozenset({"text", "key", "before", "after", "old_key", "new_key", "control", "columns"})
TEXT_HASH_SEED: Final = 42
_SIGN: Final = 1 << 63


def messages_of(batch: pa.RecordBatch) -> list[Message]:
    """The messages of a batch with the columns file, line, text, and optionally the other fields of `Message`."""
    names = [name for name in Message.__struct_fields__ if name in batch.schema.names]
    columns = [_values(batch.column(name), name) for name in names]
    return [Message(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _values(column: pa.Array, name: str) -> list[Any]:
    if name == "text":
        return [text or b"" for text in column.view(pa.binary()).to_pylist()]
    return column.to_pylist()  # type: ignore[no-any-return]


def event_batch(events: Sequence[Event]) -> pa.RecordBatch:
    """The events as rows of the frame of events."""
    columns = [array_of(events, field, kind) for _, field, kind in COLUMNS]
    return pa.RecordBatch.from_arrays([*columns, _announced([event.announced for event in events])], schema=SCHEMA)


def batch_without_texts(events: Sequence[Event]) -> pa.RecordBatch:
    """The events without the texts of changes. A text is half of an event's memory, and only the texts of changes with
    rejected values are needed. If a line has many changes, some have no text and no hash.

    Gives: the columns of SCHEMA_WITHOUT_TEXTS.
    """
    hashes: list[int | None] = [None] * len(events)
    for at, event in enumerate(events):
        if event.kind == CHANGE and event.text is not None:
            hashes[at], event.text = signed_hash(event.text), None
    columns = [*event_batch(events).columns, pa.array(hashes, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA_WITHOUT_TEXTS)


def array_of(events: Sequence[Event | Message], field: str, kind: pa.DataType) -> pa.Array:
    """One field of events or messages, as a column."""
    values = list(map(attrgetter(field), events))
    if field in BYTES:
        # The bytes are not checked: a reject keeps its record unchanged, even if it is not UTF-8.
        return pa.array(values, pa.binary()).view(pa.string())
    return pa.array(values, kind)


def _announced(values: Sequence[Announced | None]) -> pa.Array:
    if not any(values):
        return pa.nulls(len(values), ANNOUNCED)
    columns = [
        pa.array([None if value is None else getattr(value, field.name) for value in values], field.type)
        for field in ANNOUNCED
    ]
    mask = pa.array([value is None for value in values])
    return pa.StructArray.from_arrays(columns, fields=list(ANNOUNCED), mask=mask)


def signed_hash(text: bytes) -> int:
    """A hash of a text as a signed 64-bit number, equal to Spark's `xxhash64`."""
    number = xxhash.xxh64_intdigest(text, seed=TEXT_HASH_SEED)
    return number - (_SIGN << 1) if number >= _SIGN else number
