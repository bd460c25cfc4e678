"""Gaps without a JVM: read, and acknowledged by compare-and-set, beside a run or not."""

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
    """All gaps, the oldest first; none where no run has found one."""
    name = f"{namespace}.{names.GAPS}"
    return rows_of(load_table(catalog, name)) if catalog.table_exists(name) else []


def rows_of(table: "Table") -> list[Gap]:
    """The rows of the gaps table as it was loaded, the oldest first."""
    from siltstone.engine.plain_values import records

    found = (gap_of(row) for row in records(table.scan().to_arrow()))
    return sorted(found, key=lambda gap: (gap.opened_at, gap.table, gap.check, gap.gap_id))


def acknowledge(project: ProjectSpec, gap_id: str, reason: str, who: str, at: datetime) -> Gap:
    """Say that a gap is known; the beginning of its id is enough. Gives the gap as it is then.

    A run may write the table meanwhile: the commit holds only on the state that was read, and is tried again else.

    Raises: SpecError: there is no such gap, there are several, or it is healed.
        CommitConflictError: others wrote each time.
    """
    catalog = writable_catalog(project.catalog)
    name = f"{project.namespace}.{names.GAPS}"
    told: dict[str, Any] = {"acknowledged_by": who, "acknowledged_reason": reason, "acknowledged_at": at}

    def attempt() -> Gap:
        table = load_table(catalog, name) if catalog.table_exists(name) else None
        gaps = rows_of(table) if table is not None else []
        known = replace(the_one(gaps, gap_id), status=ACKNOWLEDGED, **told)
        assert table is not None  # it holds the gap
        put(table, [known if gap.gap_id == known.gap_id else gap for gap in gaps if gap.table == known.table])
        return known

    return until_committed(attempt, f"acknowledge {gap_id}", name)


def the_one(gaps: Sequence[Gap], gap_id: str) -> Gap:
    """The gap whose id begins so.

    Raises: SpecError: none, several, or a healed one.
    """
    found = [gap for gap in gaps if gap_id and gap.gap_id.startswith(gap_id)]
    if len(found) > 1:
        raise SpecError(f"Cannot tell which gap {gap_id} is: {len(found)} ids begin so.", "give more of the id")
    if not found:
        raise SpecError(f"Cannot acknowledge {gap_id}: there is no such gap.", "`siltstone gaps list` shows them")
    if found[0].status == HEALED:
        raise SpecError(f"Cannot acknowledge {gap_id}: it is healed since run {found[0].healed_run}.")
    return found[0]


def put(table: "Table", gaps: Sequence[Gap]) -> None:
    """Write the gaps of one table in the place of those that are there, in one commit on the state that was read.

    Raises: CommitFailedException, ValidationException: somebody has written since.
    """
    import pyarrow as pa
    from pyiceberg.expressions import EqualTo

    rows = pa.Table.from_pylist([asdict(gap) for gap in gaps], schema=table.schema().as_arrow())
    table.overwrite(rows, overwrite_filter=EqualTo("table", gaps[0].table))
