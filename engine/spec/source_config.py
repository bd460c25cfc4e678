"""The section `source` of a spec as users write it. Editors show the description of each key."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field, model_validator

from siltstone.engine.spec import format_checks, value_checks
from siltstone.engine.spec.config_section import Section
from siltstone.engine.spec.model import (
    METADATA_PREFIX,
    Binaries,
    Decimals,
    Images,
    Nulls,
    Order,
    Several,
    StartingSpec,
    Times,
    TrackSpec,
)
from siltstone.engine.spec.rows_format import FileType, Ties, TimeUnit
from siltstone.engine.spec.value_types import (
    Address,
    Bootstrap,
    ClientOption,
    Condition,
    Delimiter,
    Format,
    Header,
    HttpUrl,
    Moment,
    NullColumns,
    Pattern,
    PositiveNumber,
    RowColumns,
    ServerId,
    Setting,
    SomeColumns,
    Starting,
    TableName,
    Text,
    TimeZone,
    Topics,
    words,
)


class EpochConfig(Section):
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


class RegistryConfig(Section):
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


class KafkaConfig(Section):
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


class SourceConfig(Section):
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
        format_checks.order_fits(self.format, self.order)
        format_checks.several_fits(self.format, self.several)
        format_checks.epochs_fit(self.format, [epoch.model_fields_set for epoch in self.epoch])
        if self.registry is not None and self.schemas is not None:
            value_checks.refuse(value_checks.ONE_PLACE)
        return self
