"""What the checks hand on, as frozen values: the numbers a run brings, one finding, the result of one check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from siltstone.engine.spec.model import Severity

Status = Literal["passed", "noted", "failed", "acknowledged", "not available"]
PASSED: Final = "passed"
NOTED: Final = "noted"  # a check of severity info found something: worth knowing, and no failure
FAILED: Final = "failed"
ACKNOWLEDGED: Final = "acknowledged"
NOT_AVAILABLE: Final = "not available"


@dataclass(frozen=True, slots=True)
class Sums:
    """The numbers of one run: records of a source by where they went, a table's changes and those with an outcome."""

    read: int
    taken: int
    control: int
    other_table: int
    rejected: int
    changes: int
    outcomes: int

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> "Sums":
        """Take them from the numbers of a run, which may hold more."""
        return cls(**{name: numbers[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a check fails. Never row data: the key as it is stored, names of columns, positions, counts.

    `tx_id`: the transaction it happened in, where that is known; `columns`: those that differ.
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
    """What one check found: how many places, the first of them, the range of positions; or why it could not look.

    `note` is worth knowing although nothing is wrong; `numbers` are what it counted, by name (a report can draw them).
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
    """What persons have said of a check's findings; `whole`: of all of them, so that the check does not fail."""

    said: Mapping[Finding, str]
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
    """The checks over everything one table holds: their results, what else is wrong with it; how a program ends."""

    table: str
    results: tuple[CheckResult, ...] = ()
    error: str | None = None
    exit_code: int = 0
