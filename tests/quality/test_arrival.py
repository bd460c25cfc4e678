"""The findings depend on the set of changes, not on the order in which they arrive."""

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.schema.gap_record import HEALED, OPEN, Gap
from siltstone.quality.findings import find
from siltstone.quality.gap_lifecycle import CheckPass, covered, updated
from siltstone.quality.recheck import recheck
from siltstone.quality.results import Finding, Found
from tests.quality.stage import Row, Stage, change, place
from tests.quality.test_recheck import CHECK_RUN
from tests.unit.spec.cases import spec

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
CHECKS = ("chain_break", "orphan", "double_insert")
SPEC = spec()
SEED, ROWS_DRAWN = 20, 120


def row_change(number: int, op: str, key: str, a: int, before: int | None = None, batch: int = 1) -> Row:
    return change(number, op, key, {"a": a}, batch=batch, **({} if before is None else {"before": {"a": before}}))


LATE = [
    *(row_change(30, "insert", "live twice", 3), row_change(10, "insert", "live twice", 1, batch=2)),
    *(row_change(10, "insert", "unlike", 1), row_change(30, "update", "unlike", 3, before=1)),
    row_change(20, "update", "unlike", 2, before=1, batch=2),
    *(row_change(5, "insert", "gone", 1), row_change(40, "update", "gone", 2)),
    row_change(35, "delete", "gone", 1, batch=2),
    *(row_change(10, "insert", "sound", 1), row_change(30, "update", "sound", 3, before=2)),
    row_change(20, "update", "sound", 2, before=1, batch=2),
    *(row_change(10, "insert", "broken before", 1), row_change(12, "update", "broken before", 3, before=2)),
    row_change(20, "update", "broken before", 4, before=3, batch=2),
]


def test_older_changes_are_rechecked_if_a_late_change_precedes_them(spark: SparkSession) -> None:
    found = find(Stage(spark, ROW, ("k",)).tables(LATE), SPEC, 1, CHECKS)
    assert {(check, one.key) for check, what in found.items() for one in what.sample} == {
        ("double_insert", '{"k":"live twice"}'),
        ("chain_break", '{"k":"unlike"}'),
        ("orphan", '{"k":"gone"}'),
    }


@pytest.mark.slow
def test_all_checks_run_on_a_key_that_is_rechecked(spark: SparkSession) -> None:
    changes = [row_change(10, "insert", "x", 1, batch=2), row_change(30, "update", "x", 3, before=2)]
    one = Finding("orphan", place(30), place(30), '{"k":"x"}', "the first change of the key is of kind update")
    book = updated([], [CheckPass({"orphan": Found(1, None, None, (one,))}, 0)], SPEC, CHECK_RUN)
    passes = recheck(Stage(spark, ROW, ("k",)).tables(changes), SPEC, book, 1, CHECKS)
    after = updated(book, passes, SPEC, CHECK_RUN)
    assert {gap.check: gap.status for gap in after} == {"orphan": HEALED, "chain_break": OPEN}


@pytest.mark.slow
def test_a_late_insert_heals_an_orphan_and_opens_nothing_if_updates_have_no_before_image(
    spark: SparkSession,
) -> None:
    bare = [
        row_change(10, "insert", "x", 1),
        row_change(20, "update", "x", 2),
        row_change(50, "update", "x", 3, batch=2),
    ]
    orphan = row_change(40, "delete", "y", 7, before=7)  # its before image has only the key and one indexed column
    tables = Stage(spark, ROW, ("k",)).tables([*bare, orphan, row_change(30, "insert", "y", 1, batch=2)])
    one = Finding("orphan", place(40), place(40), '{"k":"y"}', "the first change of the key is of kind delete")
    book = updated([], [CheckPass({"orphan": Found(1, None, None, (one,))}, 0)], SPEC, CHECK_RUN)
    after = updated(book, recheck(tables, SPEC, book, 1, CHECKS), SPEC, CHECK_RUN)
    assert {gap.check: gap.status for gap in after} == {"orphan": HEALED}


def changes_of_row(random: Random, key: str) -> Iterator[Row]:
    """The changes of a row. Some are lost, and the others arrive in two batches."""
    a: int | None = None
    for number in range(10, 10 * random.randint(3, 7), 10):
        after = None if a is not None and random.random() < 0.3 else number
        op = "insert" if a is None else "delete" if after is None else "update"
        if random.random() < 0.7:
            yield row_change(number, op, key, a if after is None else after, before=a, batch=random.randint(1, 2))
        a = after


def nightly(changes: Sequence[Row], stage: Stage) -> list[Gap]:
    """The gaps after two batches."""
    first, both = stage.tables([row for row in changes if row["batch"] == 1]), stage.tables(changes)
    book = updated([], [CheckPass(find(first, SPEC, 0, CHECKS), 0)], SPEC, CHECK_RUN)
    passes = [CheckPass(find(both, SPEC, 1, CHECKS), 1, covered(book, 1)), *recheck(both, SPEC, book, 1, CHECKS)]
    return updated(book, passes, SPEC, CHECK_RUN)


def places(book: Sequence[Gap]) -> list[tuple[str | None, ...]]:
    return sorted((gap.key, gap.check, gap.position_from, gap.position_to) for gap in book if gap.status == OPEN)  # type: ignore[type-var]


@pytest.mark.slow
def test_two_batches_have_the_same_findings_as_one(spark: SparkSession) -> None:
    random, stage = Random(SEED), Stage(spark, ROW, ("k",))
    changes = [row for number in range(ROWS_DRAWN) for row in changes_of_row(random, f"{number:03}")]
    whole = updated([], [CheckPass(find(stage.tables(changes), SPEC, 0, CHECKS), 0)], SPEC, CHECK_RUN)
    assert len(places(whole)) > ROWS_DRAWN / 4
    assert places(nightly(changes, stage)) == places(whole)
