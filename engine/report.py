"""The reports of runs and commands: frozen values with units in their names, for people and programs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

OK = "ok"
NOTHING_NEW = "nothing new"
FAILED = "failed"
BLOCKED = "blocked"
INTERRUPTED = "interrupted"
REBUILT = "rebuilt"
PLANNED = "planned"
EQUAL = "equal"
DIFFERENT = "different"
NOTHING_FOLDED = "nothing folded"
NOT_WELL = (FAILED, BLOCKED, INTERRUPTED)
INTERRUPTION = (
    "The run did not finish: it was stopped or killed, or its machine was. Everything it published is complete; later"
    " runs do the rest."
)


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
    """The outcomes of a source's records. `read`, counted by the reader, must be the sum of all others.

    `out_of_reach`: by file, the rejects that a replay could not re-read. `left`: the number of offsets of topics that
    wait for another run; None for files. `warning`: an action that failed after the records were taken.
    """

    path: str
    files: int
    read: int
    taken: Mapping[str, int]
    control: int
    other_tables: Mapping[str, int]
    rejected: int
    half_lines: tuple[str, ...] = ()
    out_of_reach: Mapping[str, int] = field(default_factory=dict)
    left: int | None = None
    warning: str | None = None


@dataclass(frozen=True)
class TableReport:
    """The result of a run for one table. `outcomes` has one entry per kind of outcome; their sum is `changes`.

    `warning`: a setting of the spec that the new changes contradict. `notes`: writes of other programs to the tables,
    and how the run handled them.
    """

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
    warning: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstDifference:
    """The first row in which a table differs from a repeated fold of its changes.

    `version`: the position of the row; `shown_version`: the same in the notation of the source. `actual` and
    `expected`: the values of `columns`; None if there is no row.
    """

    table: str
    key: str
    version: str | None
    columns: tuple[str, ...]
    actual: str | None
    expected: str | None
    shown_version: str | None = None


@dataclass(frozen=True)
class Verification:
    """The comparison of one table with a repeated fold of its changes, permuted, duplicated and split into `batches`.

    The seed determines the sample of keys and the order: the same seed repeats the same verification. `latest_compared`
    is false if `latest` has not followed `history` yet.
    """

    table: str
    status: str
    seed: int
    batches: int = 0
    keys: int = 0
    changes: int = 0
    delivered: int = 0
    versions: int = 0
    differing_rows: int = 0
    latest_compared: bool = True
    difference: FirstDifference | None = None
    seconds: float = 0.0
    error: str | None = None
    exit_code: int = 0


@dataclass(frozen=True)
class TablePlan:
    """The effects that a run would have on one table.

    `changes`: the changes to fold, which are `in_order`, `late` or redelivered; their `outcomes` add up to them.
    `too_late`, `rejected`: stored, but not folded. `versions`: opened, closed, updated, spliced (inserted before
    existing versions), `withdrawn` (READs that a late change supersedes) and removed. `sql`: the statements that would
    write them. `settings`: changes of partitions, sort order, properties and comments, in words. All counts are zero
    if a run died before `latest` followed `history`: the next run completes that.
    """

    table: str
    status: str
    batch: int | None = None
    files: int = 0
    changes: int = 0
    in_order: int = 0
    late: int = 0
    too_late: int = 0
    rejected: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    added_columns: Mapping[str, str] = field(default_factory=dict)
    widened_columns: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    sql: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    exit_code: int = 0


@dataclass(frozen=True)
class ExplainedChange:
    """One change of a key: its origin and its outcome. Times are ISO 8601, UTC.

    `position`: sortable text; `shown_position`: the same in the notation of the source. `version`: the number of the
    version that it opened or updated. `late`: a change after it was folded earlier.
    """

    outcome: str
    why: str
    version: int | None
    late: bool
    op: str
    position: str | None
    commit_ts: str | None
    batch: int
    file: str | None
    line: int | None
    channel: str | None
    kafka_partition: int | None
    kafka_offset: int | None
    event_id: str | None
    shown_position: str | None = None

    @property
    def place(self) -> str:
        """The place of the event: file and line, or topic, partition and offset."""
        if self.kafka_offset is not None:
            return f"{self.channel or ''}[{self.kafka_partition}]@{self.kafka_offset}"
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ExplainedVersion:
    """One version of a key, computed from its changes. `made_by`: the place of the event that opened it.

    `in_table`: whether the history table has it with the same interval.
    """

    number: int
    valid_from: str
    valid_to: str | None
    op: str
    made_by: str
    in_table: bool
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Explanation:
    """The versions of a key with the changes that led to them. `changes`: all of the key, in the source's order."""

    table: str
    key: Mapping[str, str | None]
    folded_batch: int
    versions: tuple[ExplainedVersion, ...]
    changes: tuple[ExplainedChange, ...]
    versions_in_table: int


@dataclass(frozen=True)
class RunReport:
    """One run over several tables. `started_at` is ISO 8601, UTC."""

    run_id: str
    started_at: str
    seconds: float
    sources: tuple[SourceReport, ...]
    tables: tuple[TableReport, ...]
    exit_code: int

    @property
    def is_checked(self) -> bool:
        """Whether any of its tables was checked."""
        return any(table.checks for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)


@dataclass(frozen=True)
class TableSize:
    """The size of a table. `files`, `delete_files`, `bytes` and `manifests`: of its newest snapshot. `snapshots`: all
    that it has. `rows`: all rows in data files. `deleted_rows`: those of them that delete files remove."""

    files: int
    delete_files: int
    bytes: int
    manifests: int
    snapshots: int
    rows: int = 0
    deleted_rows: int = 0


@dataclass(frozen=True)
class MaintainedTable:
    """The effects of maintenance on a table; in a dry run, the effects that it would have.

    `rewritten` files became `into` files. `expired` counts snapshots, `orphans` files, and `trimmed` rows of `changes`.
    `scan_before` and `scan_after`: the seconds to read all rows. If a table fails, only the error is known.
    """

    table: str
    before: TableSize | None = None
    after: TableSize | None = None
    scan_before: float = 0.0
    scan_after: float = 0.0
    rewritten: int = 0
    into: int = 0
    expired: int = 0
    orphans: int = 0
    trimmed: int = 0
    error: str | None = None
    exit_code: int = 0


@dataclass(frozen=True)
class MaintenanceReport:
    """Maintenance of several tables."""

    seconds: float
    dry_run: bool
    tables: tuple[MaintainedTable, ...]
    exit_code: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)


@dataclass(frozen=True)
class DropReport:
    """The result of dropping a table. `tables`: the removed tables. `rows`: removed rows by ledger. `kept`: the things
    that are not removed, in words."""

    table: str
    tables: tuple[str, ...]
    rows: Mapping[str, int]
    kept: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)
