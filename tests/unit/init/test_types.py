"""Init finds the columns and types that a run finds in the same events."""

from dataclasses import replace
from pathlib import Path

import pytest

from siltstone.engine.decode.columns_seen import ColumnsSeen
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.init import FoundTable, SchemaPlace, find_tables
from siltstone.engine.init.file_sample import read_sample
from siltstone.engine.spec.model import SourceSpec
from tests.recordings import DATA
from tests.unit.decode.given import spec

EXTRACTS = Path(__file__).parents[2] / "data"
RECORDED = (
    "mariadb/canal.flat.jsonl.gz",
    "mariadb/debezium.noschema.jsonl.gz",
    "spanner/real_googlesql_array_struct.jsonl",
    "spanner/real_pg_jsonb.jsonl",
    "spanner/derived_emulator_NEW_VALUES.jsonl",
    "datastream/json/oracle_no_keys.jsonl",
    "datastream/json/sqlserver_cdc_employees.jsonl",
    "dts/shareplex/doc_samples.jsonl",
    "canal/canal-data.txt",
    "dts/samples/mydb_t1.base64.txt",
    "dts/samples/drds_insert.noborn.base64.txt",
    "postgresql/events.avro.jsonl.gz",
)


def types_of_run(file: Path, table: FoundTable, source: SourceSpec) -> dict[str, str]:
    """The types of a table in a run whose spec declares none."""
    messages = read_sample(file).topic_messages()
    events = decode_messages(messages, source, {str(table.name): None})
    mine = [event for event in events if event.kind == "change" and event.table == table.name]

    summary = ColumnsSeen()
    summary.add(mine)
    keys = sorted(table.keys)[0] if len(table.keys) == 1 else None
    shape = shape_of(replace(spec(keys=keys, table=str(table.name)), source=source), None, summary.seen())
    return {column.name: column.value_type.simpleString() for column in shape.columns}


def check_types(file: Path) -> None:
    place = SchemaPlace(file.with_name(file.name.replace(".jsonl", ".schemas.json"))) if ".avro." in file.name else None
    tables = [table for table in find_tables([file], schemas=place) if len(table.keys) < 2]
    assert tables
    for table in tables:
        source = SourceSpec(table.format, str(file))
        found = {name: kind.simpleString() if kind else "differs" for name, kind in table.columns.types().items()}
        assert found == types_of_run(file, table, source if place is None else place.source(source))


@pytest.mark.parametrize("extract", ["postgresql.noschema", "postgresql.schema", "mariadb.noschema", "mariadb.schema"])
def test_types_of_checked_in_events(extract: str) -> None:
    check_types(EXTRACTS / f"{extract}.jsonl")


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize("recording", RECORDED)
def test_types_of_recorded_events(recording: str) -> None:
    check_types(DATA / recording)
