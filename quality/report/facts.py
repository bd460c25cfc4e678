"""What the report knows, as frozen values: the page, the JSON document and the summary all show these.

Never row data: keys as they are stored, names of columns, positions, counts. Times are UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.schema.gap_record import Gap
from siltstone.engine.spec.model import Freshness


@dataclass(frozen=True, slots=True)
class RunFact:
    """What one run did to one table. `lag_seconds`: how old the newest change was when it was taken."""

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
    """What a check last said of a table."""

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


@dataclass(frozen=True, slots=True)
class LateFact:
    """How many changes came so late: committed that long before something that an earlier batch had brought."""

    label: str
    changes: int


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Columns that a table got, or whose type changed. `at`: the first commit that had them."""

    at: datetime | None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowFact:
    """A snapshot window by the commit times of its markers. `closed`: None while it is open."""

    opened: datetime
    closed: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogFact:
    """Changes by commit time: `counts` of equally wide parts from `begins` to `ends`; and the snapshot windows."""

    begins: datetime
    ends: datetime
    counts: tuple[int, ...]
    windows: tuple[WindowFact, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One table. `runs`: the newest, the oldest of them first; `checks`: what they last said.

    `batch`: the newest that is published; `checked_batch`: the one up to which the checks have looked;
    `foreign_writes`: what other programs did to the rows of its tables, in words; `fresh_within`: what the spec says of
    its age; `notation`: how its positions are shown.
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
    """Records of a source that wait among the rejects and name no table, of one reason. `file`, `line`: the first's."""

    source: str
    reason: str
    count: int
    file: str
    line: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Facts:
    """The whole report. `rejects`: those of no table; `at`: when it was made; `docs`: whether Great Expectations' pages
    lie beside it."""

    project: str
    namespace: str
    at: datetime
    tables: tuple[TableFacts, ...] = ()
    docs: bool = False
    rejects: tuple[RejectsFact, ...] = ()
