"""What a run did: frozen values, units in the names, ready for a person or a program."""

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
    "The run did not come to its end: it was stopped or killed, or its machine was. What it had published is whole; the"
    " runs after it take the rest."
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
    """What became of a source's records: `read`, as who read them counted, is to be the sum of all the others.

    `out_of_reach`: rejects by file that a replay could not read again. `left`: how many offsets of topics wait for
    another run; None of files. `warning`: what a run could not do after it had taken the records.
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
    """What a run did to one table. `outcomes` has one entry a kind of outcome; their sum is `changes`.

    `warning`: what of the spec the new changes call into question. `notes`: what other programs had written to the
    tables, and what the run did about it.
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
    """Where a table first differs from its changes folded again: one row, and what of it. `version`: its position;
    `shown_version`: the same as the source writes it.

    `stands` and `should` are what the table has and what it should have in `columns`; None where there is no row.
    """

    table: str
    key: str
    version: str | None
    columns: tuple[str, ...]
    stands: str | None
    should: str | None
    shown_version: str | None = None


@dataclass(frozen=True)
class Verification:
    """One table folded again from its changes, permuted, duplicated and split into `batches`, and compared.

    The seed says which keys were taken and how; given again, it does the same again. `latest_compared` is false where
    `latest` has not followed `history` yet.
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
    """What a run would do to one table.

    `changes` are those it would fold: `in_order`, `late` and redelivered; `outcomes` adds up to them. `too_late` and
    `rejected` would be kept and not folded. `versions`: opened, closed, updated, spliced (put before versions that are
    there), withdrawn (READs that a late change supersedes) and removed. `sql`: the statements that would write them.
    `settings`: what would become of partitions, sort order, properties and comments, in words.
    Where nothing is counted, a run died before `latest` followed `history`, and the next one lets it.
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
    """One change of a key: where it came from, and what became of it. Times are ISO 8601, UTC.

    `position` is orderable text; `shown_position` is the same as the source writes it.

    `version` is the number of the version it made or changed; `late` says that something after it was folded before.
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
        """Where the event lies: file and line, or topic, partition and offset."""
        if self.kafka_offset is not None:
            return f"{self.channel or ''}[{self.kafka_partition}]@{self.kafka_offset}"
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ExplainedVersion:
    """One version of a key as its changes give it. `made_by`: the place of the event that opened it.

    `in_table` says whether the history table holds it with the same interval.
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
    """Why each version of a key is what it is. `changes` are all of the key's, in the order of the source."""

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
        """Whether checks looked at any of its tables."""
        return any(table.checks for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)


@dataclass(frozen=True)
class TableSize:
    """What a table consists of. `files`, `delete_files` and `bytes` are those of its newest snapshot, and so are its
    `manifests`; `snapshots` are all that it keeps. `rows` counts those in data files, `deleted_rows` those of them that
    delete files take away."""

    files: int
    delete_files: int
    bytes: int
    manifests: int
    snapshots: int
    rows: int = 0
    deleted_rows: int = 0


@dataclass(frozen=True)
class MaintainedTable:
    """What maintenance did to a table; of a dry run, what it would do.

    `rewritten` files became `into` files; `expired` counts snapshots, `orphans` files, `trimmed` rows of `changes`.
    `scan_before` and `scan_after` are the seconds that reading all rows takes. Of a table that failed only the error is
    known.
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
    """A table that was dropped. `tables` are those that were removed; `rows` counts rows by ledger; `kept` says what
    stays, in words."""

    table: str
    tables: tuple[str, ...]
    rows: Mapping[str, int]
    kept: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return asdict(self)
