"""Read the rejects and their status, without a JVM."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from siltstone.engine.names import CONTROL_OF, INPUTS, REJECTS, REPLAYS
from siltstone.engine.reader.dismissals import Dismissal, dismissals
from siltstone.engine.reader.ledger_claims import Claims
from siltstone.engine.reader.table_reader import Reader, load_table

if TYPE_CHECKING:
    from siltstone.engine.spec.model import ProjectSpec, TableSpec

WAITING = "waiting"
RETAKEN = "taken again"
DISMISSED = "dismissed"
Place = tuple[str, int, str, int]
"""(consumer, batch, file, line): identifies a reject in the ledgers of replays and dismissals."""


@dataclass(frozen=True)
class Reject:
    """One rejected record.

    `table`: None if the record does not name its table. `record`: None if its text is not shown. `status`: waiting, or
    the outcome (`run_id`: the replay; `dismissal`: who dismissed it, and why). `place`: distinguishes the reject from
    those of all other lines.
    """

    table: str | None
    source: str
    file: str
    line: int
    reason: str
    batch: int
    rejected_at: datetime
    status: str
    run_id: str | None
    record: str | None
    dismissal: Dismissal | None
    place: Place


@dataclass(frozen=True)
class RejectGroup:
    """Rejects of one table with one reason and one status."""

    table: str | None
    reason: str
    status: str
    count: int
    first_file: str
    first_line: int
    last_rejected_at: datetime


def rejects(catalog: Reader, project: "ProjectSpec", specs: "Iterable[TableSpec]", records: bool) -> list[Reject]:
    """All rejects of real batches, by table and place. With `records` also their text, except for masked tables."""
    known = {spec.table: spec for spec in specs}
    rows = _rows(catalog, f"{project.namespace}.{REJECTS}", without=() if records else ("record",))
    inputs, replays = (_rows(catalog, f"{project.namespace}.{name}") for name in (INPUTS, REPLAYS))
    claims = Claims(catalog, project, known, [*inputs, *replays])
    marks, retaken = _marks(replays, claims), _retaken(inputs, claims)
    dismissed = dismissals(catalog, project.namespace)
    hidden = {spec.table for spec in known.values() if any(c.mask for c in (spec.columns or {}).values())}
    sources = {table: spec.source.path for table, spec in known.items()}
    hidden |= {CONTROL_OF + sources[table] for table in hidden}
    found = []
    for row in rows:
        consumer, place = row["consumer"], (row["consumer"], row["batch"], row["file"], row["line"])
        if not claims.is_real(row):
            continue
        status, run_id = marks.get(place, (WAITING, None))
        if status == WAITING and any(b > row["batch"] and n <= row["line"] for b, n in retaken[consumer, row["file"]]):
            status = RETAKEN
        dismissal = dismissed.get(place) if status == WAITING else None
        status = DISMISSED if dismissal else status
        source = consumer.removeprefix(CONTROL_OF) if consumer.startswith(CONTROL_OF) else sources.get(consumer, "")
        record = None if consumer in hidden or row["table"] in hidden else row.get("record")
        facts = (row["reason"], row["batch"], row["rejected_at"])
        found.append(
            Reject(row["table"], source, row["file"], row["line"], *facts, status, run_id, record, dismissal, place)
        )
    return sorted(found, key=lambda each: (each.table or "", each.file, each.line, each.batch))


def of_no_table(catalog: Reader, project: "ProjectSpec", specs: "Iterable[TableSpec]") -> list[Reject]:
    """The waiting rejects without a table, by source. A line that was incomplete when it was read does not count."""
    name = f"{project.namespace}.{REJECTS}"
    if not _has_unnamed(catalog, name):
        return []
    ends = {
        (row["consumer"], row["batch"], row["path"]): row["to_line"]
        for row in _rows(catalog, f"{project.namespace}.{INPUTS}", without=("fingerprint",))
    }
    waiting = [each for each in rejects(catalog, project, specs, records=False) if each.status == WAITING]
    found = [each for each in waiting if each.table is None and each.line <= ends.get(each.place[:3], each.line)]
    return sorted(found, key=lambda each: each.source)


def grouped(found: Iterable[Reject]) -> list[RejectGroup]:
    """The rejects counted by table, reason and status; the most frequent of each table first."""
    groups: dict[tuple[str | None, str, str], list[Reject]] = defaultdict(list)
    for each in found:
        groups[each.table, each.reason, each.status].append(each)
    counted = [
        RejectGroup(*key, len(group), group[0].file, group[0].line, max(each.rejected_at for each in group))
        for key, group in groups.items()
    ]
    return sorted(counted, key=lambda group: (group.table or "", -group.count, group.reason, group.status))


def _has_unnamed(catalog: Reader, name: str) -> bool:
    from pyiceberg.expressions import IsNull

    if not catalog.table_exists(name):
        return False
    unnamed = load_table(catalog, name).scan(IsNull("table"), selected_fields=("table",), limit=1)
    return bool(unnamed.to_arrow().num_rows)


def _rows(catalog: Reader, name: str, without: Iterable[str] = ()) -> list[dict[str, Any]]:
    from siltstone.engine.plain_values import records

    if not catalog.table_exists(name):
        return []
    table = load_table(catalog, name)
    columns = tuple(field.name for field in table.schema().fields if field.name not in without)
    return records(table.scan(selected_fields=columns).to_arrow())


def _marks(replays: Iterable[dict[str, Any]], claims: Claims) -> dict[Place, tuple[str, str | None]]:
    """The outcomes and runs of replays, by the places of rejects."""
    return {
        (row["of_consumer"], row["of_batch"], row["file"], row["line"]): (row["outcome"], row["run_id"])
        for row in replays
        if claims.is_real(row)
    }


def _retaken(inputs: Iterable[dict[str, Any]], claims: Claims) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """The (batch, first line) of all taken parts of files, by consumer and file."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for row in inputs:
        if claims.is_real(row):
            found[row["consumer"], row["path"]].append((row["batch"], row["from_line"]))
    return found
