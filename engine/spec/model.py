"""What a project and a table spec say, as frozen values. Built by `engine.spec.load`; no other module makes them up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from siltstone.engine.spec.layouts import TableLayout
from siltstone.engine.storage import StoreSettings

if TYPE_CHECKING:
    from siltstone.engine.spec.rows_format import RowsSpec

ColumnDefault = str | int | float | bool | None
Mask = Literal["sha256", "redact", "drop"]
OnFailure = Literal["warn", "block"]
Severity = Literal["info", "warn", "error"]
Evolution = Literal["additive", "strict", "ignore"]
Decimals = Literal["precise", "string", "double"]
Binaries = Literal["bytes", "base64", "base64-url-safe", "hex"]
Times = Literal["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]
Images = Literal["standard", "swapped"]
Several = Literal["disjoint", "shards", "one_log"]
Order = Literal["auto", "scn", "coordinates"]
Nulls = Literal["omitted", "included"]
StartingAt = Literal["earliest", "latest", "time", "offsets"]
METADATA_PREFIX: Final = "__"
"""What Debezium's transforms put before the names of an event's fields, unless they are configured otherwise."""
Freshness = timedelta | Literal["any"]


@dataclass(frozen=True, slots=True)
class CatalogSpec:
    """An Iceberg catalog; `properties` are handed to Iceberg as they are, those of its store among them."""

    name: str
    type: str
    uri: str | None
    warehouse: str | None
    properties: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SparkSpec:
    """The session siltstone starts when none is given to it."""

    master: str = "local[*]"
    conf: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class QualitySpec:
    """The project's word on failed checks: warn, or block the publishing of the batch; and how old data may be.

    `fresh_within` None: not said.
    """

    on_failure: OnFailure = "warn"
    fresh_within: Freshness | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceSpec:
    """How tables are kept small. `retain`: how long snapshots stay readable; `ledgers`: how long rows that only report
    stay; `file_size`: that of compacted data files, in bytes. `automatic`: a run does what is due at its end, as long
    as `budget` lasts."""

    retain: timedelta = timedelta(days=3)
    ledgers: timedelta = timedelta(days=400)
    file_size: int = 128 << 20
    automatic: bool = True
    budget: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ProjectSpec:
    """One project: a root folder, a catalog, the namespace of the ledger tables. `file` is None without a file.

    `registry`: of the sources that need schemas and do not say where they are. `store`: the settings of stores, for
    files that are read and for what is written to a URI. `report`: where the report's pages are copied to. `tables`:
    all its tables that are known, be they at work or not: files are shared, and what stands in them for another table
    is that one's. `unread`: the specs beside them that cannot be read, so that nobody knows what they ask for.
    """

    root: Path
    file: Path | None
    catalog: CatalogSpec
    namespace: str
    spark: SparkSpec
    quality: QualitySpec
    registry: RegistrySpec | None = None
    maintenance: MaintenanceSpec = MaintenanceSpec()
    store: StoreSettings = field(default=(), repr=False)
    report: str | None = None
    tables: tuple[TableSpec, ...] = ()
    unread: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class EpochSpec:
    """One epoch of a source's log: the events for which all of this holds. `until` in UTC."""

    server_id: int | None = None
    gtid: str | None = None
    path: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class RegistrySpec:
    """A Confluent schema registry; with a user and a password, a token, or neither."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class StartingSpec:
    """Where a table begins in partitions of which it has taken nothing: at their first record, after their last one, at
    a `time` of records (UTC), or at `offsets` by partition."""

    at: StartingAt = "earliest"
    time: datetime | None = None
    offsets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KafkaSpec:
    """Topics of a Kafka cluster: `topics` by name, or all whose names match the regular expression `pattern`.

    `group`: the consumer group that is informed of what was taken; None: none is. `max_records`: the most that a run
    takes. `options`: settings of librdkafka.
    """

    bootstrap: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    starting: StartingSpec = StartingSpec()
    group: str | None = None
    max_records: int | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a table's events are, and how values without a schema of their own are encoded. `path` is absolute.

    `table` names the Iceberg table that holds the rows, where no files do; `kafka` the topics that hold the events:
    `path` then is a name for them. `rows` says how plain rows are to be read;
    `epochs` are those of its log, from the first on. `registry` or `schemas`, a file, hold the schemas of its messages.
    `nulls`: whether messages leave out the columns that are null.
    `by_scn`: the sources, as changes name them, that were seen to be ordered by SCNs alone; no spec says them.
    `metadata_prefix`: how the names of an event's fields begin in a row that a transform of Debezium made of it.
    `store`: the settings of the store that holds the files.
    """

    format: str
    path: str
    time_zone: str = "UTC"
    decimals: Decimals = "precise"
    binaries: Binaries = "bytes"
    times: Times = "adaptive"
    table: str | None = None
    rows: RowsSpec | None = None
    images: Images = "standard"
    order: Order = "auto"
    epochs: tuple[EpochSpec, ...] = ()
    several: Several = "one_log"
    registry: RegistrySpec | None = None
    schemas: str | None = None
    by_scn: tuple[str, ...] = ()
    nulls: Nulls = "omitted"
    metadata_prefix: str = METADATA_PREFIX
    kafka: KafkaSpec | None = None
    store: StoreSettings = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One declared column: its type (see `engine.spec.columns`), its mask with its salt, its default as it is stored:
    times in UTC, masked, a decimal as its digits."""

    type: str
    mask: Mask | None = None
    default: ColumnDefault = None
    salt: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The three tables a spec writes, as dotted names inside the catalog.

    `latest_layout`, `history_layout`: how rows lie in files beyond what siltstone needs. `properties`: of both tables.
    """

    latest: str
    history: str
    changes: str
    format_version: int = 3
    latest_layout: TableLayout = field(default_factory=TableLayout)
    history_layout: TableLayout = field(default_factory=TableLayout)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrackSpec:
    """Which columns open a new version: all, the named ones, or all except the named ones."""

    mode: Literal["all", "columns", "except"] = "all"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistorySpec:
    """How versions are made. `names` pairs columns of history with the names they have in the table instead.

    `recorded`: rows tell when the table said them.
    """

    track: TrackSpec = TrackSpec()
    names: tuple[tuple[str, str], ...] = ()
    recorded: bool = False

    @property
    def renamed(self) -> dict[str, str]:
        """The columns of history that are called otherwise in the table, and how."""
        return dict(self.names)


@dataclass(frozen=True, slots=True)
class SnapshotSpec:
    """How far the window of a snapshot read reaches: `guard` and `skew` by time, `margin` back by commit time."""

    guard: timedelta = timedelta(minutes=15)
    skew: timedelta = timedelta(seconds=5)
    margin: timedelta = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class ExpectationSpec:
    """An expectation of Great Expectations on one of the tables: `latest`, `history` or `changes`.

    `label`: what the ledger calls it.
    """

    on: str
    name: str
    arguments: dict[str, Any]
    severity: Severity
    label: str


@dataclass(frozen=True, slots=True)
class ChecksSpec:
    """The checks of one table in their order, the severity of each, and what a failed one does.

    `grace`: how long a transaction may stay incomplete, and a partition or a heartbeat silent. `fresh_within`: how old
    the data may be before the report calls it old; None: not said.
    """

    checks: tuple[str, ...]
    severity: dict[str, Severity]
    on_failure: OnFailure = "warn"
    grace: timedelta = timedelta(minutes=15)
    expectations: tuple[ExpectationSpec, ...] = ()
    fresh_within: Freshness | None = None

    @property
    def blocks(self) -> bool:
        """Whether no batch is published before its checks have passed."""
        return self.on_failure == "block"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One source table and what becomes of it. `keys` or `columns` None: taken from the events.

    `renames`: the names that columns had at the source before, the oldest first. `comment`, `comments`: of the tables
    and of their columns. `retain_changes`: how long changes are kept; None: for ever.
    """

    file: Path | None
    table: str
    source: SourceSpec
    keys: tuple[str, ...] | None
    columns: dict[str, ColumnSpec] | None
    target: TargetSpec
    history: HistorySpec
    snapshot: SnapshotSpec
    lateness: timedelta | None
    evolution: Evolution
    rejects_max_fraction: float
    quality: ChecksSpec
    compacted: bool = False
    renames: dict[str, tuple[str, ...]] = field(default_factory=dict)
    comment: str | None = None
    comments: dict[str, str] = field(default_factory=dict)
    retain_changes: timedelta | None = None

    @property
    def accepts_within(self) -> timedelta | None:
        """How much older than the newest change a change may be and still be applied; None: any age."""
        return min((span for span in (self.lateness, self.retain_changes) if span is not None), default=None)
