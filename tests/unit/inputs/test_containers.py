"""What files say of themselves: the header of an Avro file, and its schema as values are encoded."""

import json
from typing import Any

import pytest

from engine.inputs.avro import avro_header, without_logical_types
from engine.inputs.containers import kind_of
from engine.spec.model import SourceSpec
from engine.spec.rows import RowsSpec


def varint(number: int) -> bytes:
    number <<= 1
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def header(entries: dict[str, bytes]) -> bytes:
    pairs = b"".join(varint(len(k)) + k.encode() + varint(len(v)) + v for k, v in entries.items())
    return b"Obj\x01" + varint(len(entries)) + pairs + varint(0)


def test_the_schema_is_found_wherever_it_stands_in_the_header() -> None:
    schema = json.dumps({"type": "record", "name": "r", "fields": [], "doc": "x" * 1000}).encode()
    assert avro_header(header({"avro.codec": b"null", "avro.schema": schema}) + b"rest") == schema


@pytest.mark.parametrize("size", [0, 3, 4, 5, 30, 200])
def test_what_is_cut_short_or_no_avro_file_has_none(size: int) -> None:
    whole = header({"avro.schema": b"x" * 300})
    assert avro_header(whole[:size]) is None
    assert avro_header(b"PAR1" + whole) is None


def test_values_are_read_as_they_are_encoded_whatever_they_mean() -> None:
    written: Any = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "a", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 65, "scale": 30}]},
            {"name": "b", "type": {"type": "array", "items": {"type": "long", "logicalType": "timestamp-micros"}}},
            {"name": "c", "type": "long", "logicalType": "time-micros", "default": 5},
            {"name": "d", "type": ["null", {"type": "record", "name": "v", "fields": [{"name": "e", "type": "v"}]}]},
        ],
    }
    fields = without_logical_types(written)["fields"]
    assert fields == [
        {"name": "a", "type": ["null", {"type": "bytes"}]},
        {"name": "b", "type": {"type": "array", "items": {"type": "long"}}},
        {"name": "c", "type": "long"},
        {"name": "d", "type": ["null", {"type": "record", "name": "v", "fields": [{"name": "e", "type": "v"}]}]},
    ]


def test_the_name_of_a_file_says_how_it_is_written_unless_the_spec_does() -> None:
    feed = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),)))
    names = ("a.csv", "a.CSV.gz", "b.parquet", "c.avro", "d.json", "e.jsonl.gz", "f")
    assert [kind_of(name, feed) for name in names] == ["csv", "csv", "parquet", "avro", "json", "json", "json"]
    said = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),), file_type="csv"))
    assert kind_of("export.txt", said) == "csv"
    assert kind_of("a.jsonl", SourceSpec("datastream-json", "x")) == "json"
    assert kind_of("part-1", SourceSpec("datastream-avro", "x")) == "avro"
