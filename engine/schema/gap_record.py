"""A gap: one place where a check found missing or contradictory changes, and its state.

    open ──► healed          a later run checked the place and did not find the gap any more
      │  ◄──                 a later run found it once more
      └───► acknowledged     a user has confirmed that it is known; a later run can still heal it

Values only: this module is imported without a JVM.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

OPEN: Final = "open"
HEALED: Final = "healed"
ACKNOWLEDGED: Final = "acknowledged"
REST: Final = "the rest of many findings"

# The missing change can be anywhere before the change that shows the gap.
WITHOUT_BEGINNING: Final = frozenset({"orphan"})


@dataclass(frozen=True, slots=True)
class Gap:
    """A row of the gaps table. `key` is JSON as it is stored, with the masks of the spec.

    `findings`: 1, or the number of findings beyond the sample that this row summarises. `since_batch`: the check looked
    at the changes of later batches only. `committed_from`, `committed_to`: the commit times at the two positions, if
    known.
    """

    gap_id: str
    table: str
    check: str
    severity: str
    status: str
    key: str | None
    position_from: str | None
    position_to: str | None
    message: str
    since_batch: int
    opened_run: str
    opened_at: datetime
    last_seen_run: str
    last_seen_at: datetime
    committed_from: datetime | None = None
    committed_to: datetime | None = None
    hint: str | None = None
    findings: int = 1
    healed_run: str | None = None
    healed_at: datetime | None = None
    acknowledged_by: str | None = None
    acknowledged_reason: str | None = None
    acknowledged_at: datetime | None = None


def gap_of(row: Mapping[str, Any]) -> Gap:
    """A stored row as a value, with times in UTC. Times without a zone, as Spark gives them, are in the local zone."""
    values = {field.name: row[field.name] for field in fields(Gap)}
    moments = {name: value.astimezone(UTC) for name, value in values.items() if isinstance(value, datetime)}
    return Gap(**(values | moments))


def gap_id(table: str, check: str, *place: str | None) -> str:
    """A short name of a gap, the same in every run that finds it. The length before each part separates the parts."""
    parts = [table, check, *("" if part is None else f"{len(part)}:{part}" for part in place)]
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


def id_of_finding(
    table: str, check: str, key: str | None, position_from: str | None, position_to: str | None, message: str
) -> str:
    """The id of one finding.

    The id of a finding about a key uses the change that shows it. The start of the gap can move closer when a part of
    the missing changes arrives. A finding without a key uses its range, and one without a range uses its message.
    """
    if key is not None:
        return gap_id(table, check, key, position_to or position_from)
    if position_from is not None or position_to is not None:
        return gap_id(table, check, position_from, position_to)
    return gap_id(table, check, None, None, message)


def sealed_up_to(complete_through: datetime | None, gaps: Sequence[Gap]) -> datetime | None:
    """The time before which no open gap begins, at most `complete_through`; None: nothing is sealed.

    Acknowledged gaps and gaps of severity info do not count.
    """
    holding = [gap for gap in gaps if gap.status == OPEN and gap.severity != "info"]
    begins = [gap.committed_from for gap in holding]
    if complete_through is None or None in begins or any(gap.check in WITHOUT_BEGINNING for gap in holding):
        return None
    return min([complete_through, *(moment for moment in begins if moment is not None)])


def iso(moment: datetime) -> str:
    """A time in the format of the table properties."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
