"""Decodes events of one table to rows of its `changes`, in the same way for every format: images are JSON objects.

Rows are decoded column by column. One function converts each column; the encoding of the events decides which one. Only
unusual rows are examined one by one: rows with a value that does not fit, a missing column or an additional field.

    op      before, after                   row          present   before   reason
    insert  null, {id: 1, a: 2}             {1, 2}       null      null     null
    update  {id: 1, a: 2}, {id: 1, a: 3}    {1, 3}       null      {1, 2}   null
    update  null, {id: 1, a: unavailable}   {1, null}    [id]      null     null
    delete  {id: 1, a: null}, null          {1, null}    [id]      null     null
    insert  null, {id: 1, a: "x"}           {1, null}    null      null     column "a": the value does not fit int
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from siltstone.engine.decode.arrow_types import arrow_schema, arrow_type
from siltstone.engine.decode.image_columns import Readers
from siltstone.engine.decode.key_moves import split_updates
from siltstone.engine.decode.row_batch import RowBatch, TableRules
from siltstone.engine.decode.row_details import RowDetails
from siltstone.engine.decode.row_reasons import RowReasons
from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.decode.types import column_reader
from siltstone.engine.formats import SOURCES, format_of
from siltstone.engine.schema.change_row import change_fields

if TYPE_CHECKING:
    from siltstone.engine.spec.model import TableSpec

_MYSQL_CONNECTORS: Final = frozenset(kind.connector for kind in SOURCES if kind.has_mysql_values)
_ADDED: Final = (
    T.StructField("reason", T.StringType()),
    T.StructField("schema_hash", T.LongType()),
    T.StructField("is_half", T.BooleanType()),
)
_EncodingKey = tuple[int | None, bool]
"""What decides the encoding of values: the hash of the schema, and whether the source is MySQL or MariaDB."""


class TableDecoder:
    """Decodes the changes of one table. `splits_keys`: an update of a key that only the spec declares is split."""

    def __init__(self, shape: TableShape, spec: TableSpec, splits_keys: bool = False) -> None:
        form = format_of(spec.source.format)
        self._shape = shape
        self._time_zone = spec.source.time_zone
        self._hashes = {number for column in shape.columns for number, _ in column.encodings if number is not None}
        self._readers: dict[_EncodingKey, Readers] = {}
        self._rules = TableRules(
            shape=shape,
            details=RowDetails(shape),
            reasons=RowReasons(shape, form.has_null_keys),
            row_type=arrow_type(_values_of(shape.columns)),
            key_type=arrow_type(_values_of(shape.key_columns)),
            schema=_schema(shape),
            has_other_halves=form.splits_key_changes,
            omits_columns=form.omits_columns,
            splits_keys=splits_keys,
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns of decoded changes: `change_fields` without content_hash, with unmasked values; then reason (null
        for a valid change), schema_hash, and is_half (true for a half of an update that is split here)."""
        return self._rules.schema

    def decode(self, events: pa.RecordBatch) -> pa.RecordBatch:
        """The changes of some events of the table.

        Needs: columns of the frame of events (`event_batch.COLUMNS`); rows of kind change.
        Gives: the columns of `schema`.
        Rows: 1:1; 1:2 for an update that is split.
        """
        groups = self._groups(events)
        if len(groups) == 1:
            return self._decode_group(events, *groups)[0]
        parts, origins = [], []
        for encoding_key, places in groups.items():
            part, found = self._decode_group(events.take(pa.array(places, pa.int64())), encoding_key)
            parts.append(part)
            origins += [places[at] for at in found]
        order = sorted(range(len(origins)), key=origins.__getitem__)
        return pa.concat_batches(parts).take(pa.array(order, pa.int64()))

    def _groups(self, events: pa.RecordBatch) -> dict[_EncodingKey, Sequence[int]]:
        """The places of events, grouped by the encoding of their values."""
        hashes, connectors = events.column("schema_hash"), events.column("connector")
        if len(pc.unique(hashes)) <= 1 and len(pc.unique(connectors)) <= 1:
            only = (hashes[0].as_py(), connectors[0].as_py()) if len(events) else (None, None)
            return {self._encoding_key(*only): range(len(events))}
        groups: dict[_EncodingKey, list[int]] = {}
        for at, both in enumerate(zip(hashes.to_pylist(), connectors.to_pylist(), strict=True)):
            groups.setdefault(self._encoding_key(*both), []).append(at)
        return dict(groups)

    def _encoding_key(self, schema_hash: int | None, connector: str | None) -> _EncodingKey:
        return (schema_hash if schema_hash in self._hashes else None, connector in _MYSQL_CONNECTORS)

    def _decode_group(self, events: pa.RecordBatch, encoding_key: _EncodingKey) -> tuple[pa.RecordBatch, Sequence[int]]:
        """The changes of events with equal encodings, and the event of each change."""
        batch = RowBatch(self._rules, self._readers_of(encoding_key), events)
        changes = batch.changes()
        updates, old_keys = batch.moves()
        if not updates:
            return changes, range(changes.num_rows)
        return split_updates(changes, updates, old_keys, self._shape)

    def _readers_of(self, encoding_key: _EncodingKey) -> Readers:
        if encoding_key not in self._readers:
            schema_hash, is_mysql = encoding_key
            self._readers[encoding_key] = {
                column.name: column_reader(
                    column, schema_hash, is_mysql, self._time_zone, is_key=column.name in self._shape.keys
                )
                for column in self._shape.columns
            }
        return self._readers[encoding_key]


def _values_of(columns: Iterable[ColumnShape]) -> T.StructType:
    """The struct type of the columns' unmasked values."""
    return T.StructType([T.StructField(column.name, column.value_type) for column in columns])


def _schema(shape: TableShape) -> pa.Schema:
    fields = change_fields(_values_of(shape.key_columns), _values_of(shape.columns))
    return arrow_schema([*(field for field in fields if field.name != "content_hash"), *_ADDED])
