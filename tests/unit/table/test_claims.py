"""Claims of runs count only if their attempt committed the batch; all others are removed."""

from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.frames import local_frame
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import create, identifier
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.commit import Branch
from siltstone.engine.table.ledger import append_rows, ensure_ledger, ledger_name, ledger_schema

THINGS, ONE, TWO = "shop.things", "control:/one", "control:/two"


def commit(spark: SparkSession, project: ProjectSpec, table: str, batch: int, attempt: str = "") -> None:
    marker = {names.SUMMARY_BATCH: str(batch)} | ({names.SUMMARY_ATTEMPT: attempt} if attempt else {})
    branch = Branch.start(spark, project.catalog.name, ledger_name(project, table), marker)
    branch.append(branch.read().limit(0))
    branch.publish()


def claim(batch: int, attempt: str, path: str, consumer: str = THINGS, to_line: int = 1) -> dict[str, Any]:
    return {"batch": batch, "attempt": attempt, "consumer": consumer, "path": path, "to_line": to_line}


def older_inputs(spark: SparkSession, project: ProjectSpec) -> None:
    """The ledger of an older version without attempts, with one file."""
    schema = T.StructType([field for field in ledger_schema(names.INPUTS) if field.name != "attempt"])
    name = ledger_name(project, names.INPUTS)
    create(spark, project.catalog.name, name, schema, properties={"format-version": "2"})
    row = {"batch": 1, "consumer": THINGS, "path": "old", "to_line": 1}
    local_frame(spark, [row], schema).writeTo(identifier(project.catalog.name, name)).append()


@pytest.mark.slow
def test_only_the_attempt_that_committed_a_batch_counts(spark: SparkSession, project: ProjectSpec) -> None:
    changes = ledger_name(project, "changes")
    targets = {THINGS: changes, TWO: ledger_name(project, names.CONTROL)}
    create(spark, project.catalog.name, changes, T.StructType([T.StructField("batch", T.LongType())]))
    ensure_ledger(spark, project, names.CONTROL)
    older_inputs(spark, project)
    commit(spark, project, "changes", 1)
    append, committed = partial(append_rows, spark, project), partial(commit, spark, project)

    def taken(batch: int, tidy: bool) -> dict[str, dict[str, int]]:
        found = taken_inputs(spark, project, targets, {THINGS: batch, TWO: 1}, tidy)
        return {consumer: {row["path"]: row["to_line"] for row in rows} for consumer, rows in found.items()}

    def claimed(table: str) -> list[str]:
        rows = spark.table(identifier(project.catalog.name, ledger_name(project, table))).collect()
        return sorted(row["attempt"] or "" for row in rows)

    assert taken(1, tidy=False) == {THINGS: {"old": 1}, TWO: {}}
    committed("changes", 2, "a")
    committed(names.CONTROL, 1, "one")
    claims = [
        claim(1, "late", "lost"),  # at a batch that an older version committed
        claim(2, "a", "a"),
        claim(2, "b", "a", to_line=9),
        claim(2, "b", "b"),
        claim(3, "c", "c"),
        claim(1, "one", "one", ONE),
        claim(1, "two", "two", TWO),
    ]
    append(names.INPUTS, claims)
    append(names.REJECTS, [{"batch": 2, "attempt": name, "consumer": THINGS} for name in ("a", "b")])
    expected = {THINGS: {"old": 1, "a": 1}, TWO: {}}
    assert (taken(2, tidy=False), len(claimed(names.INPUTS))) == (expected, 8)
    assert (taken(2, tidy=True), claimed(names.INPUTS)) == (expected, ["", "a", "one"])
    assert claimed(names.REJECTS) == ["a"]

    append(names.INPUTS, [claim(2, "slow", "b"), claim(3, "d", "d")])
    committed("changes", 3, "d")
    spark.sql(f"CALL {project.catalog.name}.system.expire_snapshots('{changes}', TIMESTAMP '2999-01-01', 1)")
    assert taken(3, tidy=True) == {THINGS: {"old": 1, "d": 1}, TWO: {}}  # the others are taken a second time
    assert claimed(names.INPUTS) == ["", "a", "d", "one", "slow"]
