"""The spec as people write it: one model a section, every key with the description editors show."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from siltstone.engine.names import IS_CURRENT, VALID_FROM, VALID_TO
from siltstone.engine.spec import value_checks
from siltstone.engine.spec.check_names import CHECK_NAMES
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.model import (
    METADATA_PREFIX,
    Binaries,
    ChecksSpec,
    Decimals,
    Evolution,
    Images,
    MaintenanceSpec,
    Mask,
    Nulls,
    OnFailure,
    Order,
    Several,
    Severity,
    SnapshotSpec,
    StartingSpec,
    Times,
    TrackSpec,
)
from siltstone.engine.spec.rows_format import FileType, Ties, TimeUnit
from siltstone.engine.spec.value_types import (
    Address,
    Bootstrap,
    ByteCount,
    CatalogName,
    CheckName,
    Checks,
    ClientOption,
    ColumnName,
    ColumnTypeText,
    Condition,
    Default,
    Delimiter,
    DottedName,
    Duration,
    Expectations,
    Format,
    FormatVersion,
    Fraction,
    FreshWithin,
    Header,
    HistoryName,
    HttpUrl,
    Keys,
    Lateness,
    Moment,
    NullColumns,
    OldNames,
    Partition,
    Pattern,
    PositiveNumber,
    Retained,
    RowColumns,
    ServerId,
    Setting,
    SomeColumns,
    Sort,
    SourceTable,
    Starting,
    TableName,
    TableProperty,
    Text,
    TimeZone,
    Topics,
    Track,
    Truth,
    words,
)
from siltstone.engine.spec.wording import shown

_OnFailure = Annotated[OnFailure, *words("warn", "block")]
_SNAPSHOT = SnapshotSpec()
_GRACE = ChecksSpec((), {}).grace
_MAINTENANCE = MaintenanceSpec()


class _Section(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EpochConfig(_Section):
    """One epoch of a source's log: the events for which all of this holds."""

    server_id: ServerId | None = Field(default=None, description="MySQL, MariaDB: the server that wrote the event.")
    gtid: Text | None = Field(default=None, description="MySQL: the part of the GTID before the colon.")
    path: Text | None = Field(default=None, description="A pattern (* and ?) that the event's file name ends with.")
    until: Moment | None = Field(default=None, description="Events committed before this moment.")

    @model_validator(mode="after")
    def _says_something(self) -> EpochConfig:
        if not self.model_fields_set:
            value_checks.refuse(
                "an epoch without a condition holds every event", "name server_id, gtid, path or until."
            )
        return self


class RegistryConfig(_Section):
    """A Confluent schema registry."""

    url: HttpUrl = Field(description="Where it is: http:// or https://.")
    user: Text | None = Field(default=None, repr=False, description="With password; best taken from ${env:NAME}.")
    password: Text | None = Field(default=None, repr=False, description="Best taken from ${env:NAME}.")
    token: Text | None = Field(default=None, repr=False, description="A bearer token; best taken from ${env:NAME}.")

    @model_validator(mode="after")
    def _one_way_in(self) -> RegistryConfig:
        if self.token is not None and self.user is not None:
            value_checks.refuse("has both a user and a token", "leave one of them out.")
        if (self.user is None) != (self.password is None):
            value_checks.refuse("user and password go together", "give both, or neither.")
        return self


class KafkaConfig(_Section):
    """Topics of a Kafka cluster."""

    bootstrap: Bootstrap = Field(description="The brokers of the first connection: host:port, or a list of them.")
    topics: Topics | None = Field(default=None, description="The topics by name: one, or a list.")
    pattern: Pattern | None = Field(
        default=None, description="Instead of topics: a regular expression that names of topics match as a whole."
    )
    starting: Starting = Field(
        default=StartingSpec(),
        description="Where a table begins in partitions of which it has taken nothing: earliest, latest,"
        " {time: 2026-03-01T04:00:00Z}, {offsets: {'0': 12}}.",
    )
    group: Text | None = Field(
        default=None, description="A consumer group that is informed of the offsets that were taken, for tools of lag."
    )
    max_records: PositiveNumber | None = Field(default=None, description="The most records that a run takes.")
    options: dict[ClientOption, Setting] = Field(
        default_factory=dict,
        repr=False,
        description="Settings of librdkafka, such as security.protocol; secrets are best taken from ${env:NAME}.",
    )

    @model_validator(mode="after")
    def _topics_are_named(self) -> KafkaConfig:
        if (self.topics is None) == (self.pattern is None):
            value_checks.refuse("exactly one of topics and pattern is required")
        if self.starting.offsets and (self.topics is None or len(self.topics) > 1):
            value_checks.refuse("starting.offsets are those of one topic", "name one topic, or start at a time.")
        return self


class SourceConfig(_Section):
    """Where the events are and how they are encoded."""

    format: Format = Field(description="How the events are written.")
    path: Address | None = Field(
        default=None,
        description="Files with the events: a file, a folder, a glob, or a URI. Relative to the project's folder.",
    )
    time_zone: TimeZone = Field(default="UTC", description="The zone of times that come without one.")
    decimals: Annotated[Decimals, *words("precise", "string", "double")] = Field(
        default="precise", description="How events without a schema carry decimals (decimal.handling.mode)."
    )
    binaries: Annotated[Binaries, *words(*get_args(Binaries))] = Field(
        default="bytes", description="How events without a schema carry binary values (binary.handling.mode)."
    )
    times: Annotated[Times, *words(*get_args(Times))] = Field(
        default="adaptive", description="How events without a schema carry times (time.precision.mode)."
    )
    table: TableName | None = Field(
        default=None, description="Format rows: an Iceberg table of the catalog, read instead of files."
    )
    kafka: KafkaConfig | None = Field(default=None, description="Topics with the events, read instead of files.")
    sequence_by: SomeColumns | None = Field(
        default=None, description="Format rows, required: the column, or columns, that order the changes of a key."
    )
    delete_when: Condition | None = Field(default=None, description="Format rows: which rows say that a row is gone.")
    truncate_when: Condition | None = Field(
        default=None, description="Format rows: which rows say that all rows are gone."
    )
    ignore_when: Condition | None = Field(
        default=None, description="Format rows: which rows are no changes, such as the rows before updates."
    )
    ignore_nulls: NullColumns = Field(
        default=None, description="Format rows: columns in which a null says nothing. true: all of them."
    )
    columns: RowColumns = Field(
        default_factory=TrackSpec,
        description="Format rows: which columns are taken: all, a list, {except: [...]}.",
    )
    ties: Annotated[Ties, *words("delete", "upsert", "order")] = Field(
        default="delete", description="Format rows: what stands last of changes of a key at one place in the sequence."
    )
    time_by: Text | None = Field(
        default=None, description="Format rows: the column with the time of the change. Default: from sequence_by."
    )
    time_unit: Annotated[TimeUnit, *words("seconds", "milliseconds", "microseconds", "nanoseconds")] = Field(
        default="microseconds", description="Format rows: what a number counts, since 1970, where it is the time."
    )
    file_type: Annotated[FileType, *words("json", "csv", "parquet", "avro")] | None = Field(
        default=None,
        description="Format rows: how files are written. Default: as their names end, else json.",
    )
    snapshot_when: Condition | None = Field(
        default=None, description="Format rows: which rows were read by a snapshot, as the rows of a full load are."
    )
    header: Header = Field(
        default=(),
        description="Format rows: the columns of CSV files whose first line does not name them, in their order;"
        " where they differ between files, by the files' names: {'LOAD*': [id, name], '*': [op, id, name]}.",
    )
    null_value: Setting = Field(
        default="", description="Format rows: the text that means null in CSV files, without quotes. Default: nothing."
    )
    delimiter: Delimiter = Field(default=",", description="Format rows: between the values of a CSV file.")
    epoch: tuple[EpochConfig, ...] = Field(
        default=(),
        description="Where the log began anew: its epochs from the first on; an event that is in none is in the last.",
    )
    several: Annotated[Several, *words("disjoint", "shards", "one_log")] | None = Field(
        default=None,
        description="Of several sources: disjoint keys; shards: the source is part of the key; one_log: they are one.",
    )
    registry: RegistryConfig | None = Field(
        default=None, description="Format debezium-avro: the registry of the schemas; else the project's."
    )
    schemas: Text | None = Field(
        default=None,
        description="Format debezium-avro: a JSON file of schemas by their numbers, where there is no registry.",
    )
    images: Annotated[Images, *words("standard", "swapped")] = Field(
        default="standard", description="Canal: swapped where `data` holds the row before and `old` the row after."
    )
    order: Annotated[Order, *words("auto", "scn", "coordinates")] = Field(
        default="auto",
        description="SharePlex: by scn, or by where changes stand; auto: by scn if all changes have one."
        " Maxwell and GoldenGate: by position, or by coordinates; auto: by position if all changes have one."
        " Debezium on Oracle: scn orders by the SCN of statements; auto: by commit SCN from connector 2.0 on,"
        " while none is lower than the SCN of its change. DMS: auto orders by commit time and position in the log.",
    )

    nulls: Annotated[Nulls, *words("omitted", "included")] = Field(
        default="omitted",
        description="DMS: whether messages leave out columns that are null. included: what they lack is unchanged.",
    )

    metadata_prefix: Text = Field(
        default=METADATA_PREFIX,
        description="Format debezium-flat-json: what the transform puts before the names of an event's fields,"
        " its add.fields.prefix and add.headers.prefix.",
    )

    @model_validator(mode="after")
    def _settings_fit(self) -> SourceConfig:
        value_checks.order_fits(self.format, self.order)
        value_checks.several_fits(self.format, self.several)
        value_checks.epochs_fit(self.format, [epoch.model_fields_set for epoch in self.epoch])
        if self.registry is not None and self.schemas is not None:
            value_checks.refuse(value_checks.ONE_PLACE)
        return self


class ColumnConfig(_Section):
    """One column: its type, and what happens to its values before anything is stored."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("type", "mask", "renamed_from", "comment")],
            "dependentSchemas": {"default": {"anyOf": [{"required": ["type"]}, {"required": ["mask"]}]}},
        }
    )

    type: ColumnTypeText = Field(
        default="string", description="A Spark SQL type, or a word that says the source's encoding."
    )
    mask: Annotated[Mask, *words("sha256", "redact", "drop")] | None = Field(
        default=None, description="Applied before anything is stored or reported. Key columns: sha256 only."
    )
    salt: Text | None = Field(default=None, repr=False, description="Mixed into sha256; best taken from ${env:NAME}.")
    default: Default | None = Field(
        default=None, description="The value where an event was written before the column existed."
    )
    renamed_from: OldNames = Field(
        default=(), description="What the source called the column before: a name, or several, the oldest first."
    )
    comment: Text | None = Field(default=None, description="What the column is: Iceberg's comment on it.")

    @property
    def is_typed(self) -> bool:
        """Whether it says what the column's values are, and not only what the column is called."""
        return bool({"type", "mask"} & self.model_fields_set)

    @model_validator(mode="before")
    @classmethod
    def _type_is_said(cls, given: Any) -> Any:
        if isinstance(given, dict) and not (given.keys() - {"default", "salt"}):
            value_checks.refuse("does not say its type", "write the type, such as string or decimal(12,2).")
        return given

    @model_validator(mode="after")
    def _mask_fits(self) -> ColumnConfig:
        if self.mask in ("sha256", "redact") and parse_column_type(self.type).spark_type != "string":
            value_checks.refuse(
                f"mask {self.mask} leaves a text, but the type is {shown(self.type)}", "use type string."
            )
        if self.default is not None and not self.is_typed:
            value_checks.refuse("a default needs a type", "write the type, such as string or decimal(12,2).")
        if self.salt is not None and self.mask != "sha256":
            value_checks.refuse("a salt is for mask sha256 only")
        if self.default is not None and self.mask == "drop":
            value_checks.refuse("a column that is dropped has no default")
        value_checks.default_fits(self.default, self.type)
        return self


def _from_shorthand(given: object) -> object:
    if not isinstance(given, (str, dict)):
        value_checks.refuse(f"must be a type, or a mapping with a type, not {shown(given)}", "write it like string.")
    return {"type": given} if isinstance(given, str) else given


_Column = Annotated[
    ColumnConfig, BeforeValidator(_from_shorthand, json_schema_input_type=ColumnTypeText | ColumnConfig)
]


class TargetConfig(_Section):
    """The tables that are written."""

    latest: TableName | None = Field(
        default=None, description="What is true now. Default: the last two parts of the table."
    )
    history: TableName | None = Field(default=None, description="What was true when. Default: latest with '_history'.")
    changes: TableName | None = Field(default=None, description="What happened. Default: in the project's namespace.")
    format_version: FormatVersion = Field(
        default=3, description="Iceberg's format version; 2 for readers that know no other."
    )
    partition: Partition = Field(
        default=((), ()),
        description='Partition fields of latest and history, or by table: [month(created_at), "bucket(16, id)"].'
        " History has months(_valid_to) before them.",
    )
    sort: Sort = Field(
        default=((), ()), description="How rows are sorted in files, in both tables or by table: [region, id desc]."
    )
    properties: dict[TableProperty, Setting] = Field(
        default_factory=dict, description="Properties of latest and history, handed to Iceberg as they are."
    )


class HistoryNamesConfig(_Section):
    """What the columns of history are called in the table."""

    valid_from: HistoryName = Field(default=VALID_FROM, description="From when a version is true.")
    valid_to: HistoryName = Field(default=VALID_TO, description="Until when; null: it still is.")
    is_current: HistoryName = Field(default=IS_CURRENT, description="Whether it is the open version of a live row.")

    @model_validator(mode="after")
    def _are_different(self) -> HistoryNamesConfig:
        value_checks.names_differ({VALID_FROM: self.valid_from, VALID_TO: self.valid_to, IS_CURRENT: self.is_current})
        return self


class HistoryConfig(_Section):
    """How versions are made."""

    track: Track = Field(
        default_factory=TrackSpec, description="Columns that open a version: all, a list, or {except: [...]}."
    )
    names: HistoryNamesConfig = Field(
        default_factory=lambda: HistoryNamesConfig(),
        description="Other names of its columns, such as __START_AT or dbt_valid_from.",
    )
    recorded: bool = Field(
        default=False, description="Keep what the table said before, with _recorded_from and _recorded_to."
    )


class SnapshotConfig(_Section):
    """How far the window of a snapshot read reaches."""

    guard: Duration = Field(default=_SNAPSHOT.guard, description="Longer than the longest transaction of the source.")
    skew: Duration = Field(default=_SNAPSHOT.skew, description="Covers the error of clocks.")
    margin: Duration = Field(default=_SNAPSHOT.margin, description="How far every window reaches back by commit time.")


class RejectsConfig(_Section):
    """Records that cannot be decoded."""

    max_fraction: Fraction = Field(
        default=0.01, description="The greatest part of a run's records that may be rejected."
    )


class TableQualityConfig(_Section):
    """The checks of this table."""

    checks: Checks = Field(default=CHECK_NAMES, description="all, or the names of the checks to run.")
    severity: dict[CheckName, Annotated[Severity, *words("info", "warn", "error")]] = Field(
        default_factory=dict, description="How grave a failed check is, where it differs from the usual."
    )
    on_failure: _OnFailure | None = Field(default=None, description="What a failed check does. Default: the project's.")
    grace: Duration = Field(
        default=_GRACE, description="How long a transaction may stay incomplete, a partition or a heartbeat silent."
    )
    fresh_within: FreshWithin | None = Field(
        default=None, description="any, or how old the data may be. Default: the project's, else 36h."
    )
    expectations: Expectations = Field(
        default=(), description="Expectations of Great Expectations on latest, history or changes, by their names."
    )

    @model_validator(mode="after")
    def _severity_is_used(self) -> TableQualityConfig:
        unused = [name for name in self.severity if name not in self.checks]
        if unused:
            value_checks.refuse(f"severity names {unused[0]}, which checks leaves out")
        return self


class TableConfig(_Section):
    """One table of a source, and what becomes of it."""

    table: SourceTable = Field(
        description="The source's name of the table: schema.table or database.table; for Spanner a name alone, too."
    )
    source: SourceConfig
    keys: Keys | None = Field(
        default=None,
        description="The columns that identify a row; []: none does, equal rows are counted. Omitted: from the events.",
    )
    comment: Text | None = Field(
        default=None, description="What the table is: Iceberg's comment on latest and history."
    )
    columns: dict[ColumnName, _Column] | None = Field(
        default=None,
        description="Columns with their types. Those not named here are taken from the events.",
    )
    target: TargetConfig = Field(default_factory=lambda: TargetConfig())
    history: HistoryConfig = Field(default_factory=lambda: HistoryConfig())
    snapshot: SnapshotConfig = Field(default_factory=lambda: SnapshotConfig())
    lateness: Lateness = Field(
        default=None, description="unbounded, or how late a change may come and still be applied."
    )
    retain_changes: Retained = Field(
        default=None,
        description="forever, or how long changes are kept: maintain removes older ones; what comes later is too late.",
    )
    evolution: Annotated[Evolution, *words("additive", "strict", "ignore")] = Field(
        default="additive", description="What a new column in the events does; what is not added is rescued."
    )
    rejects: RejectsConfig = Field(default_factory=lambda: RejectsConfig())
    quality: TableQualityConfig = Field(default_factory=lambda: TableQualityConfig())
    compacted: Truth = Field(
        default=False, description="A log-compacted source: it has lost events on purpose, so missing ones only inform."
    )

    @property
    def typed(self) -> dict[str, ColumnConfig] | None:
        """The columns of which the spec says what their values are; None: none."""
        return {name: column for name, column in (self.columns or {}).items() if column.is_typed} or None

    @model_validator(mode="after")
    def _changes_are_kept_as_long_as_they_are_needed(self) -> TableConfig:
        value_checks.retention_fits(self.retain_changes, self.lateness, self.keys)
        return self

    @model_validator(mode="after")
    def _defaults_are_in_the_calendar(self) -> TableConfig:
        told = {name: (column.default, column.type) for name, column in (self.columns or {}).items()}
        value_checks.defaults_fit(told, self.source.time_zone)
        return self


class CatalogConfig(_Section):
    """The Iceberg catalog."""

    name: CatalogName = Field(default="lake", description="The catalog's name in Spark.")
    type: Annotated[str, *words("jdbc", "rest", "glue", "hive", "hadoop")] = Field(
        default="jdbc", description="jdbc on SQLite is embedded; the others pass through."
    )
    uri: Text | None = Field(default=None, description="Where it is. Default for jdbc: under the project's folder.")
    warehouse: Address | None = Field(default=None, description="Where tables are stored. Default for jdbc: as above.")
    properties: dict[Text, Setting] = Field(default_factory=dict, description="Handed to Iceberg as they are.")

    @model_validator(mode="after")
    def _place_is_said(self) -> CatalogConfig:
        if self.type in ("rest", "hive") and self.uri is None:
            value_checks.refuse(f"a catalog of type {self.type} needs a uri")
        if self.type == "hadoop" and self.warehouse is None:
            value_checks.refuse("a catalog of type hadoop needs a warehouse")
        return self


class SparkConfig(_Section):
    """The session siltstone starts itself."""

    master: Text = Field(default="local[*]", description="Spark's master.")
    conf: dict[Text, Setting] = Field(default_factory=dict, description="Spark's settings.")


class ProjectQualityConfig(_Section):
    """What failed checks do, and how old data may be."""

    on_failure: _OnFailure = Field(
        default="warn", description="warn, or block: the batch is published only if checks pass."
    )
    fresh_within: FreshWithin | None = Field(
        default=None, description="any, or how old the data may be. Default: 36h, longer where runs are further apart."
    )


class MaintenanceConfig(_Section):
    """How tables are kept small (`siltstone maintain`)."""

    retain: Duration = Field(
        default=_MAINTENANCE.retain, description="How long snapshots stay readable before they expire."
    )
    ledgers: Duration = Field(
        default=_MAINTENANCE.ledgers, description="How long the ledgers keep runs, results of checks and healed gaps."
    )
    file_size: ByteCount = Field(default=_MAINTENANCE.file_size, description="The size of compacted files: 128MB.")
    automatic: Truth = Field(default=True, description="Do what is due at the end of each catch-up.")
    budget: Duration = Field(default=_MAINTENANCE.budget, description="How long that may take.")


class ProjectConfig(_Section):
    """The project file."""

    catalog: CatalogConfig = Field(default_factory=lambda: CatalogConfig())
    namespace: DottedName = Field(default="silt", description="Where changes, rejects and runs are kept.")
    spark: SparkConfig = Field(default_factory=lambda: SparkConfig())
    quality: ProjectQualityConfig = Field(default_factory=lambda: ProjectQualityConfig())
    registry: RegistryConfig | None = Field(default=None, description="Of the specs of debezium-avro that name none.")
    maintenance: MaintenanceConfig = Field(default_factory=lambda: MaintenanceConfig())
    store: dict[Text, Setting] = Field(
        default_factory=dict,
        description="Settings of object stores by Iceberg's names: s3.endpoint, client.region. Environment: AWS_*.",
    )
    report: Address | None = Field(
        default=None, description="A URI that the report's pages are copied to: s3://bucket/folder."
    )
