"""Open gaps are rechecked by their keys, of any type, or over the batches since they were found."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap
from siltstone.quality import recheck as recheck_module
from siltstone.quality.findings import KEY_CHECKS, find
from siltstone.quality.gap_lifecycle import CheckPass, CheckRun, covered, updated
from siltstone.quality.recheck import recheck
from siltstone.quality.results import Finding, Found
from tests.quality.stage import Row, Stage, change
from tests.unit.spec.cases import spec

CHECKS = sorted(KEY_CHECKS)
SPEC = spec()
CHECK_RUN = CheckRun("run", datetime(2026, 1, 1, tzinfo=UTC))
KEYS = T.StructType(
    [
        T.StructField("k", T.DecimalType(20, 2)),
        T.StructField("d", T.DateType()),
        T.StructField("s t", T.StringType()),
        T.StructField("b", T.BinaryType()),
        T.StructField("a", T.IntegerType()),
    ]
)
BROKEN = (Decimal("123456789012345678.90"), date(2026, 1, 1), 'a "quoted" `é\\ü', b"\x00\xff")
FIXED = (Decimal("-0.10"), date(1, 1, 1), "", b"")


def of(key: tuple[Any, ...], number: int, op: str, a: int, before: int | None = None, batch: int = 1) -> Row:
    named = dict(zip(("d", "s t", "b"), key[1:], strict=True))
    more = {} if before is None else {"before": named | {"a": before}}
    return change(number, op, key[0], named | {"a": a}, batch=batch, **more) | {"key": key}


def chain(key: tuple[Any, ...]) -> list[Row]:
    """An insert and an update; the change between them is missing."""
    return [of(key, 10, "insert", 1), of(key, 30, "update", 3, before=2)]


def states(book: list[Gap]) -> dict[tuple[str, str | None], str]:
    return {(gap.check, gap.key): gap.status for gap in book}


@pytest.mark.slow
def test_a_key_of_any_exact_type_is_rechecked_and_heals_when_its_change_arrives(spark: SparkSession) -> None:
    stage, before = Stage(spark, KEYS, ("k", "d", "s t", "b")), [*chain(BROKEN), *chain(FIXED)]
    book = updated([], [CheckPass(find(stage.tables(before), SPEC, 0, CHECKS), 0)], SPEC, CHECK_RUN)
    assert {(gap.check, gap.status) for gap in book} == {("chain_break", OPEN)}
    assert len(book) == 2

    after = stage.tables([*before, of(FIXED, 20, "update", 2, before=1, batch=3)])
    passes = recheck(after, SPEC, book, 2, CHECKS)
    book = updated(book, passes, SPEC, CHECK_RUN)
    assert sorted(gap.status for gap in book) == [HEALED, OPEN]
    (healed,) = [gap for gap in book if gap.status == HEALED]
    assert '"k":-0.10' in str(healed.key)
    assert [one_pass.is_partial for one_pass in passes] == [True]


@pytest.mark.slow
def test_a_key_that_json_does_not_keep_is_rechecked_since_its_batch(spark: SparkSession) -> None:
    moment = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    row = T.StructType([T.StructField("k", T.TimestampType()), T.StructField("a", T.IntegerType())])
    stage = Stage(spark, row, ("k",))
    broken = [change(10, "insert", moment, {"a": 1}), change(30, "update", moment, {"a": 3}, before={"a": 2})]
    tables = stage.tables(broken)
    book = updated([], [CheckPass(find(tables, SPEC, 0, CHECKS), 0)], SPEC, CHECK_RUN)
    (one_pass,) = recheck(tables, SPEC, book, 1, CHECKS)
    assert (one_pass.is_partial, one_pass.since) == (False, 0)
    assert states(updated(book, [one_pass], SPEC, CHECK_RUN)) == states(book)
    assert [gap.status for gap in book] == [OPEN]


class UnexpectedReadError(Exception):
    """The tables were read."""


def test_without_open_gaps_nothing_is_rechecked(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_tables(*_: Any) -> None:
        raise UnexpectedReadError

    (gap,) = updated([], [CheckPass(found_one(), 4)], SPEC, CHECK_RUN)
    monkeypatch.setattr(recheck_module, "find", read_tables)
    monkeypatch.setattr(recheck_module, "can_heal", lambda *_: False)
    tables: Any = None
    assert recheck(tables, SPEC, [], 5, CHECKS) == []
    assert covered([gap], 4) == {gap.gap_id}
    assert recheck(tables, SPEC, [gap], 4, CHECKS) == []
    assert recheck(tables, SPEC, [known(gap)], 5, CHECKS) == []
    assert recheck(tables, SPEC, [gap], 5, ["orphan"]) == []


def found_one() -> dict[str, Any]:
    return {"chain_break": Found(1, "1", "2", (Finding("chain_break", "1", "2", '{"k":1}', "differs"),))}


def known(gap: Gap) -> Gap:
    return replace(gap, status=ACKNOWLEDGED)
