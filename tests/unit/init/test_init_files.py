"""How init reads files: the path that it writes for them, and the bytes before their first record."""

import base64
import bz2
import codecs
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from siltstone.engine.errors import SourceError
from siltstone.engine.init import find_tables, written_specs
from siltstone.engine.inputs.file_signatures import SNAPPY_FRAME
from tests import dts_records as dts
from tests.unit.decode.given import event

CANAL = {
    "database": "shop", "table": "a", "pkNames": ["id"], "isDdl": False, "type": "INSERT", "es": 1, "ts": 2,
    "mysqlType": {"id": "int"}, "data": [{"id": "1"}], "old": None,
}  # fmt: skip


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def lz4(data: bytes) -> bytes:
    return bytes(pa.Codec("lz4").compress(data, asbytes=True))


def raw_snappy(data: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(data, asbytes=True))


def snappy(data: bytes) -> bytes:
    """One chunk that is not compressed, in snappy's framing format."""
    return SNAPPY_FRAME + b"\x01" + (len(data) + 4).to_bytes(3, "little") + bytes(4) + data


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", zstd),
        (".zstd", zstd),
        (".lz4", lz4),
        (".snappy", snappy),
    ],
)
def test_a_byte_order_mark_is_not_part_of_the_first_record(
    tmp_path: Path, ending: str, packed: Callable[[bytes], bytes]
) -> None:
    texts = {"people.csv": "id,name\r\n1,a\r\n", "canal.jsonl": f"{json.dumps(CANAL)}\n", "empty.jsonl": ""}
    for name, text in texts.items():
        (tmp_path / f"{name}{ending}").write_bytes(packed(codecs.BOM_UTF8 + text.encode()))
    people, canal, empty = (tmp_path / f"{name}{ending}" for name in texts)
    (rows,) = find_tables([people])
    assert (rows.container, list(rows.columns.types())) == ("csv", ["id", "name"])
    (events,) = find_tables([canal])
    assert (events.name, events.format) == ("shop.a", "canal-json")
    with pytest.raises(SourceError, match="the files are empty"):
        find_tables([empty])


LINE = (json.dumps(CANAL) + "\n").encode()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.json", gzip.compress(LINE), "compressed by gzip, and its name does not end in .gz"),
        ("a.jsonl", bz2.compress(LINE), "compressed by bzip2, and its name does not end in .bz2"),
        ("a.jsonl.gz", LINE, "its name ends in .gz, but it is not compressed by gzip"),
        ("a.jsonl.zst", LINE, "its name ends in .zst, but it is not compressed by zstd"),
        ("a.jsonl.zstd", LINE, "its name ends in .zstd, but it is not compressed by zstd"),
        ("a.jsonl", zstd(LINE), "compressed by zstd, and its name does not end in .zst or .zstd"),
        ("a.gz.tmp", lz4(LINE), "compressed by lz4, and its name does not end in .lz4"),
        ("a.jsonl.sz", snappy(LINE), "compressed by snappy, and its name does not end in .snappy"),
        ("a.jsonl.snappy", raw_snappy(LINE), "raw snappy is not read"),
        ("a.jsonl.lz4", bytes(pa.Codec("lz4_raw").compress(LINE, asbytes=True)), "raw lz4 is not read"),
        ("a.jsonl.snappy", snappy(LINE)[:-1], "the compressed stream ends early"),
        ("a.jsonl", lzma.compress(LINE), "compressed by xz, which siltstone does not decompress"),
        ("a.jsonl", LINE.decode().encode("utf-16"), "text in UTF-16"),
        ("a.jsonl", b"[" + LINE.strip() + b"]\n", "lines that are JSON arrays; siltstone reads one record per line"),
    ],
)
def test_files_that_no_run_can_read_are_errors_with_the_reason(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as refused:
        find_tables([tmp_path / name])
    assert expected in refused.value.message
    assert refused.value.hint


def paths_of(root: Path, files: Mapping[str, Sequence[Any]], *events: str) -> dict[str, str]:
    """The path in the spec of each table that init finds in files with these lines. The default folder is `ev`."""
    for name, lines in files.items():
        (root / "ev" / name).parent.mkdir(parents=True, exist_ok=True)
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        (root / "ev" / name).write_text("".join(f"{text}\n" for text in texts))
    places = [root / each for each in events or ("ev",)]
    specs = written_specs(find_tables(places), root / "specs", root, places)
    return {spec.table.partition(".")[2]: yaml.safe_load(spec.text)["source"]["path"] for spec in specs}


A, B = [CANAL], [CANAL | {"table": "b"}]
DDL = [CANAL | {"type": "CREATE", "isDdl": True, "data": None, "table": "c"}]
FILLERS = [{"topic": "t", "partition": 0, "offset": 1, "value": base64.b64encode(bytes(48)).decode()}]
NULLS = [{"topic": "t", "key": {"id": 1}, "value": None}]
UNKNOWN = ["?"]
PATHS: list[tuple[dict[str, Sequence[Any]], dict[str, str]]] = [
    ({"day1.jsonl": A, "day2.jsonl": []}, {"a": "ev/*.jsonl"}),
    ({"day1.jsonl": A, "day2.jsonl": NULLS}, {"a": "ev/*.jsonl"}),
    ({"day1.jsonl": A, "ddl.jsonl": DDL}, {"a": "ev/*.jsonl"}),
    ({"1.jsonl": A, "2.jsonl": A, "ddl.jsonl": DDL, "notes.txt": UNKNOWN}, {"a": "ev/*.jsonl"}),
    ({"1.jsonl": A, "ddl.json": DDL, "empty": []}, {"a": "ev"}),
    ({"s.a.jsonl": A, "s.b.jsonl": B, "s.ddl.jsonl": DDL}, {"a": "ev/*.jsonl", "b": "ev/*.jsonl"}),
    ({"a/1.jsonl": A, "a/2.jsonl": [], "b/1.jsonl": B}, {"a": "ev/a/*.jsonl", "b": "ev/b/*.jsonl"}),
    ({"a/1.jsonl": A, "b/1.jsonl": B, "ddl/1.jsonl": DDL}, {"a": "ev", "b": "ev"}),
    ({"x/1.jsonl": [*A, *B], "x/2.jsonl": A, "x/c.txt": UNKNOWN}, {"a": "ev/x/*.jsonl", "b": "ev/x/*.jsonl"}),
    ({"d1/1.jsonl": [*A, *B], "d1/2.jsonl": A, "d1/3.jsonl": B, "d2/c.jsonl": UNKNOWN}, {
        "a": "ev/d1/*.jsonl", "b": "ev/d1/*.jsonl",
    }),
    ({"day1.jsonl": A, "day2.jsonl": [], "c.jsonl": UNKNOWN}, {"a": "ev/day1.jsonl"}),
    ({"day1.jsonl": A, "fillers.jsonl": FILLERS}, {"a": "ev/day1.jsonl"}),
    ({"day1.jsonl": A, "ddl.jsonl": DDL, "c.jsonl": UNKNOWN}, {"a": "ev/{day1.jsonl,ddl.jsonl}"}),
    ({"a/1.jsonl": A, "ddl/1.jsonl": DDL, "c.txt": UNKNOWN}, {"a": "ev/{a/*.jsonl,ddl/*.jsonl}"}),
    ({"a/05/01.jsonl": A, "ddl/05/01.jsonl": DDL, "ddl/06/01.jsonl": DDL, "c.txt": UNKNOWN}, {"a": "ev/{a,ddl}"}),
    ({"1.jsonl": A, "2.jsonl": A, "ddl.jsonl": DDL, "ddl/1.jsonl": DDL, "ddl/c.txt": UNKNOWN}, {
        "a": "ev/{*.jsonl,ddl/*.jsonl}",
    }),
    ({"a/1.jsonl": A, "c.jsonl": UNKNOWN, **{f"ddl{n}/{n}.jsonl": DDL for n in range(60)}}, {"a": "ev/a/*.jsonl"}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "paths"), PATHS)
def test_files_without_tables_do_not_prevent_a_path_for_the_next_files(
    tmp_path: Path, files: dict[str, Sequence[Any]], paths: dict[str, str]
) -> None:
    assert paths_of(tmp_path, files) == paths


def test_the_path_of_named_files_excludes_other_files(tmp_path: Path) -> None:
    files = {"1.jsonl": A, "2.jsonl": A, "b.jsonl": B, "ddl.jsonl": DDL, "empty.jsonl": []}
    named = [f"ev/{name}" for name in files]
    assert paths_of(tmp_path, files, *named) == {"a": "ev/*.jsonl", "b": "ev/*.jsonl"}
    assert paths_of(tmp_path, files, "ev/1.jsonl") == {"a": "ev/1.jsonl"}
    assert paths_of(tmp_path, files, "ev/1.jsonl", "ev/empty.jsonl") == {"a": "ev/1.jsonl"}
    assert paths_of(tmp_path, files, "ev/b.jsonl", "ev/ddl.jsonl") == {"b": "ev/{b.jsonl,ddl.jsonl}"}


SOURCED = {"source": {"version": "3", "connector": "mysql", "db": "shop", "table": ""}}
SINGER = {
    "table_name": "s.a", "commit_timestamp": "2024-01-01T00:00:00Z", "mod_type": "INSERT", "column_types": [],
    "mods": [{"keys": {"id": "1"}, "new_values": {}, "old_values": {}}],
    "server_transaction_id": "t", "record_sequence": "00000000",
}  # fmt: skip
MARK = "3a0bb4d3-6b1c-4a6e-8f6c-0a1b2c3d4e5f"
CHANGES: dict[str, Any] = {
    "debezium": event("c", after={"id": 1}),
    "spanner": SINGER,
    "shareplex": {"meta": {"op": "ins", "table": "HR.a", "time": "2024-01-01T00:00:00"}, "data": {"id": "1"}},
    "dts": dts.line(dts.record("INSERT", {"id": 3}, after=[dts.integer(1)])),
}
CONTROLS: list[tuple[str, Any]] = [
    ("debezium", {"value": {"status": "END", "id": "1", "event_count": 1, "data_collections": None, "ts_ms": 1}}),
    ("debezium", {"topic": "__debezium-heartbeat.s", "key": {"serverName": "s"}, "value": {"ts_ms": 1}}),
    ("debezium", event("c", after={"id": "x", "type": "execute-snapshot", "data": "{}"})),
    ("debezium", event("c", after={"ID": "x", "TYPE": "execute-snapshot", "DATA": "{}"})),
    ("debezium", event("c", after={"mark": f"{MARK}-open", "what": "snapshot-window-open", "more": "{}"})),
    ("debezium", {"key": {"databaseName": "shop"}, "value": SOURCED | {"ddl": "CREATE TABLE x", "tableChanges": []}}),
    ("debezium", {"value": {"id": "1", "type": "STARTED", "aggregate_type": "Initial Snapshot"}}),
    ("debezium", {"value": SOURCED | {"op": "m", "message": {"prefix": "p", "content": ""}}}),
    ("spanner", {"heartbeat_record": [{"timestamp": "2024-01-01T00:00:00Z"}], "data_change_record": []}),
    ("shareplex", {"meta": {"op": "ddl"}, "sql": {"ddl": "x"}}),
    ("dts", dts.line(dts.record("BEGIN", keys=None, objectName=None))),
    ("dts", FILLERS[0]["value"]),
]


@pytest.mark.parametrize(("form", "line"), CONTROLS)
def test_separate_files_of_control_events_are_in_the_path(tmp_path: Path, form: str, line: Any) -> None:
    changes = {"table/1.jsonl": [CHANGES[form]]}
    assert [*paths_of(tmp_path, changes | {"more/1.jsonl": [line]}).values()] == ["ev"]
    among = paths_of(tmp_path, {"more/c.jsonl": UNKNOWN})
    assert [*among.values()] == ["ev/{table/*.jsonl,more/1.jsonl}"]


CSV = ["id,seq", "1,2"]
ROWS: list[tuple[dict[str, Sequence[Any]], dict[str, str]]] = [
    ({"orders-1.csv": CSV, "orders-2.csv": []}, {"orders": "ev/*.csv"}),
    ({"orders-1.csv": CSV, "people-1.csv": []}, {"orders": "ev/orders-1.csv"}),
    ({"x/orders-1.csv": CSV, "y/orders-1.csv": []}, {"orders": "ev/x/*.csv"}),
    ({"orders-1.jsonl": [{"id": 1}], "orders-2.jsonl": []}, {"orders": "ev/*.jsonl"}),
    ({"orders-1.jsonl": [{"id": 1}], "orders-2.jsonl": NULLS}, {"orders": "ev/orders-1.jsonl"}),
]


@pytest.mark.parametrize(("files", "paths"), ROWS)
def test_an_empty_file_of_rows_belongs_to_the_table_of_its_name(
    tmp_path: Path, files: dict[str, Sequence[Any]], paths: dict[str, str]
) -> None:
    assert paths_of(tmp_path, files) == paths


def test_a_parquet_file_without_rows_is_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "ev").mkdir()
    for number in range(2):
        rows = {"id": pa.array(range(number), pa.int64())}
        pq.write_table(pa.table(rows), tmp_path / "ev" / f"orders-{number}.parquet")
    assert paths_of(tmp_path, {}) == {"orders": "ev/*.parquet"}
    assert paths_of(tmp_path, {"orders-2.parquet": []}) == {"orders": "ev/orders-1.parquet"}


PLAIN: list[tuple[dict[str, Sequence[Any]], str]] = [
    ({"jobs[1].jsonl": A, "jobs1.jsonl": UNKNOWN}, r"ev/jobs\[1\].jsonl"),
    ({"${a}*?.jsonl": A, "b.jsonl": UNKNOWN}, r"ev/$\{a\}\*\?.jsonl"),
    ({"a\\b.jsonl": A, "ab.jsonl": UNKNOWN}, r"ev/a\\b.jsonl"),
    ({"[a]/1.jsonl": A, "c.jsonl": UNKNOWN}, r"ev/\[a\]/*.jsonl"),
    ({"{a,b}/05/1.jsonl": A, "c.jsonl": UNKNOWN}, r"ev/\{a,b\}"),
    ({"a.{x}": A, "b.x": UNKNOWN}, r"ev/*.\{x\}"),
    ({"a,b.jsonl": A, "[c].jsonl": A, "d.jsonl": UNKNOWN}, r"ev/{\[c\].jsonl,a\,b.jsonl}"),
    ({"1.jsonl": A, "[2]/3.jsonl": A, "[2]/c.jsonl": UNKNOWN}, r"ev/{1.jsonl,\\\[2\\\]/3.jsonl}"),
]


@pytest.mark.parametrize(("files", "path"), PLAIN)
def test_a_name_that_looks_like_a_pattern_is_escaped(
    tmp_path: Path, files: dict[str, Sequence[Any]], path: str
) -> None:
    assert paths_of(tmp_path, files) == {"a": path}
    assert paths_of(tmp_path / "{b}", files) == {"a": f"{tmp_path}/\\{{b\\}}/{path}"}


def test_a_typed_file_has_the_types_that_a_run_reads(tmp_path: Path) -> None:
    texts = {"type": "string", "avro.java.string": "String"}
    day = {"type": "int", "logicalType": "date"}
    fields = [{"name": "id", "type": "long"}, {"name": "payload", "type": texts}, {"name": "day", "type": day}]
    with (tmp_path / "a.avro").open("wb") as out:
        schema = {"type": "record", "name": "r", "fields": fields}
        fastavro.writer(out, schema, [{"id": 1, "payload": "x", "day": 3_000_000}], codec="deflate")
    days = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"id": [1], "half": pa.array([1.5], pa.float16()), "day": days}), tmp_path / "a.parquet")
    (avro,), (parquet,) = find_tables([tmp_path / "a.avro"]), find_tables([tmp_path / "a.parquet"])
    kinds = [{name: kind.simpleString() for name, kind in one.columns.types().items()} for one in (avro, parquet)]
    assert kinds[0] == {"id": "bigint", "payload": "string", "day": "date"}
    assert kinds[1] == {"id": "bigint", "half": "float", "day": "date"}


def test_an_avro_file_packed_by_snappy_is_read(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}
    plain = io.BytesIO()
    fastavro.writer(plain, schema, [{"id": 7}], sync_marker=b"m" * 16)
    head, block = plain.getvalue().split(b"m" * 16)[0], b"\x0e"
    packed = bytes(pa.Codec("snappy").compress(block, asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")
    head = head.replace(b"\x08null", b"\x0csnappy")
    (tmp_path / "a.avro").write_bytes(head + b"m" * 16 + b"\x02" + bytes([2 * len(packed)]) + packed + b"m" * 16)
    (found,) = find_tables([tmp_path / "a.avro"])
    assert list(found.columns.types()) == ["id"]
