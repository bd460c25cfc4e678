"""Files of tools that siltstone does not read. Init names the tool, and does not read them as plain rows."""

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from siltstone.engine.decode.formats.debezium_positions import CONNECTORS
from siltstone.engine.errors import SourceError
from siltstone.engine.init import find_tables, written_specs
from siltstone.engine.init.file_sample import read_sample
from siltstone.engine.init.other_tools import TOOLS, tool_of
from siltstone.engine.init.recognition import best_format
from tests.unit.decode.given import SOURCE, event

DATA_CHANGE = {"after": {"id": 1}, "updated": "1534266219010690397.0000000000", "key": [1]}
QLIK = {"operation": "UPDATE", "changeSequence": "20230911032325000000000000000000005", "streamPosition": "1"}
KINESIS = {"kinesisSchemaVersion": "1.0", "partitionKey": "1", "sequenceNumber": "4", "data": "SGVsbG8="}
DYNAMO = {"Keys": {"id": {"N": "1"}}, "NewImage": {"id": {"N": "1"}}, "SequenceNumber": "1"}
MONGO = {"_id": {"_data": "82"}, "clusterTime": {"$timestamp": {"t": 1, "i": 1}}, "ns": {"db": "d", "coll": "c"}}
STREAMSETS = {"Type": "INSERT", "Database": "d", "Table": "t", "ServerId": 1, "Data": {"id": 1}, "Timestamp": 1}
EVENTS: dict[str, tuple[Any, ...]] = {
    "CloudEvents": ({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": {"id": 1}},),
    "changes of Confluent's Oracle CDC connector": (
        {
            "ID": 1,
            "table": "T",
            "scn": "1",
            "op_type": "I",
            "op_ts": "1",
            "current_ts": "2",
            "row_id": "A",
            "username": "U",
        },
    ),
    "changes of TiCDC": (
        {
            "version": 1,
            "database": "d",
            "table": "t",
            "type": "INSERT",
            "commitTs": 4,
            "buildTs": 1,
            "data": {"id": "1"},
        },
        {"ts": 1, "scm": "d", "tbl": "t", "t": 1},
    ),
    "events of MongoDB's change streams": (
        MONGO | {"operationType": "insert", "documentKey": {"_id": 1}, "fullDocument": {"_id": 1}},
    ),
    "messages of Airbyte": (
        {"type": "RECORD", "record": {"stream": "s", "data": {"id": 1}, "emitted_at": 1}},
        {"_airbyte_ab_id": "u", "_airbyte_emitted_at": 1, "_airbyte_data": {"id": 1}},
    ),
    "messages of Singer (Stitch, Meltano)": ({"type": "RECORD", "stream": "s", "record": {"id": 1}},),
    "documents of Estuary": ({"_meta": {"op": "c", "uuid": "u", "source": {"table": "t"}}, "id": 1},),
    "events of Striim": ({"metadata": {"OperationName": "INSERT", "TableName": "S.T"}, "data": {"ID": "1"}},),
    "messages of Qlik Replicate": (
        {"magic": "atMSG", "type": "DT", "message": {"data": {"ID": "2"}, "beforeData": None, "headers": QLIK}},
        {"data": {"ID": "2"}, "beforeData": None, "headers": QLIK},
    ),
    "records of StreamSets": (STREAMSETS, STREAMSETS | {"BinLogFilename": "b", "BinLogPosition": 1}),
    "records of Amazon Kinesis": (
        {"Records": [{"kinesis": KINESIS, "eventSource": "aws:kinesis"}]},
        {"SequenceNumber": "4", "PartitionKey": "1", "Data": "SGVsbG8=", "ApproximateArrivalTimestamp": 1},
    ),
    "records of DynamoDB streams": (
        {"eventID": "1", "eventName": "INSERT", "dynamodb": DYNAMO},
        {"Records": [{"eventName": "INSERT", "dynamodb": DYNAMO}]},
    ),
    "changes of wal2json": (
        {"change": [{"kind": "insert", "schema": "s", "table": "t", "columnnames": ["id"], "columnvalues": [1]}]},
        {"action": "I", "schema": "s", "table": "t", "columns": [{"name": "id", "type": "integer", "value": 1}]},
    ),
    "changes of CockroachDB": (DATA_CHANGE, {"resolved": "1534266219010690397.0000000000"}),
    "change events of Salesforce": (
        {"schema": "x", "payload": {"ChangeEventHeader": {"changeType": "CREATE"}, "Name": "A"}, "event": {}},
    ),
    "changes of PostgreSQL's test_decoding": (
        "table public.t: INSERT: id[integer]:1",
        "0/16 700 table public.t: DELETE: (no-tuple-data)",
    ),
    "records of a MySQL binary log": ("### INSERT INTO `d`.`t`",),
}
DELTA = {"_change_type": "update_preimage", "_commit_version": 3, "_commit_timestamp": "2024-01-01T00:00:00Z"}
ROWS: dict[str, tuple[Any, ...]] = {
    "rows of Airbyte": ({"_airbyte_raw_id": "u", "_airbyte_extracted_at": 1, "id": 1},),
    "rows of Singer (Stitch, Meltano)": ({"_sdc_batched_at": "2024", "id": 1},),
    "rows of Fivetran": ({"id": 1, "_fivetran_synced": "2024-01-01T00:00:00Z", "_fivetran_deleted": False},),
    "rows of Estuary": ({"_meta/op": "c", "flow_published_at": "2024", "id": 1},),
    "rows of PeerDB": ({"id": 1, "_PEERDB_SYNCED_AT": "2024", "_PEERDB_IS_DELETED": False},),
    "change tables of Qlik Replicate": ({"header__change_seq": "1", "header__change_oper": "I", "id": 1},),
    "rows of Delta's change data feed": ({"id": 1} | DELTA,),
    "rows of Iceberg's changelog": ({"id": 1, "_change_type": "INSERT", "_change_ordinal": 0},),
    "rows of BigQuery's change history": ({"id": 1, "_CHANGE_TYPE": "INSERT", "_CHANGE_TIMESTAMP": "2024"},),
    "rows of Snowflake's streams": ({"ID": 1, "METADATA$ACTION": "INSERT", "METADATA$ISUPDATE": False},),
    "rows of SQL Server's change tables": ({"__$start_lsn": "0x1", "__$operation": 2, "id": 1},),
    "rows of SQL Server's change tracking": ({"SYS_CHANGE_VERSION": 1, "SYS_CHANGE_OPERATION": "I", "id": 1},),
    "rows of Apache Hudi": ({"_hoodie_commit_time": "2024", "_hoodie_record_key": "1", "id": 1},),
    "rows of IBM InfoSphere CDC": ({"DM_OPERATION_TYPE": "I", "DM_TXID": 1, "id": 1},),
}  # fmt: skip


def written(file: Path, *records: Any) -> Path:
    file.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))
    return file


def refused(*places: Path) -> SourceError:
    with pytest.raises(SourceError) as found:
        find_tables(places)
    return found.value


def test_every_tool_has_an_example() -> None:
    assert {tool.name for tool in TOOLS} == EVENTS.keys() | ROWS.keys()
    assert {tool.name for tool in TOOLS if tool.is_rows} == ROWS.keys()


@pytest.mark.parametrize("name", EVENTS)
def test_events_of_a_tool_are_named_and_not_read(tmp_path: Path, name: str) -> None:
    for number, record in enumerate(EVENTS[name]):
        file = written(tmp_path / f"{number}.jsonl", record, record)
        assert f"(these are {name}, which siltstone does not read yet). Nothing" in refused(file).message
        carried = {"topic": "t", "key": None, "value": record if isinstance(record, str) else json.dumps(record)}
        if not isinstance(record, str):
            assert f"these are {name}" in refused(written(tmp_path / f"{number}.txt", carried)).message


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_tool_are_plain_rows_with_a_remark(tmp_path: Path, name: str) -> None:
    for number, row in enumerate(ROWS[name]):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = written(folder / "rows.jsonl", row)
        remarks: list[str] = []
        tables = find_tables([file], remarks.append)
        assert remarks == [f"{file}: these are {name}. siltstone has no decoder for them and reads them as plain rows"]
        (spec,) = written_specs(tables, tmp_path / "specs", tmp_path)
        assert f"# These are {name}, read as plain rows. delete_when must define" in spec.text
        assert yaml.safe_load(spec.text)["source"]["format"] == "rows"


def test_rows_of_a_tool_in_csv_and_parquet_are_detected_by_their_columns(tmp_path: Path) -> None:
    csv = written(tmp_path / "rows.csv", "id,METADATA$ACTION", "1,INSERT", "2,DELETE")
    tool = tool_of(read_sample(csv))
    assert tool is not None
    assert tool.name == "rows of Snowflake's streams"
    parquet = tmp_path / "feed.parquet"
    pq.write_table(pa.Table.from_pylist([{"id": 1} | DELTA]), parquet)
    tool = tool_of(read_sample(parquet))
    assert tool is not None
    assert tool.name == "rows of Delta's change data feed"
    nested = tmp_path / "nested.parquet"
    pq.write_table(pa.Table.from_pylist([{"metadata": {"OperationName": "INSERT"}, "data": {"id": 1}}]), nested)
    assert "these are events of Striim" in refused(nested).message


@pytest.mark.parametrize(
    "row",
    [
        {"id": 1, "source": "web", "type": "t"},
        {"database": "d", "table": "t", "type": "base table", "ts": 1},
        {"op": "I", "id": 1},
        {"Op": "Install", "id": 1},
        {"id": 1, "data": {"id": 1}, "metadata": {"a": 1}},
        {"action": "I", "id": 1},
        {"id": 1, "updated": "2024-01-01", "after": 3},
    ],
)
def test_rows_with_some_columns_of_a_tool_stay_rows(tmp_path: Path, row: dict[str, Any]) -> None:
    file = written(tmp_path / "rows.jsonl", row)
    assert tool_of(read_sample(file)) is None
    remarks: list[str] = []
    assert [table.format for table in find_tables([file], remarks.append)] == ["rows"]
    assert remarks == []


def test_a_remark_names_the_files_that_are_skipped(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", event("c", after={"id": 1}))
    striim = written(tmp_path / "b.jsonl", *EVENTS["events of Striim"])
    remarks: list[str] = []
    assert [table.name for table in find_tables([tmp_path], remarks.append)] == ["shop.items"]
    assert len(remarks) == 1
    assert remarks[0].startswith(f"{striim} is skipped: these are events of Striim, which siltstone does not read")


# --- connectors of Debezium -----------------------------------------------------------------------------------------

HEARTBEAT = {"key": {"serverName": "srv"}, "value": {"ts_ms": 1}}


@pytest.mark.parametrize("beats", [0, 5])
@pytest.mark.parametrize("connector", ["cassandra", "spanner", "unheard-of"])
def test_a_connector_that_is_not_read_is_named_with_those_that_are(tmp_path: Path, connector: str, beats: int) -> None:
    line = event("c", after={"id": 1}, source={"connector": connector})
    error = refused(written(tmp_path / "a.jsonl", *[HEARTBEAT] * beats, line, line))
    assert f'connector "{connector}" is not supported; supported: ' in error.message
    assert all(name in error.message for name in CONNECTORS)
    assert "empty" not in error.message


# --- events inside other records ------------------------------------------------------------------------------------

CHANGE = json.loads(event("c", after={"id": 1}))["value"]
TEXT = json.dumps(CHANGE)
IN_BASE64 = base64.b64encode(TEXT.encode()).decode()
INSIDE: list[tuple[Any, str]] = [
    ({"value": TEXT}, "'.value|fromjson'"),
    ({"key": '{"id": 1}', "value": TEXT}, "'.key = (.key|fromjson? // .) | .value = (.value|(fromjson)? // .)'"),
    ({"topic": "t", "payload": TEXT}, "'.key = (.key|fromjson? // .) | .payload = (.payload|(fromjson)? // .)'"),
    ({"at": 1, "event": CHANGE}, "'.event'"),
    ({"at": 1, "event": {"payload": CHANGE}}, "'.event'"),  # which the decoder opens itself
    ({"message": {"data": IN_BASE64}}, "'.message.data|@base64d|fromjson'"),
    ({"records": [{"data": CHANGE}]}, "'.records[].data'"),
    ({"my event": TEXT}, """'.["my event"]|fromjson'"""),
]


@pytest.mark.parametrize(("record", "command"), INSIDE)
def test_events_inside_a_field_are_an_error_with_the_command_that_extracts_them(
    tmp_path: Path, record: dict[str, Any], command: str
) -> None:
    error = refused(written(tmp_path / "a.jsonl", record, record))
    assert "(debezium-json events inside of ." in error.message
    assert str(error.hint).endswith(f"jq -c {command}")


def test_rows_with_nested_objects_stay_rows(tmp_path: Path) -> None:
    row = {"id": 1, "doc": {"op": "c", "source": "a"}, "text": '{"a": 1}', "word": "eyJh", "list": [{"a": 1}]}
    file = written(tmp_path / "rows.jsonl", row)
    assert best_format(read_sample(file)) is None
    assert [table.format for table in find_tables([file])] == ["rows"]


def test_a_column_of_a_parquet_file_can_hold_events(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([{"value": TEXT, "at": 1}]), file)
    error = refused(file)
    assert "(debezium-json events inside of .value)" in error.message
    assert "write that column as lines of JSON" in str(error.hint)


# --- hidden files ---------------------------------------------------------------------------------------------------


def test_files_that_are_skipped_because_of_their_names_are_listed(tmp_path: Path) -> None:
    line = event("c", after={"id": 1}, source=SOURCE)
    hidden = tmp_path / "_temporary"
    hidden.mkdir()
    written(hidden / "a.jsonl", line)
    error = refused(tmp_path)
    assert "1 file whose name or folder begins with _ or . (a.jsonl) is skipped" in error.message
    written(tmp_path / ".b.jsonl", line)
    assert "(.b.jsonl) is skipped" in refused(tmp_path / ".b.jsonl").message  # as by a run, also where it is named
    seen = written(tmp_path / "c.jsonl", line)
    remarks: list[str] = []
    (table,) = find_tables([tmp_path], remarks.append)
    assert table.files == [seen]
    assert remarks == ["2 files whose names or folders begin with _ or . (.b.jsonl, a.jsonl) are skipped"]
