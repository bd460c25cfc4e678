"""rebuild: recompute `history` and `latest` from `changes`, for all keys or a part of them."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.applied_settings import check_settings, is_outdated, refuse_other_axis
from siltstone.engine.fold.base_states import changes_since_bases, versions_before_bases
from siltstone.engine.fold.batch_profile import fold_rules, known_windows, profile_batch
from siltstone.engine.fold.context import FoldContext, open_empty_fold, open_fold
from siltstone.engine.fold.decode_settings import decoded_otherwise
from siltstone.engine.fold.fold_inputs import layout_of
from siltstone.engine.fold.foreign_writes import (
    accept_changes,
    accepted_notes,
    foreign_writes,
    kept_notes,
    refuse_foreign_changes,
    refuse_foreign_rows,
    replaced_notes,
    settle_tags,
)
from siltstone.engine.fold.key_change_links import linked
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.fold.markers import marker_of, refuse_other_changes
from siltstone.engine.fold.planning import light_planning
from siltstone.engine.fold.publish import (
    FoldCounts,
    checked_history_branch,
    follow_latest,
    history_branch,
    history_marker,
    latest_marker,
    latest_rows,
)
from siltstone.engine.fold.recompute_keys import (
    all_rows_of,
    count_retracted,
    fold_with_links,
    keys_to_recompute,
    rules_for_old_changes,
    tally_truncates,
    versions_of,
)
from siltstone.engine.fold.renamed_columns import apply_renames
from siltstone.engine.fold.source_keys import refuse_shared_keys
from siltstone.engine.fold.target_layout import settings_of
from siltstone.engine.frames import checkpointed, temporary_view
from siltstone.engine.history.diff import version_rows
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.history.key_timeline import key_of, truncate_rows
from siltstone.engine.iceberg import JAVA_ERRORS
from siltstone.engine.ingest.append_changes import IngestResult
from siltstone.engine.names import quoted
from siltstone.engine.report import NOTHING_NEW, REBUILT, RunReport, TableReport
from siltstone.engine.run.checked_publish import (
    Branches,
    Checking,
    Checks,
    blocked,
    nothing_read,
    run_sums,
    with_results,
)
from siltstone.engine.run.run_context import start_run
from siltstone.engine.run.run_reports import Progress, failed, record_run, silent
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import exists, read
from siltstone.engine.table.commit import Branch, drop_stale_branches, newest_summary
from siltstone.engine.table.merge import keys_delete
from siltstone.engine.table.replace_table import remake
from siltstone.engine.table.table_settings import NO_SETTINGS


def rebuild(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    part: Part | None = None,
    wait: float = 0.0,
    checks: Checks | None = None,
    accept: bool = False,
) -> RunReport:
    """Recompute these tables from their changes on branches, and replace the tables: one commit per table.

    With `part`, only its keys and the keys that key changes link with them are replaced. Then the settings must be
    those of the fold before, and foreign writes to other keys still stop the next run. If checks block publishing
    (`on_failure: block`), the rebuild covers the published batches only, and the next run checks and publishes the
    others. Foreign writes to `history` and `latest` are replaced, and the report names them. Foreign writes to
    `changes` stop the rebuild, unless `accept` is true. A table that fails does not stop the others.

    Raises: LockedError: another run holds the lock. SpecError: `part` with more than one table, or with `accept`.
    """
    if part is not None and (len(specs) != 1 or accept):
        what = "accept changes for a part of the keys" if accept else f"rebuild a part of {len(specs)} tables"
        raise SpecError(f"Cannot {what}: a key belongs to one table.", "name one spec, and rebuild the whole table")
    set_fold_conf(spark)
    with start_run(spark, project, specs, wait) as started_run:
        checking = Checking(started_run.run_id, progress or silent, checks)
        tables = tuple(rebuild_table(project, spec, spark, checking, part, accept) for spec in specs)
        return record_run(spark, project, started_run, (), tables)


def rebuild_table(
    project: ProjectSpec,
    spec: TableSpec,
    spark: SparkSession,
    checking: Checking,
    part: Part | None = None,
    accept: bool = False,
) -> TableReport:
    """Rebuild one table and check all of it, and report its failure if it fails."""
    began = time.monotonic()
    try:
        report = rebuilt(project, spec, spark, checking, part, accept)
    except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
        return failed(spec, error, time.monotonic() - began)
    return replace(report, seconds=time.monotonic() - began)


def rebuilt(
    project: ProjectSpec, spec: TableSpec, spark: SparkSession, checking: Checking, part: Part | None, accept: bool
) -> TableReport:
    """Recompute one table, publish and check it.

    Raises: ForeignWriteError: another program changed the changes.
    """
    checking.progress(spec.table, "recomputing")
    refuse_other_axis(spark, project.catalog.name, spec)  # first: the other hint, a reread, would not help
    check_decoded(spark, project, spec)
    if spec.quality.blocks:
        refuse_other_changes(spark, project, spec)  # the published batches must be batches of these changes
    if part is not None:
        check_settings(spark, project, spec)
    accepted = accept_changes(spark, project, spec, checking.run_id) if accept else []
    refuse_foreign_changes(spark, project, spec)
    found = foreign_writes(spark, project, (spec.target.history, spec.target.latest))
    settle_tags(spark, project, spec)
    apply_renames(spark, project.catalog.name, spec)
    notes = (*accepted_notes(spec, accepted), *(replaced_notes(found) if part is None else kept_notes(found)))
    branches: Branches = (None, None)
    is_left = part is None and is_outdated(spark, project.catalog.name, spec)
    if is_left and not keeps_rows(spark, project, spec) and not is_accepted(spark, project, spec):
        context = fold_reread_table(project, spec, spark)
    else:
        opened = open_fold(spark, project, spec)
        if opened is None or (opened.folded == Folded() and (part is not None or spec.quality.blocks)):
            refuse_foreign_rows(found, spec, "or drop history and latest: the next run folds and checks them")
            return TableReport(spec.table, NOTHING_NEW)
        context = opened
        context.keeps_foreign = part is not None and bool(found)  # no commit records which keys a program changed
        branches = fold_onto_branches(context, part)
    checking.progress(spec.table, "replacing")
    sums = run_sums(context, IngestResult(0, 0, 0), nothing_read(spec.source.path))
    is_blocking = spec.quality.blocks and branches != (None, None)
    results, broken = checking.publish(context, branches, names.EVERY_BATCH, sums, is_blocking)
    report = with_results(rebuild_report(context, notes), results)
    return blocked(report, broken) if broken else report


def fold_onto_branches(context: FoldContext, part: Part | None) -> tuple[Branch, Branch]:
    """Recompute a table onto branches that replace its rows, all or a part of them."""
    context.target = to_publish(context.spec, context.folded, context.target)
    before = versions_before(context.rows.history)
    context.generation = uuid.uuid4().hex[:12]
    drop_stale_branches(context.spark, context.catalog, context.spec.target.history)
    with light_planning(context.spark, context.is_small(), context.project.spark.conf):
        branches = recompute(context) if part is None else recompute_part(context, part)
    context.versions |= before
    return branches


def to_publish(spec: TableSpec, folded: Folded, target: Folded) -> Folded:
    """The target of the fold. If checks block publishing, it goes no further than the published fold."""
    return replace(target, batch=folded.batch, control_batch=folded.control_batch) if spec.quality.blocks else target


def rebuild_report(context: FoldContext, notes: tuple[str, ...]) -> TableReport:
    """The report of a rebuilt table."""
    return TableReport(
        table=context.spec.table,
        status=REBUILT,
        batch=context.target.batch,
        changes=context.changes,
        outcomes=dict(context.outcomes),
        versions=dict(context.versions),
        phases=dict(context.seconds),
        notes=notes,
    )


def keeps_rows(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether history has rows that must never be removed (`history.recorded`).

    Needs: a spec that `refuse_other_axis` accepts.
    """
    return spec.history.recorded and exists(spark, project.catalog.name, spec.target.history)


def is_accepted(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether the changes are those that another program left, with the columns of before: history can be continued."""
    summary = newest_summary(spark, project.catalog.name, spec.target.changes)
    return summary.get(names.SUMMARY_REREAD, "").startswith(names.ACCEPTED)


def fold_reread_table(project: ProjectSpec, spec: TableSpec, spark: SparkSession) -> FoldContext:
    """Fold a table whose inputs were reread, whatever columns it had before."""
    catalog, history = project.catalog.name, spec.target.history
    is_there = exists(spark, catalog, history)
    before = versions_before(read(spark, catalog, history, layout=layout_of(spec))) if is_there else {"before": 0}
    for name in (history, spec.target.latest):
        if exists(spark, catalog, name):
            drop_stale_branches(spark, catalog, name)  # they can have values that are masked now
    context = open_empty_fold(spark, project, spec)
    context.target = to_publish(spec, marker_of(spark, catalog, history)[0] if is_there else Folded(), context.target)
    context.generation = uuid.uuid4().hex[:12]
    with light_planning(spark, context.is_small(), project.spark.conf):
        fold_from_start(context)
    context.versions |= before
    return context


def versions_before(history: DataFrame) -> dict[str, int]:
    """How many versions a rebuild replaces, for its report. Empty if files are missing, which the rebuild repairs.

    The rows are counted: Iceberg's own totals include deleted rows, and after a compaction in format version 2 also the
    deletes of removed files.
    """
    try:
        return {"before": history.count()}
    except JAVA_ERRORS:
        return {}


def check_decoded(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Check that the changes were decoded with the settings of the spec: a rebuild from `changes` cannot apply others.

    Raises: SpecError.
    """
    if wrong := decoded_otherwise(spark, project.catalog.name, spec):
        target = spec.target
        raise SpecError(
            f"Cannot rebuild {target.history}: {target.changes} was decoded with other settings: {'; '.join(wrong)}."
            " Nothing was changed.",
            "restore the settings, or run `siltstone rebuild --reread`: it rereads the inputs with the new settings",
        )


def fold_all(context: FoldContext) -> DataFrame:
    """Fold all changes from nothing.

    Gives: the output of `reconcile`. Computed.
    """
    context.folded = Folded()
    target = context.target
    context.target = Folded(batch=target.batch, control_batch=target.control_batch, changes=target.changes)
    with context.phase("survey"):
        placed, rules = profile_batch(context, context.changes_up_to_target(), known_windows(context))
        count_retracted(context)
        refuse_shared_keys(context, placed, placed)
    with context.phase("refold"):
        rows = placed.where(F.col("op") != names.OP_TRUNCATE)
        if rules.truncates:
            truncates = placed.where(F.col("op") == names.OP_TRUNCATE)
            of = rows.select("key", "source") if context.has_disjoint_sources else rows.select("key")
            rows = rows.unionByName(truncate_rows(truncates, of.distinct()))
        rows = changes_since_bases(context, rows, rules)
        if rules.partly_present:  # they can be folded several times
            rows = rows.transform(checkpointed)
        reconciled = fold_with_links(rows, rules)
        tally_truncates(context, placed, reconciled, rules.truncates)
    for outcome, number in FoldCounts.of(reconciled).outcomes.items():
        context.count(outcome, number)
    context.check_sum()
    return reconciled


def recompute(context: FoldContext) -> tuple[Branch, Branch]:
    """Fold all changes onto branches that replace `history` and `latest`."""
    reconciled = fold_all(context)
    history = history_branch(context)
    with context.phase("history"):
        history.replace(with_older(context, folded_rows(context, reconciled), context.rows.history))
    context.versions = {"written": history.newest_count("added-records")}
    with context.phase("latest"):
        latest = follow_latest(context, history)
    assert latest is not None  # the generation is new
    return history, latest


def fold_from_start(context: FoldContext) -> None:
    """Fold all changes into new tables with their columns, which replace `history` and `latest` in one commit each.

    The checked batch is reset, so that the checks cover everything.
    """
    reconciled = fold_all(context)
    spark, catalog, target, layout = context.spark, context.catalog, context.spec.target, context.layout
    version, settings = str(target.format_version), settings_of(context.spec)
    properties = {"format-version": version, names.CHECKED_BATCH: "0", names.PROPERTY_SETTINGS: NO_SETTINGS}
    with context.phase("history"):
        rows, schema = layout.stored(folded_rows(context, reconciled)), layout.schema(history_schema(context.stored))
        all_properties, wanted = properties | layout.properties(), settings[target.history]
        remake(spark, catalog, target.history, rows, schema, history_marker(context), all_properties, wanted)
    history = read(spark, catalog, target.history, layout=layout)
    context.versions = {"written": history.count()}
    with context.phase("latest"):
        rows, schema, wanted = latest_rows(context, history), latest_schema(context.stored), settings[target.latest]
        remake(spark, catalog, target.latest, rows, schema, latest_marker(context, context.target), properties, wanted)


def recompute_part(context: FoldContext, part: Part) -> tuple[Branch, Branch]:
    """Fold some keys from nothing up to the present marker, onto branches that replace their rows."""
    context.target = context.folded
    rules = rules_for_old_changes(context, fold_rules(context))
    everything = linked(context, context.changes_up_to_target())
    found, generation = marker_of(context.spark, context.catalog, context.spec.target.latest)
    latest_table = read(context.spark, context.catalog, context.spec.target.latest)
    with context.phase("refold"):
        keys = keys_to_recompute(keys_in(context, part, everything, latest_table), everything, rules)
        reconciled = fold_with_links(all_rows_of(context, everything, keys, known_windows(context), rules), rules)
    for outcome, number in FoldCounts.of(reconciled).outcomes.items():
        context.count(outcome, number)
    context.changes = sum(context.outcomes.values())
    rows = with_older(context, folded_rows(context, reconciled), versions_of(context, context.rows.history, keys))
    history = checked_history_branch(context)
    with context.phase("history"):
        replace_keys(context, history, keys, rows)
    context.versions = {"written": history.newest_count("added-records")}
    with context.phase("latest"):
        if (
            found != context.folded
            or generation != marker_of(context.spark, context.catalog, context.spec.target.history)[1]
        ):
            latest = follow_latest(context, history)  # it missed an earlier fold or rebuild, and is replaced
            assert latest is not None
            return history, latest
        drop_stale_branches(context.spark, context.catalog, context.spec.target.latest)
        name, marker = context.spec.target.latest, latest_marker(context, context.target)
        latest = Branch.start(context.spark, context.catalog, name, marker, sole_writer=not context.keeps_foreign)
        replace_keys(context, latest, keys, latest_rows(context, rows))
    return history, latest


def keys_in(context: FoldContext, part: Part, everything: DataFrame, latest: DataFrame) -> DataFrame:
    """The keys of a part, from the changes and the tables: rows of a table without any change have to be removed.

    Gives: key. Computed. Rows: one per key.
    """
    rules = fold_rules(context)
    key = everything.schema["key"].dataType
    assert isinstance(key, T.StructType)
    test = part.condition(context.spark, key)
    changed = everything.where(F.col("key").isNotNull() & test(lambda name: F.col("key")[name])).select("key")
    tables = [
        table.where(test(lambda name: F.col(quoted(name)))).select(key_of(rules).alias("key"))
        for table in (context.rows.history, latest)
    ]
    return changed.unionByName(tables[0]).unionByName(tables[1]).distinct().transform(checkpointed)


def folded_rows(context: FoldContext, reconciled: DataFrame) -> DataFrame:
    """History rows from the output of `reconcile`."""
    columns = [F.col(quoted(name)) for name in history_schema(context.stored).names]
    return version_rows(reconciled, context.target.batch).select(*columns)


def with_older(context: FoldContext, rows: DataFrame, versions: DataFrame) -> DataFrame:
    """History rows, and the versions whose changes were removed: these cannot be recomputed."""
    older = versions_before_bases(context, versions, fold_rules(context))
    return rows if older is None else rows.unionByName(older.select(*rows.columns))


def replace_keys(context: FoldContext, branch: Branch, keys: DataFrame, rows: DataFrame) -> None:
    """Replace all rows of the keys on the branch with these rows."""
    view = temporary_view(keys.select(*[F.col("key")[name].alias(name) for name in context.keys]))
    branch.execute(keys_delete(branch.identifier, view, context.keys, context.has_null_keys, branch.layout))
    context.spark.catalog.dropTempView(view)
    branch.append(rows)
