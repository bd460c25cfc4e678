"""The events of the encoders look like real events: they have the same fields, and the same fields are null or absent.

The comparison ignores row images (their columns are those of the workload) and the schemas around them.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.conformance.encode_datastream import DatastreamAvro
from tests.conformance.encode_dts_avro import DtsMysql
from tests.conformance.encode_framed import TRANSACTION, TRANSACTION_KEY, Framed
from tests.conformance.encoder import LineEncoder
from tests.conformance.formats import BY_NAME
from tests.conformance.workload import Row, full_workload
from tests.recordings import DATA, lines

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the samples are not there: {DATA}")

IMAGES = {"before", "after", "data", "old", "payload", "keys", "new_values", "old_values", "key", "schema", "headers"}
IMAGES |= {"mysqlType", "sqlType", "type"}
ENOUGH = 60  # samples of one kind
Shape = frozenset[tuple[str, str]]
Named = dict[Any, list[Row]]


def shape(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every field with the type of its value. An image counts as one field."""
    if isinstance(value, dict) and path.rpartition(".")[2] not in IMAGES:
        for name, part in value.items():
            yield f"{path}.{name}", type(part).__name__
            yield from shape(part, f"{path}.{name}")
    elif isinstance(value, list) and value and isinstance(value[0], dict) and path.rpartition(".")[2] not in IMAGES:
        for part in value:
            yield from shape(part, f"{path}[]")


def compare(encoded: Iterable[Row], real: Iterable[Row], kind: Callable[[Row], Any]) -> list[str]:
    """The fields that only the encoded events of a kind have, and those that only the real ones have."""
    samples: dict[Any, list[Shape]] = {}
    for event in real:
        seen = samples.setdefault(kind(event), [])
        if len(seen) < ENOUGH:
            seen.append(frozenset(shape(event)))
    problems, compared = set(), set()
    for event in encoded:
        name = kind(event)
        if name not in samples:
            continue
        compared.add(name)
        own = frozenset(shape(event))
        ever = frozenset.union(*samples[name])
        always = frozenset.intersection(*[frozenset(path for path, _ in one) for one in samples[name]])
        problems |= {f"{name}: no real event has {field}" for field in own - ever}
        problems |= {f"{name}: every real event has {path}" for path in always - {path for path, _ in own}}
    assert compared, "no event was compared"
    return sorted(problems)


def encoded_events(name: str) -> Iterator[Row]:
    encoder = BY_NAME[name]
    assert isinstance(encoder, LineEncoder)
    return map(json.loads, encoder.lines(full_workload()))


def real(path: str) -> Iterator[Row]:
    return map(json.loads, lines(DATA / path))


def of_debezium(event: Row) -> Any:
    value = event["value"] or {}
    value = value.get("payload", value) if "schema" in value else value
    mark = (value.get("source") or {}).get("snapshot")
    return value.get("op"), value.get("status"), mark == "incremental", event["value"] is None


def bare(events: Iterable[Row], without: tuple[str, ...] = ()) -> Iterator[Row]:
    """Events without the schemas around their values, and without the fields that the recorder added."""
    for event in events:
        value = event["value"]
        inner = value["payload"] if value and "schema" in value else value
        yield {k: v for k, v in event.items() if k not in without} | {"value": inner}


def mariadb_as_mysql(events: Iterable[Row]) -> Iterator[Row]:
    return bare(events, without=("rec",))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("postgresql_bare", "postgresql/events.noschema.jsonl.gz"),
        ("mysql_bare", "mariadb/debezium.noschema.jsonl.gz"),
        ("mysql_schemas", "mariadb/debezium.schema.jsonl.gz"),
    ],
)
def test_debezium_events_look_like_recorded_ones(name: str, path: str) -> None:
    assert compare(bare(encoded_events(name)), mariadb_as_mysql(real(path)), of_debezium) == []


@pytest.mark.parametrize("name", ["postgresql_bare", "mysql_bare"])
def test_before_images_omit_what_debezium_omits(name: str) -> None:
    """In PostgreSQL, updates have no before image, and deletes have only the key. In MySQL, both have the whole row."""
    for event in encoded_events(name):
        value = event["value"] or {}
        before = value.get("before")
        if value.get("op") == "u":
            assert (before is None) == (name == "postgresql_bare")
        if value.get("op") == "d":
            others = [v for k, v in before.items() if k not in event["key"]]
            assert any(v is not None for v in others) == (name == "mysql_bare")


def test_canal_messages_look_like_recorded_ones() -> None:
    found = compare(
        encoded_events("canal"), real("mariadb/canal.flat.jsonl.gz"), lambda event: (event["type"], event["isDdl"])
    )
    assert found == []


def test_spanner_records_look_like_real_ones() -> None:
    everything = [
        event for path in sorted((DATA / "spanner").glob("*.jsonl")) for event in real(f"spanner/{path.name}")
    ]

    def kind(event: Row) -> Any:
        return "bare" if "commit_timestamp" in event else "array" if "change_record" in event else next(iter(event))

    assert compare(encoded_events("spanner_new_values_array"), everything, kind) == []
    assert compare(encoded_events("spanner_old_and_new_values_object"), everything, kind) == []


def test_shareplex_operations_look_like_documented_ones() -> None:
    def kind(event: Row) -> str:
        return str(event["meta"]["op"])

    found = compare(encoded_events("shareplex"), real("dts/shareplex/doc_samples.jsonl"), kind)
    assert [f for f in found if "posttime" not in f and ".meta.scn" not in f and not f.startswith(("upd", "del"))] == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("datastream_json_postgresql", "datastream/json/postgresql_cdc_update_2025.jsonl"),
        ("datastream_json_sqlserver", "datastream/json/sqlserver_cdc_employees.jsonl"),
    ],
)
def test_datastream_json_events_look_like_real_ones(name: str, path: str) -> None:
    assert compare(encoded_events(name), real(path), lambda event: event["source_metadata"]["change_type"]) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("datastream_avro_mysql", "DataStreamToSpannerEventsIT/mysql-cdc-Users.avro"),
        ("datastream_avro_oracle", "oracle-hr-employees/update-pk.avro"),
        ("datastream_avro_postgresql", "mixed/bytearray.avro"),
    ],
)
def test_datastream_avro_files_look_like_real_ones(name: str, path: str) -> None:
    """The schemas are the same except for the columns of the payload, and the records have the same nulls."""
    encoder = BY_NAME[name]
    assert isinstance(encoder, DatastreamAvro)
    with (DATA / "datastream/avro" / path).open("rb") as file:
        reader = fastavro.reader(file)
        written: Any = reader.writer_schema
        records = [record for record in reader if isinstance(record, dict)]
    own = encoder.schema(full_workload().tables[0])
    assert without_payload(own) == without_payload(written)
    events = [record for _, record in encoder.events(full_workload())]
    kept = [plain_times(record) for record in records]
    assert compare(events, kept, lambda event: event["source_metadata"]["change_type"]) == []


def without_payload(schema: Row) -> list[Row]:
    return [{"name": f["name"], "type": f["type"]} for f in schema["fields"] if f["name"] != "payload"]


def plain_times(record: Row) -> Row:
    return record | dict.fromkeys(("read_timestamp", "source_timestamp"), 0)


def test_framed_debezium_has_the_registered_schemas() -> None:
    """The schemas are the registered ones, except for columns, defaults and the names of logical types."""
    encoder = BY_NAME["postgresql_framed"]
    assert isinstance(encoder, Framed)
    with gzip.open(DATA / "postgresql/events.avro.schemas.json.gz", "rt") as file:
        recorded = [json.loads(s) if isinstance(s, str) else s for s in json.load(file).values()]
    real = {schema["name"]: without_columns(schema) for schema in recorded}
    own = [TRANSACTION, TRANSACTION_KEY, encoder.envelope_schema(full_workload().tables[0])]
    assert {schema["name"]: without_columns(schema) for schema in own} == {s["name"]: real[s["name"]] for s in own}


def without_columns(schema: Any) -> Any:
    """Names, types and their order."""
    if isinstance(schema, list):
        return [without_columns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "record":
        fields = [] if schema["name"] == "Value" else schema["fields"]
        return schema["name"], [(field["name"], without_columns(field["type"])) for field in fields]
    return without_columns(schema["items"]) if schema["type"] == "array" else schema["type"]


def test_dts_records_look_like_real_ones() -> None:
    """The comparison ignores tags, because every writer has other ones."""
    encoder = BY_NAME["dts_mysql"]
    assert isinstance(encoder, DtsMysql)

    def plain(line: str) -> Row:
        return {name: value for name, value in encoder.opened(line).items() if name != "tags"}

    paths = [path for path in (DATA / "dts/samples").glob("*.base64.txt") if "noborn" not in path.name]
    real = [plain(line) for path in paths for line in path.read_text().split()]
    found = compare(map(plain, encoder.lines(full_workload())), real, lambda record: record["operation"])
    assert found == []


def test_the_comparison_finds_each_different_field(tmp_path: Path) -> None:
    """An additional field, a missing field, and a field of another type are found."""
    sample: list[Row] = [{"a": 1, "b": {"c": None}}, {"a": 1, "b": {"c": "x", "d": 1}}]
    cases: list[Row] = [{"a": 1, "b": {"c": None}}, {"a": "1", "b": {"c": None}}, {"b": {"c": 1, "e": 1}}]
    assert [len(compare([case], sample, lambda event: 0)) for case in cases] == [0, 1, 3]
