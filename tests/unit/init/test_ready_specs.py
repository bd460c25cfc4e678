"""A spec without open settings decodes every record of the files from which init wrote it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from siltstone.engine.decode.change_rows import TableDecoder
from siltstone.engine.decode.columns_seen import ColumnsSeen
from siltstone.engine.decode.event import CHANGE, REJECT, Change, Event
from siltstone.engine.decode.event_batch import event_batch
from siltstone.engine.decode.source_decoder import SourceDecoder
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.formats import format_of
from siltstone.engine.init import SchemaPlace, find_tables, write_specs, written_specs
from siltstone.engine.init.file_sample import read_sample
from siltstone.engine.init.recognition import messages_of
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.spec import load_project, load_specs
from siltstone.engine.spec.model import TableSpec
from tests.recordings import DATA
from tests.unit.decode.given import event

EXTRACTS = Path(__file__).parents[2] / "data"
RECORDED = (
    *("canal/canal-data.txt", "datastream/avro", "datastream/json", "debezium-oracle/oracle_doc_events.jsonl"),
    *("debezium-oracle/oracle_real_1.9.1_snapshot_nopk.jsonl", "dts/canal", "dts/samples", "dts/shareplex"),
    *("mariadb/canal.flat.jsonl.gz", "mariadb/debezium.noschema.jsonl.gz", "mariadb/debezium.schema.jsonl.gz"),
    *("postgresql/events.avro.jsonl.gz", "postgresql/events.noschema.jsonl.gz", "postgresql/events.schema.jsonl.gz"),
    *("spanner/derived_beam_ordered_within_key.jsonl", "spanner/derived_beam_ordered_within_key_pg_jsonb.jsonl"),
    *("spanner/derived_emulator_NEW_ROW.jsonl", "spanner/derived_emulator_NEW_VALUES.jsonl"),
    *("spanner/derived_emulator_OLD_AND_NEW_VALUES.jsonl", "spanner/real_googlesql_array_struct.jsonl"),
    "spanner/real_pg_jsonb.jsonl",
)
LARGE = ("postgresql/events.schema.jsonl.gz", "mariadb/debezium.schema.jsonl.gz")
SMALL = tuple(name for name in RECORDED if name not in LARGE)
ALL_READY = frozenset(name for name in RECORDED if name.startswith(("canal", "mariadb", "postgresql", "spanner")))
"""The recordings for which init writes complete specs."""
TRULY_REJECTED = {"dts/canal": ['dbname.tablename: key column "id" is missing']}
"""The documentation's DELETE from before 2022-03-20 has no key."""


def ready_specs(place: Path, folder: Path) -> Iterator[TableSpec]:
    """The specs without open settings that init writes, as a run loads them."""
    schemas = place.with_name(place.name.replace(".jsonl", ".schemas.json")) if ".avro." in place.name else None
    found = None if schemas is None else SchemaPlace(schemas)
    specs = written_specs(find_tables([place], schemas=found), folder / "specs", folder, [place], found)
    write_specs(specs, folder / "siltstone.yaml", force=False)
    ready = [spec.file for spec in specs if not spec.open_questions]
    yield from load_specs(ready, load_project(folder)) if ready else ()


def reasons(specs: list[TableSpec]) -> list[str]:
    """The distinct reasons for rejected records of one source, and for rejected changes of its tables."""
    source = specs[0].source
    decoder = SourceDecoder(source, {spec.table: spec.keys for spec in specs})
    events: list[Event] = []
    for path in (Path(unquote(urlparse(file.path).path)) for file in list_files(source.path)):
        sample = read_sample(path)
        messages = messages_of(sample, format_of(source.format))
        events += decoder.decode(messages)
    found = [str(event.reason) for event in events if event.kind == REJECT]
    for spec in specs:
        changes = [event for event in events if event.kind == CHANGE and event.table == spec.table]
        assert changes, spec.table
        found += [f"{spec.table}: {reason}" for reason in table_reasons(spec, changes)]
    return list(dict.fromkeys(found))


def table_reasons(spec: TableSpec, changes: list[Change] | list[Event]) -> list[str]:
    summary = ColumnsSeen()
    summary.add(changes)
    decoder = TableDecoder(shape_of(spec, None, summary.seen()), spec)
    return [reason for reason in decoder.decode(event_batch(changes)).column("reason").to_pylist() if reason]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize(
    "recording", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in RECORDED]
)
def test_a_ready_spec_decodes_every_record_of_a_recording(tmp_path: Path, recording: str) -> None:
    specs = sorted(ready_specs(DATA / recording, tmp_path), key=lambda spec: spec.source.format)
    assert specs or recording not in ALL_READY
    for _, of_one in groupby(specs, lambda spec: (spec.source.format, spec.source.path)):
        assert reasons(list(of_one)) == TRULY_REJECTED.get(recording, [])


@pytest.mark.parametrize("extract", ["postgresql.noschema", "postgresql.schema", "mariadb.noschema", "mariadb.schema"])
def test_a_ready_spec_decodes_every_record_of_an_extract(tmp_path: Path, extract: str) -> None:
    specs = list(ready_specs(EXTRACTS / f"{extract}.jsonl", tmp_path))
    assert specs
    assert reasons(specs) == []


LIMITS = {
    "birthday": (-2_147_472_692, 2_145_042_905, -719_162, 1_001_860),  # infinities, the year 1, the year 4713
    "created_at": (9_223_372_036_825_200, -62_135_596_800_000, 0),
    "updated_at": (9_223_372_036_825_200_000, -9_223_372_036_832_400_000, -2_204_706_790_501_430),
    "load_time": (9_223_372_036_825_200_000, 0, -1),
    "seen_at": ("infinity", "-infinity", "-0043-03-15T12:00:00.000000Z", "+294276-12-31T23:59:59.999999Z"),
    "day_on": ("infinity", "2024-12-31Z"),
}
USUAL = {
    "birthday": 19_000, "created_at": 1_700_000_000_000, "updated_at": 1_700_000_000_123_456,
    "load_time": 1_700_000_000_123_456_789, "seen_at": "2024-01-01T00:00:00.123456Z", "day_on": "2024-01-01Z",
}  # fmt: skip


def test_sure_types_hold_the_extreme_values_of_connectors(tmp_path: Path) -> None:
    file = tmp_path / "events" / "a.jsonl"
    file.parent.mkdir()
    usual = [event("c", after={"id": number, **USUAL}) for number in range(20)]
    limits = [
        event("c", after={"id": 100 + number, **USUAL, name: value})
        for number, (name, value) in enumerate((name, value) for name, values in LIMITS.items() for value in values)
    ]
    file.write_text("\n".join(usual))
    (ready,) = ready_specs(file.parent, tmp_path)
    assert {name: column.type for name, column in (ready.columns or {}).items()} == {
        "id": "bigint", "birthday": "date", "created_at": "timestamp_ntz(3)", "updated_at": "timestamp_ntz(6)",
        "load_time": "timestamp_ntz(9)", "seen_at": "timestamp", "day_on": "date",
    }  # fmt: skip
    file.write_text("\n".join(usual + limits))
    assert reasons([ready]) == []
