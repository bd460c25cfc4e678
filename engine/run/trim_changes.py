"""Remove old changes according to `retain_changes`. No row of history or latest changes."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.applied_settings import check_settings, is_outdated
from siltstone.engine.fold.base_states import is_before
from siltstone.engine.fold.batch_profile import fold_rules, known_windows
from siltstone.engine.fold.context import FoldContext, open_folded
from siltstone.engine.fold.foreign_writes import refuse_foreign_writes
from siltstone.engine.fold.key_change_links import linked
from siltstone.engine.fold.planning import light_planning
from siltstone.engine.fold.recompute_keys import rules_for_old_changes
from siltstone.engine.frames import checkpointed, temporary_view
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import change_rows, key_of, never_null
from siltstone.engine.history.partial_key_changes import is_lone_insert
from siltstone.engine.ingest.append_changes import commit_us_of
from siltstone.engine.names import quoted
from siltstone.engine.ordering.snapshot_windows import attach_windows
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import set_properties
from siltstone.engine.table.commit import Branch, drop_stale_branches, newest_summary, own_marker, tag_marker
from siltstone.engine.table.merge import base_update, changes_delete

SAME_CHANGE = ("key", "position", "content_hash", "batch", "op", "commit_ts", "ingest_ts")
"""The columns by which two rows of `changes` are the same delivery of the same change, or equal deliveries."""


def trim_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec, dry_run: bool = False) -> int:
    """Remove the changes of a table that are older than `retain_changes`, unless they are still needed.

    The state of each key at that time (the horizon) stays, in its base. Gives: how many changes were removed, or would
    be with `dry_run`.

    Kept, however old they are: the change that opened the version valid at the horizon, and all changes after it;
    truncates; all changes of keys that took part in a key change; all changes of keys whose version at the horizon was
    opened by a READ, or whose order before it differs from the order of commit times.

    Raises: SpecError: some changes are not folded yet, or the settings have changed.
        CommitConflictError: another program wrote meanwhile; nothing was changed.
    """
    if spec.retain_changes is None or spec.keys == ():
        return 0
    check_settings(spark, project, spec)
    refuse_foreign_writes(spark, project, spec)
    context = open_folded(spark, project, spec)
    if context is None:
        return 0
    refuse_unfolded(spark, project, spec, context)
    with light_planning(spark, context.is_small(), project.spark.conf):
        horizon = horizon_of(context, spec.retain_changes)
        if horizon is None:
            return 0
        return trimmed(context, horizon, dry_run)


def refuse_unfolded(spark: SparkSession, project: ProjectSpec, spec: TableSpec, context: FoldContext) -> None:
    """Check that history is a fold of all changes.

    Raises: SpecError.
    """
    newest = int(newest_summary(spark, project.catalog.name, spec.target.changes).get(names.SUMMARY_BATCH, "0"))
    if newest != context.folded.batch or is_outdated(spark, project.catalog.name, spec):
        raise SpecError(
            f"Cannot remove old changes of {spec.table}: some of its changes are not folded yet.",
            "run `siltstone catch-up` first",
        )


def horizon_of(context: FoldContext, retained: timedelta) -> datetime | None:
    """The time before which changes can be removed. None if no change has a time.

    It is the newest commit time, minus `retain_changes`, minus the longest window of a READ.
    """
    newest = commit_us_of(newest_summary(context.spark, context.catalog, context.spec.target.changes))
    if newest is None:
        return None
    snapshot = context.spec.snapshot
    reach = snapshot.guard + snapshot.margin + snapshot.skew
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=newest) - retained - reach


def trimmed(context: FoldContext, horizon: datetime, dry_run: bool) -> int:
    """Remove what is older than the horizon, in one published step."""
    rules = rules_for_old_changes(context, fold_rules(context))
    bases, removable = bases_and_removable(context, horizon, rules)
    late = F.col("too_late") & never_null(F.col("commit_ts") < F.lit(horizon))
    number = removable.count() + context.rows.changes.where(late).count()
    if dry_run or not number:
        return number
    spark, catalog, table = context.spark, context.catalog, context.spec.target.changes
    # First: if the process is killed after it, later folds still know that changes can be missing.
    set_properties(spark, catalog, table, {names.PROPERTY_TRIMMED: horizon.isoformat()})
    drop_stale_branches(spark, catalog, table)
    branch = Branch.start(spark, catalog, table, own_marker(spark, catalog, table), sole_writer=True)
    try:
        for rows, statement in ((removable, changes_delete), (bases, base_update)):
            view = temporary_view(rows)
            branch.execute(statement(branch.identifier, view, SAME_CHANGE))
            spark.catalog.dropTempView(view)
        micros = int(horizon.timestamp() * 1_000_000)
        branch.execute(f"DELETE FROM {branch.identifier} WHERE too_late AND commit_ts < timestamp_micros({micros})")
        branch.publish()
    finally:
        branch.drop()
    tag_marker(spark, catalog, table)
    return number


def bases_and_removable(context: FoldContext, horizon: datetime, rules: FoldRules) -> tuple[DataFrame, DataFrame]:
    """The changes that become bases, with all known values of their rows; and the changes before them, to be removed.

    Gives: SAME_CHANGE, row, present; SAME_CHANGE. Both computed. Rows: one per change; one for all copies of a base.
    """
    everything = linked(context, context.changes_up_to_target()).where(F.col("op") != names.OP_TRUNCATE)
    is_link = F.col("old_key").isNotNull() | F.col("new_key").isNotNull() | is_lone_insert(context.keys)
    linking = everything.where(is_link).select("key").distinct()
    rows = change_rows(attach_windows(everything, known_windows(context), rules.margin), rules)
    versions = versions_at(context, horizon, rules).join(linking, on="key", how="left_anti")
    is_base = ~F.col("is_read") & never_null(F.col("position") == F.col("_version_position"))
    is_removable = is_before(F.col("_version_position"), F.col("_version_from"), rules)
    timed = (
        rows.join(versions.drop("_version_row", "_version_unknown"), on="key", how="inner")  # one version per key
        .withColumns({"opens": is_base, "is_removable": is_removable, "is_partial": F.col("present").isNotNull()})
        .withColumn("is_odd", is_odd())
        .select("opens", "is_removable", "is_odd", "is_partial", "is_read", *same_change())
        .transform(checkpointed)  # without the row values: it can cover most of the table
    )
    is_kept_read = F.col("is_read") & ~F.col("is_removable")
    fit = timed.groupBy("key").agg(
        F.bool_or("opens").alias("has_base"),
        F.bool_or("is_removable").alias("has_removable"),
        F.bool_or("is_odd").alias("is_odd"),
        # A READ can have a newer value of a column that the base lacks than the state before the base has.
        (F.bool_or(F.col("opens") & F.col("is_partial")) & F.bool_or(is_kept_read)).alias("is_mixed"),
    )
    keys = fit.where("has_base AND has_removable AND NOT is_odd AND NOT is_mixed").select("key").transform(checkpointed)
    removable = timed.where("is_removable").join(keys, on="key", how="left_semi").select(*SAME_CHANGE)
    chosen = versions.join(keys, on="key", how="left_semi")
    bases = rows.join(chosen, on="key", how="inner").where(is_base).select(*same_change(), *filled(context)).distinct()
    return bases.transform(checkpointed), removable.transform(checkpointed)


def same_change() -> list[Column]:
    """The columns of SAME_CHANGE, from timeline rows."""
    return [F.col("own_position").alias(name) if name == "position" else F.col(name) for name in SAME_CHANGE]


def is_odd() -> Column:
    """True for a change because of which its key keeps all its changes.

    Either the version at the horizon differs from its change alone, or a change before that one has a later time.
    """
    opened = (
        F.col("content_hash").eqNullSafe(F.col("_version_hash"))
        & F.col("op").eqNullSafe(F.col("_version_op"))
        & F.col("row").isNotNull()
        & (F.col("ts") == F.col("_version_from"))
    )
    is_inverted = F.col("is_removable") & ~F.col("is_read") & (F.col("ts") >= F.col("_version_from"))
    return (F.col("opens") & ~never_null(opened)) | never_null(is_inverted)


def versions_at(context: FoldContext, horizon: datetime, rules: FoldRules) -> DataFrame:
    """The versions that were valid at the horizon and that a streamed change opened.

    Gives: key, _version_position, _version_from, _version_op, _version_hash, _version_row, _version_unknown.
    Rows: at most one per key; none if another version of the key begins at the same time.
    """
    began, ended = F.col(names.VALID_FROM), F.col(names.VALID_TO)
    history = context.rows.history
    key = key_of(rules)
    twice = history.where(began == ended).select(key.alias("key"), began.alias("_version_from")).distinct()
    is_valid = (began < F.lit(horizon)) & (ended.isNull() | (ended >= F.lit(horizon)))
    is_streamed = F.col(names.OP).isin(names.OP_INSERT, names.OP_UPDATE, names.OP_DELETE)
    found = history.where(is_valid & is_streamed & F.col(names.POSITION).isNotNull()).select(
        key.alias("key"),
        F.col(names.POSITION).alias("_version_position"),
        began.alias("_version_from"),
        F.col(names.OP).alias("_version_op"),
        F.col(names.CHANGE_HASH).alias("_version_hash"),
        F.struct(*[F.col(quoted(name)).alias(name) for name in context.row.names]).alias("_version_row"),
        F.col(names.UNKNOWN).alias("_version_unknown"),
    )
    return found.join(twice, on=["key", "_version_from"], how="left_anti")


def filled(context: FoldContext) -> list[Column]:
    """The row and present columns of a base: its own row, completed with the values known at that time."""
    columns = context.row.names

    def value(name: str) -> Column:
        is_own = F.col("present").isNull() | F.array_contains("present", name)
        return F.when(is_own, F.col("row")[name]).otherwise(F.col("_version_row")[name]).alias(name)

    known = F.array_except(F.array(*[F.lit(name) for name in columns]), F.col("_version_unknown"))
    present = F.when(
        F.col("present").isNotNull() & F.col("_version_unknown").isNotNull(), F.array_union("present", known)
    )
    return [F.struct(*[value(name) for name in columns]).alias("row"), present.alias("present")]
