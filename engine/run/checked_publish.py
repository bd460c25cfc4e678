"""Publish what a run wrote, and check it: before publishing if the spec requires it, otherwise after."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from siltstone.engine.errors import QualityError
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.ingest.append_changes import IngestResult
from siltstone.engine.ingest.completeness import record_completeness
from siltstone.engine.report import BLOCKED, CheckReport, SourceReport, TableReport
from siltstone.engine.run.run_reports import Progress
from siltstone.engine.table.commit import Branch

Checks = Callable[..., Sequence[CheckReport]]
"""(spark, project, spec, run_id, since_batch, sums, history_branch, latest_branch) -> results. The caller passes the
function: the engine does not depend on `quality`."""

Branches = tuple[Branch | None, Branch | None]


@dataclass(frozen=True)
class Checking:
    """The checks of one run. None: it runs no checks."""

    run_id: str
    progress: Progress
    checks: Checks | None = None

    def publish(
        self,
        context: FoldContext,
        branches: Branches,
        since: int,
        sums: Mapping[str, int],
        is_blocking: bool = False,
        is_due: bool = True,
    ) -> tuple[Sequence[CheckReport] | None, list[str]]:
        """Publish the branches of history and latest, history first, and check the batches after `since`.

        `is_blocking`: the checks run on the branches, and nothing is published if one at severity error fails.
        `is_due`: whether there is anything to check.

        Gives: the results, None if no check ran; the names of the checks that blocked publishing.
        """
        results = None
        if is_blocking:
            results = self.results(context, branches, since, sums)
            if broken := failed_checks(results):
                for branch in branches:
                    if branch is not None:
                        branch.drop()
                return results, broken
        for branch in branches:
            if branch is not None:
                branch.publish()
        if results is None and is_due:
            results = self.results(context, (None, None), since, sums)
        if results is not None:
            with context.phase("checks"):
                record_completeness(context, results)
        return results, []

    def results(
        self, context: FoldContext, branches: Branches, since: int, sums: Mapping[str, int]
    ) -> Sequence[CheckReport] | None:
        """Run the checks of one table, on the branches or on the published tables. None without checks."""
        if self.checks is None:
            return None
        self.progress(context.spec.table, "checking")
        named = [None if branch is None else branch.name for branch in branches]
        with context.phase("checks"):
            return self.checks(context.spark, context.project, context.spec, self.run_id, since, sums, *named)


def failed_checks(results: Sequence[CheckReport] | None) -> list[str]:
    """The names of failed checks at severity error."""
    return [r.check for r in results or () if r.status == "failed" and r.severity == "error"]


def with_results(report: TableReport, results: Sequence[CheckReport] | None) -> TableReport:
    """The report with the results of the checks. A failed check at severity error sets the exit code."""
    exit_code = QualityError.exit_code if failed_checks(results) else report.exit_code
    return replace(report, checks=None if results is None else tuple(results), exit_code=exit_code)


def blocked(report: TableReport, broken: Sequence[str]) -> TableReport:
    """The report of a table whose checks blocked publishing: readers see the tables of the run before."""
    message = (
        f"Cannot publish {report.table}: checks failed ({', '.join(broken)}). The tables are as they were before"
        " the run. Hint: look at the findings; the next run retries the batch."
    )
    return replace(report, status=BLOCKED, error=message, exit_code=QualityError.exit_code)


def run_sums(context: FoldContext, ingested: IngestResult, source: SourceReport) -> dict[str, int]:
    """The numbers of a run for its checks: the sums that must match, and the count of each outcome."""
    return {
        "read": source.read,
        "taken": sum(source.taken.values()),
        "control": source.control,
        "other_table": sum(source.other_tables.values()),
        "rejected": source.rejected,
        "changes": context.changes,
        "outcomes": sum(context.outcomes.values()),
        "appended": ingested.changes,
        "table_rejected": ingested.rejected,
        **{f"outcome:{name}": number for name, number in context.outcomes.items()},
    }


def nothing_read(path: str) -> SourceReport:
    """The report of a source that was not read."""
    return SourceReport(path, files=0, read=0, taken={}, control=0, other_tables={}, rejected=0)
