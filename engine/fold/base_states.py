"""Keys whose old changes were removed: their base, and everything older than it.

The base is the first remaining change of such a key. It replaces all earlier changes of the key and carries all that
was known of the row at that time. `history` keeps the versions before the base. A change that arrives later but belongs
before the base is too late.

    changes of a key         position   after `trim_changes`
    insert                   10         removed
    update of one column     20         base: the whole row
    update                   30         kept
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.classify import TOO_LATE
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import interval, is_guarded, key_of, never_null, stamped_time


def bases_of(context: FoldContext, rules: FoldRules) -> DataFrame | None:
    """The bases of all keys that have one. None if no change was ever removed.

    Gives: key, base (its position), base_ts (its time), base_op, base_hash, base_present (its columns). Rows: one per
        key.
    """
    if not context.is_trimmed:
        return None
    marked = context.all_changes_up_to_target().where(F.col("origin") == names.ORIGIN_BASE)
    time = F.coalesce(stamped_time(rules), "ingest_ts").alias("ts")
    newest = F.max(F.struct("position", time, "op", "content_hash", "present"))
    return (
        marked.groupBy("key")
        .agg(newest.alias("newest"))
        .select(
            "key",
            F.col("newest.position").alias("base"),
            F.col("newest.ts").alias("base_ts"),
            F.col("newest.op").alias("base_op"),
            F.col("newest.content_hash").alias("base_hash"),
            F.col("newest.present").alias("base_present"),
        )
    )


def changes_since_bases(context: FoldContext, rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Remove the timeline rows before the base of their key. New changes among them are counted as too late.

    A base that is delivered once more has only its own columns. Such a copy takes the whole row of the base.

    Needs: the output of `change_rows`.
    Gives: the same columns. Rows: filters.
    """
    bases = bases_of(context, rules)
    if bases is None:
        return rows
    marked = rows.join(bases, on="key", how="left").transform(checkpointed)  # one base per key
    is_new = ~F.col("is_copy") & (F.col("batch") > context.folded.batch)
    context.count(TOO_LATE, marked.where(is_before_base(rules) & is_new).count())
    kept = marked.where(~is_before_base(rules))
    if not kept.where(is_partial_base()).isEmpty():
        kept = with_base_rows(kept)
    return kept.select(*rows.columns)


def with_base_rows(rows: DataFrame) -> DataFrame:
    """Give partial copies of a base the row and the present columns of the base.

    Needs: the output of `change_rows`, and of `bases_of`. Gives: the same columns. Rows: 1:1.
    """
    is_whole = is_of_base() & ~is_partial_base()
    of_base = F.first(F.when(is_whole, F.struct("row", "present")), ignorenulls=True).over(Window.partitionBy("key"))
    taken = rows.withColumn("_of_base", F.when(is_partial_base(), of_base))
    values = {
        name: F.when(F.col("_of_base").isNull(), F.col(name)).otherwise(F.col("_of_base")[name])
        for name in ("row", "present")
    }
    return taken.withColumns(values).drop("_of_base")


def is_of_base() -> Column:
    """True for the base of a key and its copies."""
    is_same = F.col("op").eqNullSafe(F.col("base_op")) & F.col("content_hash").eqNullSafe(F.col("base_hash"))
    return ~F.col("is_read") & is_same & never_null(F.col("position") == F.col("base"))


def is_partial_base() -> Column:
    """True for a copy of a base that has other columns than the base: it was delivered after the removal."""
    return is_of_base() & F.col("present").isNotNull() & ~F.col("present").eqNullSafe(F.col("base_present"))


def keys_with_older_changes(context: FoldContext, rows: DataFrame, rules: FoldRules) -> DataFrame | None:
    """Keys with a change before their base, which arrived too late. None if no change was ever removed.

    Needs: the output of `change_rows`. Gives: key.
    """
    bases = bases_of(context, rules)
    return None if bases is None else rows.join(bases, on="key", how="inner").where(is_before_base(rules)).select("key")


def is_before_base(rules: FoldRules) -> Column:
    """True for a change before the base of its key."""
    return is_before(F.col("base"), F.col("base_ts"), rules)


def is_before(position: Column, time: Column, rules: FoldRules) -> Column:
    """True for a change before another one. A READ that has only a time is before it if the READ's window ends before.

    Needs: the output of `change_rows`. `position`, `time`: of the other change.
    """
    ended = is_guarded() & (F.col("ts") + interval(rules.skew) < time)
    return never_null(F.col("position") < position) | never_null(ended)


def with_base_time(context: FoldContext, versions: DataFrame, rules: FoldRules) -> DataFrame | None:
    """Add `_base_time` to history rows: the time at which the version of their key's base begins.

    `_base_time` is null for a key without a base. None if no change was ever removed. Rows: 1:1.
    """
    bases = bases_of(context, rules)
    if bases is None:
        return None
    of_key = Window.partitionBy("_key")
    is_base = F.col(names.POSITION) == F.col("base")
    with_base = versions.withColumn("_key", key_of(rules)).join(
        bases.withColumnRenamed("key", "_key"),
        on="_key",
        how="left",  # one base per key
    )
    begin = F.min(F.when(is_base, F.col(names.VALID_FROM))).over(of_key)
    return with_base.withColumn("_base_time", begin).select(*versions.columns, "_base_time")


def versions_since_bases(context: FoldContext, versions: DataFrame, rules: FoldRules) -> DataFrame:
    """The versions whose changes still exist. Rows: filters."""
    timed = with_base_time(context, versions, rules)
    if timed is None:
        return versions
    return timed.where(~is_version_before_base(rules)).drop("_base_time")


def versions_before_bases(context: FoldContext, versions: DataFrame, rules: FoldRules) -> DataFrame | None:
    """The versions whose changes were removed. None if no change was ever removed. Rows: filters."""
    timed = with_base_time(context, versions, rules)
    return None if timed is None else timed.where(is_version_before_base(rules)).drop("_base_time")


def is_version_before_base(rules: FoldRules) -> Column:
    """True for a version before the base of its key.

    A version opened by a READ that has only a time is not before the base if the READ's window reaches the base.
    """
    of_read = (F.col(names.OP) == names.OP_READ) & F.col(names.POSITION).isNull()
    reaches = never_null(of_read & (F.col(names.COMMIT_TS) + interval(rules.skew) >= F.col("_base_time")))
    return never_null(F.col(names.VALID_FROM) < F.col("_base_time")) & ~reaches
