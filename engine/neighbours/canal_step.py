"""The Spark step that finds messages which Canal sent twice: `canal_resent` over the pieces of lanes, in parallel.

messages -> a few values of each -> pieces: repeated messages, and borders -> lanes: repeated messages
                                 -> the greatest time so far
both + events -> events
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from siltstone.engine.decode.event import CHANGE, CONTROL, Message
from siltstone.engine.decode.formats.canal_message import (
    BrokenMessageError,
    CanalMessage,
    millis_to_micros,
    read_message,
)
from siltstone.engine.decode.position_text import EPOCH
from siltstone.engine.frames import checkpointed
from siltstone.engine.names import PLACE
from siltstone.engine.neighbours.canal_resent import Delivery, lane_of, place_of, resent_of_lane, resent_of_piece
from siltstone.engine.schema.control_kinds import REDELIVERY

PIECE: Final = 16
"""A piece has two to the power of this number of places. One task classifies a piece at once."""
ENOUGH: Final = 3
LANE: Final = ("lane_channel", "lane_partition", "lane_folder")
ORDER: Final = ("at_offset", "at_file", "at_line")
Lane = tuple[Any, ...]
_OF_FILES: Final = ("", -1, "")
_PLACED: Final = (
    *zip(LANE, (pa.string(), pa.int32(), pa.string()), strict=True),
    *zip(ORDER, (pa.int64(), pa.string(), pa.int64()), strict=True),
    ("id", pa.string()),
)
SENT: Final = pa.schema(
    [
        *(("file", pa.string()), ("line", pa.int64()), *_PLACED),
        *(("content", pa.int64()), ("after_gap", pa.bool_()), ("es", pa.int64())),
    ]
)
"""The values of a message: its place, its batch (null: it is in none), a hash of the fields that do not change when it
is repeated, and its time in milliseconds (null if it does not order changes)."""
_SENT: Final = ("file", "line", "after_gap", "id", "content")
_LINES: Final = pa.schema([("file", pa.string()), ("line", pa.int64())])
_CLASSIFIED: Final = pa.schema(
    [
        *(*_PLACED, *((field.name, field.type) for field in _LINES)),
        *(("after_gap", pa.bool_()), ("content", pa.int64()), ("start", pa.int32()), ("is_resent", pa.bool_())),
    ]
)
_OF_CHANGES: Final = (
    *("op", "origin", "before_json", "after_json", "schema_hash", "position"),
    *("tx_order", "old_key_json", "new_key_json"),
)


def resolved(events: DataFrame, sent: DataFrame, piece: int = PIECE) -> DataFrame:
    """The events with repeated changes as control events, and with positions that have the greatest time so far in
    their partition.

    Needs: the frame of events of all lines of the files, and of the needed files next to them (`has_enough_batches`);
        sent: the columns of SENT, of the same lines.
    Gives: the frame of events.
    Rows: filters; one for each repeated message.
    """
    known = F.broadcast(_found(sent.transform(partial(checkpointed, eager=False)), piece))
    return events.join(known, on=list(PLACE), how="left").transform(_resolved, events.columns)  # one row a line


def lanes_of(sent: DataFrame) -> set[Lane]:
    """The lanes of the messages that are in a batch.

    Needs: the columns of SENT.
    """
    return {tuple(row) for row in sent.where(F.col("id").isNotNull()).select(*LANE).distinct().collect()}


def has_enough_batches(sent: DataFrame, new_lanes: Callable[[], Collection[Lane]]) -> bool:
    """Whether the files on one side of the new messages have the beginnings of three batches of each lane: one batch
    that can continue across the border, and two consecutive batches, of which the second can repeat the first.
    `new_lanes` is called only if it is needed.

    Needs: the columns of SENT.
    """
    found = _batches(sent.where(F.col("id").isNotNull()))
    if found.keys() <= {_OF_FILES}:
        return found.get(_OF_FILES, 0) >= ENOUGH
    folders = {"", *(folder for _, _, folder in found)}
    # No lane goes across folders.
    return all(found.get(lane, 0) >= ENOUGH for lane in new_lanes() if lane[2] in folders)


def _batches(batched: DataFrame) -> dict[Lane, int]:
    """The number of batches that begin in each lane."""
    begins = ~F.col("id").eqNullSafe(F.lag("id").over(_in_lane()))
    counted = batched.select(*LANE, begins.alias("begins")).groupBy(*LANE).agg(F.count_if("begins").alias("batches"))
    return {tuple(row[name] for name in LANE): row["batches"] for row in counted.collect()}


def _found(sent: DataFrame, piece: int) -> DataFrame:
    """The repeated messages, and the messages after a later time in their lane.

    Needs: the columns of SENT.
    Gives: file, line, is_resent, reached (null: no time is later).
    Rows: filters; one for each such message.
    """
    number = F.struct(F.shiftright("at_offset", piece), "at_file", F.shiftright("at_line", piece)).alias("piece")
    batched = sent.where(F.col("id").isNotNull())
    classified = batched.groupBy(*LANE, number).applyInArrow(_resent_in_piece, from_arrow_schema(_CLASSIFIED))
    resent = classified.groupBy(*LANE).applyInArrow(_resent_in_lane, from_arrow_schema(_LINES))
    so_far = F.max("es").over(_in_lane().rangeBetween(Window.unboundedPreceding, Window.currentRow))
    timed = sent.where(F.col("es").isNotNull()).select(*PLACE, "es", so_far.alias("reached"))
    late = timed.where(F.col("reached") > F.col("es")).select(*PLACE, F.lit(False).alias("is_resent"), "reached")
    repeated = resent.select(*PLACE, F.lit(True).alias("is_resent"), F.lit(None).cast("bigint").alias("reached"))
    both = repeated.unionByName(late).groupBy(*PLACE)
    return both.agg(F.bool_or("is_resent").alias("is_resent"), F.max("reached").alias("reached"))


def _in_lane() -> WindowSpec:
    return Window.partitionBy(*LANE).orderBy(*ORDER)


# --- events ---------------------------------------------------------------------------------------------------------


def _resolved(known: DataFrame, columns: Iterable[str]) -> DataFrame:
    """Resolve events with their known facts. Needs: the frame of events, is_resent, reached. Gives: `columns`."""
    is_redelivery = F.coalesce(F.col("is_resent"), F.lit(False)) & (F.col("kind") == CHANGE)
    message = F.coalesce(F.get_json_object("text", "$.value"), F.col("text"))
    made = {name: F.when(~is_redelivery, F.col(name)) for name in _OF_CHANGES} | {
        "kind": F.when(is_redelivery, CONTROL).otherwise(F.col("kind")),
        "control_kind": F.when(is_redelivery, REDELIVERY).otherwise(F.col("control_kind")),
        "control_json": F.when(is_redelivery, message).otherwise(F.col("control_json")),
        "position": F.when(~is_redelivery, F.coalesce(_position(), F.col("position"))),
    }
    kept = known.where(~is_redelivery | F.col("text").isNotNull())  # the first event of a message has its text
    return kept.select(*[made.get(name, F.col(name)).alias(name) for name in columns])


def _position() -> Column:
    """The position in a partition with the greatest time so far. Null if the event has no such position."""
    segments = [
        F.when(F.col(name) >= 0, F.lpad(F.hex(name), width, "0"))
        for name, width in (("reached", 12), ("kafka_partition", 8), ("kafka_offset", 16), ("tx_order", 8))
    ]
    hyphened = [part for segment in segments for part in (F.lit("-"), segment)]
    return F.concat(F.substring("position", 1, len(EPOCH)), *hyphened)


# --- in the tasks ---------------------------------------------------------------------------------------------------


def sent_batches(lists: Iterable[list[Message]]) -> Iterator[pa.RecordBatch]:
    """Makes batches of SENT, with a row for each message that is in a batch or has a time that orders it."""
    for messages in lists:
        rows = [row for message in messages if (row := _sent(message)) is not None]
        columns = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(SENT)]
        yield pa.RecordBatch.from_arrays(columns, schema=SENT)


def _sent(message: Message) -> tuple[Any, ...] | None:
    canal, content = _message(message.text)
    if canal is None:
        return None
    es = canal.es if canal.partition is not None and millis_to_micros(canal.es) is not None else None
    if canal.id is None and es is None:
        return None
    lane = lane_of(message.file, canal.topic, canal.partition)
    place = place_of(message.file, message.line, canal.partition, canal.offset)
    number = None if canal.id is None else str(canal.id)
    return message.file, message.line, *lane, *place, number, content, message.after_gap, es


def _message(text: bytes) -> tuple[CanalMessage | None, int | None]:
    """A message and the hash of its content. A broken message is part of its batch, too, if its batch can be read."""
    try:
        message = read_message(text)
    except BrokenMessageError as broken:
        return broken.message, broken.content
    return message, message.content()


def _resent_in_piece(table: pa.Table) -> pa.Table:
    """One piece of a lane: its repeated messages, and its border, which is not classified yet."""
    resent, border = resent_of_piece(_deliveries(table, _SENT))
    lane = {name: table.column(name)[0].as_py() for name in LANE}
    rows = [lane | _row(one) | {"is_resent": True} for one in resent]
    return pa.Table.from_pylist(rows + [lane | _row(one) for one in border], _CLASSIFIED)


def _resent_in_lane(table: pa.Table) -> pa.Table:
    """The repeated messages of one lane, from its classified pieces and their borders."""
    known = list(zip(_deliveries(table, (*_SENT, "start")), table.column("is_resent").to_pylist(), strict=True))
    resent = [one for one, is_resent in known if is_resent]
    resent += resent_of_lane(one for one, is_resent in known if not is_resent)
    return pa.Table.from_pylist([{"file": one.file, "line": one.line} for one in resent], _LINES)


def _deliveries(table: pa.Table, names: Sequence[str]) -> Iterator[Delivery]:
    """The rows of a table. `names`: the columns of the fields of `Delivery` after its place."""
    places = zip(*[table.column(name).to_pylist() for name in ORDER], strict=True)
    return map(Delivery, places, *[table.column(name).to_pylist() for name in names])


def _row(delivery: Delivery) -> dict[str, Any]:
    row = delivery._asdict()
    return dict(zip(ORDER, row.pop("place"), strict=True)) | row
