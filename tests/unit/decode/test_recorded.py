"""Decoded recordings equal the values that plain Python reads from their lines."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests import recordings
from tests.decoding import TableShape, decode_rows, discover
from tests.recorded_tables import MARIADB, POSTGRESQL, Table, micros
from tests.unit.decode.given import changes_of, parsed, spec

EXTRACTS = Path(__file__).parents[2] / "data"
TABLES = {"postgresql": POSTGRESQL, "mariadb": MARIADB}


@pytest.mark.parametrize(
    "name",
    [
        "postgresql.noschema",
        "postgresql.schema",
        "mariadb.noschema",
        pytest.param("mariadb.schema", marks=pytest.mark.slow),
    ],
)
def test_recorded_changes_decode_to_their_events(spark: SparkSession, name: str) -> None:
    database, form = name.split(".")
    path = EXTRACTS / f"{name}.jsonl"
    table_spec = spec()
    events = parsed(spark, path.read_text(encoding="utf-8").split("\n")[:-1], table_spec.source)
    expected = recordings.read(path, TABLES[database]).changes
    for table in (table for table in TABLES[database].values() if expected[table.name]):
        declared = {column: given.type for column, given in table.columns.items()}
        unsigned = {column: kind for column, kind in declared.items() if kind == "bigint unsigned"}  # no schema has it
        named = spec(declared, table.keys, table.name) if form == "noschema" else spec(unsigned, None, table.name)
        shape = discover(events, named)
        found = decode_rows(changes_of(events, table.name), shape, named).orderBy("line").collect()
        assert shape.keys == table.keys
        assert len(found) == len(expected[table.name])
        for row, change in zip(found, expected[table.name], strict=True):
            check(row, change, table, shape)
    events.unpersist()


def check(row: Row, change: dict[str, Any], table: Table, shape: TableShape) -> None:
    def key(struct: Row | None) -> tuple[Any, ...] | None:
        stored = struct and table.canonical(struct.asDict(), "stored")
        return stored and tuple(stored[name] for name in table.keys)

    assert row.reason is None
    assert (row.op, row.position, row.tx_order) == (change["op"], change["position"], change["tx_order"])
    assert (key(row.key), key(row.old_key), key(row.new_key)) == (change["key"], change["old_key"], change["new_key"])
    assert (micros(row.commit_ts), micros(row.ingest_ts)) == (change["commit_ts"], change["ingest_ts"])
    assert (row.before is None) == (change["before"] is None)
    if change["before"] is not None:
        assert table.canonical(row.before.asDict(), "stored").items() >= change["before"].items()
    if row.row is not None:
        present = set(row.present) if row.present is not None else {column.name for column in shape.columns}
        stored = {name: value for name, value in table.canonical(row.row.asDict(), "stored").items() if name in present}
        assert stored == {name: value for name, value in change["row"].items() if name in present}
        assert row.op == "delete" or present == set(change["row"])
