"""The timeline of a key: its open version, which the fold starts from, then its changes. Marks late changes."""

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.frames import is_from
from siltstone.engine.history.fold_settings import Folded, FoldRules
from siltstone.engine.names import quoted
from siltstone.engine.ordering.chronology import (
    carries_other_columns,
    chronology,
    chronology_columns,
    has_tie,
    per_key,
    sortable,
)
from siltstone.engine.ordering.snapshot_windows import orders_statements
from siltstone.engine.ordering.tie_breaking import (
    Tied,
    end_of,
    partition_offset,
    start_of,
    transaction_order,
    with_turns,
)


def interleave(existing: DataFrame | None, changes: DataFrame, rules: FoldRules) -> DataFrame:
    """Put changes and the open versions of their keys into one timeline.

    Needs: existing: open history rows, one per key, or None to fold from the beginning; changes: as `change_rows`
        gives them.
    Gives: the columns of `change_rows`, then base_last, base_stream_ts, base_unknown (null for changes), and those of
        `sortable`.
    Rows: existing 1:1 (is_base), changes 1:1.
    """
    rows = changes.withColumns(
        {
            "base_last": F.lit(None).cast("string"),
            "base_stream_ts": F.lit(None).cast("timestamp"),
            "base_unknown": F.lit(None).cast("array<string>"),
        }
    )
    if existing is not None:
        rows = rows.unionByName(base_rows(existing, rules), allowMissingColumns=True)
    return sortable(rows)


def change_rows(changes: DataFrame, rules: FoldRules) -> DataFrame:
    """Changes as timeline rows.

    Needs: the change schema, then close, low_position, low_ts as `attach_windows` gives them.
    Gives: key, is_base, is_read, is_copy, op, place, position, own_position, rank, tx_order, offset (in the partition;
        only for changes without an order in their transaction), turn (null: `order_ties` fills it), content_hash,
        ingest_ts, ts, commit_ts, tx_id, low_position, low_ts, row, present, rescued, old_key, new_key, before, batch,
        source.
    Rows: 1:1. The place of a READ is its window's close; `place_reads` places READs without a position. A commit time
        from the future is replaced by the event's processing time plus the allowed skew.
    """
    is_read = F.col("origin") == names.ORIGIN_SNAPSHOT
    gives_up_key = (F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull()
    guard, margin = interval(rules.guard), interval(rules.margin)
    stamped = stamped_time(rules)
    ts = F.coalesce(stamped, "ingest_ts")
    in_log = F.least("low_ts", ts - F.when(orders_statements(), guard).otherwise(margin))
    low_ts = F.when(F.col("position").isNull(), stamped - guard).otherwise(in_log)
    # An old key with missing columns counts as unknown. A new key stays as it is: the delete gives up its key anyway.
    old_key = F.col("old_key") if rules.keyless else F.when(is_key_known("old_key", rules.keys), F.col("old_key"))
    # `undo_key_swaps` compares transactions. Where a source names none, all changes of one commit time can belong to
    # the same statement.
    at_once = F.when(is_from(lambda kind: kind.commit_time_is_transaction), F.col("commit_ts").cast("string"))
    return changes.select(
        "key",
        F.lit(False).alias("is_base"),
        is_read.alias("is_read"),
        F.lit(False).alias("is_copy"),
        "op",
        F.lit(None).cast("double").alias("place"),
        F.when(is_read, F.col("close")).otherwise(F.col("position")).alias("position"),
        F.col("position").alias("own_position"),
        F.when(gives_up_key, 0).otherwise(1).alias("rank"),
        transaction_order().alias("tx_order"),
        partition_offset(is_read).alias("offset"),
        F.lit(None).cast("int").alias("turn"),
        "content_hash",
        "ingest_ts",
        ts.alias("ts"),
        "commit_ts",
        F.coalesce("tx_id", at_once).alias("tx_id"),
        "low_position",
        F.when(is_read, low_ts).alias("low_ts"),
        whole_row("row", rules.columns).alias("row"),
        "present",
        "rescued",
        old_key.alias("old_key"),
        "new_key",
        whole_row("before", rules.columns).alias("before"),
        "batch",
        "source",
    )


def stamped_time(rules: FoldRules) -> Column:
    """The commit time of a change, at most the event's processing time plus the allowed skew."""
    skewed = F.col("ingest_ts") + interval(rules.skew)
    return F.when(F.col("commit_ts").isNotNull(), F.least("commit_ts", skewed))


def order_ties(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Order the changes of a key at one position by their ops and images, if nothing else orders them.

    Needs: the columns of `change_rows`; all changes of each key.
    Gives: the same columns; turn is filled for such changes.
    Rows: 1:1.
    """
    op, has_position = F.col("op"), F.col("position").isNotNull()
    tied = Tied(
        is_tied=~F.col("is_read") & has_position & F.col("tx_order").isNull() & F.col("offset").isNull(),
        op=op,
        content=F.col("content_hash"),
        starts=start_of(op, F.col("before"), rules.columns),
        ends=end_of(op, F.col("row"), F.col("present"), rules.columns),
    )
    group = [F.xxhash64("key"), F.col("key"), F.col("position"), F.col("rank")]  # numbers sort faster than structs
    return with_turns(rows.drop("turn"), group, tied).select(*rows.columns)


def base_rows(existing: DataFrame, rules: FoldRules) -> DataFrame:
    """Open versions as the first rows of their keys' timelines.

    Needs: history rows, at most one per key.
    Gives: the columns of `interleave` that an open version has.
    Rows: 1:1.
    """
    return existing.select(
        key_of(rules).alias("key"),
        F.lit(True).alias("is_base"),
        (F.col(names.OP) == names.OP_READ).alias("is_read"),
        F.lit(False).alias("is_copy"),
        F.col(names.OP).alias("op"),
        F.col(names.POSITION).alias("position"),
        F.col(names.POSITION).alias("own_position"),
        F.lit(1).alias("rank"),
        F.col(names.CHANGE_HASH).alias("content_hash"),
        F.col(names.VALID_FROM).alias("ts"),
        F.col(names.COMMIT_TS).alias("commit_ts"),
        F.struct(*[F.col(quoted(name)).alias(name) for name in rules.columns]).alias("row"),
        F.col(names.RESCUED).alias("rescued"),
        F.col(names.BATCH).alias("batch"),
        F.col(names.LAST_POSITION).alias("base_last"),
        F.col(names.STREAM_TS).alias("base_stream_ts"),
        F.col(names.UNKNOWN).alias("base_unknown"),
    )


def truncate_rows(truncates: DataFrame, keys: DataFrame) -> DataFrame:
    """Each truncate as a change of each of the given keys.

    Needs: truncates: timeline rows of op truncate; keys: column key, without duplicates; also source, if a truncate
        ends only the keys of its own source.
    Gives: the columns of `change_rows`, is_copy true.
    Rows: truncates x keys; if keys have a source, only the pairs of the same source.
    """
    named = [F.lit(True).alias("is_copy") if name == "is_copy" else F.col(name) for name in truncates.columns]
    has_source = "source" in keys.columns
    ended = F.broadcast(truncates.drop("key")).crossJoin(keys.withColumnRenamed("source", "_of"))
    key = keys.schema["key"].dataType
    if has_source or (isinstance(key, T.StructType) and names.SOURCE in key.names):
        ended = ended.where(F.col("source") == (F.col("_of") if has_source else F.col("key")[names.SOURCE]))
    return ended.select(*named)


def first_row(rules: FoldRules) -> list[str]:
    """The columns that `mark_late` reads from the first row of a key, which is the open version if there is one."""
    own = ["is_base", "is_read", "op", "position", "commit_ts", "content_hash", "base_last", "base_stream_ts"]
    return [*own, "row"] if rules.swaps else own


def mark_late(rows: DataFrame, folded: Folded, rules: FoldRules) -> DataFrame:
    """Mark late changes: those that come before something already folded. Their keys are recomputed from all changes.

    Needs: the columns of `interleave`, at most one base row per key; _first, and _previous with TIED, as `look_back`
        gives them.
    Gives: the same columns, then reaches_back.
    Rows: 1:1.

        The last position of the open version is 50. The last folded window closed at 40.

        change at 60         in order
        change at 50         late: a redelivery, or another change at the same position
        change at 30         late
        two changes at 60    late if only offsets, or ops and images, order them: that takes all changes of the key
        two copies at 60     late if they carry different columns: the change carries the columns of all its copies
        READ placed at 60    in order
        READ placed at 45    late: changes after it are folded already
        READ of 12:00 without a position, guard 15 minutes
                             late if changes up to 11:50 are folded; in order if they are up to 11:40
        change of a new key  in order, unless a truncate after it is folded already
    """
    before_truncate = never_null(F.col("position") <= F.lit(folded.truncate))
    late = F.when(
        ~F.col("is_base"),
        before_truncate
        | has_tie(F.col("_previous"))
        | carries_other_columns(F.col("_previous"))
        | (F.col("_first.is_base") & late_for_base(folded, rules))
        | (F.col("is_read") & reaches_truncate(folded)),
    ).otherwise(False)
    return rows.withColumn("reaches_back", late)


def late_for_base(folded: Folded, rules: FoldRules) -> Column:
    """True if a change can affect something before the end of its key's open version (column `_first`)."""
    base = F.col("_first")
    # The place of a READ without a position is before the first change that is later than its window. A change that is
    # not later than the latest of these windows can move such a READ, or supersede it.
    reaches_read = never_null(F.col("ts") <= F.timestamp_micros(F.lit(folded.read_ts)) + interval(rules.skew))
    streamed_late = (
        never_null(F.col("position") <= base["base_last"])
        | never_null(F.col("position") <= F.lit(folded.close))
        | reaches_read
    )
    # READs at one place are ordered by time. An equal READ there may have been absorbed without a trace, and one with
    # other content may be a redelivery of an earlier one.
    is_new = (F.unix_micros("commit_ts") > F.lit(folded.close_ts)) & (F.col("content_hash") == base["content_hash"])
    at_last_read = (F.col("position") == F.lit(folded.close)) & ~never_null(is_new)
    is_placed, is_timed = F.col("position").isNotNull(), F.col("commit_ts").isNotNull()
    inside_stream = never_null(base["base_stream_ts"] >= F.col("low_ts"))
    guarded_late = inside_stream | never_null(F.unix_micros("ts") <= F.lit(folded.read_ts))
    placed_late = (
        F.lit(folded.read_ts is not None)
        | never_null(F.col("position") < base["base_last"])
        | never_null(F.col("position") < F.lit(folded.close))
        | never_null(at_last_read)
        | never_null(base["base_last"] >= F.col("low_position"))
    )
    if rules.partly_present:  # history does not store which columns the folded changes carried
        placed_late = placed_late | inside_stream
    read_late = F.when(is_placed, placed_late).when(is_timed, guarded_late).otherwise(True)
    placeless = base["is_read"] & base["position"].isNull() & base["commit_ts"].isNull()
    late = F.when(F.col("is_read"), read_late).otherwise(streamed_late) | placeless
    if not rules.swaps:
        return late
    gives_up = F.col("new_key").isNotNull() & F.col("before").isNotNull()
    # In the same transaction, an insert can have brought another row under this key without opening a version: it was
    # absorbed, or changed only columns that are not tracked. The open version is then still that of a READ.
    is_live = base["op"].isin(names.OP_READ, names.OP_INSERT, names.OP_UPDATE)
    return late | (is_live & gives_up & ~base["row"].eqNullSafe(F.col("before")))


def reaches_truncate(folded: Folded) -> Column:
    """True if a READ's window may contain a folded truncate that left no trace on the key."""
    by_time = never_null(F.unix_micros("low_ts") <= F.lit(folded.truncate_ts))
    return by_time | never_null(F.col("low_position") <= F.lit(folded.truncate))


def interval(span: timedelta) -> Column:
    """A duration that Spark can add to a timestamp."""
    return F.make_dt_interval(secs=F.lit(span.total_seconds()))


def place_reads(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Place READs that have a time but no position: just before the first change that is later than their window.

    Needs: the columns of `interleave`.
    Gives: the same columns; place is filled on all rows, and orders them.
    Rows: 1:1.

        position  op      commit time      READ of 12:00, window [11:45, 12:00:05]
        10        insert  11:30
        20        update  11:50            inside the window: supersedes the READ
        30        update  12:10            the READ is placed before this change
        40        update  11:55            an early time at a late position: inside, supersedes the READ too
    """
    guarded = is_guarded()
    number = F.row_number().over(per_key().orderBy(guarded, *chronology_columns())).cast("double")
    ordered = rows.withColumn("place", number)
    is_streamed = ~F.col("is_read") & ~F.col("is_base")
    moment = F.unix_micros(F.when(guarded, F.col("ts") + interval(rules.skew)).otherwise(F.col("ts")))
    later = per_key().orderBy(moment).rangeBetween(1, Window.unboundedFollowing)
    following = F.min(F.when(is_streamed, F.col("place"))).over(later)
    at = F.when(guarded, F.coalesce(following - 0.5, F.lit(float(1 << 52)))).otherwise(F.col("place"))
    return ordered.withColumn("place", at)


def is_guarded() -> Column:
    """True for a READ that has a time but no position."""
    no_position = F.col("position").isNull() & F.col("commit_ts").isNotNull()
    return F.col("is_read") & ~F.col("is_base") & no_position


def never_null(condition: Column) -> Column:
    """The condition, with false in place of null: a comparison with an unknown value does not hold."""
    return F.coalesce(condition, F.lit(False))


def key_of(rules: FoldRules) -> Column:
    """The key of a history or latest row, as a struct."""
    return F.struct(*[F.col(quoted(name)).alias(name) for name in rules.keys])


def is_key_known(half: str, keys: Sequence[str]) -> Column:
    """True if all key columns of the other half of a key change are known.

    A header has the key of the message, which can have fewer columns than the key of the table.
    """
    return reduce(lambda one, other: one & other, [F.col(half)[name].isNotNull() for name in keys])


def whole_row(struct: str, columns: tuple[str, ...]) -> Column:
    """A struct's fields in the table's order; a null struct stays null."""
    return F.when(F.col(struct).isNotNull(), F.struct(*[F.col(struct)[name].alias(name) for name in columns]))


def newest_value(name: str) -> Column:
    """The newest streamed value of a column, with the change's number in the timeline, as an aggregate for a window."""
    carried = ~F.col("is_read") & (F.col("present").isNull() | F.array_contains("present", name))
    return F.last(F.when(carried, F.struct("_turn", F.col("row")[name].alias("value"))), ignorenulls=True)


def is_another_row(rules: FoldRules) -> Column:
    """Whether the before image of a delete differs from the row as its transaction has left it so far.

    Only columns that the transaction has set are compared.
    """
    always_present = [
        F.struct(*[F.col(of)[name] for name in rules.always_present]) for of in ("_previous.row", "before")
    ]
    differs = ~always_present[0].eqNullSafe(always_present[1]) if rules.always_present else F.lit(False)
    for index, name in enumerate(rules.partly_present):
        newest = F.col(f"_value_{index}")
        is_its_own = never_null(newest["_turn"] >= F.col("_insert._turn"))
        differs = differs | (is_its_own & ~newest["value"].eqNullSafe(F.col("before")[name]))
    return differs


def undo_key_swaps(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Move the delete of a key change before the insert of another row that took its key in the same transaction.

    Needs: the columns of `change_rows`.
    Gives: the same columns; position and rank of such a delete put it before the insert.
    Rows: 1:1.

        UPDATE t SET id = id + 1 in one transaction, changes of key 2

        position  op      image
        10        insert  row A         row 1 became row 2
        11        update  row A'        another change of the same row
        12        delete  before B      row 2 became row 3. It was B, not A', so the delete moves before the insert

        Without the move, key 2 would end up deleted.
    """
    before = chronology().rowsBetween(Window.unboundedPreceding, -1)
    is_insert, is_streamed = F.col("op") == names.OP_INSERT, ~F.col("is_read")  # a READ belongs to no transaction
    breaks = is_streamed & ~F.col("op").isin(names.OP_INSERT, names.OP_UPDATE)
    last_streamed = F.last(F.when(is_streamed, F.struct("tx_id", "row")), ignorenulls=True)
    seen = (
        sortable(rows)
        .withColumn("_turn", F.row_number().over(chronology()))
        .withColumns(
            {
                "_previous": last_streamed.over(before),
                "_insert": F.last(F.when(is_insert, F.struct("tx_id", "position", "_turn")), ignorenulls=True).over(
                    before
                ),
                "_break": F.last(F.when(breaks, F.col("_turn")), ignorenulls=True).over(before),
                **{
                    f"_value_{index}": newest_value(name).over(before)
                    for index, name in enumerate(rules.partly_present)
                },
            }
        )
    )
    moved = never_null(
        (F.col("op") == names.OP_DELETE)
        & F.col("new_key").isNotNull()
        & F.col("before").isNotNull()
        & (F.col("_insert.tx_id") == F.col("tx_id"))
        & (F.col("_previous.tx_id") == F.col("tx_id"))
        & (F.col("_insert._turn") > F.coalesce("_break", F.lit(0)))
        & is_another_row(rules)
    )
    # A redelivered delete follows the first copy and not the insert. It moves to the same place as the first copy.
    copies = Window.partitionBy("key", "is_read", "position", "op", "content_hash")
    placed = seen.withColumn("_to", F.max(F.when(moved, F.col("_insert.position"))).over(copies))
    place = {
        "position": F.coalesce("_to", "position"),
        "rank": F.when(F.col("_to").isNotNull(), -1).otherwise(F.col("rank")),
    }
    return placed.select(*[place.get(name, F.col(name)).alias(name) for name in rows.columns])
