"""The spec as users write it: one model per section. Editors show the description of each key."""

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
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EpochConfig(_Section):
    """One epoch of a source's log. An event belongs to it if all of its conditions hold."""

    server_id: ServerId | None = Field(
        default=None, description="The numeric id of the MySQL or MariaDB server that wrote the event."
    )
    gtid: Text | None = Field(default=None, description="The part of the event's GTID before the colon.")
    path: Text | None = Field(
        default=None,
        description="A pattern that matches the end of the event's file name: `*` is any text inside a folder, `**` any"
        " text across folders, `?` one character.",
    )
    until: Moment | None = Field(
        default=None,
        description="A time with its zone, such as 2026-03-01T04:00:00Z: the event was committed before it.",
    )

    @model_validator(mode="after")
    def _has_a_condition(self) -> EpochConfig:
        if not self.model_fields_set:
            value_checks.refuse(
                "an epoch without a condition contains every event", "name server_id, gtid, path or until."
            )
        return self


class RegistryConfig(_Section):
    """A Confluent schema registry."""

    url: HttpUrl = Field(
        description="The registry's address: http:// or https://, without a user and a password in it."
    )
    user: Text | None = Field(
        default=None,
        repr=False,
        description="The user of basic authentication, together with password. Write it as ${env:NAME}.",
    )
    password: Text | None = Field(
        default=None, repr=False, description="The password of basic authentication. Write it as ${env:NAME}."
    )
    token: Text | None = Field(
        default=None,
        repr=False,
        description="A bearer token, instead of user and password. Write it as ${env:NAME}.",
    )

    @model_validator(mode="after")
    def _has_one_login(self) -> RegistryConfig:
        if self.token is not None and self.user is not None:
            value_checks.refuse("has both a user and a token", "leave one of them out.")
        if (self.user is None) != (self.password is None):
            value_checks.refuse("user and password go together", "give both, or neither.")
        return self


class KafkaConfig(_Section):
    """Topics of a Kafka cluster."""

    bootstrap: Bootstrap = Field(description="The brokers for the first connection: host:port, or a list.")
    topics: Topics | None = Field(
        default=None,
        description="The names of the topics: one, or a list. Exactly one of topics and pattern is required.",
    )
    pattern: Pattern | None = Field(
        default=None,
        description="A regular expression, instead of topics: the source is every topic whose whole name matches it."
        " Internal topics (__...) do not match.",
    )
    starting: Starting = Field(
        default=StartingSpec(),
        description="Where a table starts in partitions from which it has taken nothing: earliest, latest,"
        " {time: 2026-03-01T04:00:00Z} (the first record that is not older), or {offsets: {'0': 12}} (per partition of"
        " one topic). Default: earliest.",
    )
    group: Text | None = Field(
        default=None,
        description="A consumer group to which each run commits the offsets that it took, after it published them, for"
        " tools that show lag. Default: none.",
    )
    max_records: PositiveNumber | None = Field(
        default=None, description="The greatest number of offsets that one run takes. Default: no limit."
    )
    options: dict[ClientOption, Setting] = Field(
        default_factory=dict,
        repr=False,
        description="Settings of librdkafka, such as security.protocol. Write secrets as ${env:NAME}.",
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

    format: Format = Field(description="The format of the events.")
    path: Address | None = Field(
        default=None,
        description="The files with the events: a file, a folder, a glob, or a URI such as s3://bucket/folder. A"
        " relative path starts at the project's folder. Required unless kafka or table is set.",
    )
    time_zone: TimeZone = Field(
        default="UTC",
        description="The zone of times that have none: a name such as Europe/Berlin, or an offset such as +08:00."
        " Default: UTC.",
    )
    decimals: Annotated[Decimals, *words("precise", "string", "double")] = Field(
        default="precise",
        description="How events without a schema encode decimals (Debezium's decimal.handling.mode). precise is base64"
        " of the unscaled number. Default: precise.",
    )
    binaries: Annotated[Binaries, *words(*get_args(Binaries))] = Field(
        default="bytes",
        description="How events without a schema encode binary values (Debezium's binary.handling.mode). bytes and"
        " base64 are both base64 in JSON. Default: bytes.",
    )
    times: Annotated[Times, *words(*get_args(Times))] = Field(
        default="adaptive",
        description="How events without a schema encode times (Debezium's time.precision.mode). Default: adaptive.",
    )
    table: TableName | None = Field(
        default=None,
        description="Format rows: an append-only Iceberg table of the catalog that holds the rows, instead of files.",
    )
    kafka: KafkaConfig | None = Field(default=None, description="The Kafka topics with the events, instead of files.")
    sequence_by: SomeColumns | None = Field(
        default=None,
        description="Format rows, required: the column, or the columns, that order the changes of a key, the most"
        " significant one first. Every row of a file or topic also has _file (its name) and _pos (the row's number in"
        " it).",
    )
    delete_when: Condition | None = Field(
        default=None, description="Format rows: a condition. Rows that meet it delete the row of their key: op = 'D'."
    )
    truncate_when: Condition | None = Field(
        default=None, description="Format rows: a condition. Rows that meet it delete all rows of the table."
    )
    ignore_when: Condition | None = Field(
        default=None,
        description="Format rows: a condition. Rows that meet it are no changes, such as a feed's rows before updates.",
    )
    ignore_nulls: NullColumns = Field(
        default=None,
        description="Format rows: the columns in which a null means that the column is absent: true (all columns),"
        " false, a list, or {except: [...]}. Default: false.",
    )
    columns: RowColumns = Field(
        default_factory=TrackSpec,
        description="Format rows: which columns of the rows are columns of the table: all, a list, or"
        " {except: [...]}. Default: all.",
    )
    ties: Annotated[Ties, *words("delete", "upsert", "order")] = Field(
        default="delete",
        description="Format rows: which of several changes of a key at the same place in the sequence is the last one:"
        " delete (a delete wins), upsert (a delete loses), or order (inserts, then updates, then deletes, as in every"
        " other format). Default: delete.",
    )
    time_by: Text | None = Field(
        default=None,
        description="Format rows: the column with the time of the change, from which versions are valid. Default: the"
        " first time in sequence_by, else its first number.",
    )
    time_unit: Annotated[TimeUnit, *words("seconds", "milliseconds", "microseconds", "nanoseconds")] = Field(
        default="microseconds",
        description="Format rows: what a number counts since 1970, if it is the time of a change and its declared type"
        " has no unit. Default: microseconds.",
    )
    file_type: Annotated[FileType, *words("json", "csv", "parquet", "avro")] | None = Field(
        default=None,
        description="Format rows: the type of the files; json is one row per line. Default: the ending of each file's"
        " name, else json.",
    )
    snapshot_when: Condition | None = Field(
        default=None,
        description="Format rows: a condition. Rows that meet it are snapshot READs, such as those of a full load.",
    )
    header: Header = Field(
        default=(),
        description="Format rows: the columns, in their order, of CSV files whose first line does not name them. If"
        " files differ: the columns by patterns of file names, of which the first match counts:"
        " {'LOAD*': [id, name], '*': [op, id, name]}.",
    )
    null_value: Setting = Field(
        default="",
        description="Format rows: the text without quotes that means null in CSV files, such as NULL. Default: an empty"
        " field.",
    )
    delimiter: Delimiter = Field(
        default=",", description="Format rows: the character between the values of a CSV file. Default: a comma."
    )
    epoch: tuple[EpochConfig, ...] = Field(
        default=(),
        description="The epochs of a source whose log positions started from the beginning (failover, RESET MASTER, a"
        " restored backup), the earliest first. An event belongs to the first epoch whose conditions all hold, else to"
        " a last epoch after the list.",
    )
    several: Annotated[Several, *words("disjoint", "shards", "one_log")] | None = Field(
        default=None,
        description="What several sources of one table are. disjoint: each has its own keys. shards: they can have the"
        " same keys, and the source becomes part of the key. one_log: they are names of one log. Default: disjoint for"
        " Debezium, one_log for all other formats.",
    )
    registry: RegistryConfig | None = Field(
        default=None,
        description="Format debezium-avro: the registry of the schemas. Default: the project's registry.",
    )
    schemas: Text | None = Field(
        default=None,
        description="Format debezium-avro: a JSON file with the schemas by their ids, instead of a registry.",
    )
    images: Annotated[Images, *words("standard", "swapped")] = Field(
        default="standard",
        description="Format canal-json: swapped if `data` holds the row before a change and `old` the row after it, as"
        " in DTS instances from before 2022-03-20. Default: standard.",
    )
    order: Annotated[Order, *words("auto", "scn", "coordinates")] = Field(
        default="auto",
        description="What orders the changes. SharePlex: scn, or coordinates (file and line, or partition and offset);"
        " auto is scn while every change has one. Maxwell, GoldenGate: coordinates; auto is the position while every"
        " change has one. Debezium on Oracle: scn is the SCN of the statement; auto is the commit SCN from connector"
        " 2.0 on, while none is lower than the SCN of its change. DMS: coordinates; auto is commit time and position"
        " in the log. debezium-flat-json: coordinates; auto is the log's fields if the rows have them. Default: auto.",
    )

    nulls: Annotated[Nulls, *words("omitted", "included")] = Field(
        default="omitted",
        description="Format dms-json: omitted if messages leave out columns that are null; included if they do not, so"
        " that a column that an update lacks is unchanged. Default: omitted.",
    )

    metadata_prefix: Text = Field(
        default=METADATA_PREFIX,
        description="Format debezium-flat-json: the text that the transform puts before the names of an event's fields"
        " (add.fields.prefix and add.headers.prefix). Default: __.",
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
    """One column: its type, and what happens to its values before they are stored."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("type", "mask", "renamed_from", "comment")],
            "dependentSchemas": {"default": {"anyOf": [{"required": ["type"]}, {"required": ["mask"]}]}},
        }
    )

    type: ColumnTypeText = Field(
        default="string",
        description="A Spark SQL type, or a word that also names the source's encoding, such as timestamp(3). Required"
        " unless mask, renamed_from or comment is set. Default with a mask: string; else the type that the events"
        " have.",
    )
    mask: Annotated[Mask, *words("sha256", "redact", "drop")] | None = Field(
        default=None,
        description="What happens to a value before it is stored or reported: sha256 keeps its hash, redact keeps only"
        " that there was a value, drop leaves the column out. Key columns can only have sha256. Default: no mask.",
    )
    salt: Text | None = Field(
        default=None,
        repr=False,
        description="A secret text that sha256 hashes together with the value. Write it as ${env:NAME}.",
    )
    default: Default | None = Field(
        default=None, description="The value of the column in events that were written before the column existed."
    )
    renamed_from: OldNames = Field(
        default=(),
        description="The earlier name of the column at the source, or a list of earlier names, the oldest first.",
    )
    comment: Text | None = Field(
        default=None, description="What the column contains. It becomes Iceberg's comment on the column."
    )

    @property
    def is_typed(self) -> bool:
        """Whether it declares a type, directly or by its mask, and not only a name or a comment."""
        return bool({"type", "mask"} & self.model_fields_set)

    @model_validator(mode="before")
    @classmethod
    def _has_a_type(cls, given: Any) -> Any:
        if isinstance(given, dict) and not (given.keys() - {"default", "salt"}):
            value_checks.refuse("has no type", "write the type, such as string or decimal(12,2).")
        return given

    @model_validator(mode="after")
    def _mask_fits(self) -> ColumnConfig:
        if self.mask in ("sha256", "redact") and parse_column_type(self.type).spark_type != "string":
            value_checks.refuse(
                f"mask {self.mask} results in a text, but the type is {shown(self.type)}", "use type string."
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
    """The Iceberg tables that siltstone writes."""

    latest: TableName | None = Field(
        default=None,
        description="The table with the current rows. Default: the last two parts of table; if table has one part only,"
        " the project's namespace and this part.",
    )
    history: TableName | None = Field(
        default=None, description="The table with all versions of each row. Default: the name of latest with _history."
    )
    changes: TableName | None = Field(
        default=None,
        description="The table with every change event. Default: <namespace>.<table>_changes, with the project's"
        " namespace and _ for each dot in table.",
    )
    format_version: FormatVersion = Field(
        default=3, description="Iceberg's format version: 3, or 2 for readers that do not support 3. Default: 3."
    )
    partition: Partition = Field(
        default=((), ()),
        description="Partition fields: a list for both latest and history, or {latest: [...], history: [...]}. Example:"
        ' [month(created_at), "bucket(16, id)"]. history always has months(_valid_to) as its first field. Default:'
        " none.",
    )
    sort: Sort = Field(
        default=((), ()),
        description="The order of rows in each file: a list for both latest and history, or {latest: [...],"
        " history: [...]}. Example: [region, id desc]. Default: none.",
    )
    properties: dict[TableProperty, Setting] = Field(
        default_factory=dict,
        description="Iceberg table properties of latest and history, such as write.parquet.compression-codec.",
    )


class HistoryNamesConfig(_Section):
    """The names of the columns that siltstone adds to history."""

    valid_from: HistoryName = Field(
        default=VALID_FROM,
        description="The name of the column with the time from which a version is valid. Default: _valid_from.",
    )
    valid_to: HistoryName = Field(
        default=VALID_TO,
        description="The name of the column with the time until which a version is valid; null in the open version."
        " Default: _valid_to.",
    )
    is_current: HistoryName = Field(
        default=IS_CURRENT,
        description="The name of the column that is true for the open version of a live row. Default: _is_current.",
    )

    @model_validator(mode="after")
    def _are_different(self) -> HistoryNamesConfig:
        value_checks.names_differ({VALID_FROM: self.valid_from, VALID_TO: self.valid_to, IS_CURRENT: self.is_current})
        return self


class HistoryConfig(_Section):
    """How siltstone builds versions."""

    track: Track = Field(
        default_factory=TrackSpec,
        description="The columns whose changes open a new version: all, a list, or {except: [...]}. Changes of other"
        " columns update the open version. Default: all.",
    )
    names: HistoryNamesConfig = Field(
        default_factory=lambda: HistoryNamesConfig(),
        description="Other names for history's own columns, such as __START_AT or dbt_valid_from.",
    )
    recorded: bool = Field(
        default=False,
        description="true: corrections end a row in history and add another one, and never overwrite it."
        " _recorded_from and _recorded_to hold when the table contained a row. Set it before the first run. Default:"
        " false.",
    )


class SnapshotConfig(_Section):
    """How far the window of a snapshot READ reaches. A streamed change inside the window supersedes the READ."""

    guard: Duration = Field(
        default=_SNAPSHOT.guard,
        description="How far the window reaches back if the READ has only a time. It must be longer than the longest"
        " transaction of the source. Default: 15m.",
    )
    skew: Duration = Field(
        default=_SNAPSHOT.skew, description="How far the window reaches ahead, for clock errors. Default: 5s."
    )
    margin: Duration = Field(
        default=_SNAPSHOT.margin, description="How far every window reaches back by commit time. Default: 10s."
    )


class RejectsConfig(_Section):
    """Records that siltstone cannot decode."""

    max_fraction: Fraction = Field(
        default=0.01,
        description="The fraction of a run's records that may be rejected before the run fails, from 0 to 1. Default:"
        " 0.01.",
    )


class TableQualityConfig(_Section):
    """The checks of this table."""

    checks: Checks = Field(
        default=CHECK_NAMES, description="all, or a list with the names of the checks to run. Default: all."
    )
    severity: dict[CheckName, Annotated[Severity, *words("info", "warn", "error")]] = Field(
        default_factory=dict,
        description="The severity of checks by their names, where it differs from the default: info, warn or error.",
    )
    on_failure: _OnFailure | None = Field(
        default=None,
        description="warn reports failed checks. block publishes a batch only if its checks pass. Default: the"
        " project's setting.",
    )
    grace: Duration = Field(
        default=_GRACE,
        description="How long, by the source's own time, a transaction may stay incomplete, and a partition or a"
        " heartbeat silent. Default: 15m.",
    )
    fresh_within: FreshWithin | None = Field(
        default=None,
        description="How old the data may be before the report calls it old: a duration, or any. Default: the project's"
        " setting, else 36h, or longer if the pauses between runs are longer.",
    )
    expectations: Expectations = Field(
        default=(),
        description="Expectations of Great Expectations, each by its name and arguments, on latest (the default),"
        " history or changes.",
    )

    @model_validator(mode="after")
    def _severity_is_used(self) -> TableQualityConfig:
        unused = [name for name in self.severity if name not in self.checks]
        if unused:
            value_checks.refuse(f"severity names {unused[0]}, which checks leaves out")
        return self


class TableConfig(_Section):
    """One table of a source, and the tables that siltstone builds from its changes."""

    table: SourceTable = Field(
        description="The name of the table at its source: schema.table or database.table. For Spanner, a name without a"
        " schema is allowed."
    )
    source: SourceConfig
    keys: Keys | None = Field(
        default=None,
        description="The columns that identify a row. []: the table has no key, and siltstone counts equal rows."
        " Default: the key that the events carry.",
    )
    comment: Text | None = Field(
        default=None, description="What the table contains. It becomes Iceberg's comment on latest and history."
    )
    columns: dict[ColumnName, _Column] | None = Field(
        default=None,
        description="Columns with their types. Other columns get the types that the events have.",
    )
    target: TargetConfig = Field(default_factory=lambda: TargetConfig())
    history: HistoryConfig = Field(default_factory=lambda: HistoryConfig())
    snapshot: SnapshotConfig = Field(default_factory=lambda: SnapshotConfig())
    lateness: Lateness = Field(
        default=None,
        description="unbounded, or a duration such as 2d. A change whose commit time is further than this before the"
        " greatest one of earlier batches is kept and reported, but not applied. Default: unbounded.",
    )
    retain_changes: Retained = Field(
        default=None,
        description="forever, or how long changes are kept, such as 400d. `siltstone maintain` removes older ones."
        " Changes that arrive later than this are not applied. Default: forever.",
    )
    evolution: Annotated[Evolution, *words("additive", "strict", "ignore")] = Field(
        default="additive",
        description="What a schema change of the events does: additive adds columns and widens types, strict ends the"
        " run with exit code 4, ignore leaves the tables as they are. Values without a column are kept in _rescued."
        " Default: additive.",
    )
    rejects: RejectsConfig = Field(default_factory=lambda: RejectsConfig())
    quality: TableQualityConfig = Field(default_factory=lambda: TableQualityConfig())
    compacted: Truth = Field(
        default=False,
        description="true for a log-compacted source, which has lost events on purpose: checks that find missing events"
        " then have the severity info. Default: false.",
    )

    @property
    def typed(self) -> dict[str, ColumnConfig] | None:
        """The columns with a declared type; None if there is none."""
        return {name: column for name, column in (self.columns or {}).items() if column.is_typed} or None

    @model_validator(mode="after")
    def _changes_are_kept_long_enough(self) -> TableConfig:
        value_checks.retention_fits(self.retain_changes, self.lateness, self.keys)
        return self

    @model_validator(mode="after")
    def _defaults_are_in_the_calendar(self) -> TableConfig:
        declared = {name: (column.default, column.type) for name, column in (self.columns or {}).items()}
        value_checks.defaults_fit(declared, self.source.time_zone)
        return self


class CatalogConfig(_Section):
    """The Iceberg catalog."""

    name: CatalogName = Field(default="lake", description="The catalog's name in Spark. Default: lake.")
    type: Annotated[str, *words("jdbc", "rest", "glue", "hive", "hadoop")] = Field(
        default="jdbc",
        description="The type of the catalog. jdbc without a uri is an embedded SQLite database. Default: jdbc.",
    )
    uri: Text | None = Field(
        default=None,
        description="The catalog's address. Required for rest and hive. Default for jdbc: lake/catalog.db in the"
        " project's folder.",
    )
    warehouse: Address | None = Field(
        default=None,
        description="Where Iceberg stores the tables' files: a path, a URI, or the name of a warehouse. Required for"
        " hadoop. Default for jdbc: lake/warehouse in the project's folder.",
    )
    properties: dict[Text, Setting] = Field(
        default_factory=dict, description="Properties of the catalog, passed to Iceberg unchanged."
    )

    @model_validator(mode="after")
    def _has_its_address(self) -> CatalogConfig:
        if self.type in ("rest", "hive") and self.uri is None:
            value_checks.refuse(f"a catalog of type {self.type} needs a uri")
        if self.type == "hadoop" and self.warehouse is None:
            value_checks.refuse("a catalog of type hadoop needs a warehouse")
        return self


class SparkConfig(_Section):
    """The local Spark session that siltstone starts. A session of spark-submit keeps its own settings."""

    master: Text = Field(default="local[*]", description="The URL of Spark's master. Default: local[*].")
    conf: dict[Text, Setting] = Field(
        default_factory=dict,
        description="Settings of Spark, such as spark.driver.memory. They override siltstone's own.",
    )


class ProjectQualityConfig(_Section):
    """What failed checks do, and how old data may be, in specs that do not set it themselves."""

    on_failure: _OnFailure = Field(
        default="warn",
        description="warn reports failed checks. block publishes a batch only if its checks pass. Default: warn.",
    )
    fresh_within: FreshWithin | None = Field(
        default=None,
        description="How old the data may be before the report calls it old: a duration, or any. Default: 36h, or"
        " longer if the pauses between runs are longer.",
    )


class MaintenanceConfig(_Section):
    """How `siltstone maintain` and the end of each catch-up keep tables small."""

    retain: Duration = Field(
        default=_MAINTENANCE.retain,
        description="How long snapshots stay readable before they expire. Default: 3d.",
    )
    ledgers: Duration = Field(
        default=_MAINTENANCE.ledgers,
        description="How long the ledgers keep runs, results of checks and healed gaps. Default: 400d.",
    )
    file_size: ByteCount = Field(
        default=_MAINTENANCE.file_size,
        description="The target size of compacted data files, such as 128MB; a number without a unit is in bytes."
        " Default: 128MB.",
    )
    automatic: Truth = Field(
        default=True, description="true: each catch-up ends with the maintenance that is due. Default: true."
    )
    budget: Duration = Field(
        default=_MAINTENANCE.budget,
        description="How long the maintenance at the end of a catch-up may take. Default: 1m.",
    )


class ProjectConfig(_Section):
    """The project file."""

    catalog: CatalogConfig = Field(default_factory=lambda: CatalogConfig())
    namespace: DottedName = Field(
        default="silt",
        description="The namespace of the tables with changes, and of the ledgers such as rejects and runs. Default:"
        " silt.",
    )
    spark: SparkConfig = Field(default_factory=lambda: SparkConfig())
    quality: ProjectQualityConfig = Field(default_factory=lambda: ProjectQualityConfig())
    registry: RegistryConfig | None = Field(
        default=None, description="The schema registry of debezium-avro specs that name neither registry nor schemas."
    )
    maintenance: MaintenanceConfig = Field(default_factory=lambda: MaintenanceConfig())
    store: dict[Text, Setting] = Field(
        default_factory=dict,
        description="Settings of object stores by Iceberg's names, such as s3.endpoint or client.region. siltstone also"
        " reads the environment variables AWS_*.",
    )
    report: Address | None = Field(
        default=None,
        description="A URI or folder to which the report's pages are copied, such as s3://bucket/folder. Default: they"
        " are only in report/ of the project's folder.",
    )
