"""Find the real rows of the ledgers without a JVM: see `engine.table.claims`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from siltstone.engine.names import CONTROL, CONTROL_OF, MARKER_TAG, SUMMARY_ATTEMPT, SUMMARY_BATCH
from siltstone.engine.reader.table_reader import Reader, load_table

if TYPE_CHECKING:
    from siltstone.engine.spec.model import ProjectSpec, TableSpec

Row = Mapping[str, Any]


class Claims:
    """The batches that ledger rows claim. The next run removes the rows that are not real."""

    def __init__(
        self, catalog: Reader, project: "ProjectSpec", specs: "Mapping[str, TableSpec]", rows: Iterable[Row]
    ) -> None:
        self._catalog = catalog
        self._control = f"{project.namespace}.{CONTROL}"
        self._changes = {table: spec.target.changes for table, spec in specs.items()}
        self._newest: dict[str, int] = {}
        self._made_by: dict[tuple[str, int], str | None] = {}
        self._attempts: dict[tuple[str | None, int], set[str]] = defaultdict(set)
        for row in rows:
            self._attempts[self._target(row), row["batch"]].add(_attempt(row))

    def is_real(self, row: Row) -> bool:
        """Whether a row belongs to a committed batch, and to the attempt that committed it.

        True for all rows of tables that no spec names.
        """
        target, batch = self._target(row), row["batch"]
        if target is None:
            return True
        if target not in self._newest:
            self._newest[target] = next((number for number, _ in self._markers(target)), 0)
        if batch > self._newest[target]:
            return False
        if len(self._attempts[target, batch]) < 2:
            return True
        if (target, batch) not in self._made_by:
            made = (attempt for number, attempt in self._markers(target) if number == batch)
            self._made_by[target, batch] = next(made, None)
        return self._made_by[target, batch] in (None, _attempt(row))

    def _target(self, row: Row) -> str | None:
        """The table whose commits make a row real."""
        consumer = row["consumer"]
        return self._control if consumer.startswith(CONTROL_OF) else self._changes.get(consumer)

    def _markers(self, name: str) -> Iterator[tuple[int, str]]:
        """Batch and attempt of a table's markers, newest first."""
        if not self._catalog.table_exists(name):
            return
        table = load_table(self._catalog, name)
        snapshot, tagged = table.current_snapshot(), table.snapshot_by_name(MARKER_TAG)  # see `table.commit.summaries`
        while snapshot is not None:
            summary = snapshot.summary.additional_properties if snapshot.summary else {}
            if SUMMARY_BATCH in summary:
                yield int(summary[SUMMARY_BATCH]), summary.get(SUMMARY_ATTEMPT, "")
            parent, last = snapshot.parent_snapshot_id, snapshot
            snapshot = None if parent is None else table.snapshot_by_id(parent)
            if snapshot is None and parent is not None and tagged is not None:
                snapshot = tagged if (tagged.sequence_number or 0) < (last.sequence_number or 0) else None


def _attempt(row: Row) -> str:
    return row.get("attempt") or ""  # older rows name none
