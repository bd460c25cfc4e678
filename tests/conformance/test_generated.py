"""What is decoded of little data, by interpreted expressions, is what is decoded of much, by generated code.

A stage's code has no method of more than 8000 bytes: HotSpot compiles none, and Spark gives up on the stage.
"""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.decode import decode_rows, discover, envelopes
from engine.inputs.listing import Look
from engine.inputs.pending import pending_files
from engine.run.effort import LIGHT
from engine.run.records import read_records, source_files
from engine.session import FOLD_CONF
from engine.spec.model import ProjectSpec
from tests.conformance.decoded import spec_of
from tests.conformance.formats import BY_NAME
from tests.conformance.hostile import hostile_lines
from tests.conformance.malformed import THINGS, a_story
from tests.conformance.quick import ways
from tests.conformance.teller import LineTeller
from tests.generating import GENERATING, settings, stages_of

LIMIT = int(FOLD_CONF["spark.sql.codegen.hugeMethodLimit"])
HOSTILE, SEED = 60, 3


def seen(frame: DataFrame) -> list[str]:
    """All of a frame, in an order that does not hang on how it was computed."""
    texts = [F.hex(F.to_json(F.struct(name), {"ignoreNullFields": "false"})).alias(name) for name in frame.columns]
    return sorted(str(tuple(row)) for row in frame.select(*texts).collect())


@pytest.mark.parametrize("name", ways(list(BY_NAME)))
def test_generated_code_decodes_what_interpreted_expressions_do(
    name: str, spark: SparkSession, project: ProjectSpec
) -> None:
    teller, folder = BY_NAME[name], project.root / "told"
    folder.mkdir()
    teller.deliver(a_story(), folder)
    if isinstance(teller, LineTeller):
        lines = hostile_lines(teller, teller.lines(a_story()), SEED, HOSTILE)
        (folder / "hostile.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    spec = spec_of(project, teller, THINGS, folder, keys=["id"])
    files = source_files(spark, spec.source, project.catalog.name, None)
    pending = pending_files(Look(spark), files, {}, "generated")
    kept = read_records(spark, spec.source, pending, project.catalog.name)[0].localCheckpoint()
    found: dict[str, Any] = {}
    for way, chosen in {"light": dict(LIGHT), "generated": GENERATING}.items():
        with settings(spark, chosen):
            told = envelopes(kept, spec.source, {spec.table: spec.keys})
            assert way == "light" or stages_of(spark, told)[0] <= LIMIT
            records = told.localCheckpoint()
            mine = records.where((F.col("kind") == "change") & (F.col("table") == spec.table))
            rows = decode_rows(mine, discover(mine, spec), spec)
            assert way == "light" or stages_of(spark, rows)[0] <= LIMIT
            found[way] = seen(records), seen(rows)
    assert found["generated"][0] == found["light"][0]
    assert found["generated"][1] == found["light"][1]
    assert found["light"][1]
