"""plan: what a run would do. It folds the new changes over the stored ones and writes nothing."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.fold.applied_settings import check_settings
from siltstone.engine.fold.context import FoldContext, is_trimmed, refuse_unfit_columns
from siltstone.engine.fold.fold_inputs import Rows, layout_of
from siltstone.engine.fold.foreign_writes import refuse_foreign_writes
from siltstone.engine.fold.markers import marker_of, newest_batch
from siltstone.engine.fold.planning import are_small, light_planning
from siltstone.engine.fold.publish import Difference, fold_difference, has_followed, latest_reached
from siltstone.engine.fold.recompute_keys import versions_of
from siltstone.engine.fold.renamed_columns import planned_renames
from siltstone.engine.fold.target_layout import planned_settings
from siltstone.engine.frames import checkpointed, local_frame
from siltstone.engine.history.classify import REDELIVERED
from siltstone.engine.history.diff import DELETE, INSERT, same_version
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.ingest.append_changes import (
    Decoded,
    accepted_rejects,
    change_columns,
    decode_table,
    is_waiting,
    newest_commit_us,
    reject_rows,
)
from siltstone.engine.ingest.consumers import control_consumer
from siltstone.engine.ingest.preconditions import check_unowned
from siltstone.engine.ingest.retractions import retractions
from siltstone.engine.ingest.source_batch import SourceBatch, list_source_batch, new_to, read_source_batch
from siltstone.engine.names import quoted
from siltstone.engine.report import NOTHING_NEW, PLANNED, TablePlan
from siltstone.engine.run.catch_up import by_source
from siltstone.engine.run.exclusive_run import no_run
from siltstone.engine.run.run_reports import Progress, failed, silent
from siltstone.engine.schema.change_row import change_schema, key_schema
from siltstone.engine.schema.history_row import history_schema, latest_schema, numbered
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import new_names
from siltstone.engine.steps.control_events import control_rows
from siltstone.engine.table.catalog import exists, identifier, read
from siltstone.engine.table.changes_table import (
    column_changes,
    column_dates,
    known_keys,
    known_row,
    refuse_rewrites,
    report_added,
)
from siltstone.engine.table.column_renames import with_new_names
from siltstone.engine.table.ledger import ledger_name, ledger_schema, read_ledger
from siltstone.engine.table.merge import (
    CLOSED_ROWS,
    OPEN_ROWS,
    history_insert,
    history_merge,
    latest_merge,
    latest_overwrite,
)


@dataclass(frozen=True)
class New:
    """The changes that a run would append to one table, and the number of records that it would reject."""

    decoded: Decoded
    changes: DataFrame
    rejected: int


def plan(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    until: datetime | None = None,
    wait: float = 0.0,
) -> list[TablePlan]:
    """Report what `catch_up` would do now. Writes nothing: it creates no table, no branch and no snapshot.

    Raises: LockedError: another run holds the lock. An error that would stop one table is in its plan.
    """
    set_fold_conf(spark)
    project, progress = with_tables(project, specs), progress or silent
    until_ms = None if until is None else int(until.timestamp() * 1000)
    with no_run(project, wait):
        return [
            found
            for source, of_source in by_source(specs).items()
            for found in plan_source(project, source, of_source, spark, progress, until_ms)
        ]


def plan_source(
    project: ProjectSpec,
    source: SourceSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress,
    until_ms: int | None,
) -> list[TablePlan]:
    """Read a source once, then plan each of its tables separately."""
    began = time.monotonic()
    progress(source.path, "reading")
    try:
        source_batch = list_source_batch(spark, project, source, specs, until_ms, run_id=None)
        with light_planning(spark, are_small(source_batch.pending_files()), project.spark.conf):
            read_source_batch(spark, source_batch, project.catalog.name)
        if source_batch.consumers[control_consumer(source)].pending:  # ingested records were accepted before
            check_unowned(source_batch, specs)
    except Exception as error:  # noqa: BLE001  # whatever it is, the other sources go on
        return [refused(spec, error, time.monotonic() - began) for spec in specs]
    return [plan_table(project, spec, source_batch, spark, progress) for spec in specs]


def plan_table(
    project: ProjectSpec, spec: TableSpec, source_batch: SourceBatch, spark: SparkSession, progress: Progress
) -> TablePlan:
    """Plan one table. An error that would stop it does not stop the others."""
    began = time.monotonic()
    try:
        progress(spec.table, "planning")
        check_settings(spark, project, spec, looks_ahead=True)
        refuse_foreign_writes(spark, project, spec)
        with light_planning(spark, are_small(source_batch.pending_files()), project.spark.conf):
            new = new_changes(project, spec, source_batch, spark)
            context = folding_with(project, spec, source_batch, spark, new)
        if context is None:
            return TablePlan(spec.table, NOTHING_NEW, seconds=time.monotonic() - began)
        with light_planning(spark, context.is_small(), project.spark.conf):
            difference = fold_difference(context)
            found = table_plan(context, difference, new)
    except Exception as error:  # noqa: BLE001  # the run would end with the same error
        return refused(spec, error, time.monotonic() - began)
    files = len(source_batch.consumers[spec.table].pending)
    return replace(found, files=files, seconds=time.monotonic() - began)


def refused(spec: TableSpec, error: Exception, seconds: float) -> TablePlan:
    """The plan of a table that a run could not update."""
    report = failed(spec, error, seconds)
    return TablePlan(spec.table, report.status, seconds=seconds, error=report.error, exit_code=report.exit_code)


def new_changes(project: ProjectSpec, spec: TableSpec, source_batch: SourceBatch, spark: SparkSession) -> New | None:
    """The changes that the run would ingest. None if there are none.

    Raises: as in `append_changes`.
    """
    consumer = source_batch.consumers[spec.table]
    if not consumer.pending or is_waiting(spark, project, source_batch, spec):
        return None
    catalog, name, batch = project.catalog.name, spec.target.changes, consumer.newest_batch + 1
    found = decode_table(spark, project, source_batch, spec)
    found = replace(found, rows=found.rows.transform(checkpointed))
    known = known_row(spark, catalog, name, new_names(spec))
    if known is not None:
        refuse_rewrites(name, known, column_changes(known, found.row_type)[1])
    before_us = None if known is None else newest_commit_us(spark, catalog, name)
    good = found.rows.where(F.col("reason").isNull())
    rejected = found.rejected(found.records.count(), good.count())
    if rejected:
        bad = reject_rows(found.rejects(with_texts=False), consumer, batch)
        accepted_rejects(spec, bad, found.records.count(), rejected).unpersist()
    return New(found, good.select(*change_columns(found.rows, spec, batch, before_us)), rejected)


def folding_with(
    project: ProjectSpec, spec: TableSpec, source_batch: SourceBatch, spark: SparkSession, new: New | None
) -> FoldContext | None:
    """The fold of a run after it has ingested the new changes. None if there is nothing to fold, old or new.

    Raises: SpecError: history cannot have the columns.
    """
    catalog, target, by_old = project.catalog.name, spec.target, new_names(spec)
    known = known_row(spark, catalog, target.changes, by_old)
    if known is None and new is None:
        return None
    row = known if new is None else new.decoded.row_type
    keys = known_keys(spark, catalog, target.changes, by_old) if new is None else tuple(new.decoded.key_type.names)
    assert row is not None
    refuse_unfit_columns(spec, row)
    stored = numbered(row) if spec.keys == () else row
    newest = source_batch.consumers[spec.table].newest_batch
    since: dict[str, int] = {}
    parts = [] if new is None else [new.changes]
    schema = change_schema(key_schema(keys, row), row)
    if known is not None:
        since = column_dates(spark, catalog, target.changes, by_old)
        since |= {field.name: newest + 1 for field in column_changes(known, row)[0]}
        parts.append(with_new_names(read(spark, catalog, target.changes), by_old))
    changes = reduce(DataFrame.unionByName, [fitted(part, schema) for part in parts])
    history, folded, generation = local_frame(spark, [], history_schema(stored)), Folded(), ""
    if exists(spark, catalog, target.history):
        present = with_new_names(read(spark, catalog, target.history, layout=layout_of(spec)), by_old)
        history = fitted(present, history_schema(stored))
        folded, generation = marker_of(spark, catalog, target.history)
    control, control_batch = control_with(project, source_batch, spark)
    aim = replace(folded, batch=newest + (new is not None), control_batch=control_batch)
    rows = Rows(report_added(changes, since), history, control, since)
    trimmed = known is not None and is_trimmed(spark, catalog, target.changes)
    return FoldContext(spark, project, spec, keys, row, rows, folded, aim, generation, is_trimmed=trimmed)


def control_with(project: ProjectSpec, source_batch: SourceBatch, spark: SparkSession) -> tuple[DataFrame | None, int]:
    """The control events as they would be after a run, and their newest batch."""
    stored = read_ledger(spark, project, names.CONTROL)
    batch = newest_batch(spark, project, ledger_name(project, names.CONTROL))
    consumer = source_batch.consumers[control_consumer(source_batch.source)]
    if not consumer.pending:
        return stored, batch
    events = control_rows(new_to(source_batch, consumer))
    retracted = retractions(spark, project, source_batch, consumer)
    events = events if retracted is None else events.unionByName(retracted)
    new = fitted(events.withColumn("batch", F.lit(batch + 1)), ledger_schema(names.CONTROL))
    return (new if stored is None else stored.unionByName(new)), batch + 1


def fitted(rows: DataFrame, schema: T.StructType) -> DataFrame:
    """Fit rows to a schema: missing columns become null, and widened columns get their wider type.

    Gives: the columns of `schema`. Rows: 1:1.
    """
    has = rows.schema
    return rows.select(*[fitted_column(F.col, has, field).alias(field.name) for field in schema])


def fitted_column(column: Callable[[str], Column], has: T.StructType, field: T.StructField) -> Column:
    """One column, or one field of a struct, in the type of `field`. Struct fields are matched by name."""
    if field.name not in has.names:
        return F.lit(None).cast(field.dataType)
    found = has[field.name].dataType
    own = column(quoted(field.name))
    if found == field.dataType:
        return own
    if isinstance(found, T.StructType) and isinstance(field.dataType, T.StructType):
        inner = [
            (F.lit(None) if part.name not in found.names else own[part.name]).cast(part.dataType).alias(part.name)
            for part in field.dataType
        ]
        return F.when(own.isNotNull(), F.struct(*inner))
    return own.cast(field.dataType)


def table_plan(context: FoldContext, difference: Difference | None, new: New | None) -> TablePlan:
    """The plan of a table: the counts of its fold."""
    rejected = 0 if new is None else new.rejected
    follows = difference is not None or not has_followed(context)
    settings = (
        *planned_renames(context.spark, context.catalog, context.spec),
        *planned_settings(context.spark, context.catalog, context.spec),
    )
    if not follows and not rejected:
        return TablePlan(context.spec.table, NOTHING_NEW, batch=context.target.batch, settings=settings)
    sql = () if difference is None else history_statements(context)
    too_late = 0 if new is None else new.changes.where("too_late").count()
    known = known_row(context.spark, context.catalog, context.spec.target.changes, new_names(context.spec))
    added, widened = ([], []) if known is None else column_changes(known, context.row)
    return TablePlan(
        table=context.spec.table,
        status=PLANNED,
        batch=context.target.batch,
        changes=context.changes,
        in_order=context.changes - context.late - context.outcomes.get(REDELIVERED, 0),
        late=context.late,
        too_late=too_late,
        rejected=rejected,
        outcomes=dict(context.outcomes),
        versions={} if difference is None else version_counts(context, difference),
        added_columns={field.name: field.dataType.simpleString() for field in added},
        widened_columns={field.name: field.dataType.simpleString() for field in widened},
        sql=(*sql, latest_statement(context)) if follows else (),
        settings=settings,
    )


def version_counts(context: FoldContext, difference: Difference) -> Mapping[str, int]:
    """How many versions the run would open, close, update in place, splice, supersede (`withdrawn`) and remove."""
    is_gone, is_new = F.col(names.CHANGE) == DELETE, F.col(names.CHANGE) == INSERT
    closes = F.col(names.WAS_OPEN) & F.col(names.VALID_TO).isNotNull()
    what = (
        F.when(is_gone & (F.col(names.OP) == names.OP_READ), "withdrawn")
        .when(is_gone, "removed")
        .when(is_new, "opened")
        .when(closes, "closed")
        .otherwise("updated")
    )
    counted = {row["what"]: row["count"] for row in difference.rows.groupBy(what.alias("what")).count().collect()}
    counts = {name: counted.get(name, 0) for name in ("opened", "closed", "updated", "withdrawn", "removed")}
    spliced = count_spliced(context, difference.recomputed)
    return counts | {"opened": counts["opened"] - spliced, "spliced": spliced}


def count_spliced(context: FoldContext, recomputed: DataFrame | None) -> int:
    """How many of the new versions come before an existing version that the table keeps."""
    if recomputed is None:
        return 0
    is_new = F.col(names.CHANGE) == INSERT
    key = F.struct(*[F.col(quoted(name)) for name in context.keys]).alias("key")
    keys = recomputed.where(is_new).select(key).distinct()
    there = versions_of(context, context.rows.history, keys).alias("h")
    gone = recomputed.where(F.col(names.CHANGE) == DELETE).alias("g")
    kept = there.join(gone, on=same_version(context.identity, "h", "g", context.has_null_keys), how="left_anti")
    newest = kept.groupBy(*[quoted(name) for name in context.identity]).agg(F.max(names.POSITION).alias(names.NEWEST))
    opened = recomputed.where(is_new).join(newest, on=list(context.identity), how="inner")  # newest: one row per key
    return opened.where(F.col(names.POSITION) < F.col(names.NEWEST)).count()


def history_statements(context: FoldContext) -> tuple[str, ...]:
    """The statements that would write `history`. `versions` is the view of the fold's result."""
    history, layout = identifier(context.catalog, context.spec.target.history), context.layout
    columns = history_schema(context.stored).names
    return (
        history_merge(history, "versions", context.identity, columns, OPEN_ROWS, context.has_null_keys, layout),
        history_merge(history, "versions", context.identity, columns, CLOSED_ROWS, context.has_null_keys, layout),
        history_insert(history, "versions", columns, layout),
    )


def latest_statement(context: FoldContext) -> str:
    """The statement by which `latest` would follow. A `latest` that missed a rebuild is replaced."""
    latest, columns = identifier(context.catalog, context.spec.target.latest), latest_schema(context.stored).names
    if latest_reached(context)[1] != context.generation:
        return latest_overwrite(latest, "open_versions", columns)
    return latest_merge(latest, "open_versions", context.identity, columns, context.has_null_keys)
