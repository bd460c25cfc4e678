"""Run the checks of one table: Spark finds, Great Expectations judges, ledger and Data Docs keep the verdicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

from engine import names
from engine.report import CheckReport
from engine.schema.gap import Gap
from engine.spec.model import ProjectSpec, TableSpec
from engine.table.catalog import MAIN, exists, read
from engine.table.changes import column_dates, read_changes, with_unknown
from engine.table.gaps import read_gaps, update_gaps
from engine.table.layout import Layout
from engine.table.ledger import append_rows, read_ledger
from quality import catalogue
from quality.again import dated, look_again
from quality.catalogue import CHECKS
from quality.docs import build_pages, judge, open_context
from quality.findings import find
from quality.gaps import Looked, Visit, covered, found_in_all, gaps_of, is_acknowledged, updated
from quality.results import ACKNOWLEDGED, FAILED, NOT_AVAILABLE, PASSED, CheckResult, Found, Status, Sums
from quality.scope import Tables
from quality.suite import batch, build_suite, verdicts
from quality.sums import found_in_sums

KEYS_KEPT = 20
ONE_CONTEXT = Lock()  # Great Expectations has one context a process, and one index of pages a project
Append = Callable[[SparkSession, ProjectSpec, str, Sequence[Mapping[str, Any]]], None]


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
) -> tuple[CheckResult, ...]:
    """Check what the batches after `since_batch` did to a table, in the order the spec names the checks.

    `history_ref`, `latest_ref`: the branch that holds the tables before they are published (None: as published).
    `sums`: the run's numbers; without them that check is not available. `append` writes the rows of the ledger.

    Raises: InvariantViolation: Great Expectations could not evaluate a check. A failed check raises nothing.
    """
    checks, visit = spec.quality.checks, Visit(run_id, datetime.now(UTC))
    gaps: Sequence[Gap] = ()
    if has_tables(spark, project, spec):
        tables = read_tables(spark, project, spec, history_ref, latest_ref)
        looks = look(spark, project, spec, tables, since_batch)
        gaps = record(spark, project, spec, tables, looks, visit)
        found = {check: found_in_all(check, looks, spec) for check in checks if check != catalogue.SUMS_CLOSE}
    else:
        found = dict.fromkeys(checks, Found(unavailable="the tables have not been written yet"))
    found[catalogue.SUMS_CLOSE] = found_in_sums(sums)
    asked = {check: found[check] for check in checks}
    checked_at = visit.at
    suite = build_suite(spec, asked)
    with ONE_CONTEXT:
        context = open_context(project.root)
        passed = verdicts(judge(context, suite, batch(asked), run_id, checked_at).results)
        build_pages(context, project.root, suite.name)
    known = {check for check, what in asked.items() if is_acknowledged(check, what, gaps, spec)}
    results = tuple(result(spec, visit, check, what, passed, check in known) for check, what in asked.items())
    append(spark, project, names.CHECKS, [asdict(one) | {"keys": list(one.keys)} for one in results])
    return results


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
    """`run_checks` as `engine.run.catch_up` calls it: `catch_up(..., checks=checks_of_run)`."""
    results = run_checks(spark, project, spec, run_id, since_batch, history_ref, latest_ref, Sums.of(sums))
    return tuple(
        CheckReport(one.check, one.severity, one.status, one.observed, one.message, one.hint) for one in results
    )


def has_tables(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether a run has written the table before."""
    target = spec.target
    names_of_tables = (target.changes, target.history, target.latest)
    return all(exists(spark, project.catalog.name, name) for name in names_of_tables)


def read_tables(
    spark: SparkSession, project: ProjectSpec, spec: TableSpec, history_ref: str | None, latest_ref: str | None
) -> Tables:
    """The tables as they stand now, or on the branches that will be published."""
    catalog, target = project.catalog.name, spec.target
    layout = Layout(spec.history.renamed, spec.history.recorded)
    history = read(spark, catalog, target.history, history_ref or MAIN, layout)
    return Tables(
        changes=read_changes(spark, catalog, target.changes),
        history=with_unknown(history, column_dates(spark, catalog, target.changes)),
        latest=read(spark, catalog, target.latest, latest_ref or MAIN),
        control=read_ledger(spark, project, names.CONTROL),
    )


def look(spark: SparkSession, project: ProjectSpec, spec: TableSpec, tables: Tables, since: int) -> list[Looked]:
    """Look at what the batches after `since` did, then at the gaps that are open from before."""
    book = read_gaps(spark, project, spec.table)
    first = Looked(find(tables, spec, since, spec.quality.checks), since, covered(book, since))
    return [first, *look_again(tables, spec, book, since, spec.quality.checks)]


def record(
    spark: SparkSession, project: ProjectSpec, spec: TableSpec, tables: Tables, looks: Sequence[Looked], visit: Visit
) -> Sequence[Gap]:
    """Write down what the looks open, renew and heal. Gives the table's gaps. No gap, no write."""
    if not any(one.covers or gaps_of(one, spec, visit) for one in looks):
        return ()
    return update_gaps(spark, project, spec.table, lambda book: dated(updated(book, looks, spec, visit), tables))


def result(
    spec: TableSpec, visit: Visit, check: str, found: Found, passed: Mapping[str, bool], is_known: bool
) -> CheckResult:
    """One check's result as the ledger keeps it. `is_known`: all that it found is acknowledged."""
    status: Status = NOT_AVAILABLE if found.unavailable else PASSED if passed[check] else FAILED
    if status == FAILED and is_known:
        status = ACKNOWLEDGED
    return CheckResult(
        run_id=visit.run_id,
        checked_at=visit.at,
        table=spec.table,
        check=check,
        severity=spec.quality.severity[check],
        status=status,
        observed=found.observed,
        message=found.unavailable or message(found),
        position_from=found.position_from,
        position_to=found.position_to,
        keys=tuple(dict.fromkeys(one.key for one in found.sample if one.key is not None))[:KEYS_KEPT],
        hint=CHECKS[check].hint if status in (FAILED, ACKNOWLEDGED) else None,
    )


def message(found: Found) -> str:
    """The first finding in words, and how many more there are."""
    if not found.sample:
        return "nothing found"
    rest = found.observed - 1
    return found.sample[0].message + (f", and {rest} more" if rest else "")
