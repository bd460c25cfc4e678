"""What a run did: frozen values, units in the names, ready for a person or a program."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

OK = "ok"
NOTHING_NEW = "nothing new"
FAILED = "failed"
BLOCKED = "blocked"


@dataclass(frozen=True)
class CheckReport:
    """One check of one table."""

    check: str
    severity: str
    status: str
    observed: int
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class SourceReport:
    """What became of a source's records: `read` is the sum of all the others."""

    path: str
    files: int
    read: int
    taken: Mapping[str, int]
    control: int
    other_tables: Mapping[str, int]
    rejected: int
    half_lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableReport:
    """What a run did to one table. `outcomes` has one entry a kind of outcome; their sum is `changes`."""

    table: str
    status: str
    source: str = ""
    batch: int | None = None
    changes: int = 0
    rejected: int = 0
    late: int = 0
    withdrawn: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    error: str | None = None
    exit_code: int = 0
    checks: tuple[CheckReport, ...] | None = None


@dataclass(frozen=True)
class RunReport:
    """One run over several tables. `started_at` is ISO 8601, UTC."""

    run_id: str
    started_at: str
    seconds: float
    sources: tuple[SourceReport, ...]
    tables: tuple[TableReport, ...]
    exit_code: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)
