"""The runs of the Python API: each checks what it publishes and writes the page of the report.

`checks=None` skips the checks. The report then shows the batches as not checked until `siltstone check` has run.
"""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import SparkSession

from siltstone.engine import run
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.report import RunReport
from siltstone.engine.run.checked_publish import Checks
from siltstone.engine.run.run_reports import Progress
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.report.write_report import report_after
from siltstone.quality.validate import checks_of_run


def catch_up(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    until: datetime | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
) -> RunReport:
    """Run `engine.run.catch_up` with the checks, and write the report."""
    return with_page(project, run.catch_up(project, specs, spark, progress, until, wait, checks))


def rebuild(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    part: Part | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
    accept: bool = False,
) -> RunReport:
    """Run `engine.run.rebuild` with the checks, and write the report."""
    return with_page(project, run.rebuild(project, specs, spark, progress, part, wait, checks, accept))


def reread(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
) -> RunReport:
    """Run `engine.run.reread` with the checks, and write the report."""
    return with_page(project, run.reread(project, specs, spark, progress, wait, checks))


def replay(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
) -> RunReport:
    """Run `engine.run.replay` with the checks, and write the report."""
    return with_page(project, run.replay(project, specs, spark, progress, wait, checks))


def with_page(project: ProjectSpec, report: RunReport) -> RunReport:
    """Write the page if checks ran, and give the run's report."""
    report_after(project, report.is_checked)
    return report
