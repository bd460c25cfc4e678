"""Runs the decoders in Spark: from records to a frame of events, and from events of a table to rows of `changes`.

This is the only module of `decode` that uses Spark. Each task decodes some thousand records at a time in Python
(`mapInArrow`). The session needs no additional Java classes, so the same code runs on Spark Connect and on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from siltstone.engine.decode import event_batch
from siltstone.engine.decode.change_rows import TableDecoder
from siltstone.engine.decode.columns_seen import SummaryRules, summarize
from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.record_files import Reading
from siltstone.engine.decode.source_decoder import SourceDecoder

if TYPE_CHECKING:
    from siltstone.engine.decode.decoder import Declared
    from siltstone.engine.decode.row_shape import TableShape
    from siltstone.engine.spec.model import SourceSpec, TableSpec

Make = Callable[[Iterable[list[Message]]], Iterator[pa.RecordBatch]]
"""Makes batches from the records of a task, which it gets in lists of a bounded size."""
BATCH_RECORDS: Final = 4_000
BATCH_BYTES: Final = 8 << 20
TASK_BYTES: Final = 16 << 20
_NOT_OF_ROWS: Final = (
    "text",
    "kind",
    "reason",
    "control_kind",
    "control_json",
    "log_file",
    "columns_json",
)
ROW_COLUMNS: Final = tuple(name for name, _, _ in event_batch.COLUMNS if name not in _NOT_OF_ROWS)
"""The columns of an event from which its row is decoded."""
RECORD: Final = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("is_last", pa.bool_()),
        ("text", pa.string()),
        ("row_schema", pa.string()),
        ("problem", pa.string()),
    ]
)


def made_of_files(spark: SparkSession, read: Reading, make: Make, schema: pa.Schema) -> DataFrame:
    """The batches of `make` for the new records of files.

    Gives: the columns of `schema`.
    Rows: as `make`.
    Raises (when it is computed): SourceError, inside of Spark's error: a file has changed, or cannot be read.
    """
    tasks = _tasks(read.sizes)
    ids = spark.range(0, len(tasks), 1, max(len(tasks), 1))
    return ids.mapInArrow(partial(_made_of_pieces, read, tasks, make), from_arrow_schema(schema))


def made_of_frame(records: DataFrame, make: Make, schema: pa.Schema) -> DataFrame:
    """The batches of `make` for the records of a frame.

    Needs: file, line, text; optionally row_schema, problem, is_last, after_gap (see `Message`).
    Gives: the columns of `schema`.
    Rows: as `make`.
    """
    taken = records.select(*[name for name in Message.__struct_fields__ if name in records.columns])
    return taken.mapInArrow(partial(_made_of_batches, make), from_arrow_schema(schema))


def events_of(
    source: SourceSpec, declared: Declared, rules: SummaryRules, keeps_texts: bool = True
) -> tuple[Make, pa.Schema]:
    """A function that makes batches of events from records, and the schema of these batches. `declared`: the tables
    that specs declare, and their keys. `keeps_texts`: with the texts of changes."""
    batch, schema = (
        (event_batch.event_batch, event_batch.SCHEMA)
        if keeps_texts
        else (event_batch.batch_without_texts, event_batch.SCHEMA_WITHOUT_TEXTS)
    )
    return partial(_events, source, dict(declared), rules, batch), schema


def records_as_they_are(lists: Iterable[list[Message]]) -> Iterator[pa.RecordBatch]:
    """Makes batches of RECORD."""
    for messages in lists:
        columns = [event_batch.array_of(messages, field.name, field.type) for field in RECORD]
        yield pa.RecordBatch.from_arrays(columns, schema=RECORD)


def decoded_rows(events: DataFrame, shape: TableShape, spec: TableSpec, splits_keys: bool = False) -> DataFrame:
    """The changes of one table.

    Needs: the frame of events: of one table, kind change.
    Gives: the columns of `TableDecoder.schema`. Values are not masked, and there is no content hash yet.
    Rows: 1:1; 1:2 for an update that is split.
    """
    schema = from_arrow_schema(TableDecoder(shape, spec, splits_keys).schema)
    return events.select(*ROW_COLUMNS).mapInArrow(partial(_rows_of_batches, shape, spec, splits_keys), schema)


# --- in the tasks ---------------------------------------------------------------------------------------------------


def _tasks(sizes: Sequence[int]) -> list[range]:
    """The indexes of the pieces of each task."""
    tasks, begin, filled = [], 0, 0
    for index, size in enumerate(sizes):
        filled += size
        if filled >= TASK_BYTES:
            tasks.append(range(begin, index + 1))
            begin, filled = index + 1, 0
    return [*tasks, range(begin, len(sizes))] if begin < len(sizes) else tasks


def _made_of_pieces(
    read: Reading, tasks: Sequence[range], make: Make, ids: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    # One decoder for all pieces of the task, because it caches schemas, tables and sources.
    lists = chain.from_iterable(map(read.messages, _indexes(tasks, ids)))
    yield from make(_in_batches(chain.from_iterable(lists)))


def _made_of_batches(make: Make, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return make(_in_batches(chain.from_iterable(map(event_batch.messages_of, batches))))


def _events(
    source: SourceSpec,
    declared: Declared,
    rules: SummaryRules,
    batch_of: Callable[[Sequence[Event]], pa.RecordBatch],
    lists: Iterable[list[Message]],
) -> Iterator[pa.RecordBatch]:
    decoder = SourceDecoder(source, declared)
    for messages in lists:
        events = decoder.decode(messages)
        summarize(events, rules)
        yield batch_of(events)


def _indexes(tasks: Sequence[range], ids: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in ids:
        for number in batch.column(0).to_pylist():
            yield from tasks[number]


def _in_batches(messages: Iterator[Message]) -> Iterator[list[Message]]:
    """The messages in lists of a bounded number and size."""
    found: list[Message] = []
    size = 0
    for message in messages:
        found.append(message)
        size += len(message.text)
        if len(found) >= BATCH_RECORDS or size >= BATCH_BYTES:
            yield found
            found, size = [], 0
    if found:
        yield found


def _rows_of_batches(
    shape: TableShape, spec: TableSpec, splits_keys: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    decoder = TableDecoder(shape, spec, splits_keys)
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_RECORDS):
            yield decoder.decode(batch.slice(start, BATCH_RECORDS))
