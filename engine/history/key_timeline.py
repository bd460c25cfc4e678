"""One key's rows in one shape: the open version the fold starts from, then its changes; keys with late work marked."""

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
    carries_otherwise,
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
    """Changes and the open versions of their keys as rows of one timeline.

    Needs: existing: open history rows, one a key, or None to fold from nothing; changes: as `change_rows` gives.
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
    Gives: key, is_base, is_read, is_copy, op, place, position, own_position, rank, tx_order, offset (in its partition,
        of a change that tells no order in its transaction), turn (null: `order_ties` fills it), content_hash,
        ingest_ts, ts, commit_ts, tx_id, low_position, low_ts, row, present, rescued, old_key, new_key, before, batch,
        source.
    Rows: 1:1. A READ stands at its window's close, one without a position where `place_reads` puts it; a stamp from
        the future is replaced by the event's own processing time plus the allowed skew.
    """
    is_read = F.col("origin") == names.ORIGIN_SNAPSHOT
    gives_up_key = (F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull()
    guard, margin = interval(rules.guard), interval(rules.margin)
    stamped = stamped_time(rules)
    ts = F.coalesce(stamped, "ingest_ts")
    in_log = F.least("low_ts", ts - F.when(orders_statements(), guard).otherwise(margin))
    low_ts = F.when(F.col("position").isNull(), stamped - guard).otherwise(in_log)
    # What is told in part is not told; but a key that is given up is so, whoever takes it: the new one stays.
    old_key = F.col("old_key") if rules.keyless else F.when(is_told("old_key", rules.keys), F.col("old_key"))
    # The transaction is asked for where a row's image before shows that another row took its key. Where none is named,
    # all changes of one time can be of the same statement.
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
    """The commit time of a change; one from the future is the event's own processing time plus the allowed skew."""
    skewed = F.col("ingest_ts") + interval(rules.skew)
    return F.when(F.col("commit_ts").isNotNull(), F.least("commit_ts", skewed))


def order_ties(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Order the changes of a key at one position by their ops and images, where nothing else does.

    Needs: the columns of `change_rows`; all changes of each key.
    Gives: the same columns; turn is filled for those changes.
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
    """Open versions as the first row of their key's timeline.

    Needs: history rows, at most one a key.
    Gives: the columns of `interleave` that an open version knows.
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
    """A truncate as a change of each of the given keys.

    Needs: truncates: timeline rows of op truncate; keys: column key, without duplicates; source, too, where a truncate
        ends the keys of its own source only.
    Gives: the columns of `change_rows`, is_copy true.
    Rows: truncates x keys; where those say their source, of each truncate with the keys of its own.
    """
    named = [F.lit(True).alias("is_copy") if name == "is_copy" else F.col(name) for name in truncates.columns]
    apart = "source" in keys.columns
    ended = F.broadcast(truncates.drop("key")).crossJoin(keys.withColumnRenamed("source", "_of"))
    key = keys.schema["key"].dataType
    if apart or (isinstance(key, T.StructType) and names.SOURCE in key.names):
        ended = ended.where(F.col("source") == (F.col("_of") if apart else F.col("key")[names.SOURCE]))
    return ended.select(*named)


def first_row(rules: FoldRules) -> list[str]:
    """What `mark_late` asks of the first row of a key: the open version, where there is one."""
    own = ["is_base", "is_read", "op", "position", "commit_ts", "content_hash", "base_last", "base_stream_ts"]
    return [*own, "row"] if rules.swaps else own


def mark_late(rows: DataFrame, folded: Folded, rules: FoldRules) -> DataFrame:
    """Tell the changes that reach behind what is folded: their keys need their whole history.

    Needs: the columns of `interleave`, one base row at most a key; _first, and _previous with TIED, as `look_back`
        gives them.
    Gives: the same columns, then reaches_back.
    Rows: 1:1.

        open version's last position 50, last folded window closed at 40
        change at 60       in order
        change at 50       late: the same change again, or another one at its position
        change at 30       late
        changes at 60, 60  late, where offsets, or ops and images, alone say which was first: only all changes tell
        copies at 60, 60   late, where one carries other columns: all together tell what it carries
        READ placed at 60  in order
        READ placed at 45  late: changes after it are folded already
        READ of 12:00 without a position, streamed up to 11:50: late; up to 11:40: in order (guard 15 minutes)
        any change of a key never seen: in order, unless a folded truncate lies beyond it
    """
    behind_truncate = never_null(F.col("position") <= F.lit(folded.truncate))
    late = F.when(
        ~F.col("is_base"),
        behind_truncate
        | has_tie(F.col("_previous"))
        | carries_otherwise(F.col("_previous"))
        | (F.col("_first.is_base") & late_for_base(folded, rules))
        | (F.col("is_read") & reaches_truncate(folded)),
    ).otherwise(False)
    return rows.withColumn("reaches_back", late)


def late_for_base(folded: Folded, rules: FoldRules) -> Column:
    """True when a change can concern something before the end of its key's open version (column `_first`)."""
    base = F.col("_first")
    # A READ without a position stands before the first change that is later than its window: one that is not later
    # than the window of every such READ can go before one of them, or supersede it.
    reaches_read = never_null(F.col("ts") <= F.timestamp_micros(F.lit(folded.read_ts)) + interval(rules.skew))
    streamed_late = (
        never_null(F.col("position") <= base["base_last"])
        | never_null(F.col("position") <= F.lit(folded.close))
        | reaches_read
    )
    # A READ is compared with READs by place, then by time: an equal one may have been absorbed without a trace. One
    # that tells something else may be the copy of an earlier one there.
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
    if rules.followed:  # which columns the folded changes carried is not kept
        placed_late = placed_late | inside_stream
    read_late = F.when(is_placed, placed_late).when(is_timed, guarded_late).otherwise(True)
    placeless = base["is_read"] & base["position"].isNull() & base["commit_ts"].isNull()
    late = F.when(F.col("is_read"), read_late).otherwise(streamed_late) | placeless
    if not rules.swaps:
        return late
    gives_up = F.col("new_key").isNotNull() & F.col("before").isNotNull()
    # The insert that brought another row under the key in the same transaction can have left the open version a READ's:
    # absorbed, or with nothing but columns that are not tracked.
    is_live = base["op"].isin(names.OP_READ, names.OP_INSERT, names.OP_UPDATE)
    return late | (is_live & gives_up & ~base["row"].eqNullSafe(F.col("before")))


def reaches_truncate(folded: Folded) -> Column:
    """True when a READ's window may hold a folded truncate of which its key keeps no trace."""
    by_time = never_null(F.unix_micros("low_ts") <= F.lit(folded.truncate_ts))
    return by_time | never_null(F.col("low_position") <= F.lit(folded.truncate))


def interval(span: timedelta) -> Column:
    """A duration as Spark adds it to a timestamp."""
    return F.make_dt_interval(secs=F.lit(span.total_seconds()))


def place_reads(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Put READs without a position, but with a time, just before the first change that is later than their window.

    Needs: the columns of `interleave`.
    Gives: the same columns; place is filled on all rows, and orders them.
    Rows: 1:1.

        position  op      commit time      READ of 12:00, window [11:45, 12:00:05]
        10        insert  11:30
        20        update  11:50            inside: supersedes it
        30        update  12:10            the READ stands before this one
        40        update  11:55            stamped early, committed late: inside, supersedes it too
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
    """True for a READ of which only the time is known."""
    no_position = F.col("position").isNull() & F.col("commit_ts").isNotNull()
    return F.col("is_read") & ~F.col("is_base") & no_position


def never_null(condition: Column) -> Column:
    """A comparison with something unknown does not hold."""
    return F.coalesce(condition, F.lit(False))


def key_of(rules: FoldRules) -> Column:
    """The key of a history or latest row, as a struct."""
    return F.struct(*[F.col(quoted(name)).alias(name) for name in rules.keys])


def is_told(half: str, keys: Sequence[str]) -> Column:
    """True where all of the other half's key is known: a header holds the message's key, which can have fewer columns
    than the table's."""
    return reduce(lambda one, other: one & other, [F.col(half)[name].isNotNull() for name in keys])


def whole_row(struct: str, columns: tuple[str, ...]) -> Column:
    """A struct's fields in the table's order; a null struct stays null."""
    return F.when(F.col(struct).isNotNull(), F.struct(*[F.col(struct)[name].alias(name) for name in columns]))


def newest_told(name: str) -> Column:
    """What a change says of a column, and where it stands; to be looked for before another change."""
    carried = ~F.col("is_read") & (F.col("present").isNull() | F.array_contains("present", name))
    return F.last(F.when(carried, F.struct("_turn", F.col("row")[name].alias("value"))), ignorenulls=True)


def is_another_row(rules: FoldRules) -> Column:
    """Whether a delete's before image is not the row as its transaction has left it so far, as far as that told it."""
    solid = [F.struct(*[F.col(of)[name] for name in rules.solid]) for of in ("_previous.row", "before")]
    differs = ~solid[0].eqNullSafe(solid[1]) if rules.solid else F.lit(False)
    for index, name in enumerate(rules.followed):
        told = F.col(f"_told_{index}")
        is_its_own = never_null(told["_turn"] >= F.col("_insert._turn"))
        differs = differs | (is_its_own & ~told["value"].eqNullSafe(F.col("before")[name]))
    return differs


def undo_key_swaps(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Let a key change give up the row it really had, when another row took its key first in the same transaction.

    Needs: the columns of `change_rows`.
    Gives: the same columns; position and rank of such a delete put it before the insert.
    Rows: 1:1.

        UPDATE t SET id = id + 1, one transaction, key 2
        position  op      row or before image
        10        insert  A             row 1 became row 2
        11        update  A'            the same row again
        12        delete  before B      row 2 became row 3: B, not A', so the delete goes before the insert
        the other way round, key 2 would end up deleted
    """
    before = chronology().rowsBetween(Window.unboundedPreceding, -1)
    is_insert, is_streamed = F.col("op") == names.OP_INSERT, ~F.col("is_read")  # a READ is of no transaction
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
                **{f"_told_{index}": newest_told(name).over(before) for index, name in enumerate(rules.followed)},
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
    # A second copy of the delete follows the first one, not the insert: it goes where the first one goes.
    copies = Window.partitionBy("key", "is_read", "position", "op", "content_hash")
    placed = seen.withColumn("_to", F.max(F.when(moved, F.col("_insert.position"))).over(copies))
    place = {
        "position": F.coalesce("_to", "position"),
        "rank": F.when(F.col("_to").isNotNull(), -1).otherwise(F.col("rank")),
    }
    return placed.select(*[place.get(name, F.col(name)).alias(name) for name in rows.columns])
