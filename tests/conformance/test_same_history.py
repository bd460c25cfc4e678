"""One history, told in every format: the tables are the same, and they are the story's own."""

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests import oracle
from tests.conformance.decoded import Decoded, decoded
from tests.conformance.formats import BY_NAME, TELLERS
from tests.conformance.quick import ways
from tests.conformance.story import Key, Row, a_story
from tests.conformance.teller import Teller

STORY = a_story()
each_teller = pytest.mark.parametrize("name", ways(list(BY_NAME)))


@pytest.fixture(scope="module")
def told_once() -> dict[str, Decoded]:
    return {}


@pytest.fixture
def found(name: str, told_once: dict[str, Decoded], spark: SparkSession, project: ProjectSpec) -> Decoded:
    if name not in told_once:
        told_once[name] = decoded(spark, project, BY_NAME[name], STORY)
    return told_once[name]


def images(changes: list[Row], rules: oracle.Rules) -> dict[Key, list[Row | None]]:
    """What each key went through, as the fold has it."""
    went: dict[Key, list[Row | None]] = {}
    for row in oracle.fold(changes, [], rules)[0]:
        image = None if row["_op"] == "delete" else {column: row[column] for column in rules.columns}
        sequence = went.setdefault(tuple(row[key] for key in rules.keys), [])
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    return went


@each_teller
def test_every_format_tells_the_same_tables(name: str, found: Decoded) -> None:
    assert not found.reasons
    for table in STORY.tables:
        assert [change["reason"] for change in found.changes[table.name] if change["reason"]] == []
        went = images(found.changes[table.name], oracle.Rules(tuple(table.columns), table.keys))
        expected = BY_NAME[name].committed(STORY).images()[table.name]
        wrong = {
            key: (went.get(key), expected.get(key)) for key in went | expected if went.get(key) != expected.get(key)
        }
        assert not wrong, list(wrong.items())[:3]


@each_teller
def test_formats_tell_what_they_are_said_to_tell(name: str, found: Decoded) -> None:
    can, changes = BY_NAME[name].can, [c for table in STORY.tables for c in found.changes[table.name]]
    streamed = [c for c in changes if c["op"] != "read"]
    updates, deletes = ([c for c in changes if c["op"] == op] for op in ("update", "delete"))
    assert any(c["op"] == "read" for c in changes) == can.reads
    assert any(c["op"] == "truncate" for c in changes) == can.truncate
    assert all(c["position"] for c in streamed)
    assert any(c["before"] for c in updates) == can.before
    assert any(c["before"] for c in deletes) == (can.deleted_row and "rows" not in name)
    assert any(c["present"] is not None for c in updates) == can.partial
    if can.transactions:
        assert all(c["tx_id"] for c in streamed)


def test_every_teller_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(TELLERS)
    assert all(isinstance(teller, Teller) for teller in TELLERS)
