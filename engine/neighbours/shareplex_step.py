"""The Spark step that joins pairs of lines of a SharePlex source (`shareplex_pairs`) and gives it one order.

A scan of the records finds halves of updates, and changes without a position in the log. Most sources have neither;
then the step computes nothing else. Halves are grouped by transaction, and one task joins each group. No other event is
shuffled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.columns_seen import SummaryRules, summarize
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import CHANGE, HALVES, Announced, Event, Message
from siltstone.engine.decode.event_batch import BYTES, COLUMNS, MICROS, event_batch
from siltstone.engine.decode.formats.coordinates import folder_of
from siltstone.engine.decode.position_text import EPOCH_DIGITS, OWN_EPOCHS, SECOND_EPOCH
from siltstone.engine.decode.source_decoder import SourceDecoder
from siltstone.engine.decode.spark import Make
from siltstone.engine.formats import format_of, loaded
from siltstone.engine.neighbours.shareplex_pairs import paired
from siltstone.engine.spec.model import SourceSpec

_ZEROS: Final = "0" * 12
_ROW: Final = "0" * 8
_REST: Final = 2**31 - 1
SIGNS: Final = pa.schema([("has_halves", pa.bool_()), ("lacks_scn", pa.bool_())])
"""Whether some events are halves of updates; and whether a change lacks an SCN and has a position by coordinates. The
second is determined only if SCNs can order the source."""


def resolved(events: DataFrame, signs: DataFrame, source: SourceSpec, rules: SummaryRules) -> DataFrame:
    """The events with pairs of lines as one update, and all changes in one order.

    Needs: the frame of events, of all messages of a batch; signs: the columns of SIGNS, of the same messages.
    Gives: the frame of events.
    Rows: 1:1; 1:2 for a pair that gives a row another key.
    """
    found = signs.agg(*[F.bool_or(name).alias(name) for name in SIGNS.names]).first()
    assert found is not None  # one row
    if found["has_halves"]:
        events = events.transform(_paired, rules)
    if found["lacks_scn"] and source.order == "auto":
        events = events.transform(_at_coordinates, source)
    return events


def signs_of(source: SourceSpec, declared: Declared) -> Make:
    """Makes batches of SIGNS from the records of a source. `declared`: the tables of specs, and their keys."""
    return partial(_signs, source, dict(declared))


def by_coordinates(source: SourceSpec) -> Column:
    """The position of a change by its coordinates: its offset, or its file and line. It sorts after every SCN.

    Needs: file, line, kafka_partition, kafka_offset.
    """
    by_offset = _joined(F.lit(_ZEROS), _hex("kafka_partition", 8), _hex("kafka_offset", 16), F.lit(_ROW))
    by_line = _joined(F.hex(_name_below(folder_of(source))), _hex("line", 16), F.lit(_ROW))
    return F.coalesce(by_offset, by_line)


# --- one order ------------------------------------------------------------------------------------------------------


def _at_coordinates(events: DataFrame, source: SourceSpec) -> DataFrame:
    """All changes with positions by their coordinates, in their declared epochs."""
    turns = (F.col("kind") == CHANGE) & F.col("position").isNotNull() & ~_is_at_coordinates()
    epoch = F.lpad(F.hex(_epoch() + 1), EPOCH_DIGITS, "0")
    turned = F.concat(epoch, F.substring(by_coordinates(source), EPOCH_DIGITS + 1, _REST))
    position = F.when(turns, turned).otherwise(F.col("position"))
    return events.select(*[(position.alias(name) if name == "position" else name) for name in events.columns])


def _is_at_coordinates() -> Column:
    return _epoch() % OWN_EPOCHS == 1


def _epoch() -> Column:
    return F.conv(F.substring("position", 1, EPOCH_DIGITS), 16, 10).cast("int")


def _name_below(folder: str) -> Column:
    file = F.col("file")
    if not folder:
        return file
    at = F.instr(file, folder)
    return F.when(at > 0, F.substring(file, at + len(folder), F.lit(_REST))).otherwise(file)


def _hex(name: str, width: int) -> Column:
    return F.when(F.col(name) >= 0, F.lpad(F.hex(F.col(name).cast("bigint")), width, "0"))


def _joined(*segments: Column) -> Column:
    """The position of some segments. Null if a segment is null."""
    return F.concat(F.lit(SECOND_EPOCH), *[part for segment in segments for part in (F.lit("-"), segment)])


# --- pairs of lines -------------------------------------------------------------------------------------------------


def _paired(events: DataFrame, rules: SummaryRules) -> DataFrame:
    """The events with the halves of updates joined by `shareplex_pairs.paired`."""
    is_half = F.coalesce(F.col("control_kind").isin(*HALVES), F.lit(False))
    # Halves belong to one transaction. Without a transaction id they are consecutive lines of one file.
    group = ("table", "tx_id", F.when(F.col("tx_id").isNull(), F.col("file")))
    whole = (
        events.where(is_half).groupBy(*group).applyInArrow(lambda halves: _of_transaction(halves, rules), events.schema)
    )
    return events.where(~is_half).unionByName(whole)


def _of_transaction(halves: pa.Table, rules: SummaryRules) -> pa.Table:
    joined = paired(_events_of(halves))
    summarize(joined, rules)
    return pa.Table.from_batches([event_batch(joined)]).select(halves.schema.names)


def _events_of(table: pa.Table) -> list[Event]:
    columns = {field: _values(table.column(name), field, kind) for name, field, kind in COLUMNS}
    columns["announced"] = [None if one is None else Announced(**one) for one in table.column("announced").to_pylist()]
    return [Event(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _values(column: pa.ChunkedArray, field: str, kind: pa.DataType) -> list[Any]:
    if field in BYTES:
        return pc.cast(column, pa.binary()).to_pylist()  # type: ignore[no-any-return]
    return (column.cast(pa.int64()) if kind == MICROS else column).to_pylist()  # type: ignore[no-any-return]


# --- in the tasks ---------------------------------------------------------------------------------------------------


def _signs(source: SourceSpec, declared: Declared, lists: Iterable[list[Message]]) -> Iterator[pa.RecordBatch]:
    decoder, place = SourceDecoder(source, declared), format_of(source.format).is_complete
    is_complete = None if place is None else loaded(place)
    for messages in lists:
        events = decoder.decode([each for each in messages if is_complete is None or not is_complete(each.text)])
        has_key_change_pairs = any(event.control_kind in HALVES for event in events)
        lacks_scn = any(is_at_coordinates(event) for event in events)
        yield pa.RecordBatch.from_arrays([pa.array([has_key_change_pairs]), pa.array([lacks_scn])], schema=SIGNS)


def is_at_coordinates(event: Event) -> bool:
    """Whether an event is a change with a position by coordinates."""
    return (
        event.kind == CHANGE and event.position is not None and int(event.position[:EPOCH_DIGITS], 16) % OWN_EPOCHS == 1
    )
