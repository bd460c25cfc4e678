"""Datastream's events of four databases: what they are, where they stand, what identifies their rows."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from engine.decode import envelopes
from engine.decode.records import datastream_records
from engine.inputs.containers import file_rows
from engine.spec.model import SourceSpec
from tests.recordings import DATA
from tests.unit.decode.given import decoded, lines, spec
from tests.unit.decode.test_avro import record

SOURCE, AVRO = SourceSpec("datastream-json", "x"), SourceSpec("datastream-avro", "x")
TIME = "2024-05-06T12:16:01"
UUID = "2b77cb55-84a2-11ee-8612-42010a8e004a"


def event(change: str | None, time: str | None = TIME, payload: Any = None, method: str = "cdc", **meta: Any) -> str:
    metadata = {"table": "t", "change_type": change, "is_deleted": change == "DELETE"} | meta
    stamps = {"uuid": "u", "read_timestamp": "2024-05-06 12:20:00", "source_timestamp": time, "read_method": method}
    return json.dumps(stamps | {"source_metadata": metadata, "payload": payload or {"id": 1}})


def mysql(change: str | None, file: str | None, pos: int | None, time: str | None = TIME, **meta: Any) -> str:
    return event(change, time, database="db", log_file=file, log_position=pos, primary_keys=["id"], **meta)


def gtids(change: str | None, file: str | None, pos: Any, time: str | None = TIME, **meta: Any) -> str:
    """Of a stream of MySQL with GTIDs."""
    server = {"gtid": f"{UUID}:{pos}", "datastream_master_server_uuid": UUID, "datastream_master_server_id": 2241748814}
    place = {"binlog_file": file, "binlog_position": pos}
    return event(change, time, database="db", primary_keys=["id"], **server, **place, **meta)


def oracle(change: str | None, scn: int, rs_id: str | None, ssn: int = 0, time: str = TIME, **meta: Any) -> str:
    return event(change, time, schema="HR", database="xe", scn=scn, rs_id=rs_id, ssn=ssn, **meta)


def postgresql(change: str | None, lsn: str | None, time: str | None = TIME) -> str:
    return event(change, time, schema="public", lsn=lsn, method="postgresql-cdc", primary_keys=["id"])


def sqlserver(change: str | None, lsn: str | None, place: Any = None, time: str | None = TIME) -> str:
    return event(change, time, schema="dbo", database="db", lsn=lsn, physical_location=place, method="sqlserver-cdc")


def nowhere(schema: str, *fields: str) -> str:
    """Of a backfill whose method names no database, and whose metadata is there, but null."""
    return event(None, schema=schema, database="db", method="backfill", **dict.fromkeys(fields))


# In pairs: the first one stands before the second.
ORDERED = [
    (mysql("INSERT", "mysql-bin.999999", 9), mysql("INSERT", "mysql-bin.1000000", 4)),
    (mysql("INSERT", "b.000001", 9), mysql("INSERT", "b.000001", 10)),
    # Compared as texts, as others do, the second of these would stand first.
    (mysql("UPDATE", "b.000001", 23), mysql("UPDATE", "b.000001", 123)),
    (mysql("UPDATE", "b.09", 4), mysql("UPDATE", "b.10", 4)),
    (postgresql("UPDATE", "9/FF"), postgresql("UPDATE", "10/00")),
    (gtids("INSERT", "mysql-bin.000634", 22803), gtids("UPDATE-INSERT", "mysql-bin.000634", "123118")),
    (gtids("DELETE", "b.999999", 9), gtids("INSERT", "b.1000000", 4)),
    (gtids("UPDATE-DELETE", "b.1", 9), gtids("UPDATE-INSERT", "b.1", 9, "2024-05-06T12:16:02")),
    # A stream made anew with GTIDs goes on in the log of the one before.
    (mysql("INSERT", "b.000001", 9), gtids("INSERT", "b.000001", 10)),
    (mysql("INSERT", "b.000009", 9), gtids("INSERT", "b.000010", 4, log_file="", log_position=0)),
    (mysql("UPDATE-DELETE", "b.000001", 9), mysql("UPDATE-INSERT", "b.000001", 9)),
    (mysql("UPDATE-DELETE", "b.000001", 9), mysql("UPDATE-INSERT", "b.000001", 9, "2024-05-06T12:16:02")),
    (postgresql("UPDATE", "5E30A78/3B9ACA00"), postgresql("UPDATE", "16000000/2")),
    (postgresql("UPDATE", "BD/A0007310"), postgresql("UPDATE", "1/0", "2024-05-06T12:16:01.000001Z")),
    (postgresql("UPDATE-DELETE", "A/1"), postgresql("UPDATE-INSERT", "A/1")),
    (oracle("UPDATE", 3, " 0x0000d6.00000002.0010 "), oracle("UPDATE", 3, "0x0000d6.00000003.0010")),
    (oracle("UPDATE", 9, " 0x0000d6.00000002.0010 "), oracle("UPDATE", 10, " 0x0000d5.00000002.0010 ")),
    (oracle("UPDATE", 3, "0x1.2.3", 9), oracle("UPDATE", 3, "0x1.2.3", 10)),
    (oracle("UPDATE-DELETE", 3, "0x1.2.3"), oracle("UPDATE-INSERT", 3, "0x1.2.3")),
    (oracle("UPDATE", 3, "0x1.2.3"), oracle(None, 3, "")),  # the backfill saw all up to its number
    (sqlserver("INSERT", "00000025:00000728:0003"), sqlserver("INSERT", "00000025:00000728:000A")),
    (sqlserver("INSERT", "25:728:3", [1, 9, 9]), sqlserver("INSERT", "25:728:3", [1, 10, 0])),
]
UNTIMED = "a streamed change whose source_timestamp, which orders changes, is missing or no time"
# An event, and what it is: op, origin, table, the names of its key, whether it has a position.
KNOWN = [
    (mysql("INSERT", "", 0), ("read", "snapshot", "db.t", '{"id":null}', False)),
    (mysql("INSERT", None, -1), ("read", "snapshot", "db.t", '{"id":null}', False)),
    (mysql("UPDATE-INSERT", "b.1", 4), ("update", "stream", "db.t", '{"id":null}', True)),
    (mysql("UPDATE-DELETE", "b.1", 4), ("delete", "stream", "db.t", '{"id":null}', True)),
    (gtids("INSERT", "b.1", 4), ("insert", "stream", "db.t", '{"id":null}', True)),
    (gtids("UPDATE-INSERT", "b.1", 4), ("update", "stream", "db.t", '{"id":null}', True)),
    (gtids("DELETE", "b.1", 4), ("delete", "stream", "db.t", '{"id":null}', True)),
    (gtids("INSERT", None, None, method="backfill"), ("read", "snapshot", "db.t", '{"id":null}', False)),
    (event("UPDATE", schema="public", lsn="0/1"), ("update", "stream", "public.t", None, True)),
    (oracle(None, 7, None, row_id="AAA"), ("read", "snapshot", "HR.t", '{"ROW_ID":"AAA"}', True)),
    (oracle("INSERT", -1, "", primary_keys=["ID"]), ("read", "snapshot", "HR.t", '{"id":null}', False)),
    (oracle("UPDATE-INSERT", 7, "0x1.2.3"), ("insert", "stream", "HR.t", None, True)),
    (oracle("INSERT", 7, "", method="oracle-cdc-logminer"), ("insert", "stream", "HR.t", None, True)),
    (oracle("INSERT", 7, "", method="oracle-backfill"), ("read", "snapshot", "HR.t", None, True)),
    (oracle("", 7, None, method="oracle-cdc-logminer"), ("read", "snapshot", "HR.t", None, True)),
    (oracle("DELETE", 7, None), ("delete", "stream", "HR.t", None, True)),
    (postgresql("INSERT", ""), ("read", "snapshot", "public.t", '{"id":null}', False)),
    (postgresql("DELETE", "0/1"), ("delete", "stream", "public.t", '{"id":null}', True)),
    (
        event("INSERT", schema="dbo", database="db", replication_index=["ID"], primary_keys=[]),
        ("read", "snapshot", "dbo.t", '{"id":null}', False),
    ),
    (nowhere("HR", "scn", "rs_id", "row_id", "ssn", "tx_id", "log_file"), ("read", "snapshot", "HR.t", None, False)),
    (nowhere("dbo", "lsn", "tx_id"), ("read", "snapshot", "dbo.t", None, False)),
]
REJECTED = [
    ("{", "not JSON"),
    (event("INSERT", schema="s", database="db"), "source_metadata does not tell which database it is"),
    ("[1]", "not a JSON object"),
    ('{"op":"c","source":{}}', "source_metadata is missing: no event of Datastream"),
    (postgresql("UPDATE", "16/2A50H3"), "a streamed change without a position"),
    (mysql("UPDATE", "", 0), "a streamed change without a position"),
    (mysql("UPDATE", "no number", 7), "a streamed change without a position"),
    (gtids("DELETE", None, None), "a streamed change without a position"),
    (mysql("MERGE", "b.1", 7), 'unknown change_type "MERGE"'),
    (mysql("INSERT", "b.1", 7, "yesterday"), None),  # the time of reading stands in
    (oracle("INSERT", 7, "0x1.2.3", time="yesterday"), None),
    (postgresql("INSERT", "", "yesterday"), None),  # a READ
    (postgresql("INSERT", "A/1", "2024-02-30T00:05:00Z"), UNTIMED),
    (postgresql("DELETE", "A/1", None), UNTIMED),
    (sqlserver("UPDATE", "25:728:3", time=""), UNTIMED),
    (event("INSERT", database="db", log_file="b.1", log_position=4, table=""), "source_metadata.table is missing"),
    (event("INSERT", payload=[1], database="db", log_file="b.1", log_position=4), "payload is not an object"),
]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> list[Row]:
    texts = [line for pair in ORDERED for line in pair]
    texts += [line for line, _ in KNOWN] + [line for line, _ in REJECTED]
    return envelopes(lines(spark, texts), SOURCE).orderBy("line").collect()


def test_positions_are_in_the_order_of_the_log(found: list[Row]) -> None:
    places = [row.position for row in found[: 2 * len(ORDERED)]]
    assert [i for i in range(len(ORDERED)) if not places[2 * i] < places[2 * i + 1]] == []


def test_an_event_is_told_by_what_it_carries(found: list[Row]) -> None:
    rows = found[2 * len(ORDERED) :][: len(KNOWN)]
    told = [(r.op, r.origin, r.table, r.key_json, r.position is not None) for r in rows]
    assert told == [expected for _, expected in KNOWN]
    assert {row.reason for row in rows} == {None}
    assert [row.connector for row in rows[-2:]] == ["datastream-oracle", "datastream-sqlserver"]


def test_one_place_in_the_log_is_one_position_whichever_names_it_has(spark: SparkSession) -> None:
    texts = [mysql("DELETE", "b.634", 22803), gtids("DELETE", "b.634", 22803)]
    one, other = envelopes(lines(spark, texts), SOURCE).select("position", "source", "connector").collect()
    assert one == other


def test_when_a_change_was_read_is_no_part_of_its_place(spark: SparkSession) -> None:
    told = json.loads(mysql("INSERT", "b.1", 4, time=None))
    texts = [json.dumps(told | {"read_timestamp": at}) for at in ("2024-05-06 12:20:00", "2024-05-07 01:00:00")]
    one, other = envelopes(lines(spark, texts), SOURCE).select("kind", "position").collect()
    assert one == other
    assert one.position is not None


def test_an_avro_file_of_a_stream_with_gtids_has_its_places_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    maybe = {name: ["null", "string"] for name in ("database", "table", "change_type", "gtid", "binlog_file")}
    fields: dict[str, Any] = maybe | {
        "datastream_master_server_id": ["null", "long"],
        "binlog_position": ["null", "long"],
    }
    fields |= {"is_deleted": ["null", "boolean"], "primary_keys": {"type": "array", "items": ["null", "string"]}}
    millis = {"logicalType": "timestamp-millis", "type": "long"}
    head = {"uuid": "string", "source_timestamp": millis, "read_method": "string"}
    parts = {"source_metadata": record("source_metadata", fields), "payload": record("payload", {"id": "int"})}
    path = tmp_path / "a.avro"
    told = [json.loads(gtids(change, "mysql-bin.000634", 22803)) for change in ("INSERT", "DELETE")]
    with path.open("wb") as file:
        schema = record("db_t", head | parts)
        fastavro.writer(file, schema, [row | {"source_timestamp": 1_746_486_781_000} for row in told])
    rows = file_rows(spark, "avro", json.dumps(schema), [str(path)], AVRO)
    texts = datastream_records(rows, json.dumps(schema)).withColumn("line", F.col("row"))
    found = [(row.op, row.table, row.position) for row in envelopes(texts, AVRO).collect()]
    place = f"0000-0000027A-0000000000005913-{1_746_486_781_000_000:016X}-1"
    assert sorted(found) == [("delete", "db.t", place), ("insert", "db.t", place)]


def test_what_is_no_change_is_rejected_with_its_reason(found: list[Row]) -> None:
    assert [row.reason for row in found[-len(REJECTED) :]] == [reason for _, reason in REJECTED]


def test_an_oracle_table_without_a_key_has_the_ids_of_its_rows(spark: SparkSession) -> None:
    texts = [oracle("UPDATE", 7, "0x1.2.3", row_id="AAB", payload={"A": 1}), oracle(None, 7, "", row_id="AAA")]
    (one, two) = decoded(spark, texts, replace(spec(keys=None, table="HR.t"), source=SOURCE))
    assert (one.reason, one.key.asDict(), one.row.A) == (None, {"ROW_ID": "AAB"}, 1)
    assert (two.reason, two.key.asDict(), two.row.id) == (None, {"ROW_ID": "AAA"}, 1)


def test_declared_types_read_values_as_datastream_writes_them(spark: SparkSession) -> None:
    columns = {
        "id": "int", "at": "timestamp", "here": "timestamp_ntz", "day": "date", "price": "decimal(12,2)",
        "big": "bigint unsigned", "blob": "binary", "doc": "json", "clock": "time",
        "lap": "time(3)",
    }  # fmt: skip
    payload = {
        "id": 1, "at": "2024-01-01T12:00:00.5+02:00", "here": "2024-01-01 12:00:00", "day": "2024-01-01T00:00:00Z",
        "price": "12.30", "big": 18446744073709551615, "blob": "00ff", "doc": {"a": [1]}, "clock": "-838:59:59.000000",
        "lap": "25:00:00.000000",
    }  # fmt: skip
    bare = payload | {"at": "2024-01-01", "price": 12.3, "big": "18446744073709551615", "doc": '{"a":[1]}'}
    bare["lap"] = 90_000_000_000
    texts = [mysql("INSERT", "b.1", n + 1, payload=row) for n, row in enumerate((payload, bare))]
    one, two = decoded(spark, texts, replace(spec(columns, table="db.t"), source=SOURCE))
    assert (one.reason, two.reason) == (None, None)
    assert [moment.astimezone(UTC).isoformat() for moment in (one.row.at, two.row.at)] == [
        "2024-01-01T10:00:00.500000+00:00",
        "2024-01-01T00:00:00+00:00",
    ]
    for row in (one.row, two.row):
        assert (row.here, row.day) == (datetime(2024, 1, 1, 12), date(2024, 1, 1))  # has no zone
        assert (row.price, row.big) == (Decimal("12.30"), Decimal(18446744073709551615))
        assert (bytes(row.blob), row.doc, row.clock) == (b"\x00\xff", '{"a":[1]}', "-838:59:59.000000")
        assert row.lap == "25:00:00.000000"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the files are not there: {DATA}")
def test_the_collected_json_files_are_all_understood(spark: SparkSession) -> None:
    files = sorted((DATA / "datastream" / "json").glob("*.jsonl"))
    rows = envelopes(lines(spark, [file.read_text().strip() for file in files]), SOURCE).orderBy("line").collect()
    told = {file.stem: (row.reason, row.table, row.op, row.key_json) for file, row in zip(files, rows, strict=True)}
    assert told == {
        "oracle_backfill_jobs": (None, "HR.JOBS", "read", '{"JOB_ID":null}'),
        "oracle_backfill_jobs_hashrowid": (None, "HR.JOBS", "read", '{"JOB_ID":null}'),
        "oracle_no_keys": (None, "HR.EMPLOYEES", "read", None),
        "postgresql_cdc_update_2025": (None, "public.pipeline_run", "update", '{"id":null}'),
        "sqlserver_both_keys": (None, "dbo.ITEMS", "read", '{"ID":null}'),
        "sqlserver_cdc_employees": (None, "dbo.EMPLOYEES", "insert", '{"EMPLOYEE_ID":null}'),
        "sqlserver_replication_index": (None, "dbo.ORDERS", "read", '{"ORDER_ID":null}'),
    }


def test_numbers_of_many_digits_keep_them_all_in_text_and_places_too_many_are_rejected(spark: SparkSession) -> None:
    columns = {"id": "int", "price": "decimal(38,10)", "rate": "decimal(28,10)"}
    kept = "1234567890123456789012345678.0123456789"
    texts = [
        mysql("INSERT", "b.1", n + 1).replace('{"id": 1}', f'{{"id": 1, "price": {price}}}')
        for n, price in enumerate((f'"{kept}"', "1e3", "0.1234567891", '0, "rate": 0.00000000001'))
    ]
    rows = decoded(spark, texts, replace(spec(columns, table="db.t"), source=SOURCE))
    assert [row.row.price for row in rows[:3]] == [Decimal(kept), Decimal(1000), Decimal("0.1234567891")]
    assert [row.reason for row in rows] == [None] * 3 + ['column "rate": the value does not fit decimal(28,10)']


def test_bits_are_numbers_flags_or_their_digits(spark: SparkSession) -> None:
    told = {"1234": "00000000000000000000010011010010", "0": "0" * 32, "true": "0" * 31 + "1", "4294967295": "1" * 32}
    told |= {f'"{"10" * 16}"': "10" * 16, "4294967296": None, '"AQID"': None, "null": None}
    payloads = [f'{{"id": {n}, "b": {value}}}' for n, value in enumerate(told)]
    texts = [mysql("INSERT", "b.1", n + 1).replace('{"id": 1}', text) for n, text in enumerate(payloads)]
    rows = decoded(spark, texts, replace(spec({"id": "int", "b": "bit(32)"}, table="db.t"), source=SOURCE))
    assert [row.row.b for row in rows] == list(told.values())
    assert [row.reason is None for row in rows] == [True] * 5 + [False] * 2 + [True]


def test_a_number_is_what_it_is_however_it_is_written_and_whatever_stands_beside_it(spark: SparkSession) -> None:
    columns = {"id": "bigint", "rate": "double", "price": "decimal(12,2)", "note": "string"}
    beside = ("", ', "rate": 0.30000000000000004')  # of so many digits that a double could lose some
    numbers = ("12345678.0", "1.2345678E7", '"12345678.0"', "9007199254740993.0", "1.5", "1e16")
    texts = [f'"id": {number}{other}' for number in numbers for other in beside]
    texts += [f'"id": 1{other}, "price": {price}' for price in ("1e999", "-1e400", "892193446.18") for other in beside]
    texts += ['"id": 1, "rate": 1e999']
    lines = [mysql("INSERT", "b.1", n + 1).replace('"id": 1', text) for n, text in enumerate(texts)]
    rows = decoded(spark, lines, replace(spec(columns, table="db.t"), source=SOURCE))
    ids = [(row.row.id, row.reason) for row in rows[: 2 * len(numbers)]]
    misfit = (None, 'column "id": the value does not fit bigint')
    whole = [(12345678, None)] * 6 + [(9007199254740993, None)] * 2
    assert ids == whole + [misfit] * 2 + [(10**16, None)] * 2
    prices = rows[2 * len(numbers) : -1]
    assert [(row.row.price, row.reason) for row in prices] == [(None, None)] * 4 + [(Decimal("892193446.18"), None)] * 2
    assert [json.loads(row.rescued)["price"] for row in prices[:4]] == ["1e999"] * 2 + ["-1e400"] * 2
    assert rows[-1].reason == 'column "rate": the value does not fit double'
