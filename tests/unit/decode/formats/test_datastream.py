"""Datastream's events of four databases: their kinds, their positions, and the identities of their rows."""

import json
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from tests.recordings import DATA

SOURCE = SourceSpec("datastream-json", "x")
TIME = "2024-05-06T12:16:01"
UUID = "2b77cb55-84a2-11ee-8612-42010a8e004a"


def event(change: Any, time: Any = TIME, payload: Any = None, method: str = "cdc", **meta: Any) -> str:
    metadata = {"table": "t", "change_type": change, "is_deleted": change == "DELETE"} | meta
    stamps = {"uuid": "u", "read_timestamp": "2024-05-06 12:20:00", "source_timestamp": time, "read_method": method}
    return json.dumps(stamps | {"source_metadata": metadata, "payload": payload or {"id": 1}})


def mysql(change: Any, file: str | None, pos: Any, time: Any = TIME, **meta: Any) -> str:
    return event(change, time, database="db", log_file=file, log_position=pos, primary_keys=["id"], **meta)


def gtids(change: str | None, file: str | None, pos: Any, time: str | None = TIME, **meta: Any) -> str:
    """An event of a MySQL stream with GTIDs."""
    server: dict[str, Any] = {
        "gtid": f"{UUID}:{pos}",
        "datastream_master_server_uuid": UUID,
        "datastream_master_server_id": 2241748814,
    }
    place = {"binlog_file": file, "binlog_position": pos}
    return event(change, time, database="db", primary_keys=["id"], **server, **place, **meta)


def oracle(change: str | None, scn: Any, rs_id: str | None, ssn: Any = 0, time: str = TIME, **meta: Any) -> str:
    return event(change, time, schema="HR", database="xe", scn=scn, rs_id=rs_id, ssn=ssn, **meta)


def postgresql(change: str | None, lsn: str | None, time: str | None = TIME, **meta: Any) -> str:
    return event(change, time, schema="public", lsn=lsn, method="postgresql-cdc", primary_keys=["id"], **meta)


def sqlserver(change: str | None, lsn: str | None, place: Any = None, time: str | None = TIME) -> str:
    return event(change, time, schema="dbo", database="db", lsn=lsn, physical_location=place, method="sqlserver-cdc")


def backfill_without_position(schema: str, *fields: str) -> str:
    """An event of a backfill whose method names no database. Its metadata fields are all null."""
    return event(None, schema=schema, database="db", method="backfill", **dict.fromkeys(fields))


def decoded(*texts: str | bytes, row_schema: str | None = None) -> list[Event]:
    lines = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
    messages = [Message("a.jsonl", line, text, row_schema=row_schema) for line, text in enumerate(lines, 1)]
    return decode_messages(messages, SOURCE, {})


# In pairs: the first one is before the second.
ORDERED = [
    (mysql("INSERT", "mysql-bin.999999", 9), mysql("INSERT", "mysql-bin.1000000", 4)),
    (mysql("INSERT", "b.000001", 9), mysql("INSERT", "b.000001", 10)),
    # A comparison of texts would put the second of these first.
    (mysql("UPDATE", "b.000001", 23), mysql("UPDATE", "b.000001", 123)),
    (mysql("UPDATE", "b.09", 4), mysql("UPDATE", "b.10", 4)),
    (mysql("UPDATE", "b.09.gz", 4), mysql("UPDATE", "b.10.gz", 4)),
    (postgresql("UPDATE", "9/FF"), postgresql("UPDATE", "10/00")),
    (gtids("INSERT", "mysql-bin.000634", 22803), gtids("UPDATE-INSERT", "mysql-bin.000634", "123118")),
    (gtids("DELETE", "b.999999", 9), gtids("INSERT", "b.1000000", 4)),
    (gtids("UPDATE-DELETE", "b.1", 9), gtids("UPDATE-INSERT", "b.1", 9, "2024-05-06T12:16:02")),
    # A recreated stream with GTIDs continues in the log of the earlier stream.
    (mysql("INSERT", "b.000001", 9), gtids("INSERT", "b.000001", 10)),
    (mysql("INSERT", "b.000009", 9), gtids("INSERT", "b.000010", 4, log_file="", log_position=0)),
    (mysql("UPDATE-DELETE", "b.000001", 9), mysql("UPDATE-INSERT", "b.000001", 9)),
    (mysql("UPDATE-DELETE", "b.000001", 9), mysql("UPDATE-INSERT", "b.000001", 9, "2024-05-06T12:16:02")),
    (postgresql("UPDATE", "5E30A78/3B9ACA00"), postgresql("UPDATE", "16000000/2")),
    (postgresql("UPDATE", "BD/A0007310"), postgresql("UPDATE", "1/0", "2024-05-06T12:16:01.000001Z")),
    (postgresql("UPDATE-DELETE", "A/1"), postgresql("UPDATE-INSERT", "A/1")),
    (oracle("UPDATE", 3, " 0x0000d6.00000002.0010 "), oracle("UPDATE", 3, "0x0000d6.00000003.0010")),
    (oracle("UPDATE", 9, " 0x0000d6.00000002.0010 "), oracle("UPDATE", 10, " 0x0000d5.00000002.0010 ")),
    (oracle("UPDATE", 3, "0x1.2.3", 9), oracle("UPDATE", "3", "0x1.2.3", "10")),
    (oracle("UPDATE-DELETE", 3, "0x1.2.3"), oracle("UPDATE-INSERT", 3, "0x1.2.3")),
    (oracle("UPDATE", 3, "0x1.2.3"), oracle(None, 3, "")),  # the backfill saw all changes up to its SCN
    (sqlserver("INSERT", "00000025:00000728:0003"), sqlserver("INSERT", "00000025:00000728:000A")),
    (sqlserver("INSERT", "25:728:3", [1, 9, 9]), sqlserver("INSERT", "25:728:3", [1, 10, 0])),
    (sqlserver("INSERT", "25:728:3", [1, None, 9]), sqlserver("INSERT", "25:728:3", "[1, 1]")),
]
ID = b'{"id":null}'
# An event, and its result: op, origin, table, the names of its key, whether it has a position.
KNOWN = [
    (mysql("INSERT", "", 0), ("read", "snapshot", "db.t", ID, False)),
    (mysql("INSERT", None, -1), ("read", "snapshot", "db.t", ID, False)),
    (mysql("UPDATE-INSERT", "b.1", 4), ("update", "stream", "db.t", ID, True)),
    (mysql("UPDATE-DELETE", "b.1", 4), ("delete", "stream", "db.t", ID, True)),
    (mysql("", "b.1", 4, is_deleted="true"), ("delete", "stream", "db.t", ID, True)),
    (mysql(" update ", "b.1", 4), ("update", "stream", "db.t", ID, True)),
    (gtids("INSERT", "b.1", 4), ("insert", "stream", "db.t", ID, True)),
    (gtids("UPDATE-INSERT", "b.1", 4), ("update", "stream", "db.t", ID, True)),
    (gtids("DELETE", "b.1", 4), ("delete", "stream", "db.t", ID, True)),
    (gtids("INSERT", None, None, method="backfill"), ("read", "snapshot", "db.t", ID, False)),
    (event("UPDATE", schema="public", lsn="0/1"), ("update", "stream", "public.t", None, True)),
    (oracle(None, 7, None, row_id="AAA"), ("read", "snapshot", "HR.t", b'{"ROW_ID":"AAA"}', True)),
    (oracle("INSERT", -1, "", primary_keys=["ID"]), ("read", "snapshot", "HR.t", ID, False)),
    (oracle("UPDATE-INSERT", 7, "0x1.2.3"), ("insert", "stream", "HR.t", None, True)),
    (oracle("INSERT", 7, "", method="oracle-cdc-logminer"), ("insert", "stream", "HR.t", None, True)),
    (oracle("INSERT", 7, "", method="oracle-backfill"), ("read", "snapshot", "HR.t", None, True)),
    (oracle("", 7, None, method="oracle-cdc-logminer"), ("read", "snapshot", "HR.t", None, True)),
    (oracle("DELETE", 7, None), ("delete", "stream", "HR.t", None, True)),
    (postgresql("INSERT", ""), ("read", "snapshot", "public.t", ID, False)),
    (postgresql("DELETE", "0/1"), ("delete", "stream", "public.t", ID, True)),
    (
        event("INSERT", schema="dbo", database="db", replication_index=["ID"], primary_keys=[]),
        ("read", "snapshot", "dbo.t", ID, False),
    ),
    (mysql("INSERT", "b.1", 4, tx_id=[1], payload={'a"b': 1}), ("insert", "stream", "db.t", ID, True)),
    (
        backfill_without_position("HR", "scn", "rs_id", "row_id", "ssn", "tx_id", "log_file"),
        ("read", "snapshot", "HR.t", None, False),
    ),
    (backfill_without_position("dbo", "lsn", "tx_id"), ("read", "snapshot", "dbo.t", None, False)),
]
UNTIMED = "a streamed change whose source_timestamp, which orders changes, is missing or not a time"
REJECTED = [
    ("{", "not JSON"),
    ("", "not JSON"),
    (b'{"uuid": "\xff"}', "not UTF-8 text"),
    (mysql("INSERT", "b.1", 7, payload={"id": "\ud800"}), "not JSON"),
    ("[1]", "not a JSON object"),
    ('{"source_metadata": "text"}', "not a JSON object"),
    (event("INSERT", schema="s", database="db"), "source_metadata does not show which database it is"),
    ('{"op":"c","source":{}}', "source_metadata is missing: not an event of Datastream"),
    (postgresql("UPDATE", "16/2A50H3"), "a streamed change without a position"),
    (mysql("UPDATE", "", 0), "a streamed change without a position"),
    (mysql("UPDATE", "no number", 7), "a streamed change without a position"),
    (gtids("DELETE", None, None), "a streamed change without a position"),
    (mysql("MERGE", "b.1", 7), 'unknown change_type "MERGE"'),
    (mysql(["INSERT"], "b.1", 7), 'unknown change_type "["INSERT"]"'),
    (mysql("INSERT", "b.1", 7, "yesterday"), None),  # the time of reading replaces it
    (oracle("INSERT", 7, "0x1.2.3", time="yesterday"), None),
    (postgresql("INSERT", "", "yesterday"), None),  # a READ
    (postgresql("INSERT", "A/1", "2024-02-30T00:05:00Z"), UNTIMED),
    (postgresql("DELETE", "A/1", None), UNTIMED),
    (sqlserver("UPDATE", "25:728:3", time=""), UNTIMED),
    (event("INSERT", database="db", log_file="b.1", log_position=4, table=""), "source_metadata.table is missing"),
    (mysql("INSERT", "b.1", 4).replace('{"id": 1}', "null"), "payload is missing"),
    (event("INSERT", payload=[1], database="db", log_file="b.1", log_position=4), "payload is not an object"),
    (mysql("INSERT", "b.1", 4, payload="{no object"), "payload is not an object"),
]


def test_positions_have_the_order_of_the_log() -> None:
    places = [[found.position or "" for found in decoded(*pair)] for pair in ORDERED]
    assert [pair for pair, (one, other) in zip(ORDERED, places, strict=True) if not "" < one < other] == []


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_the_fields_of_an_event_show_its_kind(text: str, expected: tuple[object, ...]) -> None:
    (found,) = decoded(text)
    assert (found.kind, found.reason) == ("change", None)
    assert (found.op, found.origin, found.table, found.key, found.position is not None) == expected


def test_the_metadata_fields_of_a_backfill_show_its_database() -> None:
    found = decoded(backfill_without_position("HR", "scn"), backfill_without_position("dbo", "lsn"))
    assert [event.connector for event in found] == ["datastream-oracle", "datastream-sqlserver"]


@pytest.mark.parametrize(("text", "reason"), REJECTED)
def test_records_that_are_not_changes_are_rejected_with_a_reason(text: str | bytes, reason: str | None) -> None:
    (found,) = decoded(text)
    assert (found.kind, found.reason) == ("reject" if reason else "change", reason)


def test_the_same_log_place_gives_the_same_position_under_any_field_names() -> None:
    one, other = decoded(mysql("DELETE", "b.634", 22803), gtids("DELETE", "b.634", 22803))
    assert (one.position, one.source, one.connector) == (other.position, other.source, other.connector)
    assert one.position == "0000-0000027A-0000000000005913-000617C80855C240-1"


def test_the_time_of_reading_is_not_part_of_a_position() -> None:
    record = json.loads(mysql("INSERT", "b.1", 4, time=None))
    texts = [json.dumps(record | {"read_timestamp": at}) for at in ("2024-05-06 12:20:00", "2024-05-07 01:00:00")]
    one, other = decoded(*texts)
    assert one.position == other.position is not None
    assert (one.commit_us, other.commit_us) == (1_714_998_000_000_000, 1_715_043_600_000_000)


@pytest.mark.parametrize(
    "time",
    [
        "2024-05-06T12:16:01.5",
        "2024-05-06 12:16:01.500Z",
        "2024-05-06T14:16:01.5+02:00",
        1714997761500,
        "1714997761500",
    ],
)
def test_times_are_in_utc_with_or_without_a_zone_or_milliseconds(time: Any) -> None:
    (found,) = decoded(mysql("INSERT", "b.1", 4, time))
    assert (found.commit_us, found.ingest_us) == (1_714_997_761_500_000, 1_714_998_000_000_000)


def test_the_row_is_the_unchanged_payload() -> None:
    (row, text) = '{"id": 1.50, "a": 12345678901234567890.123456789}', '{"id": 1, "b": "\\ud83d\\ude00"}'
    lines = [mysql(change, "b.1", 4).replace('{"id": 1}', row) for change in ("INSERT", "DELETE")]
    lines.append(mysql("INSERT", "b.1", 4).replace('{"id": 1}', json.dumps(text)))  # the object as a text
    insert, delete, of_text = decoded(*lines)
    assert (insert.before, insert.after) == (None, row.encode())
    assert (delete.before, delete.after) == (row.encode(), None)
    assert of_text.after == text.encode()


def test_key_columns_have_the_spelling_of_the_payload() -> None:
    payload = {"ID": 1, "nested": {"b": 1}, "B": 1, "line no": 2}
    keys = [["id"], ["id", "ID", "b", "gone"], '["B"]', [], "id", ["line no"], [None, "id"], {"id": 1}]
    found = decoded(*[event("INSERT", payload=payload, database="db", primary_keys=key) for key in keys])
    expected = [b'{"ID":null}', b'{"ID":null,"B":null,"gone":null}', b'{"B":null}', None, None, b'{"line no":null}']
    assert [one.key for one in found] == [*expected, b'{"ID":null}', None]


def test_records_of_avro_files_have_the_types_of_their_columns() -> None:
    schema = '{"columns":[["id","integer",["integer",null,null]]]}'
    (found,) = decoded(mysql("INSERT", "b.1", 4, tx_id=7), row_schema=schema)
    (other,) = decoded(mysql("INSERT", "b.1", 4))
    assert (found.row_schema, other.row_schema, other.schema_hash) == (schema, None, None)
    assert found.schema_hash is not None
    assert (found.event_id, found.tx_id, found.source) == ("u", "7", "datastream-mysql:")


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the files are not there: {DATA}")
def test_all_collected_json_files_are_decoded_without_rejects() -> None:
    files = sorted((DATA / "datastream" / "json").glob("*.jsonl"))
    rows = decoded(*[file.read_bytes().strip() for file in files])
    found = {file.stem: (row.reason, row.table, row.op, row.key) for file, row in zip(files, rows, strict=True)}
    assert found == {
        "oracle_backfill_jobs": (None, "HR.JOBS", "read", b'{"JOB_ID":null}'),
        "oracle_backfill_jobs_hashrowid": (None, "HR.JOBS", "read", b'{"JOB_ID":null}'),
        "oracle_no_keys": (None, "HR.EMPLOYEES", "read", None),
        "postgresql_cdc_update_2025": (None, "public.pipeline_run", "update", b'{"id":null}'),
        "sqlserver_both_keys": (None, "dbo.ITEMS", "read", b'{"ID":null}'),
        "sqlserver_cdc_employees": (None, "dbo.EMPLOYEES", "insert", b'{"EMPLOYEE_ID":null}'),
        "sqlserver_replication_index": (None, "dbo.ORDERS", "read", b'{"ORDER_ID":null}'),
    }
