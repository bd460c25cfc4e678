"""Events of one table as rows of its `changes`: the same for every format, for images are JSON objects.

Rows are decoded column by column: each column is converted by one function, chosen by how the events carry it. Only
rows in which something is unusual (a value that does not fit, a missing column, another field) are examined one by one.

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
_Carrying = tuple[int | None, bool]
"""How events carry values: the hash of their schema, and whether they come from MySQL or MariaDB."""


class TableDecoder:
    """Decodes the changes of one table. `splits_keys`: an update becomes two changes where it changes a key that only
    the spec names."""

    def __init__(self, shape: TableShape, spec: TableSpec, splits_keys: bool = False) -> None:
        form = format_of(spec.source.format)
        self._shape = shape
        self._time_zone = spec.source.time_zone
        self._hashes = {number for column in shape.columns for number, _ in column.encodings if number is not None}
        self._readers: dict[_Carrying, Readers] = {}
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
        """The columns of decoded changes: those of `change_fields` but content_hash, with values that are not masked;
        then reason (null: good), schema_hash, and is_half: a half of an update that is split here."""
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
        for carrying, places in groups.items():
            part, found = self._decode_group(events.take(pa.array(places, pa.int64())), carrying)
            parts.append(part)
            origins += [places[at] for at in found]
        order = sorted(range(len(origins)), key=origins.__getitem__)
        return pa.concat_batches(parts).take(pa.array(order, pa.int64()))

    def _groups(self, events: pa.RecordBatch) -> dict[_Carrying, Sequence[int]]:
        """The places of events that carry their values alike, by how they carry them."""
        hashes, connectors = events.column("schema_hash"), events.column("connector")
        if len(pc.unique(hashes)) <= 1 and len(pc.unique(connectors)) <= 1:
            only = (hashes[0].as_py(), connectors[0].as_py()) if len(events) else (None, None)
            return {self._carrying(*only): range(len(events))}
        groups: dict[_Carrying, list[int]] = {}
        for at, both in enumerate(zip(hashes.to_pylist(), connectors.to_pylist(), strict=True)):
            groups.setdefault(self._carrying(*both), []).append(at)
        return dict(groups)

    def _carrying(self, schema_hash: int | None, connector: str | None) -> _Carrying:
        return (schema_hash if schema_hash in self._hashes else None, connector in _MYSQL_CONNECTORS)

    def _decode_group(self, events: pa.RecordBatch, carrying: _Carrying) -> tuple[pa.RecordBatch, Sequence[int]]:
        """The changes of events that carry their values alike; and from which event each one is."""
        batch = RowBatch(self._rules, self._readers_of(carrying), events)
        changes = batch.changes()
        updates, old_keys = batch.moves()
        if not updates:
            return changes, range(changes.num_rows)
        return split_updates(changes, updates, old_keys, self._shape)

    def _readers_of(self, carrying: _Carrying) -> Readers:
        if carrying not in self._readers:
            schema_hash, is_mysql = carrying
            self._readers[carrying] = {
                column.name: column_reader(
                    column, schema_hash, is_mysql, self._time_zone, is_key=column.name in self._shape.keys
                )
                for column in self._shape.columns
            }
        return self._readers[carrying]


def _values_of(columns: Iterable[ColumnShape]) -> T.StructType:
    """The type of the columns' values before their masks."""
    return T.StructType([T.StructField(column.name, column.value_type) for column in columns])


def _schema(shape: TableShape) -> pa.Schema:
    fields = change_fields(_values_of(shape.key_columns), _values_of(shape.columns))
    return arrow_schema([*(field for field in fields if field.name != "content_hash"), *_ADDED])
