"""The same workload in every format: each format decodes to the tables of the workload."""

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests import oracle
from tests.conformance.decoded import Decoded, decoded
from tests.conformance.encoder import Encoder
from tests.conformance.formats import BY_NAME, ENCODERS
from tests.conformance.quick import variants
from tests.conformance.workload import Key, Row, full_workload

WORKLOAD = full_workload()
each_encoder = pytest.mark.parametrize("name", variants(list(BY_NAME)))


@pytest.fixture(scope="module")
def decoded_once() -> dict[str, Decoded]:
    return {}


@pytest.fixture
def found(name: str, decoded_once: dict[str, Decoded], spark: SparkSession, project: ProjectSpec) -> Decoded:
    if name not in decoded_once:
        decoded_once[name] = decoded(spark, project, BY_NAME[name], WORKLOAD)
    return decoded_once[name]


def images(changes: list[Row], rules: oracle.Rules) -> dict[Key, list[Row | None]]:
    """The sequence of images of each key, as the oracle folds the changes."""
    went: dict[Key, list[Row | None]] = {}
    for row in oracle.fold(changes, [], rules)[0]:
        image = None if row["_op"] == "delete" else {column: row[column] for column in rules.columns}
        sequence = went.setdefault(tuple(row[key] for key in rules.keys), [])
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    return went


@each_encoder
def test_every_format_gives_the_images_of_the_workload(name: str, found: Decoded) -> None:
    assert not found.reasons
    for table in WORKLOAD.tables:
        assert [change["reason"] for change in found.changes[table.name] if change["reason"]] == []
        went = images(found.changes[table.name], oracle.Rules(tuple(table.columns), table.keys))
        expected = BY_NAME[name].committed(WORKLOAD).images()[table.name]
        wrong = {
            key: (went.get(key), expected.get(key)) for key in went | expected if went.get(key) != expected.get(key)
        }
        assert not wrong, list(wrong.items())[:3]


@each_encoder
def test_every_format_has_its_declared_capabilities(name: str, found: Decoded) -> None:
    can, changes = BY_NAME[name].can, [c for table in WORKLOAD.tables for c in found.changes[table.name]]
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


def test_every_encoder_has_a_unique_name() -> None:
    assert len(BY_NAME) == len(ENCODERS)
    assert all(isinstance(encoder, Encoder) for encoder in ENCODERS)
