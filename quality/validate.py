"""Run the checks of one table: Spark finds, Great Expectations judges, ledger and Data Docs keep the verdicts."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.errors import QualityError
from siltstone.engine.fold.applied_settings import check_settings
from siltstone.engine.fold.context import open_folded
from siltstone.engine.fold.foreign_writes import refuse_foreign_writes
from siltstone.engine.fold.markers import marker_of, newest_batch
from siltstone.engine.fold.shown_positions import notation_of
from siltstone.engine.formats import format_of
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.ingest.completeness import record_completeness
from siltstone.engine.names import EVERY_BATCH
from siltstone.engine.report import CheckReport
from siltstone.engine.run.run_reports import failed
from siltstone.engine.schema.gap_record import Gap
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.spec.renamed_names import new_names
from siltstone.engine.table.catalog import MAIN, exists, properties_of, read
from siltstone.engine.table.changes_table import column_dates, read_changes, with_unknown
from siltstone.engine.table.commit import marker_on, summary_of_batch
from siltstone.engine.table.gap_table import read_gaps, update_gaps
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.ledger import append_rows, open_rejects, read_ledger
from siltstone.engine.table.retracted import retracted_places, without_retracted
from siltstone.engine.timestamps import moment_of
from siltstone.quality import catalogue
from siltstone.quality.catalogue import CHECKS, SUMMARIES
from siltstone.quality.data_docs import build_pages
from siltstone.quality.findings import find
from siltstone.quality.gap_lifecycle import CheckPass, CheckRun, covered, found_in_all, gaps_of, known_of, updated
from siltstone.quality.gx_context import open_context, validate_batch
from siltstone.quality.gx_library import import_early
from siltstone.quality.healing import not_healable
from siltstone.quality.outcome_counts import NO_RUN, found_in_outcomes
from siltstone.quality.own_expectations import run_expectations
from siltstone.quality.recheck import dated, recheck
from siltstone.quality.results import (
    ACKNOWLEDGED,
    FAILED,
    NOT_AVAILABLE,
    NOTED,
    PASSED,
    Checked,
    CheckResult,
    Found,
    Status,
    Sums,
)
from siltstone.quality.scope import Tables
from siltstone.quality.suite import batch, build_suite, verdicts
from siltstone.quality.sums import found_in_sums

KEYS_KEPT = 20
ONE_CONTEXT = Lock()  # Great Expectations has one context a process, and one index of pages a project
Append = Callable[[SparkSession, ProjectSpec, str, Sequence[Mapping[str, Any]]], None]


def check_table(spark: SparkSession, project: ProjectSpec, spec: TableSpec, run_id: str) -> Checked:
    """Check all data of a table, and that its settings match the spec and no other program changed its rows.

    An error of this table does not stop the checks of other tables.
    """
    results: tuple[CheckResult, ...] = ()
    try:
        check_settings(spark, project, spec)
        context = open_folded(spark, project, spec)
        results = run_checks(spark, project, spec, run_id, EVERY_BATCH)
        if context is not None:
            context.folded = Folded()  # all control events were checked, too
            record_completeness(context, reported(results))
        refuse_foreign_writes(spark, project, spec)
    except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
        report = failed(spec, error, seconds=0.0)
        return Checked(spec.table, results, report.error, report.exit_code)
    is_wrong = any(one.status == FAILED and one.severity == "error" for one in results)
    return Checked(spec.table, results, exit_code=QualityError.exit_code if is_wrong else 0)


def run_checks(
    spark: SparkSession,
    project: ProjectSpec,
    spec: TableSpec,
    run_id: str,
    since_batch: int,
    history_ref: str | None = None,
    latest_ref: str | None = None,
    sums: Sums | None = None,
    append: Append = append_rows,
    numbers: Mapping[str, int] | None = None,
) -> tuple[CheckResult, ...]:
    """Check the batches after `since_batch` of a table, in the order of the checks in the spec.

    `history_ref`, `latest_ref`: the branches with the tables before they are published (None: the published tables).
    `sums`: the run's sums, which must close. `numbers`: all its numbers, with control_since and the outcomes. Without
    them the checks that need them are not available. `append` writes the rows of the ledger.

    Raises: InvariantViolation: Great Expectations could not evaluate a check. A failed check raises nothing.
    """
    check_run, tables = CheckRun(run_id, datetime.now(UTC)), None
    passes: list[CheckPass] = []
    gaps: Sequence[Gap] = ()
    if has_tables(spark, project, spec):
        tables = read_tables(spark, project, spec, history_ref, latest_ref, since_batch, numbers)
        import_early()
        passes = run_passes(spark, project, spec, tables, since_batch)
        gaps = record_gaps(spark, project, spec, tables, passes, check_run)
    found = found_by_checks(passes, spec, sums, numbers)
    checked_at, has_findings = check_run.at, any(what.sample for what in found.values())
    notation = notation_of(tables.control, tables.sources) if tables is not None and has_findings else Notation()
    suite = build_suite(spec, found)
    known = {check: known_of(check, what, gaps, spec) for check, what in found.items()}
    with ONE_CONTEXT:
        context = open_context(project)
        validation = validate_batch(context, suite, batch(found, known, notation), run_id, checked_at)
        passed = verdicts(validation.results)
        build_pages(context, project, suite.name)
        own = results_of_expectations(context, project, spec, tables, run_id, checked_at)
    checked = (result(spec, check_run, check, what, passed, known[check].whole) for check, what in found.items())
    results = (*checked, *own)
    append(spark, project, names.CHECKS, [asdict(one) | {"keys": list(one.keys)} for one in results])
    return results


def found_by_checks(
    passes: Sequence[CheckPass], spec: TableSpec, sums: Sums | None, numbers: Mapping[str, int] | None
) -> dict[str, Found]:
    """The findings of each check, in the order of the spec. `passes`: empty if there are no tables yet."""
    checks = spec.quality.checks
    if not passes:
        found = dict.fromkeys(checks, Found(unavailable="the tables have not been written yet"))
    else:
        found = {check: found_in_all(check, passes, spec) for check in checks}
        of_outcomes = found_in_outcomes(numbers) if numbers is not None else {}
        # A check that the format does not support stays not available, whatever the numbers are.
        found |= {check: what for check, what in of_outcomes.items() if found.get(check) == NO_RUN}
    return {check: found_in_sums(sums) if check == catalogue.SUMS_CLOSE else found[check] for check in checks}


def results_of_expectations(
    context: Any, project: ProjectSpec, spec: TableSpec, tables: Tables | None, run_id: str, checked_at: datetime
) -> list[CheckResult]:
    """The results of the spec's own expectations."""
    if tables is None:
        why = "the tables have not been written yet"
        return [
            CheckResult(run_id, checked_at, spec.table, one.label, one.severity, NOT_AVAILABLE, 0, why)
            for one in spec.quality.expectations
        ]
    frames = {"latest": tables.latest, "history": tables.history, "changes": tables.changes}
    return run_expectations(context, project, spec, frames, run_id, checked_at)


def checks_of_run(
    spark: SparkSession,
    project: ProjectSpec,
    spec: TableSpec,
    run_id: str,
    since_batch: int,
    sums: Mapping[str, int],
    history_ref: str | None = None,
    latest_ref: str | None = None,
) -> tuple[CheckReport, ...]:
    """`run_checks` with the signature that `engine.run.catch_up` needs: `catch_up(..., checks=checks_of_run)`."""
    given = Sums.of(sums)
    results = run_checks(
        spark, project, spec, run_id, since_batch, history_ref, latest_ref, given, numbers=outcomes_of(sums)
    )
    return reported(results)


def reported(results: Sequence[CheckResult]) -> tuple[CheckReport, ...]:
    """The results as parts of a run's report."""
    return tuple(
        CheckReport(one.check, one.severity, one.status, one.observed, one.message, one.hint) for one in results
    )


def outcomes_of(numbers: Mapping[str, int]) -> Mapping[str, int] | None:
    """A run's numbers if they include the outcomes; None if they have only the sums."""
    return numbers if "table_rejected" in numbers else None


def has_tables(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether the table's three Iceberg tables exist."""
    target = spec.target
    names_of_tables = (target.changes, target.history, target.latest)
    return all(exists(spark, project.catalog.name, name) for name in names_of_tables)


def read_tables(
    spark: SparkSession,
    project: ProjectSpec,
    spec: TableSpec,
    history_ref: str | None,
    latest_ref: str | None,
    since: int = -1,
    numbers: Mapping[str, int] | None = None,
) -> Tables:
    """The current tables, or those on the branches to be published, and the changes that are folded into them.

    `since`, `numbers`: as in `run_checks`.
    """
    catalog, target = project.catalog.name, spec.target
    layout = Layout(spec.history.renamed, spec.history.recorded)
    history = read(spark, catalog, target.history, history_ref or MAIN, layout)
    control = read_ledger(spark, project, names.CONTROL)
    retracted = retracted_places(control) if format_of(spec.source.format).resends else None
    changes = read_changes(spark, catalog, target.changes, new_names(spec))
    folded = marker_on(spark, catalog, target.history, history_ref).get(names.SUMMARY_BATCH)
    if folded is not None:  # a blocked batch is not folded yet
        changes = changes.where(F.col("batch") <= int(folded))
    trimmed_to = properties_of(spark, catalog, target.changes).get(names.PROPERTY_TRIMMED)
    return Tables(
        changes=without_retracted(changes, retracted),
        history=with_unknown(history, column_dates(spark, catalog, target.changes)),
        latest=read(spark, catalog, target.latest, latest_ref or MAIN),
        control=control,
        since=since,
        control_since=None if numbers is None else numbers.get("control_since"),
        rejects=None if is_clean(numbers) else finished_rejects(spark, project),
        reached=reached_before(spark, catalog, target.changes, since),
        sources=marker_of(spark, catalog, target.history)[0].sources,
        has_unfolded=newest_batch(spark, project, target.changes) > int(folded or 0),
        trimmed_to=None if trimmed_to is None else datetime.fromisoformat(trimmed_to),
    )


def is_clean(numbers: Mapping[str, int] | None) -> bool:
    """Whether a run rejected nothing of the table or of its source, and checks only its own batch.

    If an earlier run stopped before the fold, the next run checks that batch, but has no numbers of its rejects.
    """
    if numbers is None or "control_since" not in numbers:
        return False
    is_own_batch = numbers["batches"] <= 1 and numbers["changes"] == numbers["appended"] > 0
    return is_own_batch and not numbers["table_rejected"] and not numbers["rejected"]


def finished_rejects(spark: SparkSession, project: ProjectSpec) -> DataFrame | None:
    """The open rejects, without lines that were incomplete when they were read: the next run re-reads them.

    None without a ledger of rejects.
    """
    rejects, inputs = open_rejects(spark, project), read_ledger(spark, project, names.INPUTS)
    if rejects is None or inputs is None:
        return rejects
    taken = inputs.select("consumer", "batch", F.col("path").alias("file"), "to_line")
    beyond = rejects.join(taken, on=["consumer", "batch", "file"], how="inner").where(F.col("line") > F.col("to_line"))
    unfinished = beyond.select(*names.OF_REJECT)
    return rejects.join(unfinished, on=list(names.OF_REJECT), how="left_anti").select(*rejects.columns)


def reached_before(spark: SparkSession, catalog: str, name: str, since: int) -> datetime | None:
    """The greatest commit time of the batches up to `since`; None if the snapshot summary does not have it."""
    summary = summary_of_batch(spark, catalog, name, since, names.SUMMARY_MAX_COMMIT) if since > 0 else {}
    if names.SUMMARY_MAX_COMMIT not in summary:
        return None
    return moment_of(int(summary[names.SUMMARY_MAX_COMMIT]))


def run_passes(
    spark: SparkSession, project: ProjectSpec, spec: TableSpec, tables: Tables, since: int
) -> list[CheckPass]:
    """Check the batches after `since`, and recheck the gaps that are open from before.

    Spark plans each query in one thread, so the two are planned in parallel.
    """
    book, checks = read_gaps(spark, project, spec.table), spec.quality.checks
    with ThreadPoolExecutor(1, thread_name_prefix="recheck") as pool:
        rechecked = pool.submit(recheck, tables, spec, book, since, checks)
        first = CheckPass(find(tables, spec, since, checks), since, covered(book, since))
        passes, kept = [first, *rechecked.result()], not_healable(tables, book)
        return [replace(one, covers=one.covers - kept) for one in passes]


def record_gaps(
    spark: SparkSession,
    project: ProjectSpec,
    spec: TableSpec,
    tables: Tables,
    passes: Sequence[CheckPass],
    check_run: CheckRun,
) -> Sequence[Gap]:
    """Write the gaps that the passes opened, renewed and healed. Gives the table's gaps. Without gaps, no write."""
    if not any(one.covers or gaps_of(one, spec, check_run) for one in passes):
        return ()
    return update_gaps(spark, project, spec.table, lambda book: dated(updated(book, passes, spec, check_run), tables))


def result(
    spec: TableSpec, check_run: CheckRun, check: str, found: Found, passed: Mapping[str, bool], is_known: bool
) -> CheckResult:
    """One check's result as a ledger row. `is_known`: all its findings are acknowledged."""
    status: Status = NOT_AVAILABLE if found.unavailable else PASSED if passed[check] else FAILED
    if status == PASSED and found.observed:
        status = ACKNOWLEDGED if is_known else NOTED
    return CheckResult(
        run_id=check_run.run_id,
        checked_at=check_run.at,
        table=spec.table,
        check=check,
        severity=spec.quality.severity[check],
        status=status,
        observed=found.observed,
        message=found.unavailable or message(check, found),
        position_from=found.position_from,
        position_to=found.position_to,
        keys=tuple(dict.fromkeys(one.key for one in found.sample if one.key is not None))[:KEYS_KEPT],
        hint=CHECKS[check].hint if status in (FAILED, ACKNOWLEDGED, NOTED) else None,
    )


def message(check: str, found: Found) -> str:
    """The message of the first finding, and the number of the others; for a check of SUMMARIES, all messages."""
    if not found.sample:
        return found.note or "nothing found"
    if check in SUMMARIES:
        return "; ".join(one.message for one in found.sample)
    rest = found.observed - 1
    return found.sample[0].message + (f", and {rest:,} more" if rest else "")
