"""The container of a file by its name, and the schema of an Avro file as its values are encoded."""

from typing import Any

from siltstone.engine.decode.avro_files import without_logical_types
from siltstone.engine.inputs.containers import kind_of
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.rows_format import RowsSpec


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


def test_the_name_of_a_file_gives_its_container_unless_the_spec_does() -> None:
    feed = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),)))
    names = ("a.csv", "a.CSV.gz", "b.parquet", "c.avro", "d.json", "e.jsonl.gz", "f")
    assert [kind_of(name, feed) for name in names] == ["csv", "csv", "parquet", "avro", "json", "json", "json"]
    declared = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),), file_type="csv"))
    assert kind_of("export.txt", declared) == "csv"
    assert kind_of("a.jsonl", SourceSpec("datastream-json", "x")) == "json"
    assert kind_of("part-1", SourceSpec("datastream-avro", "x")) == "avro"
