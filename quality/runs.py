"""The runs as everybody calls them: each checks what it published, and writes the page of the report.

`checks=None` leaves out the checks; the report says so until a run or `siltstone check` has looked.
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
    """`engine.run.catch_up`, and the checks."""
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
    """`engine.run.rebuild`, and the checks."""
    return with_page(project, run.rebuild(project, specs, spark, progress, part, wait, checks, accept))


def reread(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
) -> RunReport:
    """`engine.run.reread`, and the checks."""
    return with_page(project, run.reread(project, specs, spark, progress, wait, checks))


def replay(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = checks_of_run,
) -> RunReport:
    """`engine.run.replay`, and the checks."""
    return with_page(project, run.replay(project, specs, spark, progress, wait, checks))


def with_page(project: ProjectSpec, report: RunReport) -> RunReport:
    """The report of a run whose page is written, where checks ran."""
    report_after(project, report.is_checked)
    return report
