"""Avro files: all records of a file with any split into ranges, and the errors of damaged files."""

import io
import json
import lzma
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from siltstone.engine.decode import avro_files
from siltstone.engine.decode.avro_files import AvroFileError, count_records, json_text, read_header, read_records
from tests.recordings import DATA

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}, {"name": "t", "type": "string"}]}
ROWS = [{"n": number, "t": "x" * (number % 50)} for number in range(500)]
NO_BLOCK = b"\x00\x00"


def written(rows: Any = ROWS, schema: Any = SCHEMA, codec: str = "null", interval: int = 200) -> bytes:
    file = io.BytesIO()
    fastavro.writer(file, schema, rows, codec=codec, sync_interval=interval)
    return file.getvalue()


def parts(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """The header, the blocks, and the marker after each of them."""
    marker = data[-avro_files.MARKER_BYTES :]
    header, *blocks, _ = data.split(marker)
    return header, blocks, marker


def whole(header: bytes, blocks: list[bytes], marker: bytes) -> bytes:
    return marker.join([header, *blocks, b""])


def records(data: bytes, *ends: int) -> list[Any]:
    """The records of the ranges between these places, in order."""
    file = io.BytesIO(data)
    header = read_header(file)
    places = [0, *ends, len(data)]
    ranges = list(pairwise(places))
    found = [[row for some in read_records(file, header, *each) for row in some] for each in ranges]
    assert [count_records(file, header, *each) for each in ranges] == [len(some) for some in found]
    return [row for some in found for row in some]


def read(schema: Any, *rows: Any, body: bytes | None = None) -> list[Any]:
    """Rows that are encoded with a schema. `body`: the bytes of one row."""
    data = written(rows, schema)
    if body is None:
        return records(data)
    header, _, marker = parts(data)
    block = avro_files._number(1) + avro_files._number(len(body)) + body
    return records(whole(header, [block], marker))


def one_field(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}


# --- blocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1_000_000, 3_000, 700, 97])
def test_each_record_is_in_exactly_one_range_of_its_file(step: int) -> None:
    data = written()
    assert records(data, *range(step, len(data), step)) == ROWS


def test_a_marker_that_begins_at_the_end_of_a_range_belongs_to_the_next_range() -> None:
    data = written()
    header, blocks, marker = parts(data)
    at = len(header) + len(marker) + len(blocks[0])  # where the first block's marker begins
    file, head = io.BytesIO(data), read_header(io.BytesIO(data))
    for end, number in ((at, 1), (at + 1, 2)):
        assert len(list(read_records(file, head, 0, end))) == number
    assert count_records(file, head, at) + count_records(file, head, 0, at) == len(ROWS)


def _snappy(data: bytes) -> bytes:
    return pa.compress(data, "snappy", asbytes=True) + zlib.crc32(data).to_bytes(4, "big")  # type: ignore[no-any-return]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "snappy": _snappy,
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
    "xz": lzma.compress,
}


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_packed_blocks_are_unpacked(codec: str) -> None:
    assert records(written(codec=codec)) == ROWS


@pytest.mark.parametrize("codec", list(PACKED))
def test_blocks_are_unpacked_without_a_library_that_fastavro_needs(codec: str) -> None:
    header, blocks, marker = parts(written(codec="null", interval=1 << 20))
    assert len(blocks) == 1
    size = len(avro_files._number(len(ROWS)))
    body = blocks[0][size + len(avro_files._number(len(blocks[0]))) :]
    packed = PACKED[codec](body)
    block = avro_files._number(len(ROWS)) + avro_files._number(len(packed)) + packed
    name = avro_files._number(len(codec)) + codec.encode()
    header = header.replace(b"avro.codec\x08null", b"avro.codec" + name)
    assert records(whole(header, [block], marker)) == ROWS
    damaged = block[:-9] + bytes(5) + block[-4:]
    with pytest.raises(AvroFileError, match="cannot be unpacked"):
        records(whole(header, [damaged], marker))


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_block_without_records_is_skipped(place: int) -> None:
    header, blocks, marker = parts(written())
    blocks.insert(place if place >= 0 else len(blocks), NO_BLOCK)
    assert records(whole(header, blocks, marker)) == ROWS


def test_a_file_without_blocks_has_no_records() -> None:
    assert records(written([])) == []


def test_records_of_large_blocks_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_files, "_LARGE", 100)
    assert records(written()) == ROWS


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.avro")), ids=lambda path: path.name)
def test_recorded_files_are_read_as_they_were_written(path: Path) -> None:
    data = path.read_bytes()
    found = records(data, len(data) // 3, len(data) // 2)
    assert len(found) == sum(block.num_records for block in fastavro.block_reader(io.BytesIO(data)))
    assert all(isinstance(record, dict) for record in found)


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [-1, -avro_files.MARKER_BYTES, -avro_files.MARKER_BYTES - 1])
def test_a_truncated_file_is_an_error(kept: int) -> None:
    data = written()[:kept]
    file = io.BytesIO(data)
    header = read_header(file)
    for read_all in (lambda: count_records(file, header), lambda: list(read_records(file, header))):
        with pytest.raises(AvroFileError, match="a block of records was cut short"):
            read_all()


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("block", [0, -1])
def test_a_damaged_block_is_counted_but_not_read(codec: str, block: int) -> None:
    header, blocks, marker = parts(written(codec=codec))
    blocks[block] = blocks[block][:6] + bytes(len(blocks[block]) - 6)
    file = io.BytesIO(whole(header, blocks, marker))
    head = read_header(file)
    assert count_records(file, head) == len(ROWS)  # the heads of the blocks are unchanged
    with pytest.raises(AvroFileError):
        list(read_records(file, head))


@pytest.mark.parametrize("large", [1, 1 << 30])
@pytest.mark.parametrize("change", [-1, 1])
def test_a_block_with_another_number_of_records_is_an_error(
    monkeypatch: pytest.MonkeyPatch, change: int, large: int
) -> None:
    monkeypatch.setattr(avro_files, "_LARGE", large)
    header, blocks, marker = parts(written(ROWS[:10], interval=1 << 20))
    (block,) = blocks
    file = io.BytesIO(whole(header, [avro_files._number(10 + change) + block[1:]], marker))
    with pytest.raises(AvroFileError):
        list(read_records(file, read_header(file)))


def test_a_block_must_end_with_the_marker_of_its_file() -> None:
    header, blocks, marker = parts(written())
    data = marker.join([header, *blocks[:-1]]) + marker + blocks[-1] + bytes(len(marker))
    file = io.BytesIO(data)
    with pytest.raises(AvroFileError, match="marker"):
        count_records(file, read_header(file))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not an Avro file"),
        (b"PAR1", "it is not an Avro file"),
        (written()[:100], "it was cut short inside its header"),
        (written().replace(b'"long"', b'"lonG"', 1), "no valid Avro schema"),
        (written().replace(b'"fields"', b'"fieldz"', 1), "no valid Avro schema"),
        (written().replace(b'"fields"', b"\xff\xff\xff\xff\xff\xff\xff\xff", 1), "its header is damaged"),
        (written().replace(b"avro.schema", b"avro.schemb", 1), "its header is damaged"),
        (written().replace(b"\x08null", b"\x08nulx", 1), "an unsupported compression"),
    ],
)
def test_a_damaged_header_is_an_error(data: bytes, reason: str) -> None:
    with pytest.raises(AvroFileError, match=reason):
        read_header(io.BytesIO(data))


def test_a_header_can_be_long() -> None:
    fields = [{"name": f"column_{number}", "type": "long", "doc": "x" * 100} for number in range(1_000)]
    row = {field["name"]: 1 for field in fields}
    assert read({"type": "record", "name": "r", "fields": fields}, row) == [row]


# --- values ---------------------------------------------------------------------------------------------------------


def test_values_are_read_as_they_are_encoded() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    kinds = {"d": {"type": "int", "logicalType": "date"}, "t": {"type": "long", "logicalType": "timestamp-micros"}}
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": n, "type": k} for n, k in {**kinds, "n": decimal}.items()],
    }
    # Far outside the range of Python's dates and times.
    body = avro_files._number(2**31 - 1) + avro_files._number(2**62 - 1) + b"\x04\x00\xc7"
    assert read(schema, body=body) == [{"d": 2**31 - 1, "t": 2**62 - 1, "n": b"\x00\xc7"}]


def test_a_value_of_a_union_shows_its_type() -> None:
    named = {"type": "record", "name": "Named", "namespace": "a.b", "fields": [{"name": "x", "type": "int"}]}
    kinds = ["null", {"type": "int"}, "string", {"type": "array", "items": ["int", "boolean"]}, named]
    fields = [
        {"name": "a", "type": kinds},
        {"name": "b", "type": ["null", "a.b.Named"]},
        {"name": "c", "type": ["null"]},
    ]
    schema = {"type": "record", "name": "r", "namespace": "c.d", "fields": fields}
    values = [None, 5, "x", [1, True], {"x": 1}]
    found = read(schema, *[{"a": value, "b": {"x": 2}, "c": None} for value in values])
    items = [{"member0": 1}, {"member1": True}]
    members = [None, {"member0": 5}, {"member1": "x"}, {"member2": items}, {"member3": {"x": 1}}]
    assert found == [{"a": member, "b": {"x": 2}, "c": None} for member in members]


def test_recursive_types_are_read() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node", "int"]}]}
    assert read(node, {"next": {"next": None}}, {"next": 5}) == [
        {"next": {"member0": {"next": None}}},
        {"next": {"member1": 5}},
    ]


def test_text_that_is_not_utf_8_keeps_its_bytes() -> None:
    (record,) = read(one_field("string"), body=b'\x06"\xff\n')
    assert json_text(record) == b'{"a":"\\"\xff\\n"}'
    inside = {"a": [record["a"], {"b": record["a"]}, None, 1.5]}
    assert json_text(inside) == b'{"a":["\\"\xff\\n",{"b":"\\"\xff\\n"},null,1.5]}'
    assert json.loads(json_text(ROWS[3])) == ROWS[3]
