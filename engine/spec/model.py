"""A project and its table specs as frozen values. Only `engine.spec.load` builds them."""

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
"""The default prefix that Debezium's transforms put before the names of an event's fields."""
Freshness = timedelta | Literal["any"]


@dataclass(frozen=True, slots=True)
class CatalogSpec:
    """An Iceberg catalog. `properties` are passed to Iceberg unchanged and include the settings of its object store."""

    name: str
    type: str
    uri: str | None
    warehouse: str | None
    properties: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SparkSpec:
    """The Spark session that siltstone starts if the caller passes none."""

    master: str = "local[*]"
    conf: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class QualitySpec:
    """The project's defaults for checks: whether a failed check warns or blocks the batch, and how old data may be.

    `fresh_within` is None if the project does not set it. `data_docs`: Great Expectations keeps its results and pages.
    """

    on_failure: OnFailure = "warn"
    fresh_within: Freshness | None = None
    data_docs: bool = False


@dataclass(frozen=True, slots=True)
class MaintenanceSpec:
    """How tables are kept small.

    `retain`: how long snapshots stay readable. `ledgers`: how long rows that are only for reports are kept.
    `file_size`: the target size of compacted data files, in bytes. `automatic`: each run does the maintenance that is
    due at its end, for `budget` at most.
    """

    retain: timedelta = timedelta(days=3)
    ledgers: timedelta = timedelta(days=400)
    file_size: int = 128 << 20
    automatic: bool = True
    budget: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ProjectSpec:
    """One project: a root folder, a catalog, the namespace of the ledger tables. `file` is None without a project file.

    `registry`: the schema registry of sources that need schemas and name neither a registry nor a file. `store`: the
    settings of object stores, for files that are read and for URIs that are written. `report`: where the report's pages
    are copied to. `tables`: all known tables of the project, also those that the current command does not process,
    because tables share files and each record belongs to one of them. `unread`: specs of the project that cannot be
    read.
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
    """One epoch of a source's log: the events that meet all of these conditions. `until` is in UTC."""

    server_id: int | None = None
    gtid: str | None = None
    path: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class RegistrySpec:
    """A Confluent schema registry, with a user and a password, with a token, or without a login."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class StartingSpec:
    """Where a table starts in partitions from which it has taken nothing.

    It starts at their first record, after their last one, at a `time` of records (UTC), or at `offsets` by partition.
    """

    at: StartingAt = "earliest"
    time: datetime | None = None
    offsets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KafkaSpec:
    """Topics of a Kafka cluster: `topics` by name, or all whose names match the regular expression `pattern`.

    `group`: the consumer group to which taken offsets are committed, or None. `max_records`: the greatest number of
    offsets that a run takes, or None. `options`: settings of librdkafka.
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

    `table`: the Iceberg table that holds the rows, instead of files. `kafka`: the topics that hold the events; `path`
    is then a name for them. `rows`: how plain rows are read. `epochs`: the epochs of the source's log, the earliest
    first. `registry` or `schemas` (a file) has the schemas of its messages.
    `nulls`: whether messages leave out columns that are null.
    `by_scn`: the sources, as changes name them, that events showed to be ordered by SCNs alone. No spec sets it.
    `metadata_prefix`: the prefix of an event's fields in rows that a Debezium transform wrote.
    `store`: the settings of the object store that holds the files.
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
    """One declared column: its type (see `engine.spec.columns`), its mask with its salt, and its default.

    `default` has the form in which it is stored: masked, times in UTC, a decimal as its digits.
    """

    type: str
    mask: Mask | None = None
    default: ColumnDefault = None
    salt: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """The three tables a spec writes, as dotted names inside the catalog.

    `latest_layout`, `history_layout`: the partition fields and the sort order that the spec adds. `properties`: table
    properties of latest and history.
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
    """How versions are made. `names` pairs columns of history with their other names in the table.

    `recorded`: rows have the time during which the table contained them.
    """

    track: TrackSpec = TrackSpec()
    names: tuple[tuple[str, str], ...] = ()
    recorded: bool = False

    @property
    def renamed(self) -> dict[str, str]:
        """The columns of history that have other names in the table, and these names."""
        return dict(self.names)


@dataclass(frozen=True, slots=True)
class SnapshotSpec:
    """How far the window of a snapshot READ reaches: `guard` and `skew` by time, `margin` back by commit time."""

    guard: timedelta = timedelta(minutes=15)
    skew: timedelta = timedelta(seconds=5)
    margin: timedelta = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class ExpectationSpec:
    """An expectation of Great Expectations on one of the tables: `latest`, `history` or `changes`.

    `label`: its name in the ledger.
    """

    on: str
    name: str
    arguments: dict[str, Any]
    severity: Severity
    label: str


@dataclass(frozen=True, slots=True)
class ChecksSpec:
    """The checks of one table in their order, the severity of each, and the effect of a failed check.

    `grace`: how long a transaction may stay incomplete, and a partition or a heartbeat silent. `fresh_within`: the
    greatest age of data that the report does not call old; None if neither spec nor project sets it.
    """

    checks: tuple[str, ...]
    severity: dict[str, Severity]
    on_failure: OnFailure = "warn"
    grace: timedelta = timedelta(minutes=15)
    expectations: tuple[ExpectationSpec, ...] = ()
    fresh_within: Freshness | None = None

    @property
    def blocks(self) -> bool:
        """Whether a batch is published only after its checks have passed."""
        return self.on_failure == "block"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One source table and the tables built from it. `keys` and `columns` are None if the events define them.

    `renames`: the earlier names of columns at the source, the oldest first. `comment`, `comments`: the comments on the
    tables and on their columns. `retain_changes`: how long changes are kept; None means forever.
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
        """The greatest age, relative to the newest change, of a change that is still applied; None means any age."""
        return min((span for span in (self.lateness, self.retain_changes) if span is not None), default=None)
