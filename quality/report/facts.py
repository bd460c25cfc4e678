"""The facts of the report as frozen values, for the page, the JSON document and the summary.

Never row data: only stored keys, column names, positions and counts. Times are UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.schema.gap_record import Gap
from siltstone.engine.spec.model import Freshness
from siltstone.quality.results import shown_status


@dataclass(frozen=True, slots=True)
class RunFact:
    """One run of one table. `lag_seconds`: how old the newest change was when the run took it."""

    run_id: str
    at: datetime
    seconds: float
    status: str
    batch: int | None = None
    changes: int = 0
    rejected: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    exit_code: int = 0
    lag_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CheckFact:
    """The last result of one check of a table. A check of severity info never has the status failed."""

    check: str
    severity: str
    status: str
    observed: int
    message: str
    at: datetime
    position_from: str | None = None
    position_to: str | None = None
    keys: tuple[str, ...] = ()
    hint: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", shown_status(self.severity, self.status))


@dataclass(frozen=True, slots=True)
class LateFact:
    """How many changes were this late: committed that long before the newest change of an earlier batch."""

    label: str
    changes: int


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Columns that were added or whose type changed. `at`: the first commit with them; None if it has expired."""

    at: datetime | None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowFact:
    """A snapshot window with the commit times of its markers. `closed`: None while the window is open."""

    opened: datetime
    closed: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogFact:
    """Changes by commit time, as `counts` of equal intervals from `begins` to `ends`, and the snapshot windows."""

    begins: datetime
    ends: datetime
    counts: tuple[int, ...]
    windows: tuple[WindowFact, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One table. `runs`: its newest runs, the oldest of them first; `checks`: the last results.

    `batch`: the newest published batch; `checked_batch`: the newest checked batch; `taken_batch`: the newest batch of
    its changes; `foreign_writes`: the writes of other programs to its tables, as text; `fresh_within`: the maximum age
    of its data from the spec; `notation`: how positions are shown.
    """

    table: str
    latest: str
    rows: int | None = None
    versions: int | None = None
    changes: int | None = None
    complete_through: datetime | None = None
    complete_through_by: str | None = None
    sealed_up_to: datetime | None = None
    batch: int | None = None
    checked_batch: int | None = None
    taken_batch: int | None = None
    notation: Notation = field(default_factory=Notation)
    foreign_writes: tuple[str, ...] = ()
    fresh_within: Freshness | None = None
    runs: tuple[RunFact, ...] = ()
    checks: tuple[CheckFact, ...] = ()
    gaps: tuple[Gap, ...] = ()
    late: tuple[LateFact, ...] = ()
    schema_changes: tuple[SchemaChange, ...] = ()
    log: LogFact | None = None


@dataclass(frozen=True, slots=True)
class RejectsFact:
    """The open rejects of a source that name no table, for one reason. `file`, `line`: the place of the first one."""

    source: str
    reason: str
    count: int
    file: str
    line: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Facts:
    """The whole report. `rejects`: those that name no table; `at`: the time of the report; `docs`: Great Expectations'
    pages exist."""

    project: str
    namespace: str
    at: datetime
    tables: tuple[TableFacts, ...] = ()
    docs: bool = False
    rejects: tuple[RejectsFact, ...] = ()
