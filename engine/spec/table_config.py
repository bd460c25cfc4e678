"""A spec as users write it: one model per section. Editors show the description of each key."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from siltstone.engine.names import IS_CURRENT, VALID_FROM, VALID_TO
from siltstone.engine.spec import value_checks
from siltstone.engine.spec.check_names import CHECK_NAMES
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.config_section import OnFailureWord, Section
from siltstone.engine.spec.model import (
    ChecksSpec,
    Evolution,
    Mask,
    Severity,
    SnapshotSpec,
    TrackSpec,
)
from siltstone.engine.spec.source_config import SourceConfig
from siltstone.engine.spec.value_types import (
    CheckName,
    Checks,
    ColumnName,
    ColumnTypeText,
    Default,
    Duration,
    Expectations,
    FormatVersion,
    Fraction,
    FreshWithin,
    HistoryName,
    Keys,
    Lateness,
    OldNames,
    Partition,
    Retained,
    Setting,
    Sort,
    SourceTable,
    TableName,
    TableProperty,
    Text,
    Track,
    Truth,
    words,
)
from siltstone.engine.spec.wording import shown

_SNAPSHOT = SnapshotSpec()
_GRACE = ChecksSpec((), {}).grace


class ColumnConfig(Section):
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


class TargetConfig(Section):
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


class HistoryNamesConfig(Section):
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


class HistoryConfig(Section):
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


class SnapshotConfig(Section):
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


class RejectsConfig(Section):
    """Records that siltstone cannot decode."""

    max_fraction: Fraction = Field(
        default=0.01,
        description="The fraction of a run's records that may be rejected before the run fails, from 0 to 1. Default:"
        " 0.01.",
    )


class TableQualityConfig(Section):
    """The checks of this table."""

    checks: Checks = Field(
        default=CHECK_NAMES, description="all, or a list with the names of the checks to run. Default: all."
    )
    severity: dict[CheckName, Annotated[Severity, *words("info", "warn", "error")]] = Field(
        default_factory=dict,
        description="The severity of checks by their names, where it differs from the default: info, warn or error.",
    )
    on_failure: OnFailureWord | None = Field(
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


class TableConfig(Section):
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
