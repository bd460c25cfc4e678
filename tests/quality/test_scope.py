from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.quality.change_digest import digest_of
from siltstone.quality.findings import find
from siltstone.quality.results import Found
from siltstone.quality.scope import scope_of, unavailable, with_bare_updates
from tests.quality.stage import NOON, Row, Stage, change
from tests.unit.spec.cases import spec

EPOCH = datetime(1970, 1, 1)
ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
CHANGES = ("chain_break", "orphan", "double_insert")
# The control rows have nothing for these checks.
OTHERS = {"incomplete_transaction", "log_gap", "stalled_source", "short_snapshot", "ghost_row"}


def missing(spark: SparkSession, changes: list[Row], windows: Any = ()) -> set[str]:
    tables = Stage(spark, ROW, ("k",)).tables(changes, windows)
    return {check for check, _ in unavailable(scope_of(tables, 0, digest_of(tables.changes, tables.columns)))}


def test_the_content_of_the_changes_decides_which_checks_are_available(spark: SparkSession) -> None:
    insert, update = change(10, "insert", "x", {"a": 1}), change(11, "update", "x", {"a": 2})
    whole = change(12, "update", "x", {"a": 3}, before={"a": 2})
    window = [(insert["position"], NOON, None, None)]
    assert missing(spark, [insert, whole], window) == OTHERS
    assert missing(spark, [insert, update]) == OTHERS | {"chain_break", "open_window"}
    only_read = missing(spark, [change(10, "read", "x", {"a": 1})])
    assert only_read == OTHERS | {*CHANGES, "time_against_order", "positions_backwards", "open_window"}


def test_the_before_image_of_a_delete_counts_only_if_updates_have_one(spark: SparkSession) -> None:
    insert, update = change(10, "insert", "x", {"a": 1}), change(11, "update", "x", {"a": 2})
    delete = change(12, "delete", "x", {"a": 2}, before={"a": 2})
    assert "chain_break" not in missing(spark, [insert, delete])
    assert "chain_break" in missing(spark, [insert, update, delete])


def test_deletes_alone_are_trusted_if_no_update_of_the_table_lacks_a_before_image(spark: SparkSession) -> None:
    insert, update = change(10, "insert", "x", {"a": 1}), change(11, "update", "x", {"a": 2})
    delete = change(12, "delete", "y", {"a": 2}, before={"a": 2}, batch=2)
    tables = Stage(spark, ROW, ("k",)).tables([insert, update, delete])
    scope = scope_of(tables, 1, digest_of(tables.changes.where("batch > 1"), tables.columns))
    assert scope.befores
    assert not with_bare_updates(scope, tables).befores
    of_key = replace(tables, changes=tables.changes.where("key.k = 'y'"), of_all_keys=tables.changes)
    assert not with_bare_updates(replace(scope, has_older=False), of_key).befores
    whole = replace(tables, changes=tables.changes.where("op != 'update'"))
    assert with_bare_updates(scope, whole).befores
    masked = tables.columns.comparing(
        frozenset({"a"}), masked=frozenset({"a"})
    )  # a masked fallback looks like any value
    assert not scope_of(tables, 1, digest_of(tables.changes.where("batch > 1"), masked)).befores


def test_times_at_the_ends_of_the_calendar_are_checked_like_others(spark: SparkSession) -> None:
    """Collecting times with Python's own conversions fails within a day of them."""
    ends = [(moment - EPOCH) // timedelta(microseconds=1) for moment in (datetime.min, datetime.max)]
    for end in ends:
        first = change(10, "insert", "x", {"a": 1}, commit_ts=end)
        changes = [first, change(11, "update", "x", {"a": 2}, before={"a": 1}), change(12, "update", "y", {"a": 2})]
        tables = Stage(spark, ROW, ("k",)).tables(changes)
        found = find(tables, spec(), 0, (*CHANGES, "versions_tile_time", "latest_equals_open_versions"))
        assert {check: keys(what) for check, what in found.items() if what.observed} == {"orphan": ['{"k":"y"}']}


def test_only_changes_of_newer_batches_are_checked_but_against_all_data(spark: SparkSession) -> None:
    def insert(key: str) -> Row:
        return change(10, "insert", key, {"a": 1})

    def update(key: str, number: int, before: int, batch: int) -> Row:
        return change(number, "update", key, {"a": 9}, before={"a": before}, batch=batch)

    changes = [
        *(insert("old break"), update("old break", 11, 5, batch=1), update("old break", 12, 9, batch=2)),
        *(insert("new break"), update("new break", 11, 5, batch=2)),
        *(insert("sound"), update("sound", 11, 1, batch=2)),
        *(change(10, "read", "superseded read", {"a": 1}), update("superseded read", 9, 0, batch=2)),
        update("orphan", 11, 0, batch=2),
        change(10, "update", "old orphan", {"a": 1}),
        update("outside the run", 10 + 7200, 3, batch=1),
    ]
    tables = Stage(spark, ROW, ("k",)).tables(changes)
    found = find(tables, spec(), 1, (*CHANGES, "versions_tile_time", "latest_equals_open_versions"))
    assert {check: keys(what) for check, what in found.items() if what.observed} == {
        "chain_break": ['{"k":"new break"}'],
        "orphan": ['{"k":"orphan"}'],
    }
    assert found["orphan"].observed == 1


def keys(found: Found) -> list[str | None]:
    return [finding.key for finding in found.sample]
