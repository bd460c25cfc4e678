"""Positions of tables that are read without a JVM, for people and for programs."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from siltstone.engine.cli.gap_commands import gap_details
from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.names import LAST_POSITION, POSITION
from siltstone.engine.reader.embedded_catalog import EmbeddedCatalog
from siltstone.engine.reader.position_reader import notations_of, shown_span, with_notation
from siltstone.engine.schema.gap_record import OPEN, Gap
from siltstone.engine.spec import load_project

FROM, TO = "0000-0000000017F3AE00-0000000017F3AF58", "0000-0000000017F3AF58-0000000017F3B000"
SOURCES = Notation(("postgresql:pg",))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GAP = Gap("g", "shop.t", "chain_break", "error", OPEN, None, FROM, TO, "found", 0, "run", NOW, "run", NOW)


def test_people_see_positions_as_the_source_writes_them() -> None:
    rows = pa.table({"id": [1, 2], POSITION: [FROM, None], LAST_POSITION: [TO, "no position"]})
    found = with_notation(rows, SOURCES)
    assert found.column_names == ["id", POSITION, LAST_POSITION]
    assert found[POSITION].to_pylist() == ["0/17F3AF58", None]
    assert found[LAST_POSITION].to_pylist() == ["0/17F3B000", "no position"]
    assert ("positions", "0/17F3AF58 to 0/17F3B000") in list(gap_details(GAP, SOURCES))


def test_a_gap_of_a_source_has_no_positions_and_no_catalog_is_read_for_its_table(tmp_path: Path) -> None:
    lost = replace(GAP, table="kafka://things/*", position_from=None, position_to=None)
    catalog = EmbeddedCatalog("lake", tmp_path / "no such catalog.db", {})
    found = notations_of(catalog, load_project(start=tmp_path), [lost])
    assert shown_span(lost, found[lost.table]) == {"shown_from": None, "shown_to": None}


def test_programs_get_the_orderable_texts_too() -> None:
    rows = pa.table({POSITION: [FROM], "id": [1]})
    found = with_notation(rows, SOURCES, "_shown")
    assert found.to_pylist() == [{POSITION: FROM, "_shown_position": "0/17F3AF58", "id": 1}]
    assert shown_span(GAP, SOURCES) == {"shown_from": "0/17F3AF58", "shown_to": "0/17F3B000"}
    assert shown_span(GAP, Notation()) == {"shown_from": FROM, "shown_to": TO}
