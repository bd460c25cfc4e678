"""The values that checks exchange: the numbers of a run, findings, the result of one check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from siltstone.engine.spec.model import Severity

Status = Literal["passed", "noted", "failed", "acknowledged", "not available"]
PASSED: Final = "passed"
NOTED: Final = "noted"  # a check of severity info has findings: a note, not a failure
FAILED: Final = "failed"
ACKNOWLEDGED: Final = "acknowledged"
NOT_AVAILABLE: Final = "not available"


def shown_status(severity: str, status: str) -> str:
    """The status as people see it: a check of severity info never fails, whatever an older ledger has."""
    return NOTED if severity == "info" and status == FAILED else status


@dataclass(frozen=True, slots=True)
class Sums:
    """The numbers of one run: a source's records by destination, a table's changes and those with an outcome."""

    read: int
    taken: int
    control: int
    other_table: int
    rejected: int
    changes: int
    outcomes: int

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> "Sums":
        """Select them from all numbers of a run."""
        return cls(**{name: numbers[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a check fails. Never row data: only the stored key, column names, positions and counts.

    `tx_id`: the transaction of the finding, if known; `columns`: the columns that differ.
    """

    check: str
    position_from: str | None
    position_to: str | None
    key: str | None
    message: str
    tx_id: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The findings of one check: their number, the first of them, the range of positions; or why it is not available.

    `note`: a remark of a check without findings; `numbers`: its counts by name.
    """

    observed: int = 0
    position_from: str | None = None
    position_to: str | None = None
    sample: tuple[Finding, ...] = ()
    unavailable: str | None = None
    note: str | None = None
    numbers: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """The reasons of acknowledged findings of a check; `whole`: all are acknowledged, so the check does not fail."""

    reasons: Mapping[Finding, str]
    whole: bool = False


UNKNOWN: Final = Known({})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check of one table in one run: a row of the `checks` ledger."""

    run_id: str
    checked_at: datetime
    table: str
    check: str
    severity: Severity
    status: Status
    observed: int
    message: str
    position_from: str | None = None
    position_to: str | None = None
    keys: tuple[str, ...] = field(default=())
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The results of `siltstone check` for one table, its error if there is one, and the exit code."""

    table: str
    results: tuple[CheckResult, ...] = ()
    error: str | None = None
    exit_code: int = 0
