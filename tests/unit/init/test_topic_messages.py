"""What init finds in messages of bytes: Debezium's in Confluent's frames, and DTS's records. Runs without a JVM."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from siltstone.engine.cli import main
from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.init import (
    FoundTable,
    SchemaPlace,
    find_tables,
    looks_like,
    project_root,
    write_specs,
    written_specs,
)
from siltstone.engine.spec import load_project, load_specs
from siltstone.engine.spec.model import RegistrySpec
from tests import dts_records as dts
from tests.framed import decimal, envelope, frame, message, named, record, schemas_file
from tests.recordings import DATA
from tests.unit.decode.given import SOURCE
from tests.unit.inputs.test_schema_registry import Registry

COLUMNS = {"id": "long", "price": decimal(2, 12), "at": named("long", "io.debezium.time.MicroTimestamp"), "b": "bytes"}
KEY = record("Key", {"id": "long"})
HEARTBEAT = record("Heartbeat", {"ts_ms": "long"}, "io.debezium.connector.common")
SCHEMAS = {1: KEY, 2: envelope(COLUMNS), 3: envelope(COLUMNS | {"added": "string"}), 4: HEARTBEAT}
TYPES = {"id": "bigint", "price": "decimal(12,2)", "at": "timestamp_ntz", "b": "binary"}
FRAMES_SHOWN = [("shop.items", "debezium-avro", {("id",)}, TYPES | {"added": "string"})]


def change(number: int, key: int, **more: Any) -> tuple[bytes, bytes]:
    """The frames of the value and of the key of an insert."""
    row = {"id": key, "price": b"\x01", "at": 5, "b": b"\x00\xff"} | more
    source = dict.fromkeys(("db", "txId")) | SOURCE | {"version": "3", "db": "main"}
    value = {"before": None, "after": row, "source": source, "transaction": None, "op": "c", "ts_ms": 1}
    return frame(number, SCHEMAS[number], value), frame(1, KEY, {"id": key})


FRAMES = [change(2, 1), change(3, 2, added="x"), (frame(4, HEARTBEAT, {"ts_ms": 1}), None)]


def text_of(data: bytes | None) -> str:
    return "null" if data is None else base64.b64encode(data).decode()


def written(folder: Path, name: str, lines: Sequence[str]) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file


def shown(tables: Sequence[FoundTable]) -> list[Any]:
    return [
        (t.name, t.format, t.keys, {n: k and k.simpleString() for n, k in t.columns.types().items()}) for t in tables
    ]


def parquet(file: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), file)
    return file


def avro(file: Path, records: list[dict[str, Any]]) -> Path:
    kinds = {"topic": "string", "key": ["null", "bytes"], "value": ["null", "bytes"]}
    with file.open("wb") as out:
        fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
        fastavro.writer(out, {"type": "record", "name": "m", "fields": fields}, records)
    return file


def test_frames_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    place = SchemaPlace(Path(schemas_file(tmp_path, SCHEMAS)))
    values, keys = ([pair[side] for pair in FRAMES] + [None] for side in (0, 1))
    both = list(zip(values, keys, strict=True))
    lines = [message(*pair, offset=n) for n, pair in enumerate(both)]
    both_forms = [
        json.dumps({"value": {}, "value_avro": text_of(v), "key_avro": k and text_of(k)}) for v, k in both[:3]
    ]
    files = [
        written(tmp_path, "a.jsonl.gz", lines),
        written(tmp_path, "b.jsonl", both_forms),
        parquet(tmp_path / "c.parquet", key=keys, value=values),
        avro(tmp_path / "d.avro", [{"topic": "t", "key": k, "value": v} for v, k in both]),
    ]
    for file in files:
        assert shown(find_tables([file], schemas=place)) == FRAMES_SHOWN, file
    bare: list[Any] = [(*FRAMES_SHOWN[0][:2], set(), FRAMES_SHOWN[0][3])]
    texts = written(tmp_path, "e.txt", ["", *map(text_of, values), f'"{text_of(values[0])}"'])
    assert shown(find_tables([texts], schemas=place)) == bare
    assert shown(find_tables([parquet(tmp_path / "f.parquet", anything=values)], schemas=place)) == bare
    assert looks_like(lines) == looks_like([text_of(value) for value in values]) == "debezium-avro"


def test_schemas_are_required_and_named_in_the_spec(tmp_path: Path) -> None:
    events = written(tmp_path, "events/a.jsonl", [message(*pair) for pair in FRAMES]).parent
    with pytest.raises(SpecError, match=r"a\.jsonl: it looks like debezium-avro .* needs the schemas") as refused:
        find_tables([events])
    assert "--schemas FILE" in (refused.value.hint or "")
    place = SchemaPlace(Path(schemas_file(events, SCHEMAS)))  # in the folder of the events, but not an event
    for each, setting in ((place, "schemas"), (SchemaPlace(registry=RegistrySpec("http://registry:8081")), "registry")):
        root, _ = project_root(tmp_path / setting / "specs")
        tables = find_tables([events], schemas=place)
        specs = written_specs(tables, root / "specs", root, [events], each)
        write_specs(specs, root / "siltstone.yaml", force=False)
        (spec,) = load_specs(None, load_project(root))
        assert (spec.source.format, spec.keys, spec.columns) == ("debezium-avro", ("id",), None)
        assert spec.source.schemas == (str(place.file) if setting == "schemas" else None)
        assert spec.source.registry == each.registry
    text = written_specs(tables, tmp_path / "specs", tmp_path, [events], place)[0].text
    assert "  schemas: events/schemas.json\n" in text


@pytest.fixture
def server() -> Iterator[Registry]:
    """A registry that has the schemas."""
    with Registry() as registry:
        registry.answers = {f"/schemas/ids/{n}": [(200, {"schema": json.dumps(each)})] for n, each in SCHEMAS.items()}
        thread = Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield registry
        registry.shutdown()
        thread.join()


def test_a_registry_gets_one_request_for_each_schema(tmp_path: Path, server: Registry) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        written(tmp_path, f"events/{name}", [message(*pair) for pair in FRAMES])
    tables = find_tables([tmp_path / "events"], schemas=SchemaPlace(registry=RegistrySpec(server.url)))
    assert shown(tables) == FRAMES_SHOWN
    assert sorted(path for path, _ in server.seen) == [f"/schemas/ids/{number}" for number in SCHEMAS]


BASIC = "Basic " + base64.b64encode(b"me:s3cret").decode()
WAYS: list[tuple[dict[str, str], str]] = [
    ({"user": "me", "password": "env:SECRET"}, BASIC),
    ({"user": "env:WHO", "password": "${env:SECRET}"}, BASIC),
    ({"token": "env:SECRET"}, "Bearer s3cret"),
]


@pytest.mark.parametrize(("given", "header"), WAYS)
@pytest.mark.parametrize("place", ["options", "project"])
def test_credentials_go_to_the_registry_and_not_into_files(
    given: dict[str, str], header: str, place: str, server: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The credentials are options, or those of the project's registry, which specs then need not name."""
    events = written(tmp_path, "events/a.jsonl", [message(*pair) for pair in FRAMES])
    monkeypatch.setenv("SECRET", "s3cret")
    monkeypatch.setenv("WHO", "me")
    server.wanted = header
    options = ["--registry", server.url, *[part for name in given for part in (f"--registry-{name}", given[name])]]
    if place == "project":
        settings = {name: f"${{{value}}}" if value.startswith("env:") else value for name, value in given.items()}
        (tmp_path / "siltstone.yaml").write_text(json.dumps({"registry": {"url": server.url} | settings}))
        options = []
    assert ended("init", str(events), "-o", str(tmp_path / "specs"), *options) == 0, capsys.readouterr()
    (spec,) = load_specs(None, load_project(tmp_path))
    known = spec.source.registry
    assert known is not None
    assert (known.url, known.user) == (server.url, None if "token" in given else "me")
    assert "s3cret" in (known.password, known.token)
    assert {header for _, header in server.seen} == {header}
    files = [file.read_text() for file in tmp_path.rglob("*.yaml")]
    assert not any("s3cret" in text for text in files)
    assert ("registry:" in (tmp_path / "specs" / "shop.items.yaml").read_text()) == (place == "options")


REFUSED: list[tuple[list[str], str]] = [
    (["--registry-user", "me", "--registry-password", "s3cret"], "other users can see a command line; write env:NAME"),
    (["--registry-token", "s3cret"], "other users can see a command line; write env:NAME"),
    (["--registry-user", "me"], "user and password go together"),
    (["--registry-token", "env:NOWHERE"], "the environment variable NOWHERE is not set"),
    (["--registry-user", "me", "--registry-password", "env:WRONG"], "refuses the credentials (401"),
    ([], "refuses the credentials (401"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_wrong_credentials_are_errors_that_do_not_show_them(
    options: list[str], words: str, server: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    events = written(tmp_path, "events/a.jsonl", [message(*pair) for pair in FRAMES])
    monkeypatch.setenv("WRONG", "wr0ng")
    monkeypatch.delenv("NOWHERE", raising=False)
    server.wanted = BASIC
    begin = ("init", str(events), "-o", str(tmp_path / "specs"))
    assert ended(*begin, "--registry", server.url, *options) == 2
    printed = capsys.readouterr()
    assert words in " ".join((printed.out + printed.err).replace("│", " ").split())
    assert not any(secret in printed.out + printed.err for secret in ("s3cret", "wr0ng"))
    assert ended(*begin, *options) == 2  # without an address
    assert not (tmp_path / "specs").exists()


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    return int(exited.value.code or 0)


def test_the_command_accepts_only_one_place_of_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = written(tmp_path, "a.jsonl", [message(*pair) for pair in FRAMES])
    schemas = schemas_file(tmp_path, SCHEMAS)
    begin = ["init", str(events), "-o", str(tmp_path / "specs")]
    outcomes = {
        (): (2, "it looks like debezium-avro"),
        ("--schemas", schemas, "--registry", "http://r"): (2, "exclude each other"),
        ("--registry", "https://me:secret@r"): (2, "a user or a password in it"),
        ("--schemas", schemas): (0, "debezium-avro"),
    }
    for more, (code, words) in outcomes.items():
        with pytest.raises(SystemExit) as ended:
            main([*begin, *more])
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed
        assert words in " ".join((printed.out + printed.err).split())
    assert (tmp_path / "specs" / "shop.items.yaml").exists()


def test_missing_schemas_are_reported(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jsonl", [message(*pair) for pair in (FRAMES[0], FRAMES[0], FRAMES[1])])
    some = SchemaPlace(Path(schemas_file(tmp_path, {number: SCHEMAS[number] for number in (1, 2)})))
    remarks: list[str] = []
    (table,) = find_tables([file], remarks.append, some)
    assert (table.changes, remarks) == (2, [f"{file}: 1 record is rejected: the value: schema 3 is not known"])
    none = SchemaPlace(Path(schemas_file(tmp_path, {9: KEY})))
    with pytest.raises(SourceError, match="3 records are rejected: the value: schema 2 is not known"):
        find_tables([file], schemas=none)
    wrong = SchemaPlace(Path(schemas_file(tmp_path, {n: KEY if n == 1 else HEARTBEAT for n in SCHEMAS})))
    with pytest.raises(SourceError, match="in Confluent's frames without a Debezium event: 3 records are rejected"):
        find_tables([file], schemas=wrong)


DTS_TYPES = {"id": 3, "price": 246, "doc": 252, "name": 253}


def dts_row(key: int, price: Any, doc: Any) -> list[Any]:
    return [dts.integer(key), price, doc, dts.text("å")]


DTS_LINES = [
    *[
        dts.line(made, born)
        for born in (True, False)
        for made in (
            dts.record("BEGIN", keys=None, objectName=None),
            dts.record("INSERT", DTS_TYPES, after=dts_row(1, dts.decimal("1.50", 3, 2), dts.blob(b"\x00"))),
            dts.record("DELETE", DTS_TYPES, before=dts_row(1, dts.decimal("123.4", 4, 1), None)),
            dts.record("UPDATE", DTS_TYPES, dts_row(1, dts.decimal("12345", 5, 0), None), dts_row(1, None, None)),
            dts.record("DDL", after="ALTER TABLE items ADD x int", keys=None, objectName="shop"),
        )
    ],
    dts.line(
        dts.record(
            "INIT", {"k": 8}, after=[dts.integer(5)], objectName="shop_01.orders_17", keys='{"u":["k"]}',
            tags={"l_db_name": "shop", "l_tb_name": "orders"},
        )
    ),
    dts.line(dts.record("INSERT", {"v": 253}, after=[dts.text("x")], objectName="pg.public.log", keys=None)),
    dts.line(dts.record("DELETE", DTS_TYPES | {"x": 3}, before=[*dts_row(1, None, None), dts.integer(1)])),
    text_of(bytes(40)),
]  # fmt: skip


def test_records_of_dts_have_tables_keys_and_types(tmp_path: Path) -> None:
    whole = [
        ("public.log", "dts-avro", set(), {"v": "string"}),
        (
            "shop.items",
            "dts-avro",
            {("id",)},
            {"id": "bigint", "price": "decimal(7,2)", "doc": "binary", "name": "string", "x": "bigint"},
        ),
        ("shop.orders", "dts-avro", {("k",)}, {"k": "bigint"}),
    ]
    assert shown(find_tables([written(tmp_path, "whole/a.txt", DTS_LINES)])) == whole
    for number, line in enumerate(
        DTS_LINES[:-1]
    ):  # facts that only all records together show, from files of one record each
        written(tmp_path, f"separate/{number}.jsonl", [json.dumps({"topic": "t", "value": line})])
    parquet(tmp_path / "separate" / "p.parquet", value=[base64.b64decode(line) for line in DTS_LINES])
    assert shown(find_tables([tmp_path / "separate"])) == whole
    assert looks_like(DTS_LINES) == looks_like([f'{{"value": "{line}"}}' for line in DTS_LINES]) == "dts-avro"


def test_a_spec_of_dts_declares_only_types_that_would_be_too_small(tmp_path: Path) -> None:
    events = written(tmp_path, "events/a.txt", DTS_LINES)
    specs = written_specs(find_tables([events]), tmp_path / "specs", tmp_path, [events])
    write_specs(specs, tmp_path / "siltstone.yaml", force=False)
    assert {spec.table: spec.open_questions for spec in specs} == {
        "public.log": ("keys",), "shop.items": (), "shop.orders": (),
    }  # fmt: skip
    (spec,) = load_specs([tmp_path / "specs" / "shop.items.yaml"], load_project(tmp_path))
    declared = {name: column.type for name, column in (spec.columns or {}).items()}
    assert (spec.source.format, spec.keys) == ("dts-avro", ("id",))
    assert declared == {"price": "decimal(38,2)", "doc": "binary"}
    (log,) = [spec for spec in specs if spec.table == "public.log"]
    assert yaml.safe_load(log.text).get("columns") is None


@pytest.mark.parametrize(("value", "declared"), [(2**63 - 1, None), (2**63, "bigint unsigned"), (-(2**63), None)])
def test_a_number_of_dts_beyond_its_type_is_unsigned(tmp_path: Path, value: int, declared: str | None) -> None:
    for number, each in enumerate((5, value, 6)):
        row = [dts.integer(number), dts.integer(each)]
        written(tmp_path, f"events/{number}.txt", [dts.line(dts.record("INSERT", {"id": 3, "n": 8}, after=row))])
    (spec,) = written_specs(find_tables([tmp_path / "events"]), tmp_path / "specs", tmp_path)
    assert yaml.safe_load(spec.text).get("columns") == (declared and {"n": declared})


def test_bytes_that_are_not_messages_are_rows_or_unknown(tmp_path: Path) -> None:
    longs = [number.to_bytes(8, "big") for number in (1, 2, 1_700_000_000_000)]
    (rows,) = find_tables([parquet(tmp_path / "a.parquet", id=[1, 2, 3], value=longs)])
    assert rows.format == "rows"
    words = written(tmp_path, "b.txt", ["word", text_of(b"some bytes that are long enough for a record of DTS!!")])
    with pytest.raises(SourceError, match="Cannot recognise what is in"):
        find_tables([words])
    assert looks_like(["word", "AQID"]) is None


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
def test_recorded_frames_give_the_same_tables_as_json() -> None:
    events = DATA / "postgresql" / "events.avro.jsonl.gz"
    from_frames = find_tables([events], schemas=SchemaPlace(DATA / "postgresql" / "events.avro.schemas.json.gz"))
    as_json = {table.name: table for table in find_tables([events])}
    assert {table.format for table in from_frames} == {"debezium-avro"}
    assert {table.format for table in as_json.values()} == {"debezium-json"}
    assert {t.name: (t.keys, t.changes, t.keyless) for t in from_frames} == {
        name: (t.keys, t.changes, t.keyless) for name, t in as_json.items()
    }
    for table in from_frames:
        named_in_json = set(as_json[table.name].columns.types())
        assert named_in_json <= set(table.columns.types()), table.name  # the schema names a column before a row has it


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize("generation", ["", ".noborn"])
def test_the_samples_of_dts_name_their_tables(generation: str) -> None:
    samples = DATA / "dts" / "samples"
    assert shown(find_tables([samples / f"mydb_t1{generation}.base64.txt"])) == [
        ("mydb.t1", "dts-avro", {("a",)}, {"a": "bigint", "b": "string"})
    ]
    (table,) = find_tables([samples / f"drds_insert{generation}.base64.txt"])
    assert (table.name, table.keys) == ("test_drds_hzy.sample_order_real", {("id",)})
    with pytest.raises(SourceError, match="Cannot find a change of a table"):
        find_tables([samples / f"begin_control{generation}.base64.txt"])
