"""The types of spec values: each joins a check with the JSON Schema that editors use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainValidator, WithJsonSchema

from siltstone.engine.names import TAKEN_NAMES
from siltstone.engine.spec import expectations, format_checks, kafka_fields, target_fields, value_checks
from siltstone.engine.spec.check_names import CHECK_NAMES
from siltstone.engine.spec.columns import TYPE_WORDS
from siltstone.engine.spec.durations import DURATION_PATTERN
from siltstone.engine.spec.model import ExpectationSpec, Freshness, StartingSpec, TrackSpec
from siltstone.engine.spec.predicates import Predicate

_REFERENCE: dict[str, Any] = {"type": "string", "pattern": r"\$\{(project|env:[A-Za-z_][A-Za-z0-9_]*)\}"}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_COLUMN: dict[str, Any] = {"type": "string", "minLength": 1, "not": {"enum": sorted(TAKEN_NAMES)}}
_COLUMNS: dict[str, Any] = {"type": "array", "items": _COLUMN, "minItems": 1, "uniqueItems": True}
_DURATION: dict[str, Any] = {"type": "string", "pattern": f"^{DURATION_PATTERN}$", "examples": ["15m", "5s", "1h30m"]}
_CHECKS: dict[str, Any] = {"type": "array", "items": {"enum": list(CHECK_NAMES)}}
_EXPECTATION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "on": {"enum": list(expectations.TABLES)},
        "severity": {"enum": list(expectations.SEVERITIES)},
        **{
            name: {"type": "object", "propertyNames": {"enum": [*takes.required, *takes.optional]}}
            for name, takes in expectations.known().items()
        },
    },
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 3,
}
_PLAIN: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_SOME_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_BY_TABLE: tuple[dict[str, Any], ...] = (
    _TEXT,
    _TEXTS,
    {
        "type": "object",
        "properties": {"latest": {"anyOf": [_TEXT, _TEXTS]}, "history": {"anyOf": [_TEXT, _TEXTS]}},
        "additionalProperties": False,
        "minProperties": 1,
    },
)
_ROW_EXCEPT: dict[str, Any] = {
    "type": "object",
    "properties": {"except": _SOME_TEXTS},
    "required": ["except"],
    "additionalProperties": False,
}
_EXCEPT: dict[str, Any] = {
    "type": "object",
    "properties": {"except": _COLUMNS},
    "required": ["except"],
    "additionalProperties": False,
}


def _schema(*ways: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema(ways[0] if len(ways) == 1 else {"anyOf": list(ways)})


def words(*known: str) -> tuple[PlainValidator, WithJsonSchema]:
    """The annotations of a text that must be one of these words."""
    return PlainValidator(value_checks.word_check(known)), _schema({"enum": list(known)}, _REFERENCE)


Text = Annotated[str, PlainValidator(value_checks.text), _schema(_TEXT)]
Address = Annotated[
    str,
    PlainValidator(value_checks.address),
    _schema({**_TEXT, "examples": ["events/*.jsonl.gz", "s3://bucket/folder"]}),
]
DottedName = Annotated[str, PlainValidator(value_checks.dotted_name), _schema(_TEXT)]
CatalogName = Annotated[str, PlainValidator(value_checks.catalog_name), _schema({**_TEXT, "pattern": "^[^.]+$"})]
SourceTable = Annotated[
    str, PlainValidator(value_checks.dotted_name), _schema({**_TEXT, "examples": ["inventory.customers", "Singers"]})
]
TableName = Annotated[
    str, PlainValidator(value_checks.table_name), _schema({**_TEXT, "examples": ["inventory.customers"]})
]
ColumnName = Annotated[str, PlainValidator(value_checks.column_name), _schema(_COLUMN)]
HistoryName = Annotated[str, PlainValidator(value_checks.history_name), _schema(_TEXT)]
Partition = Annotated[target_fields.Partitions, PlainValidator(target_fields.partition), _schema(*_BY_TABLE)]
Sort = Annotated[target_fields.SortOrders, PlainValidator(target_fields.sort), _schema(*_BY_TABLE)]
TableProperty = Annotated[str, PlainValidator(target_fields.table_property), _schema(_TEXT)]
OldNames = Annotated[tuple[str, ...], PlainValidator(value_checks.old_names), _schema(_COLUMN, _COLUMNS)]
Keys = Annotated[tuple[str, ...], PlainValidator(value_checks.key_names), _schema({**_COLUMNS, "minItems": 0})]
ColumnTypeText = Annotated[
    str,
    PlainValidator(value_checks.column_type),
    _schema({"type": "string", "examples": [*TYPE_WORDS, "decimal(12,2)", "timestamp(3)", "array<string>"]}),
]
Duration = Annotated[timedelta, PlainValidator(value_checks.duration), _schema(_DURATION, _REFERENCE)]
ByteCount = Annotated[
    int,
    PlainValidator(value_checks.byte_count),
    _schema({"type": "string", "examples": ["128MB"]}, {"type": "integer"}),
]
Lateness = Annotated[
    timedelta | None,
    PlainValidator(value_checks.lateness),
    _schema({"enum": [value_checks.UNBOUNDED]}, _DURATION, _REFERENCE),
]
Retained = Annotated[
    timedelta | None,
    PlainValidator(value_checks.retained),
    _schema({"enum": [value_checks.FOREVER]}, _DURATION, _REFERENCE),
]
FreshWithin = Annotated[
    Freshness,
    PlainValidator(value_checks.fresh_within),
    _schema({"enum": [value_checks.ANY_AGE]}, _DURATION, _REFERENCE),
]
TimeZone = Annotated[
    str, PlainValidator(value_checks.time_zone), _schema({**_TEXT, "examples": ["UTC", "Europe/Berlin", "+08:00"]})
]
Format = Annotated[
    str, PlainValidator(format_checks.source_format), _schema({"enum": list(format_checks.FORMATS)}, _REFERENCE)
]
FormatVersion = Annotated[int, PlainValidator(value_checks.format_version), _schema({"enum": [2, 3]}, _REFERENCE)]
Fraction = Annotated[
    float, PlainValidator(value_checks.fraction), _schema({"type": "number", "minimum": 0, "maximum": 1}, _REFERENCE)
]
HttpUrl = Annotated[
    str, PlainValidator(value_checks.http_url), _schema({**_TEXT, "examples": ["https://registry:8081"]}, _REFERENCE)
]
Moment = Annotated[
    datetime, PlainValidator(value_checks.moment), _schema({**_TEXT, "examples": ["2026-03-01T04:00:00Z"]}, _REFERENCE)
]
_OFFSETS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
_STARTING: dict[str, Any] = {
    "type": "object",
    "properties": {"time": _TEXT, "offsets": _OFFSETS},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
Bootstrap = Annotated[
    str, PlainValidator(kafka_fields.bootstrap), _schema({**_TEXT, "examples": ["broker:9092"]}, _SOME_TEXTS)
]
Topics = Annotated[tuple[str, ...], PlainValidator(kafka_fields.topics), _schema(_TEXT, _SOME_TEXTS)]
Pattern = Annotated[str, PlainValidator(kafka_fields.pattern), _schema({**_TEXT, "examples": ["srv[.]shop[.].*"]})]
Starting = Annotated[
    StartingSpec, PlainValidator(kafka_fields.starting), _schema({"enum": ["earliest", "latest"]}, _STARTING)
]
ClientOption = Annotated[str, PlainValidator(kafka_fields.client_option), _schema(_TEXT)]
PositiveNumber = Annotated[
    int, PlainValidator(kafka_fields.positive_number), _schema({"type": "integer", "minimum": 1}, _REFERENCE)
]
ServerId = Annotated[
    int, PlainValidator(value_checks.server_id), _schema({"type": "integer", "minimum": 0}, _REFERENCE)
]
Setting = Annotated[str, PlainValidator(value_checks.setting), _schema(_PLAIN)]
Default = Annotated[str | int | float | bool, PlainValidator(value_checks.default_value), _schema(_PLAIN)]
Track = Annotated[TrackSpec, PlainValidator(value_checks.track), _schema({"enum": ["all"]}, _COLUMNS, _EXCEPT)]
Checks = Annotated[tuple[str, ...], PlainValidator(value_checks.check_names), _schema({"enum": ["all"]}, _CHECKS)]
CheckName = Annotated[str, PlainValidator(value_checks.word_check(CHECK_NAMES)), _schema({"enum": list(CHECK_NAMES)})]
Truth = Annotated[bool, PlainValidator(value_checks.truth), _schema({"type": "boolean"}, _REFERENCE)]
_Expectation = Annotated[ExpectationSpec, PlainValidator(expectations.expectation), _schema(_EXPECTATION)]
Expectations = Annotated[
    tuple[_Expectation, ...],
    BeforeValidator(expectations.some_list),
    AfterValidator(expectations.labelled),
    _schema({"type": "array", "items": _EXPECTATION}),
]
SomeColumns = Annotated[tuple[str, ...], PlainValidator(value_checks.some_columns), _schema(_TEXT, _SOME_TEXTS)]
Condition = Annotated[
    Predicate,
    PlainValidator(format_checks.predicate),
    _schema({**_TEXT, "examples": ["op = 'D'", "deleted AND NOT kept"]}),
]
RowColumns = Annotated[
    TrackSpec, PlainValidator(format_checks.row_columns), _schema({"enum": ["all"]}, _SOME_TEXTS, _ROW_EXCEPT)
]
NullColumns = Annotated[
    TrackSpec | None,
    PlainValidator(format_checks.null_columns),
    _schema({"type": "boolean"}, _SOME_TEXTS, _ROW_EXCEPT, _REFERENCE),
]
Header = Annotated[
    tuple[tuple[str, tuple[str, ...]], ...],
    PlainValidator(format_checks.header),
    _schema(_SOME_TEXTS, {"type": "object", "additionalProperties": _SOME_TEXTS, "minProperties": 1}),
]
Delimiter = Annotated[
    str,
    PlainValidator(format_checks.delimiter),
    _schema({"type": "string", "minLength": 1, "maxLength": 1}, _REFERENCE),
]
