"""What init finds in files without a JVM, and what it writes. It never overwrites a file."""

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from siltstone.engine.decode.json_value import Number
from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.init import find_tables, looks_like, other_than, project_root, write_specs, written_specs
from siltstone.engine.spec import load_project, load_specs
from tests.unit.decode.formats.test_spanner_avro import SCHEMA as AVRO_OF_SPANNER
from tests.unit.decode.formats.test_spanner_avro import record as spanner_record
from tests.unit.decode.given import event, field, with_schema
from tests.unit.spec.cases import source, spec

EXTRACTS = Path(__file__).parents[2] / "data"
Place = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Write lines into a file of a folder `events` inside an empty project."""

    def write(name: str, *lines: Any) -> Path:
        file = tmp_path / "events" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return file

    return write


def found(*paths: Path) -> list[tuple[str | None, str, set[tuple[str, ...]]]]:
    return [(table.name, table.format, table.keys) for table in find_tables(paths)]


CANAL = {
    "id": 1, "database": "shop", "table": "items", "pkNames": ["id"], "isDdl": False, "type": "INSERT", "es": 1,
    "ts": 2, "mysqlType": {"id": "int", "n": "decimal(12,2)"}, "data": [{"id": "1", "n": "2.50"}], "old": None,
}  # fmt: skip
TICDC = CANAL | {"_tidb": {"commitTs": 429_918_007_904_436_226}}
WATERMARK = {"type": "TIDB_WATERMARK", "isDdl": False, "es": 1, "_tidb": {"watermarkTs": 429_918_007_904_436_226}}
SPANNER: dict[str, Any] = {
    "table_name": "Singers", "commit_timestamp": "2024-01-01T00:00:00Z", "mod_type": "INSERT",
    "server_transaction_id": "t", "record_sequence": "00000000", "is_last_record_in_transaction_in_partition": True,
    "column_types": [
        {"name": "SingerId", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
        {"name": "Name", "type": '{"code":"STRING"}', "is_primary_key": False, "ordinal_position": 2},
    ],
    "mods": [{"keys": {"SingerId": "1"}, "new_values": {"Name": "A"}, "old_values": {}}],
}  # fmt: skip
TIME = "2024-01-01T00:00:00"
SHAREPLEX = {
    "meta": {"op": "ins", "table": "HR.JOBS", "scn": "1", "time": TIME},
    "data": {"JOB_ID": "7", "TITLE": "clerk"},
}
DATASTREAM = {
    "uuid": "u", "read_method": "mysql-cdc-binlog", "source_timestamp": "2024-01-01T00:00:00Z",
    "source_metadata": {"database": "shop", "table": "items", "log_file": "b.1", "log_position": 4,
                        "change_type": "INSERT", "primary_keys": ["ID"]},
    "payload": {"id": 1, "price": 2.5},
}  # fmt: skip
MAXWELL = {
    "database": "shop", "table": "items", "type": "insert", "ts": 1477053217, "xid": 23396, "commit": True,
    "primary_key_columns": ["id"], "data": {"id": 1, "price": 2.5, "type": "a"},
}  # fmt: skip
GOLDENGATE = {
    "table": "HR.JOBS", "op_type": "I", "op_ts": "2021-09-07 22:28:57.000139", "pos": "00000000000000002446",
    "primary_keys": ["JOB_ID"], "before": None, "after": {"JOB_ID": 7, "TITLE": "clerk"},
}  # fmt: skip
FORMATS = {
    "debezium-json": (event("c", after={"id": 1, "n": 2}), "shop.items", {("id",)}),
    "canal-json": (json.dumps(CANAL), "shop.items", {("id",)}),
    "ticdc-json": (json.dumps(TICDC), "shop.items", {("id",)}),
    "spanner-json": (json.dumps([{"data_change_record": [SPANNER]}]), "Singers", {("SingerId",)}),
    "shareplex-json": (json.dumps(SHAREPLEX), "HR.JOBS", set()),
    "datastream-json": (json.dumps(DATASTREAM), "shop.items", {("id",)}),
    "maxwell-json": (json.dumps(MAXWELL), "shop.items", {("id",)}),
    "goldengate-json": (json.dumps(GOLDENGATE), "HR.JOBS", {("JOB_ID",)}),
}


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_detected_with_its_tables_and_keys(place: Place, form: str) -> None:
    line, table, keys = FORMATS[form]
    heartbeat = {
        "debezium-json": '{"ts_ms": 5}',
        "canal-json": json.dumps(CANAL | {"type": "QUERY", "isDdl": True}),
        "ticdc-json": json.dumps(WATERMARK),
        "maxwell-json": json.dumps(
            {"type": "database-create", "database": "shop", "charset": "utf8", "ts": 1, "sql": ""}
        ),
    }
    file = place("a.jsonl.gz", "", heartbeat.get(form, line), line, '{"key": {"id": 1}, "value": null}')
    assert found(file) == [(table, form, keys)]
    assert looks_like([line]) == form


def test_all_shapes_of_a_format_are_detected_as_the_format(place: Place) -> None:
    value = json.loads(event("u", after={"id": 1}))["value"]
    bare = [value, {"payload": value, "schema": None}, {"value": {"payload": value}, "rec": 3}]
    pg = {"data_change_record": SPANNER}
    camel = {
        "tableName": "Singers", "modType": "INSERT", "mods": json.dumps([{"keysJson": '{"SingerId": "1"}'}]),
        "commitTimestamp": "2024-01-01T00:00:00Z", "serverTransactionId": "t", "recordSequence": "00000000",
    }  # fmt: skip
    assert found(place("bare.jsonl", *bare)) == [("shop.items", "debezium-json", set())]
    assert found(place("spanner.jsonl", pg, SPANNER, camel)) == [("Singers", "spanner-json", {("SingerId",)})]
    oracle = {"schema": "HR", "database": "xe", "table": "JOBS"} | dict.fromkeys(("scn", "rs_id", "row_id", "log_file"))
    plain = DATASTREAM | {"read_method": "backfill", "source_metadata": oracle}
    nameless = place("nameless.jsonl", pg, SPANNER | {"table_name": ""})  # a run rejects the second record
    assert found(nameless) == [("Singers", "spanner-json", {("SingerId",)})]
    assert found(place("backfill.jsonl", plain)) == [("HR.JOBS", "datastream-json", set())]
    gtids = {"database": "shop", "schema": "", "table": "items", "gtid": "u:1", "binlog_position": 4}
    assert (
        found(place("gtids.jsonl", DATASTREAM | {"read_method": "cdc", "source_metadata": gtids}))[0][0] == "shop.items"
    )
    assert found(place("value.jsonl", {"value": json.dumps(CANAL)})) == [("shop.items", "canal-json", {("id",)})]


def test_a_key_can_be_inside_its_schema_or_have_columns_with_such_names(place: Place) -> None:
    key = {"id": 1}
    for shown in (
        key,
        {"payload": key},
        {"schema": None, "payload": key},
        {"schema": {"type": "struct"}, "payload": key},
    ):
        assert found(place("key.jsonl", event(after={"id": 1}, key=shown))) == [
            ("shop.items", "debezium-json", {("id",)})
        ]
    shown = {"schema": "dbo", "payload": 5}  # columns with these names
    columns = found(place("columns.jsonl", event(after=shown, key=shown)))
    assert columns == [("shop.items", "debezium-json", {("schema", "payload")})]


def test_tables_of_several_databases_have_the_database_in_their_names(place: Place) -> None:
    def of(db: str, table: str, **more: Any) -> str:
        lsns = {"commit_lsn": "00000025:00000d98:00a2", "change_lsn": "00000025:00000d98:0003"}
        named = {"connector": "sqlserver", "db": db, "schema": "dbo", "table": table} | lsns
        return event(after={"id": 1}, source=named | more)

    assert found(place("a.jsonl", of("one", "t"), of("one", "u"))) == [
        ("dbo.t", "debezium-json", {("id",)}), ("dbo.u", "debezium-json", {("id",)}),
    ]  # fmt: skip
    two = [place("a.jsonl", of("one", "t")), place("b.jsonl", of("two", "t"), of("two", "u"))]
    assert [name for name, _, _ in found(*two)] == ["one.dbo.t", "two.dbo.t", "two.dbo.u"]
    others = place("c.jsonl", of("one", "t", connector="postgresql"), of("two", "t", connector="postgresql"))
    assert [name for name, _, _ in found(others)] == ["dbo.t"]


@pytest.mark.parametrize(
    ("version", "scn", "is_reported"), [("2.7.0.Final", 8, True), ("2.7.0.Final", 9, False), ("1.9", 8, False)]
)
def test_commit_scns_that_cannot_order_changes_are_reported_for_all_tables(
    place: Place, tmp_path: Path, version: str, scn: int, is_reported: bool
) -> None:
    def of(table: str, commit: int) -> str:
        named = {"connector": "oracle", "version": version, "schema": "HR", "table": table}
        return event(after={"id": 1}, source=named | {"scn": "9", "commit_scn": str(commit)})

    events = place("a.jsonl", of("JOBS", scn), of("LOG", 9))
    texts = [spec.text for spec in written_specs(find_tables([events]), tmp_path / "specs", tmp_path, [events])]
    assert [yaml.safe_load(text)["source"].get("order") for text in texts] == ["scn" if is_reported else None] * 2


def test_a_field_that_a_router_adds_to_keys_is_not_a_column(place: Place) -> None:
    routed = {"id": 1, "__dbz__physicalTableIdentifier": "srv.shop.items_1"}
    shown = [json.loads(event("c", after=row, key=routed)) for row in ({"id": 1}, routed)]
    assert found(place("added.jsonl", shown[0])) == [("shop.items", "debezium-json", {("id",)})]
    assert found(place("column.jsonl", shown[1])) == [("shop.items", "debezium-json", {tuple(routed)})]


FILLER = base64.b64encode(bytes(48)).decode()
SILENT: dict[str, list[Any]] = {
    "ddl": [CANAL | {"type": "CREATE", "isDdl": True, "data": None}],
    "Canal's heartbeats": [{"type": "MHEARTBEAT", "id": n, "es": n, "ts": n} for n in range(3)],
    "DTS's fillers": [{"topic": "t", "partition": 0, "offset": n, "value": FILLER} for n in range(3)],
    "shorter ones": [{"offset": n, "value": base64.b64encode(bytes(n)).decode()} for n in range(3)],
    "fillers and null messages": [{"value": FILLER}, {"value": None}, "null"],
    "bare fillers": [FILLER, FILLER],
    "null messages": [{"topic": "t", "key": {"id": 1}, "value": None}, "null"],
}


@pytest.mark.parametrize("what", SILENT)
def test_control_events_alone_are_not_rows(place: Place, what: str) -> None:
    silent = place("silent.jsonl", *SILENT[what])
    with pytest.raises(SourceError, match="Cannot find a change of a table"):
        find_tables([silent])
    other = place("other.jsonl", CANAL)
    assert [(table.name, table.files) for table in find_tables([silent.parent])] == [("shop.items", [other])]


def test_rows_with_short_values_stay_rows(place: Place) -> None:
    assert found(place("settings.jsonl", *[{"key": f"k{n}", "value": "abcd"} for n in range(3)]))[0][1] == "rows"
    assert found(place("words.jsonl", {"value": "word"}, {"value": "abcd"}))[0][1] == "rows"


def test_avro_and_parquet_files_have_their_own_types(place: Place, tmp_path: Path) -> None:
    payload = {"type": "record", "name": "p", "fields": [
        {"name": "id", "type": ["null", "long"]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "n", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    ]}  # fmt: skip
    meta = {"type": "record", "name": "m", "fields": [
        {"name": name, "type": ["null", "string"]} for name in ("database", "table", "log_file")
    ] + [
        {"name": "log_position", "type": "long"},
        {"name": "primary_keys", "type": {"type": "array", "items": "string"}},
    ]}  # fmt: skip
    schema = {"type": "record", "name": "e", "fields": [
        {"name": "read_method", "type": "string"}, {"name": "source_metadata", "type": meta},
        {"name": "source_timestamp", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "payload", "type": payload},
    ]}  # fmt: skip
    event = {
        "read_method": "mysql-cdc",
        "source_timestamp": 1_700_000_000_000_000,
        "source_metadata": {
            "database": "shop",
            "table": "items",
            "log_file": "b.1",
            "log_position": 4,
            "primary_keys": ["id"],
        },
        "payload": {"id": 1, "at": None, "n": Decimal("2.00")},
    }
    avro = tmp_path / "e.avro"
    with avro.open("wb") as out:
        fastavro.writer(out, schema, [event])
    (table,) = find_tables([avro])
    assert (table.name, table.format, table.keys) == ("shop.items", "datastream-avro", {("id",)})
    types = {name: kind.simpleString() for name, kind in table.columns.types().items() if kind}
    assert types == {"id": "bigint", "at": "timestamp", "n": "decimal(12,2)"}
    parquet = tmp_path / "landing" / "orders-2024-01-01.parquet"
    parquet.parent.mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int16()), "at": pa.array([0], pa.timestamp("us"))}), parquet)
    (rows,) = find_tables([parquet])
    assert (rows.name, rows.format) == ("landing.orders", "rows")
    shown = {name: kind.simpleString() for name, kind in rows.columns.types().items() if kind}
    assert shown == {"id": "int", "at": "timestamp_ntz"}


def test_avro_files_of_spanners_records_are_recognised(tmp_path: Path) -> None:
    avro = tmp_path / "output-00000-of-00001.avro"
    with avro.open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(AVRO_OF_SPANNER), [spanner_record()])
    (table,) = find_tables([avro])
    assert (table.name, table.format, table.keys) == ("Singers", "spanner-avro", {("Region", "SingerId")})
    types = {name: kind.simpleString() for name, kind in table.columns.types().items() if kind}
    assert types == {"SingerId": "bigint", "Region": "string", "Names": "array<string>", "Score": "string"}
    avro_spec = spec(source=source(format="spanner-avro")).source
    assert other_than(avro_spec, [json.dumps(SPANNER)]) == "spanner-json"


def written(tmp_path: Path, *events: Path, force: bool = False) -> dict[str, str]:
    """The text of each spec that init writes in a project, by file name."""
    root, known = project_root(tmp_path / "specs")
    specs = written_specs(find_tables(events), tmp_path / "specs", root, events)
    write_specs(specs, None if known else root / "siltstone.yaml", force)
    return {spec.file.name: spec.file.read_text() for spec in specs}


def test_the_specs_of_events_with_keys_are_valid_and_show_what_was_inferred(place: Place, tmp_path: Path) -> None:
    images: list[dict[str, Any]] = [
        {"id": 1, "big": 2**70, "x": 1, "at": 1_700_000_000_000, "day": "2024-01-01", "no": None, "_op": 1},
        {"id": 2, "big": 1, "x": 1.5, "at": 1_700_000_000_001, "day": "2024-01-02", "no": None, "yes, really: #": {}},
        {"id": 3, "two\nlines": "", "_y: \n ?": 1, "_POS": 2},
    ]
    events = place("a.jsonl", *(event("c", after=image) for image in images)).parent
    place("b.jsonl", event("d", before={"id": 1}))
    text = written(tmp_path, events)["shop.items.yaml"]
    (spec,) = load_specs(None, load_project(tmp_path))
    assert (spec.table, spec.keys, spec.source.path) == ("shop.items", ("id",), str(tmp_path / "events" / "*.jsonl"))
    assert "path: events/*.jsonl" in text
    assert {name: column.type for name, column in (spec.columns or {}).items()} == {
        "id": "bigint", "big": "decimal(38,0)", "x": "double", "at": "timestamp_ntz(3)", "day": "string",
        "no": "string", "yes, really: #": "string", "two\nlines": "string", "_y: \n ?": "bigint",
    }  # fmt: skip
    assert "inferred from all 4 changes" in text
    assert "at: timestamp_ntz(3) # milliseconds since 1970: all 2 values are of the year 2023\n" in text
    assert "'no': string # only nulls were seen" in text
    assert "day: string # times? then date" in text
    assert "siltstone or Iceberg reserves these names: [_op, _POS]" in text


def test_keys_that_begin_with_an_underscore_are_those_of_the_specs(place: Place, tmp_path: Path) -> None:
    names = ("_id", "__#alibaba_rds_row_id#__")
    messages = [CANAL | {"table": f"t{n}", "pkNames": [name]} for n, name in enumerate(names)]
    texts = written(tmp_path, place("a.jsonl", *messages))
    assert [spec.keys for spec in load_specs(None, load_project(tmp_path))] == [(name,) for name in names], texts
    place("a.jsonl", CANAL | {"pkNames": ["_Pos"], "data": [{"id": "1", "_Pos": "1"}]})
    taken = written(tmp_path, tmp_path / "events")["shop.items.yaml"]
    assert "keys: # decide: the columns that identify a row; candidates: [id]; the events have [_Pos], a name" in taken


def test_the_first_of_names_that_differ_only_in_case_is_declared_and_the_others_are_rescued(
    place: Place, tmp_path: Path
) -> None:
    images: list[dict[str, Any]] = [
        {"ID": 9, "id": 3, "n": 1, "Name": "A", "name": "b"}, {"id": 1, "n": 1, "NAME": "c"},
    ]  # fmt: skip
    text = written(tmp_path, place("a.jsonl", *(event("c", after=image) for image in images)))["shop.items.yaml"]
    (spec,) = load_specs(None, load_project(tmp_path))
    assert (spec.keys, list(spec.columns or {})) == (("id",), ["id", "n", "Name"])
    assert "# Kept in _rescued, because" in text
    assert "only in upper and lower case are one column: [ID, name, NAME]" in text


def test_only_one_of_names_that_differ_only_in_case_is_a_candidate(place: Place, tmp_path: Path) -> None:
    rows = [{"id": n, "ID": n, "seq": n, "SEQ": n} for n in (1, 2, 3)]
    text = written(tmp_path, place("orders.jsonl", *rows))["events.orders.yaml"]
    assert "candidates: [seq]" in text
    bare = json.loads(event("c", after=rows[0]))["value"]
    assert "candidates: [id, seq]" in written(tmp_path, place("bare.jsonl", bare))["shop.items.yaml"]
    headed = written(tmp_path, place("people.csv", "id,Name,name", "1,A,b"))["events.people.yaml"]
    assert "#   Name: string" in headed
    assert "are one column: [name]" in headed


def test_types_that_events_have_are_not_declared(place: Place, tmp_path: Path) -> None:
    line = event("c", after={"id": 1, "n": "AQ=="})
    decimal = field("n", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")
    text = written(tmp_path, place("a.jsonl", with_schema(line, [field("id", "int32"), decimal])))["shop.items.yaml"]
    assert yaml.safe_load(text).keys() == {"table", "source", "keys"}
    assert "#   n: decimal(38,2)" in text


@pytest.mark.parametrize(("digits", "declared"), [("123456789", "string"), ("123456000", None)])
def test_times_of_keys_keep_all_digits(place: Place, tmp_path: Path, digits: str, declared: str | None) -> None:
    column = {"name": "At", "type": {"code": "TIMESTAMP"}, "is_primary_key": True, "ordinal_position": 1}
    mods = [{"keys": {"At": f"2024-01-01T00:00:00.{digits}Z"}, "new_values": {"Name": "A"}, "old_values": {}}]
    record = SPANNER | {"column_types": [column, SPANNER["column_types"][1]], "mods": mods}
    (text,) = written(tmp_path, place("a.jsonl", record)).values()
    assert yaml.safe_load(text).get("columns") == (declared and {"At": declared})


@pytest.mark.parametrize("separate", [False, True])
def test_a_type_that_differs_between_events_is_declared_as_text(place: Place, tmp_path: Path, separate: bool) -> None:
    events = [
        with_schema(event("c", after={"id": 1, "a": value}), [field("id", "int32"), field("a", kind)])
        for value, kind in ((1, "int32"), ("x1", "string"), (2, "int32"))
    ]
    files = [place("1.jsonl", events[0]), place("2.jsonl", *events[1:])] if separate else [place("1.jsonl", *events)]
    text = written(tmp_path, *files)["shop.items.yaml"]
    assert yaml.safe_load(text)["columns"] == {"a": "string"}
    assert "  # id: int\n" in text


@pytest.mark.parametrize("separate", [False, True])
def test_types_to_which_iceberg_cannot_promote_a_column_are_declared(
    place: Place, tmp_path: Path, separate: bool
) -> None:
    shown = [
        {"id": "int", "scale": "decimal(10,2)", "kind": "int", "digits": "decimal(10,2)", "wide": "int"},
        {"id": "int", "scale": "decimal(15,4)", "kind": "decimal(5,1)", "digits": "decimal(12,2)", "wide": "bigint"},
    ]
    messages = [CANAL | {"mysqlType": types, "data": [dict.fromkeys(types, "1")]} for types in (*shown, shown[0])]
    files = [place(f"{n}.txt", line) for n, line in enumerate(messages)] if separate else [place("a.txt", *messages)]
    text = written(tmp_path, *files)["shop.items.yaml"]
    assert yaml.safe_load(text)["columns"] == {"scale": "decimal(15,4)", "kind": "decimal(11,1)"}
    assert "  # digits: decimal(12,2)\n  # wide: bigint\n" in text


def test_payloads_with_json_text_are_an_error_with_a_solution(place: Place) -> None:
    line = {"topic": "t", "key": json.dumps({"id": 1}), "payload": json.dumps({"before": None, "after": {"id": 1}})}
    with pytest.raises(SourceError, match=r"JSON inside of \.payload") as refused:
        find_tables([place("a.jsonl", line, {"topic": "t", "key": None, "payload": None})])
    assert "fromjson" in str(refused.value)


def test_validate_lists_the_settings_that_only_the_user_knows(place: Place, tmp_path: Path) -> None:
    rows = [{"id": n, "name": "a", "updated_at": f"2024-01-0{n}T00:00:00Z"} for n in (1, 2, 3)]
    text = written(tmp_path, place("orders-1.jsonl", *rows), place("orders-2.jsonl", *rows))["events.orders.yaml"]
    assert "candidates: [updated_at" in text
    with pytest.raises(SpecError) as refused:
        load_specs(None, load_project(tmp_path))
    assert {violation.path for violation in refused.value.violations} == {"$.source.sequence_by", "$.keys"}
    bare = json.loads(event("c", after={"id": 1, "n": 2}))["value"]
    text = written(tmp_path, place("bare.jsonl", bare))["shop.items.yaml"]
    assert "keys: # decide: the columns that identify a row; candidates: [id, n]" in text
    with pytest.raises(SpecError, match=r"shop.items.yaml:\d+:\d+: \$.keys: has no value"):
        load_specs([tmp_path / "specs" / "shop.items.yaml"], load_project(tmp_path))


def test_texts_that_can_order_rows_as_numbers_or_times_stay_undeclared(place: Place, tmp_path: Path) -> None:
    """If they were declared as text, they would order rows as text: 10 before 9."""
    rows = [
        {"id": n, "name": name, "seq": seq, "at": at}
        for n, name, seq, at in ((1, "a", "9", "2024-01-01T00:30:00+09:00"), (2, "7", "10", "2024-01-01"))
    ]
    text = written(tmp_path, place("orders.jsonl", *rows))["events.orders.yaml"]
    assert yaml.safe_load(text)["columns"] == {"id": "bigint", "name": "string"}
    assert "  # seq: string # numbers? then bigint" in text
    assert "  # at: string # times? then timestamp, with the source's time_zone" in text
    assert "are left undeclared: they are stored as text" in text
    text = written(tmp_path, place("seqs.jsonl", {"seq": "9"}, {"seq": "10"}))["events.seqs.yaml"]
    assert "columns" not in yaml.safe_load(text)
    assert "# columns: the events have no types" in text


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (1_700_000_000, "seconds"),
        (1_700_000_000_000, "milliseconds"),
        ("1700000000000", "milliseconds"),
        (1_700_000_000_000_000, None),  # the default unit
        (1_700_000_000_000_000_000, "nanoseconds"),
        (17, None),
        ("2023-11-14T22:13:20Z", None),
    ],
)
def test_the_probable_unit_of_numbers_that_order_rows_is_a_comment(
    place: Place, tmp_path: Path, value: Any, unit: str | None
) -> None:
    text = written(tmp_path, place("orders.jsonl", {"id": 1, "name": "a", "ts": value}))["events.orders.yaml"]
    assert "candidates: [ts" in text
    remark = f"  # time_unit: {unit} # the unit in which ts seems to count since 1970"
    assert [line for line in text.splitlines() if "time_unit" in line] == ([remark] if unit else [])


def test_the_spec_leaves_the_time_column_open_if_the_sequence_has_no_time(place: Place, tmp_path: Path) -> None:
    rows = [{"id": n, "name": "a", "version": n, "born": born} for n, born in ((1, "2024-01-01"), (2, None))]
    text = written(tmp_path, place("orders.jsonl", *rows))["events.orders.yaml"]
    assert "  time_by: # decide: the column with the time of a change, or delete this line; candidates: [born]" in text
    with pytest.raises(SpecError) as refused:
        load_specs(None, load_project(tmp_path))
    assert {violation.path for violation in refused.value.violations} == {
        "$.source.sequence_by", "$.source.time_by", "$.keys",
    }  # fmt: skip
    for timed in ({"seq": 1_700_000_000_000}, {"seq": "2024-01-01T00:00:00Z"}, {"seq": 7, "updated": "2024-01-01"}):
        text = written(tmp_path, place("others.jsonl", {"id": 1, **timed}), force=True)["events.others.yaml"]
        assert "time_by" not in text, timed


def test_nothing_is_overwritten_and_the_project_is_written_once(place: Place, tmp_path: Path) -> None:
    file = place("a.jsonl", event("c", after={"id": 1}))
    written(tmp_path, file)
    assert load_project(tmp_path).namespace == "silt"
    (tmp_path / "siltstone.yaml").write_text("namespace: mine\n")
    spec = tmp_path / "specs" / "shop.items.yaml"
    spec.write_text("mine\n")
    with pytest.raises(SpecError, match="the file exists already"):
        written(tmp_path, file)
    assert (spec.read_text(), load_project(tmp_path).namespace) == ("mine\n", "mine")
    assert "table: shop.items" in written(tmp_path, file, force=True)["shop.items.yaml"]
    assert load_project(tmp_path).namespace == "mine"


@pytest.mark.parametrize(
    ("tables", "targets"),
    [
        (("customers", "customers_history"), {"customers_history": {"latest": "mine.customers_history_2"}}),
        (("customers", "customers_history", "customers_history_2"), {
            "customers_history": {"latest": "mine.customers_history_3"},
        }),
        (("runs", "orders", "control"), {
            "runs": {"latest": "mine.runs_2"}, "control": {"latest": "mine.control_2"},
        }),
        (("a.b_c", "a_b.c"), {"a_b.c": {"changes": "mine.a_b_c_changes_2"}}),
        (("x.a.b", "y.a.b"), {"y.a.b": {"latest": "a.b_2"}}),
        (("Tbl", "tbl"), {"tbl": {"latest": "mine.tbl_2", "changes": "mine.tbl_changes_2"}}),
    ],
)  # fmt: skip
def test_specs_whose_tables_would_have_one_name_get_other_names(
    place: Place, tmp_path: Path, tables: Sequence[str], targets: dict[str, dict[str, str]]
) -> None:
    (tmp_path / "siltstone.yaml").write_text("namespace: mine\n")
    texts = written(tmp_path, place("a.jsonl", *(SPANNER | {"table_name": table} for table in tables)))
    found = [yaml.safe_load(text) for text in texts.values()]
    assert {spec["table"]: spec["target"] for spec in found if "target" in spec} == targets
    specs = load_specs(None, load_project(tmp_path))
    assert sorted(spec.table for spec in specs) == sorted(tables)


def test_existing_specs_keep_their_tables(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYER", "silver")
    (tmp_path / "siltstone.yaml").write_text("namespace: ${env:LAYER}\n")
    written(tmp_path, place("a.jsonl", SPANNER | {"table_name": "customers"}))
    (tmp_path / "specs" / "unfinished.yaml").write_text("table: x\ntarget: {latest: silver.orders, history: 1}\n")
    more = [SPANNER | {"table_name": table} for table in ("Customers_History", "orders")]
    texts = written(tmp_path, place("b.jsonl", *more))
    assert (
        "  latest: ${env:LAYER}.Customers_History_2"
        " # ${env:LAYER}.Customers_History is taken: history of customers in customers.yaml\n"
    ) in texts["Customers_History.yaml"].replace("'", "").replace('"', "")
    assert "latest of x in unfinished.yaml" in texts["orders.yaml"]
    (tmp_path / "specs" / "unfinished.yaml").unlink()
    latest = [spec.target.latest for spec in load_specs(None, load_project(tmp_path))]
    assert latest == ["silver.Customers_History_2", "silver.customers", "silver.orders_2"]
    rewritten = written(tmp_path, tmp_path / "events" / "b.jsonl", force=True)
    assert rewritten["Customers_History.yaml"] == texts["Customers_History.yaml"]


def test_an_unknown_file_is_an_error_that_lists_the_known_formats(place: Place, tmp_path: Path) -> None:
    notes, flat = place("notes.txt", "some words", "and more"), place("a.jsonl", event("c", after={"id": 1}))
    with pytest.raises(SourceError) as refused:
        find_tables([notes])
    assert f"{notes} (neither lines of JSON nor CSV, Avro or Parquet)" in refused.value.message
    for form in ("debezium-json: op and a source block", "canal-json: ", "datastream-avro: ", "rows: JSON objects"):
        assert form in refused.value.message
    remarks: list[str] = []
    assert [table.name for table in find_tables([flat.parent], remarks.append)] == ["shop.items"]
    assert remarks == [f"{notes} is skipped: neither lines of JSON nor CSV, Avro or Parquet"]
    assert "path: events/*.jsonl" in written(tmp_path, flat.parent)["shop.items.yaml"]
    assert "path: events/a.jsonl" in written(tmp_path, flat, force=True)["shop.items.yaml"]
    document = tmp_path / "one.json"
    document.write_text(json.dumps([{"a": 1}], indent=1))
    with pytest.raises(SourceError, match="one JSON document; siltstone reads one record per line"):
        find_tables([document])
    with pytest.raises(SourceError, match="does not exist"):
        find_tables([tmp_path / "gone"])


def test_csv_is_rows_of_text(place: Place, tmp_path: Path) -> None:
    text = written(tmp_path, place("people.csv", "id;name;seen", "1;A;2024-01-01", "2;B;2024-01-02"))[
        "events.people.yaml"
    ]
    assert 'delimiter: ";"' in text
    assert "#   id: string # numbers? then bigint" in text
    assert "#   seen: string # times? then date" in text


def test_the_spec_declares_the_file_type_if_the_file_names_do_not_show_it(place: Place, tmp_path: Path) -> None:
    (tmp_path / "events" / "pqx").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "n": [1]}), tmp_path / "events" / "pqx" / "000000_0")
    place("text/data.txt", "id\tn", "1\t2", "2\t3")
    place("lines/a.csv", {"id": 1, "n": 2})
    place("usual/a.csv", "id,n", "1,2", "2,3")
    texts = written(tmp_path, *(tmp_path / "events" / name for name in ("pqx", "text", "lines", "usual")))
    sources = [yaml.safe_load(text)["source"] for text in texts.values()]
    assert {(Path(one["path"]).parts[1], one.get("file_type")) for one in sources} == {
        ("pqx", "parquet"), ("text", "csv"), ("lines", "json"), ("usual", None),
    }  # fmt: skip


def test_the_format_of_lines_is_named() -> None:
    assert looks_like(["Obj\x01..."]) == "an Avro file"
    assert looks_like(['{"a": 1}', "x"]) == "plain rows (format rows)"
    assert looks_like(["\x1f\ufffd\x08\0"]) == "a file packed by gzip"
    assert looks_like(["what", "is", "this"]) is None
    assert looks_like(["id;n", "1;2", "2;3"]) == "plain rows in CSV (format rows)"
    assert looks_like(['{"id": 1, "n": ', '{"id": 2, "n": ']) is None
    assert looks_like(['{"topic": "t", "value": "AAE="}'] * 2) is None
    event_of_avro = {
        name: json.dumps(value) if isinstance(value, dict) else value for name, value in DATASTREAM.items()
    }
    assert looks_like([json.dumps(event_of_avro)]) == "datastream-avro"
    assert looks_like([json.dumps(DATASTREAM)], "avro") == "datastream-avro"
    assert str(Number("1.50")) == "1.50"
    for form, (line, _, _) in FORMATS.items():
        assert other_than(spec(source=source(format=form)).source, [line]) is None
        assert other_than(spec(source=source(format="dts-avro")).source, [line]) == form
    plain = spec(source=source(format="rows", sequence_by="n"), keys=["id"]).source
    assert other_than(plain, ['{"id": 1, "n": 2}']) is None
    assert other_than(plain, ["id;n", "1;2", "2;3"]) is None
    assert other_than(plain, [json.dumps(event_of_avro)]) == "datastream-avro"
    assert other_than(plain, [json.dumps(CANAL)]) == "canal-json"
    avro = spec(source=source(format="datastream-avro")).source
    assert other_than(avro, [json.dumps(DATASTREAM)], "avro") is None
    assert other_than(avro, [json.dumps(DATASTREAM)]) is None  # in a text file, these records are datastream-json


def test_arrays_of_avro_files_have_the_types_that_a_run_stores(tmp_path: Path) -> None:
    items: dict[str, Any] = {
        "plain": "string",
        "nullable": ["null", "int"],
        "single": "float",
        "pairs": ["int", "string"],
    }
    fields = [{"name": name, "type": {"type": "array", "items": kind}} for name, kind in items.items()]
    file = tmp_path / "rows" / "a.avro"
    file.parent.mkdir()
    with file.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [{name: [] for name in items}])
    (table,) = find_tables([file])
    assert {name: kind and kind.simpleString() for name, kind in table.columns.types().items()} == {
        "plain": "array<string>", "nullable": "array<int>", "single": "string", "pairs": "string",
    }  # fmt: skip


def test_times_that_python_does_not_have_are_read_from_avro_files(tmp_path: Path) -> None:
    zoned = {"type": "record", "name": "timestampTz", "fields": [
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "offset", "type": {"type": "int", "logicalType": "time-millis"}},
    ]}  # fmt: skip
    columns: dict[str, Any] = {
        "tz": zoned,
        "tm": {"type": "long", "logicalType": "time-micros"},
        "dt": {"type": "int", "logicalType": "date"},
        "ts": {"type": "long", "logicalType": "timestamp-micros"},
        "n": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}],
    }
    meta = {name: {"type": "string", "default": ""} for name in ("schema", "table", "lsn", "change_type")}
    keys = {"name": "primary_keys", "type": {"type": "array", "items": "string"}}
    schema = {"type": "record", "name": "event", "fields": [
        {"name": "read_method", "type": "string"}, {"name": "source_timestamp", "type": "long"},
        {"name": "source_metadata", "type": {"type": "record", "name": "meta", "fields": [
            *({"name": name, **kind} for name, kind in meta.items()), keys,
        ]}},
        {"name": "payload", "type": {"type": "record", "name": "row", "fields": [
            {"name": "id", "type": "long"}, *({"name": name, "type": kind} for name, kind in columns.items()),
        ]}},
    ]}  # fmt: skip
    usual: dict[str, Any] = {"tz": {"timestamp": 0, "offset": 0}, "tm": 0, "dt": 0, "ts": 0, "n": Decimal("1.25")}
    odd: list[dict[str, Any]] = [
        {}, {"tz": {"timestamp": 0, "offset": -18_000_000}}, {"tz": {"timestamp": 2**63 - 1, "offset": 0}},
        {"tm": 86_400_000_000}, {"dt": 2_932_897}, {"dt": -719_163}, {"ts": -(2**63)}, {"ts": 253_402_300_800_000_000},
    ]  # fmt: skip
    events = [
        {
            "read_method": "postgresql-cdc",
            "source_timestamp": 1_700_000_000_000,
            "source_metadata": {"schema": "shop", "table": "items", "lsn": f"0/{n}", "primary_keys": ["id"]},
            "payload": {"id": n, **usual, **values},
        }
        for n, values in enumerate(odd)
    ]
    file = tmp_path / "a.avro"
    with file.open("wb") as out:
        fastavro.writer(out, schema, events, codec="deflate", sync_interval=1)
    (table,) = find_tables([file])
    assert (table.name, table.keys, table.changes, table.whole) == ("shop.items", {("id",)}, len(odd), True)
    assert {name: kind and kind.simpleString() for name, kind in table.columns.types().items()} == {
        "id": "bigint", "tz": "timestamp", "tm": "string", "dt": "date", "ts": "timestamp", "n": "decimal(12,2)",
    }  # fmt: skip


def test_decimals_of_avro_rows_are_not_messages(tmp_path: Path) -> None:
    fields = [
        {"name": "offset", "type": "long"},
        {"name": "updated_at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "n", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
    ]
    file = tmp_path / "orders" / "a.avro"
    file.parent.mkdir()
    with file.open("wb") as out:
        rows = [{"offset": n, "updated_at": n, "n": Decimal(n)} for n in (1, 2)]
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    (table,) = find_tables([file])
    assert (table.name, table.format) == ("orders.a", "rows")
    assert table.columns.order_candidates() == ["offset", "updated_at"]


def test_a_truncate_does_not_show_whether_a_table_has_a_key(place: Place) -> None:
    row, truncate = event("c", after={"a": 1}, key=None), event("t", key=None)
    (keyless,) = find_tables([place("keyless.jsonl", json.loads(row), json.loads(truncate))])
    assert keyless.keyless is True
    (unsure,) = find_tables([place("unsure.jsonl", json.loads(truncate))])
    assert not unsure.keyless


def test_records_that_the_decoder_rejects_are_an_error_with_its_reason(place: Place) -> None:
    unplaced = event("c", after={"id": 1}, source={"lsn": None, "sequence": None})
    with pytest.raises(SourceError) as raised:
        find_tables([place("a.jsonl", unplaced, unplaced, event("c", after={"id": 2}))])
    assert (
        "it looks like debezium-json, but 2 records are rejected: a streamed change without a position"
        in raised.value.message
    )


@pytest.mark.parametrize("row", [{"type": "CREATE"}, {"type": "QUERY", "database": "a", "table": "b"}, {"mods": 1}])
def test_rows_with_column_names_of_a_format_stay_rows(place: Place, row: dict[str, Any]) -> None:
    assert [form for _, form, _ in found(place("a.jsonl", row | {"id": 1}, row | {"id": 2}))] == ["rows"]
