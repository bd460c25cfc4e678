"""The reports of a run: progress, the final report, and the rows in the ledger."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import SiltstoneError, gist
from siltstone.engine.report import FAILED, RunReport, SourceReport, TableReport
from siltstone.engine.run.run_context import StartedRun
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.storage import storage_error
from siltstone.engine.table.ledger import append_rows

LOG = logging.getLogger("siltstone")

Progress = Callable[[str, str], None]


def silent(_subject: str, _step: str) -> None:
    """Ignore progress."""


def failed(spec: TableSpec, error: Exception, seconds: float) -> TableReport:
    """The report of a table that could not be updated."""
    text, exit_code = failure(error)
    LOG.debug("%s failed", spec.table, exc_info=error)
    return TableReport(spec.table, FAILED, seconds=seconds, error=text, exit_code=exit_code)


def failure(error: Exception) -> tuple[str, int]:
    """The text and the exit code for an error in a report."""
    known = error if isinstance(error, SiltstoneError) else storage_error(error)
    if known is not None:
        return str(known), known.exit_code
    return f"{type(error).__name__}: {gist(error)}", 1


def record_run(
    spark: SparkSession,
    project: ProjectSpec,
    started_run: StartedRun,
    sources: Sequence[SourceReport],
    tables: Sequence[TableReport],
) -> RunReport:
    """Append a run that ends now to the ledger, and return its report."""
    exit_code = next((table.exit_code for table in tables if table.exit_code), 0)
    started = started_run.started_at.isoformat(timespec="seconds")
    report = RunReport(
        started_run.run_id, started, time.monotonic() - started_run.began, tuple(sources), tuple(tables), exit_code
    )
    append_rows(spark, project, names.RUNS, run_rows(report, started_run.started_at))
    return report


def run_rows(report: RunReport, started_at: datetime) -> list[dict[str, Any]]:
    """The ledger's rows of a run: one per table."""
    sources = {source.path: source for source in report.sources}
    return [
        {
            "run_id": report.run_id,
            "started_at": started_at,
            "seconds": table.seconds,
            "table": table.table,
            "status": table.status,
            "batch": table.batch,
            **source_counts(sources.get(table.source)),
            "changes": table.changes,
            "rejected": table.rejected,
            "outcomes": dict(table.outcomes),
            "versions": dict(table.versions),
            "error": table.error,
            "exit_code": table.exit_code,
        }
        for table in report.tables
    ]


def source_counts(source: SourceReport | None) -> dict[str, int]:
    """The source's counts for the ledger, which has them in the row of each of its tables."""
    if source is None:
        return {}
    return {"read": source.read, "control": source.control, "other_table": sum(source.other_tables.values())}
