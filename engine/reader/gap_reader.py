"""Read and acknowledge gaps without a JVM. A compare-and-set makes this safe while a run is active."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.reader.ledger_writer import until_committed, writable_catalog
from siltstone.engine.reader.table_reader import Reader, load_table
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, Gap, gap_of
from siltstone.engine.spec.model import ProjectSpec

if TYPE_CHECKING:
    from pyiceberg.table import Table


def gaps_of(catalog: Reader, namespace: str) -> list[Gap]:
    """All gaps, oldest first; none if no run has found one."""
    name = f"{namespace}.{names.GAPS}"
    return rows_of(load_table(catalog, name)) if catalog.table_exists(name) else []


def rows_of(table: "Table") -> list[Gap]:
    """The rows of the gaps table as it was loaded, oldest first."""
    from siltstone.engine.plain_values import records

    found = (gap_of(row) for row in records(table.scan().to_arrow()))
    return sorted(found, key=lambda gap: (gap.opened_at, gap.table, gap.check, gap.gap_id))


def acknowledge(project: ProjectSpec, gap_id: str, reason: str, who: str, at: datetime) -> Gap:
    """Acknowledge a gap; the beginning of its id is enough. Gives the gap with its new state.

    A run can write the table meanwhile. The commit succeeds only on the state that was read, and is retried otherwise.

    Raises: SpecError: there is no such gap, there are several, or it is healed.
        CommitConflictError: other programs wrote at each attempt.
    """
    catalog = writable_catalog(project.catalog)
    name = f"{project.namespace}.{names.GAPS}"
    facts: dict[str, Any] = {"acknowledged_by": who, "acknowledged_reason": reason, "acknowledged_at": at}

    def attempt() -> Gap:
        table = load_table(catalog, name) if catalog.table_exists(name) else None
        gaps = rows_of(table) if table is not None else []
        known = replace(the_one(gaps, gap_id), status=ACKNOWLEDGED, **facts)
        assert table is not None  # it holds the gap
        put(table, [known if gap.gap_id == known.gap_id else gap for gap in gaps if gap.table == known.table])
        return known

    return until_committed(attempt, f"acknowledge {gap_id}", name)


def the_one(gaps: Sequence[Gap], gap_id: str) -> Gap:
    """The gap whose id begins with `gap_id`.

    Raises: SpecError: there is none, there are several, or it is healed.
    """
    found = [gap for gap in gaps if gap_id and gap.gap_id.startswith(gap_id)]
    if len(found) > 1:
        raise SpecError(f"Cannot acknowledge {gap_id}: {len(found)} ids begin with it.", "give more of the id")
    if not found:
        raise SpecError(f"Cannot acknowledge {gap_id}: there is no such gap.", "`siltstone gaps list` shows them")
    if found[0].status == HEALED:
        raise SpecError(f"Cannot acknowledge {gap_id}: it is healed since run {found[0].healed_run}.")
    return found[0]


def put(table: "Table", gaps: Sequence[Gap]) -> None:
    """Replace the gaps of one table, in one commit on the state that was read.

    Raises: CommitFailedException, ValidationException: another program has written since.
    """
    import pyarrow as pa
    from pyiceberg.expressions import EqualTo

    rows = pa.Table.from_pylist([asdict(gap) for gap in gaps], schema=table.schema().as_arrow())
    table.overwrite(rows, overwrite_filter=EqualTo("table", gaps[0].table))
