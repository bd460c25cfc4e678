"""Tools whose changes siltstone does not read yet, and the marks that only their files have.

If you add a decoder for one of them, delete its lines here: no other place knows these tools.

https://github.com/cloudevents/spec/blob/main/cloudevents/formats/json-format.md
https://docs.pingcap.com/tidb/stable/ticdc-simple-protocol, ticdc-open-protocol
https://www.mongodb.com/docs/manual/reference/change-events/
https://docs.airbyte.com/understanding-airbyte/airbyte-protocol
https://fivetran.com/docs/core-concepts/system-columns-and-tables
https://docs.estuary.dev/guides/advanced-usage/metadata-fields
https://www.striim.com/docs/en/postgresql-reader-waevent-fields.html
https://help.qlik.com/en-US/replicate/ (The Replicate envelope; Change Tables)
https://docs.streamsets.com/ (MySQL Binary Log: generated records)
https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html, with-ddb.html
https://docs.delta.io/latest/delta-change-data-feed.html
https://docs.snowflake.com/en/user-guide/streams-intro
https://github.com/eulerto/wal2json
https://hudi.apache.org/docs/metadata (meta fields)
https://www.cockroachlabs.com/docs/stable/changefeed-messages
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, parse_object, plain_text
from siltstone.engine.init.file_sample import Sample

LOOKED_AT: Final = 200
LEAST_SHARE: Final = 4
"""At least one record in this number has the marks: the others can begin and end transactions."""
_AROUND: Final = ("value", "payload")
_ANY: Final = r"(?s).*"

Mark = Mapping[str, str]
"""Fields that a record must have: their places (`a.b`: a field of an object, or of the first object of an array), and
patterns of their values."""


@dataclass(frozen=True)
class Tool:
    """A tool. `name`: its records, in the plural. `marks`: a record has one of them. `line`: the beginning of a line.

    `is_rows`: its records are rows with columns of the tool. They can be read as plain rows, if the spec defines the
    meaning of these columns. The records of other tools need a decoder.
    """

    name: str
    marks: tuple[Mark, ...] = ()
    line: re.Pattern[bytes] | None = None
    is_rows: bool = False


def has(*places: str, **values: str) -> Mark:
    """A mark: places with any value, and names with patterns of their values."""
    return {**dict.fromkeys(places, _ANY), **values}


TOOLS: Final = (
    Tool("CloudEvents", (has("specversion", "id", "source", "type"),)),
    Tool("changes of Confluent's Oracle CDC connector", (has("op_type", "op_ts", "scn", "row_id"),)),
    Tool(
        "changes of TiCDC",
        (
            has("commitTs", "buildTs", "type"),
            has("buildTs", type="WATERMARK|BOOTSTRAP"),
            has("ts", "scm", "tbl", "t"),
        ),
    ),
    Tool("events of MongoDB's change streams", (has("operationType", "clusterTime"), has("operationType", "ns.db"))),
    Tool(
        "messages of Airbyte",
        (has("record.stream", "record.data", type="RECORD"), has("_airbyte_data")),
    ),
    Tool("rows of Airbyte", (has("_airbyte_raw_id"), has("_airbyte_extracted_at")), is_rows=True),
    Tool("messages of Singer (Stitch, Meltano)", (has("stream", "record", type="RECORD"),)),
    Tool("rows of Singer (Stitch, Meltano)", (has("_sdc_batched_at"), has("_sdc_extracted_at")), is_rows=True),
    Tool("rows of Fivetran", (has("_fivetran_synced"),), is_rows=True),
    Tool("documents of Estuary", (has("_meta.uuid", **{"_meta.op": "[cud]"}),)),
    Tool("rows of Estuary", (has("_meta/op"), has("flow_published_at")), is_rows=True),
    Tool("rows of PeerDB", (has("_peerdb_synced_at"), has("_PEERDB_SYNCED_AT")), is_rows=True),
    Tool("events of Striim", (has("data", **{"metadata.OperationName": _ANY}),)),
    Tool(
        "messages of Qlik Replicate",
        (
            has(magic="atMSG"),
            has("headers.changeSequence", "headers.operation"),
            has("message.headers.operation", "message.data"),
        ),
    ),
    Tool("change tables of Qlik Replicate", (has("header__change_seq"), has("header__change_oper")), is_rows=True),
    Tool(
        "records of StreamSets",
        (has("BinLogFilename", "Database", "Table"), has("header.stageCreator"), has("Type", "Database", "ServerId")),
    ),
    Tool(
        "records of Amazon Kinesis",
        (has("Records.kinesis"), has("kinesis.data"), has("SequenceNumber", "PartitionKey", "Data")),
    ),
    Tool("records of DynamoDB streams", (has("Records.dynamodb"), has("dynamodb.Keys", "eventName"))),
    Tool(
        "rows of Delta's change data feed",
        (has("_commit_version", _change_type="insert|delete|update_(pre|post)image"),),
        is_rows=True,
    ),
    Tool("rows of Iceberg's changelog", (has("_change_type", "_change_ordinal"),), is_rows=True),
    Tool("rows of BigQuery's change history", (has(_CHANGE_TYPE="INSERT|UPDATE|DELETE|UPSERT"),), is_rows=True),
    Tool("rows of Snowflake's streams", (has("METADATA$ACTION"),), is_rows=True),
    Tool("rows of SQL Server's change tables", (has("__$start_lsn"), has("__$operation")), is_rows=True),
    Tool("rows of SQL Server's change tracking", (has("SYS_CHANGE_OPERATION"),), is_rows=True),
    Tool("rows of Apache Hudi", (has("_hoodie_commit_time"),), is_rows=True),
    Tool("rows of IBM InfoSphere CDC", (has("DM_OPERATION_TYPE"),), is_rows=True),
    Tool("changes of wal2json", (has("change.kind", "change.table"), has("schema", "table", action="[IUDT]"))),
    Tool(
        "changes of CockroachDB",
        (
            has("after", updated=r"\d{19}\.\d{10}"),
            has("after", mvcc_timestamp=r"\d{19}\.\d{10}"),
            has(resolved=r"\d{19}\.\d{10}"),
        ),
    ),
    Tool("change events of Salesforce", (has("ChangeEventHeader"), has("payload.ChangeEventHeader"))),
    Tool(
        "changes of PostgreSQL's test_decoding",
        line=re.compile(rb"(?:[0-9A-F/]+\s+\d+\s+)?table \S+: (?:INSERT|UPDATE|DELETE|TRUNCATE):"),
    ),
    Tool("records of a MySQL binary log", line=re.compile(rb"\xfebin|### (?:INSERT INTO|UPDATE|DELETE FROM) `")),
)


def tool_of(sample: Sample) -> Tool | None:
    """The tool that wrote a file; None if the records have no mark of these tools."""
    if sample.container == "text":
        lines = [line.text for line in sample.lines[:LOOKED_AT]]
        return next((tool for tool in TOOLS if tool.line and any(map(tool.line.match, lines))), None)
    records = [found for message in sample.rows()[:LOOKED_AT] if (found := list(_objects(message.text)))]
    for tool in TOOLS:
        marked = sum(any(_has(inside, mark) for inside in found for mark in tool.marks) for found in records)
        if marked and marked * LEAST_SHARE >= len(records):
            return tool
    return None


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    """A record, and the values of messages in it."""
    try:
        record = parse_object(text)
    except PARSE_ERRORS:
        return
    yield record
    for name in _AROUND:
        inside = _opened(record.get(name))
        if isinstance(inside, dict):
            yield inside


def _has(record: dict[str, Any], mark: Mark) -> bool:
    return all(_matches(record, place, pattern) for place, pattern in mark.items())


def _matches(record: dict[str, Any], place: str, pattern: str) -> bool:
    value: Any = record
    for name in [place] if place in record else place.split("."):
        value = _opened(value)
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return pattern == _ANY or (value is not None and re.fullmatch(pattern, plain_text(value)) is not None)


def _opened(value: Any) -> Any:
    """An object or an array, also from text, because typed files have them as text."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return parse(value.encode("utf-8", "replace"))
    except PARSE_ERRORS:
        return value
