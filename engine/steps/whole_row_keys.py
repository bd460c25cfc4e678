"""Changes of a table without a key: the whole row is the key, and an update removes one row and adds another."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.errors import SchemaEvolutionError
from siltstone.engine.formats import format_of
from siltstone.engine.spec.model import TableSpec

RESTART_SECONDS: Final = 1
"""A connector takes at least this long to restart. A running connector does not pause this long within one statement,
unless its sink is blocked."""


def refuse_new_columns(spec: TableSpec, shape: TableShape, known: T.StructType | None) -> None:
    """Check that the events bring no new column. All columns are the key, and the key cannot change.

    Raises: SchemaEvolutionError: the events bring a new column.
    """
    added = [column.name for column in shape.columns if known is not None and column.name not in known.names]
    if added:
        raise SchemaEvolutionError(
            f"Cannot append to {spec.target.changes}: the table has no key, so all columns identify a row, and the"
            f" events bring new ones ({', '.join(added)}). Nothing was taken.",
            "set evolution: ignore (the new columns are rescued), or load the events into another table",
        )


def keyless_changes(decoded: DataFrame, shape: TableShape, spec: TableSpec) -> DataFrame:
    """Changes whose key is the whole row.

    Needs: the rows of `decode_rows` for a shape without keys.
    Gives: the same columns. Equal rows at one position get different content hashes.
    Rows: 1:1; 1:2 for an update that changes something. Changes without complete images get a reason.

        op      before, row      op      key  old_key, new_key
        insert  -, A             insert  A
        update  A, B             delete  A    new_key B
                                 insert  B    old_key A
        update  B, B             update  B
        update  -, B             (rejected: no before image)
    """
    image = shape.key_type
    whole = decoded.select(*[_completed(name, shape) for name in decoded.columns])
    checked = whole.withColumn("reason", F.coalesce("reason", _incomplete()))
    halves = checked.withColumn("_half", F.explode(_halves(image)))
    keyed = {
        "op": F.col("_half.op"),
        "row": F.col("_half.row").cast(shape.row_type),
        "key": F.when(F.col("op") != names.OP_TRUNCATE, F.col("_half.row")).cast(image),
        "old_key": F.col("_half.old_key").cast(image),
        "new_key": F.col("_half.new_key").cast(image),
    }
    changes = halves.select(*[keyed.get(name, F.col(name)).alias(name) for name in decoded.columns])
    return _numbered(changes, shape, spec)


def _completed(name: str, shape: TableShape) -> Column:
    """The column of a change; an update takes the values that it lacks from its before image."""
    lacks = (F.col("op") == names.OP_UPDATE) & F.col("present").isNotNull() & F.col("before").isNotNull()
    if name == "present":
        return F.when(~F.coalesce(lacks, F.lit(False)), F.col("present")).alias(name)
    if name != "row":
        return F.col(name)
    fields = [
        F.when(F.array_contains("present", c.name), F.col("row")[c.name])
        .otherwise(F.col("before")[c.name])
        .alias(c.name)
        for c in shape.columns
    ]
    return F.when(lacks, F.struct(*fields)).otherwise(F.col("row")).alias(name)


def _incomplete() -> Column:
    """Why a change does not identify its row; null if it does."""
    op = F.col("op")
    return F.when(
        (op == names.OP_UPDATE) & F.col("before").isNull(), "the table has no key, and the update has no before image"
    ).when((op != names.OP_TRUNCATE) & F.col("present").isNotNull(), "the table has no key, and the row lacks columns")


def _halves(image: T.StructType) -> Column:
    """The change itself, or for an update that changes the row its two halves: the delete and the insert."""
    none = F.lit(None).cast(image)
    row, before = F.col("row").cast(image), F.col("before").cast(image)

    def half(op: Column, image: Column, old: Column, new: Column) -> Column:
        return F.struct(op.alias("op"), image.alias("row"), old.alias("old_key"), new.alias("new_key"))

    both = F.array(half(F.lit(names.OP_DELETE), before, none, row), half(F.lit(names.OP_INSERT), row, before, none))
    moves = (F.col("op") == names.OP_UPDATE) & F.col("reason").isNull() & ~row.eqNullSafe(before)
    return F.when(moves, both).otherwise(F.array(half(F.col("op"), row, none, none)))


def _numbered(changes: DataFrame, shape: TableShape, spec: TableSpec) -> DataFrame:
    """Give equal rows at one position different content hashes, and redelivered rows the same hash as the original.

    Equal rows of one statement, or of one snapshot, are consecutive in their channel. Redelivered, they are consecutive
    in another place, or after a pause (`_passes`). The order in the transaction distinguishes rows that have one.

        line  position  image     number of the row
        10    5         A         1
        11    5         A         2
        90    5         A         1   redelivered
        91    5         A         2   redelivered
        92    5         A         1   redelivered after a pause

    In formats without an order, event ids distinguish streamed events that have one.
    """
    from_kafka = F.col("kafka_partition").isNotNull() & F.col("kafka_offset").isNotNull()
    lane = F.struct("channel", F.when(from_kafka, F.col("kafka_partition").cast("string")).otherwise(F.col("file")))
    at = F.when(from_kafka, F.col("kafka_offset")).otherwise(F.col("line"))
    in_turn = Window.partitionBy("_lane").orderBy("_at", "position", "op")
    moment = F.struct("position", F.when(F.col("position").isNull(), F.col("commit_ts")).alias("read_at"))
    steps = F.when(moment.eqNullSafe(F.lag(moment).over(in_turn)), 0).otherwise(1)
    placed = changes.select("*", lane.alias("_lane"), at.alias("_at"))
    has_id = F.lit(False)
    if format_of(spec.source.format).is_unordered:
        has_id = (F.col("origin") == names.ORIGIN_STREAM) & (F.coalesce("event_id", F.lit("")) != "")
        runs = placed.withColumn("_run", has_id.cast("int")).withColumn("_pass", F.lit(0))
    else:
        runs = placed.withColumn("_step", steps).withColumn("_run", F.sum("_step").over(in_turn)).transform(_passes)
    read_at = F.when(F.col("position").isNull(), F.col("commit_ts"))
    order = F.col("tx_order"), F.when(F.col("tx_order").isNull(), F.col("_at"))
    equal = Window.partitionBy("_lane", "_run", "_pass", "position", read_at, "op", "key").orderBy(*order)
    values = [F.col("row")[column.name] for column in sorted(shape.columns, key=lambda column: column.hash_name)]
    image = [*values, *[value.isNull() for value in values]]
    counted = F.xxhash64(F.col("op"), F.dense_rank().over(equal), *image)
    hashed = F.when(has_id, F.xxhash64(F.col("op"), F.col("event_id"), *image)).otherwise(counted)
    return runs.select(*[hashed.alias(name) if name == "content_hash" else F.col(name) for name in changes.columns])


def _passes(runs: DataFrame) -> DataFrame:
    """Number the consecutive deliveries of the changes at one position.

    Needs: _lane, _run, _at. Gives: the same columns, then _pass.
    Rows: 1:1.

    A pause separates two deliveries: a connector takes time to restart, and does not pause within one position. A long
    snapshot can pause anywhere, so for READs a new delivery must also start with the first READ of the run.
    """
    in_run = Window.partitionBy("_lane", "_run").orderBy("_at", "op")
    paused = F.col("ingest_ts") >= F.lag("ingest_ts").over(in_run) + F.make_dt_interval(secs=F.lit(RESTART_SECONDS))
    is_first = F.struct("op", "key").eqNullSafe(F.first(F.struct("op", "key")).over(in_run))
    begins = F.coalesce(paused & ((F.col("origin") == names.ORIGIN_STREAM) | is_first), F.lit(False))
    return runs.withColumn("_begins", begins.cast("int")).withColumn("_pass", F.sum("_begins").over(in_run))
