"""What each line is, and why a line is nothing."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from engine.decode import ENVELOPE_COLUMNS, ENVELOPE_SCHEMA, envelopes
from engine.errors import SpecError
from engine.spec.model import SourceSpec
from tests.unit.decode.given import SOURCE, enveloped, event, field, lines, with_schema

SIGNAL = {"schema": "debezium", "table": "signal"}
MARKER = "0b6f1c3e-7d42-4f7b-9a55-2f0e4f0c9d11"
ORACLE = ("ID", "TYPE", "DATA")
OTHERS = ("mark", "what", "more")


def signal(op: str, row_id: str, kind: str | None, names: Sequence[str] = ("id", "type", "data"), **more: Any) -> str:
    row = dict(zip(names, (row_id, kind, None), strict=True))
    return event(op, before=row, source=SIGNAL, **more) if op == "d" else event(op, after=row, source=SIGNAL, **more)


def wrapped(value: Any, **more: Any) -> str:
    return json.dumps({"topic": "t", "key": None, "value": value, **more})


CONTROL = {
    wrapped({"status": "BEGIN", "id": "571:53195829", "event_count": None, "ts_ms": 5}): "transaction_begin",
    wrapped({"status": "END", "id": "0-7001-30", "event_count": 2, "ts_ms": 5}): "transaction_end",
    wrapped({"ts_ms": 5}): "heartbeat",
    '{"ts_ms": 5}': "heartbeat",
    wrapped({"source": SOURCE, "ts_ms": 5, "databaseName": "d", "ddl": "CREATE TABLE t", "tableChanges": []}): "ddl",
    wrapped({"id": "1", "type": "STARTED", "aggregate_type": "Initial Snapshot", "timestamp": 5}): "notification",
    wrapped({"op": "m", "ts_ms": 5, "source": {**SOURCE, "table": ""}, "message": {"prefix": "p"}}): "message",
    wrapped({"ts_ms": 5, "added": "x"}, key={"serverName": "srv"}): "heartbeat",
    wrapped({"schema": {"type": "struct"}, "payload": {"ts_ms": 5}}): "heartbeat",
    wrapped({"status": "BEGIN", "id": "571:53195829", "ts_ms": 5}): "transaction_begin",
    wrapped({"source": {"server": "d"}, "position": {}, "databaseName": "d", "ddl": "CREATE TABLE t"}): "ddl",
    wrapped({"source": SOURCE, "ts_ms": 5, "databaseName": "d", "ddl": None, "tableChanges": [{}]}): "ddl",
    wrapped({"id": "1", "type": "STARTED", "aggregate_type": "x", "additional_data": {}, "added": 1}): "notification",
    json.dumps({"key": {"id": 1}, "payload": None}): "null_message",
    wrapped(None, key={"id": 1}): "null_message",
    wrapped(None): "null_message",
    wrapped({"schema": {"type": "struct"}, "payload": None}): "null_message",
    '{"schema": {"type": "struct"}, "payload": null}': "null_message",
    "null": "null_message",
    signal("c", "u-open", "snapshot-window-open"): "window_open",
    signal("c", "u-close", "snapshot-window-close"): "window_close",
    signal("d", "u-open", "snapshot-window-open"): "window_close",
    signal("d", "u-open", None): "window_close",
    signal("d", "u-open", ""): "window_close",  # a column that cannot be null, of which the log has the key alone
    signal("c", "a", "execute-snapshot"): "signal",
    signal("r", "u-open", "snapshot-window-open"): "signal",
    signal("d", "a", "execute-snapshot"): "signal",
    signal("c", "u-open", "snapshot-window-open", ORACLE): "window_open",
    signal("d", "u-open", None, ORACLE): "window_close",
    signal("c", "a", "execute-snapshot", ORACLE): "signal",
    signal("c", f"{MARKER}-open", "snapshot-window-open", OTHERS): "window_open",
    signal("c", f"{MARKER}-close", "snapshot-window-close", OTHERS): "window_close",
    signal("d", f"{MARKER}-open", None, OTHERS): "window_close",
}  # fmt: skip

FLAT = "neither a change nor a control event of Debezium"
COLUMNS: list[dict[str, Any]] = [
    {"ts_ms": 1_790_000_000_000}, {"status": "BEGIN"}, {"status": "END", "ts_ms": 5}, {"ddl": "x"}, {"value": None},
    {"aggregate_type": "order", "type": "created"}, {"payload": None}, {"tableChanges": "3"},
]  # fmt: skip
"""What rows without an envelope may have, as control events do."""

REJECTED = {
    **{wrapped({"id": 1, "v": "x"} | row, key={"id": 1}): FLAT for row in COLUMNS},
    **{json.dumps({"id": 1, "v": "x"} | row): FLAT for row in COLUMNS},
    wrapped({"id": 1, "op": "m"}): 'unknown op "m"',
    "": "empty line",
    "{": "not JSON",
    '{"op": "c"} and more': "not JSON",
    event("c", after={"id": 1}) + event("c", after={"id": 2}): "not JSON",
    event("c", after={"id": 1})[:-30]: "not JSON",
    "[1]": "not a JSON object",
    '"text"': "not a JSON object",
    "12": "not a JSON object",
    "{}": FLAT,
    wrapped({"hello": 1}): FLAT,
    event("x", after={"id": 1}): 'unknown op "x"',
    wrapped({"before": None, "after": {"id": 1}, "source": SOURCE}): "op is missing",
    wrapped({"after": {"id": 1}, "op": "c"}): "source is missing",
    event("c", after={"id": 1}, source={"connector": None}): "source.connector is missing",
    event("c", after={"id": 1}, source={"connector": "mongodb"}): 'connector "mongodb" is not supported',
    event("c", after={"id": 1}, source={"table": None}): "source.table is missing",
    event("u", before={"id": 1}): 'op "u" without an after image',
    event("c", after=[1]): "after is not an object",
    event("u", before="x", after={"id": 1}): "before is not an object",
    event("c", after={"id": 1}, source={"lsn": None, "sequence": None}): "a streamed change without a position",
    event("t", key={}, source={"lsn": -(2**63), "sequence": None}): "a streamed change without a position",
    event("c", after={"id": 1}, source={"lsn": "abc"}): (
        "a field of the envelope has a type that Debezium does not give it"
    ),
}  # fmt: skip

CHANGES = {
    event("c", after={"id": 1}): ("insert", "stream"),
    event("u", after={"id": 1}): ("update", "stream"),
    event("d", before={"id": 1}): ("delete", "stream"),
    event("t"): ("truncate", "stream"),
    event("r", after={"id": 1}): ("read", "snapshot"),
    event("r", after={"id": 1}, source={"lsn": None, "sequence": None}): ("read", "snapshot"),
    event("c", after={"id": 1}, source={"snapshot": "true"}): ("insert", "stream"),
    event("u", after={"id": 1}, source={"snapshot": True}): ("update", "stream"),
    event("c", after={"id": "a", "type": "log", "data": "d", "more": 1}): ("insert", "stream"),
    event("c", after={"id": "a", "type": "other", "data": "d"}): ("insert", "stream"),
    signal("c", "a", "log", OTHERS): ("insert", "stream"),
    signal("c", "front-door-open", "snapshot-window-open", OTHERS): ("insert", "stream"),
    signal("d", "front-door-open", None, OTHERS): ("delete", "stream"),
    json.dumps(json.loads(event("c", after={"id": 1}))["value"]): ("insert", "stream"),
    json.dumps({"schema": {}, "payload": json.loads(event("c", after={"id": 1}))["value"]}): ("insert", "stream"),
}  # fmt: skip


def test_every_line_is_a_change_a_control_event_or_a_reject_that_says_why(spark: SparkSession) -> None:
    texts = [*CONTROL, *REJECTED, *CHANGES]
    found = envelopes(lines(spark, texts), SourceSpec("debezium-json", "x"))
    assert [(f.name, f.dataType) for f in found.schema][:-1] == [(f.name, f.dataType) for f in ENVELOPE_SCHEMA]
    assert tuple(found.columns) == (*ENVELOPE_COLUMNS, "announced")
    rows = found.orderBy("line").collect()
    assert [row.text for row in rows] == texts
    told = [(row.kind, row.control_kind or row.reason or (row.op, row.origin)) for row in rows]
    assert told == [
        *(("control", kind) for kind in CONTROL.values()),
        *(("reject", reason) for reason in REJECTED.values()),
        *(("change", both) for both in CHANGES.values()),
    ]


def test_the_envelope_of_a_change_says_where_when_and_in_which_transaction(spark: SparkSession) -> None:
    source = {"ts_us": 1_700_000_000_123_456}
    plain = json.loads(event("c", after={"id": 12345678901234567}, source=source))
    plain["value"]["transaction"] = {"id": "571:53195829", "total_order": 3, "data_collection_order": 1}
    plain |= {"partition": 2, "offset": 77}
    destination = {("destination" if name == "topic" else name): part for name, part in plain.items()}
    one, other = enveloped(spark, [json.dumps(plain), json.dumps(destination)])
    assert one.asDict() | {"line": 2, "text": other.text} == other.asDict()
    assert (one.source, one.connector, one.table, one.channel) == ("postgresql:srv", "postgresql", "shop.items", "t")
    assert (one.kafka_partition, one.kafka_offset) == (2, 77)
    assert (one.tx_id, one.tx_order) == ("571", 3)
    assert one.position == "0000-0000000000000010-0000000000000020"
    assert one.commit_ts == datetime(2023, 11, 14, 22, 13, 20, 123456)
    assert one.ingest_ts == datetime(2023, 11, 14, 22, 13, 21)
    assert one.key_json == '{"id":12345678901234567}'
    assert one.event_id is None


def test_tables_of_binlogs_are_named_by_database(spark: SparkSession) -> None:
    binlog = {
        "connector": "mysql",
        "db": "shop",
        "schema": None,
        "file": "mysql-bin.000012",
        "pos": 255,
        "row": 1,
        "lsn": None,
    }
    streamed = event(
        "c", after={"id": 1}, source={**binlog, "sequence": None, "ts_us": None, "ts_ms": 1_700_000_000_123}
    )
    embedded = event("r", after={"id": 1}, source={**binlog, "sequence": None, "file": "", "pos": 0})
    change, read = enveloped(spark, [streamed, embedded])
    assert (change.table, change.position) == ("shop.items", "0000-0000000C-00000000000000FF-00000001")
    assert change.commit_ts == datetime(2023, 11, 14, 22, 13, 20, 123000)
    assert (read.kind, read.position) == ("change", None)


def test_key_changes_are_found_in_headers_of_either_form(spark: SparkSession) -> None:
    key = {"id": 7}
    with_its_schema = {"schema": {"type": "struct"}, "payload": key}
    headers: list[Any] = [
        {"__debezium.newkey": key, "a": "b"},
        {"__debezium.newkey": with_its_schema},
        {"__debezium.newkey": {"payload": key}},
        {"__debezium.newkey": {"schema": None, "payload": key}},
        [{"key": "a", "value": "b"}, {"key": "__debezium.newkey", "value": key}],
        [{"key": "__debezium.newkey", "value": with_its_schema}],
    ]
    olds = [json.loads(json.dumps(header).replace("newkey", "oldkey")) for header in headers]
    deletes = [event("d", before={"id": 1}, headers=header) for header in headers]
    inserts = [event("c", after={"id": 1}, headers=header) for header in olds]
    lookalike = event("c", after={"id": 1, "note": "__debezium.oldkey"}, headers=[])
    rows = enveloped(spark, [*deletes, *inserts, lookalike])
    assert [row.new_key_json for row in rows] == ['{"id":7}'] * 6 + [None] * 7
    assert [row.old_key_json for row in rows] == [None] * 6 + ['{"id":7}'] * 6 + [None]


def test_a_key_may_have_its_schema_around_it_or_could_have_it(spark: SparkSession) -> None:
    key, other = {"id": 7}, {"schema": "dbo", "payload": 5}  # columns that are called so
    keys = [key, {"schema": {"type": "struct"}, "payload": key}, {"payload": key}, {"schema": None, "payload": key}]
    rows = enveloped(spark, [event("d", key=told) for told in [*keys, other]])
    assert [row.key_json for row in rows] == ['{"id":7}'] * 4 + ['{"schema":"dbo","payload":5}']


def test_changes_of_sql_server_have_their_commit_as_transaction(spark: SparkSession) -> None:
    source = {"connector": "sqlserver", "schema": "dbo", "sequence": None, "txId": None, "event_serial_no": 1}
    source |= {"commit_lsn": "00000025:00000728:0003", "change_lsn": "00000025:00000728:0002"}
    (row,) = enveloped(spark, [event("c", after={"id": 1}, source=source)])
    assert (row.kind, row.tx_id) == ("change", "00000025:00000728:0003")


def test_schemas_are_told_apart_by_their_hash(spark: SparkSession) -> None:
    narrow = [field("id", "int32"), field("a", "int32")]
    wide = [field("id", "int32"), field("a", "int64")]
    line = event("c", after={"id": 1, "a": 2})
    rows = enveloped(spark, [with_schema(line, narrow), with_schema(line, narrow), with_schema(line, wide), line])
    hashes = [row.schema_hash for row in rows]
    assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[3] is None
    assert json.loads(rows[2].row_schema_json)["fields"][1]["fields"] == wide
    assert json.loads(rows[0].key_schema_json)["fields"] == narrow[:1]
    assert (rows[0].key_json, rows[0].after_json) == (rows[3].key_json, rows[3].after_json)


def test_control_events_keep_what_a_check_needs(spark: SparkSession) -> None:
    begin = {"status": "BEGIN", "id": "571:53195829", "event_count": None, "ts_ms": 1_700_000_000_000}
    texts = [
        wrapped(begin),
        wrapped({"schema": {"type": "struct"}, "payload": begin}),
        json.dumps(begin),
        signal("c", "u-open", "snapshot-window-open"),
    ]
    *begins, opened = enveloped(spark, texts)
    for row in begins:
        assert (row.tx_id, row.commit_ts, json.loads(row.control_json)) == (
            "571",
            datetime(2023, 11, 14, 22, 13, 20),
            begin,
        )
    assert (opened.event_id, opened.table, opened.op) == ("u-open", "debezium.signal", "insert")
    marks = [signal("c", f"{MARKER}-open", "snapshot-window-open", names) for names in (ORACLE, OTHERS)]
    assert [row.event_id for row in enveloped(spark, marks)] == [f"{MARKER}-open"] * 2
    assert opened.position is not None
    assert opened.commit_ts is not None


def test_rows_of_a_declared_table_are_no_signals_but_debeziums_own_markers(spark: SparkSession) -> None:
    spelt: list[tuple[str, ...]] = [("id", "type", "data"), ORACLE, OTHERS]
    markers = [
        signal(op, row_id, kind, names)
        for names in spelt
        for op, row_id, kind in (
            ("c", f"{MARKER}-open", "snapshot-window-open"),
            ("c", f"{MARKER}-close", "snapshot-window-close"),
            ("d", f"{MARKER}-open", None),
        )
    ]
    own = [
        signal(op, row_id, kind, names)
        for names in spelt
        for op, row_id, kind in (
            ("c", "1", "log"),
            ("u", "1", "execute-snapshot"),
            ("d", "front-door-open", None),
            ("c", "x-close", "snapshot-window-close"),
        )
    ]
    found = envelopes(lines(spark, markers + own), SourceSpec("debezium-json", "x"), {"debezium.signal": None})
    kinds = [row.control_kind for row in found.orderBy("line").collect()]
    assert kinds == ["window_open", "window_close", "window_close"] * 3 + [None] * len(own)


def test_a_time_of_zero_is_none(spark: SparkSession) -> None:
    never = {"ts_ms": 0, "ts_us": 0, "ts_ns": 0}
    read, half = enveloped(
        spark, [event("r", after={"id": 1}, source=never), event("c", after={"id": 1}, source={"ts_us": 0})]
    )
    assert (read.kind, read.commit_ts) == ("change", None)
    assert read.ingest_ts == datetime(2023, 11, 14, 22, 13, 21)
    assert half.commit_ts == datetime(2023, 11, 14, 22, 13, 20)


def test_the_time_of_an_event_may_be_text(spark: SparkSession) -> None:
    plain = json.loads(event("c", after={"id": 1}))
    texts = [json.dumps(plain | {"value": plain["value"] | {"ts_ms": time}}) for time in ("1620393591654", "soon", {})]
    boundary = wrapped({"status": "END", "id": "571", "event_count": 1, "ts_ms": "1700000000000"})
    *rows, end = enveloped(spark, [*texts, boundary])
    assert [row.kind for row in rows] == ["change"] * 3
    assert [row.ingest_ts for row in rows] == [datetime(2021, 5, 7, 13, 19, 51, 654000), None, None]
    assert (end.control_kind, end.commit_ts) == ("transaction_end", datetime(2023, 11, 14, 22, 13, 20))


def test_a_format_without_a_decoder_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SpecError, match="no decoder"):
        envelopes(lines(spark, []), SourceSpec("smoke-signals", "x"))


EXTRACTS = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("name", ["postgresql.noschema", "postgresql.schema", "mariadb.noschema", "mariadb.schema"])
def test_recorded_lines_hold_no_rejects_and_every_change_has_a_position(spark: SparkSession, name: str) -> None:
    texts = (EXTRACTS / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    rows: list[Row] = enveloped(spark, texts)
    assert {row.reason for row in rows} == {None}
    assert all(row.position for row in rows if row.kind == "change")
    assert all((row.schema_hash is not None) == (name.endswith(".schema")) for row in rows if row.kind == "change")
    assert {"window_open", "window_close", "transaction_begin", "null_message"} <= {row.control_kind for row in rows}
