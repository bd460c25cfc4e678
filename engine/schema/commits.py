"""Commits to a table, as its snapshots record them: which are siltstone's, and which are changes by other programs.

A commit of siltstone carries a marker in its summary. Maintenance (operation `replace`) does not change rows. The
module holds values only: both readers of Iceberg's metadata use it, with and without a JVM.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final

from siltstone.engine import names

MAINTENANCE: Final = "replace"
# The summary keys by which engines record the writer. One line each for program, version, job and user; in each line,
# the first key that a summary has counts.
_WRITER: Final = (
    ("engine-name", "app-name"),
    ("engine-version",),
    ("app-id", "spark.app.id", "flink.job-id", "trino_query_id"),
    ("user", "trino_user"),
)
_ICEBERG: Final = "iceberg-version"
_ADDED: Final = ("added-records",)
_DELETED: Final = ("deleted-records", "added-position-deletes", "added-equality-deletes")
_RESTORED: Final = ("removed-position-deletes", "removed-equality-deletes")


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot of a table. `at` in UTC."""

    snapshot_id: int
    at: datetime
    operation: str
    summary: Mapping[str, str]

    @classmethod
    def of(cls, snapshot_id: int, timestamp_ms: int, operation: str | None, summary: Mapping[str, str]) -> "Commit":
        """A commit from the fields of a snapshot in Iceberg's metadata."""
        at = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
        return cls(snapshot_id, at, operation or "unknown operation", summary)

    @property
    def is_trusted(self) -> bool:
        """Whether siltstone wrote it, and no rows of another program were left in the table."""
        return names.SUMMARY_BATCH in self.summary and names.SUMMARY_FOREIGN not in self.summary

    @property
    def is_foreign(self) -> bool:
        """Whether another program wrote it and changed rows."""
        is_maintenance = self.operation == MAINTENANCE or self.summary.get("changed-partition-count") == "0"
        return names.SUMMARY_BATCH not in self.summary and not is_maintenance

    @property
    def writer(self) -> str:
        """The program, job and user that wrote it, as far as the engine recorded them."""
        found = [next((self.summary[key] for key in keys if key in self.summary), None) for keys in _WRITER]
        program, version, job, user = found
        if program is None and _ICEBERG in self.summary:
            program = self.summary[_ICEBERG]
        who = " ".join(part for part in (program, version) if part) or "an unknown program"
        more = ", ".join(f"{what} {value}" for what, value in (("application", job), ("user", user)) if value)
        return f"{who} ({more})" if more else who

    @property
    def counts(self) -> str:
        """The numbers of added and deleted rows, in words."""
        added, deleted = self._sum(_ADDED), self._sum(_DELETED) - self._sum(_RESTORED)
        parts = [f"{number} rows {what}" for what, number in (("added", added), ("deleted", deleted)) if number > 0]
        return ", ".join(parts) or "no row counts recorded"

    def _sum(self, keys: Iterable[str]) -> int:
        return sum(int(self.summary.get(key, "0")) for key in keys)

    def __str__(self) -> str:
        at = f"{self.at:%Y-%m-%d %H:%M:%S} UTC"
        return f"{self.operation} by {self.writer} at {at}, snapshot {self.snapshot_id}: {self.counts}"


def foreign_commits(newest_first: Iterable[Commit]) -> list[Commit]:
    """The commits by which other programs changed the rows of a table, oldest first.

    `newest_first`: the commits of the main branch, newest first.
    """
    since = takewhile(lambda commit: not commit.is_trusted, newest_first)
    return [commit for commit in since if commit.is_foreign][::-1]
