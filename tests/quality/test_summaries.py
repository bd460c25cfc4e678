"""Checks with totals: rejects by reason, late changes, outcomes of a run; and the checks that formats support."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.formats import SOURCES
from siltstone.engine.spec.check_names import CHECK_NAMES
from siltstone.engine.table.ledger import SCHEMAS
from siltstone.quality import catalogue
from siltstone.quality.capabilities import as_markdown, unavailable_checks
from siltstone.quality.findings import find
from siltstone.quality.outcome_counts import found_in_outcomes
from siltstone.quality.reject_findings import found_in_rejects
from siltstone.quality.validate import is_clean, message
from tests.quality.stage import NOON, SECOND, Stage, at, change
from tests.unit.spec.cases import spec

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
CHECKS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
NUMBERS = {"changes": 10, "outcome:redelivered": 0, "outcome:superseded": 2, "outcome:opened": 8}


def test_rejects_are_counted_by_reason_with_their_fraction_of_the_table(spark: SparkSession) -> None:
    schema = T.StructType.fromDDL(SCHEMAS["rejects"])
    rows = [
        {"batch": 2, "consumer": "inventory.customers", "reason": reason, "file": "f", "line": line}
        for reason, line in (("op is missing", 4), ("op is missing", 3), ("key id is null", 9))
    ]
    rows += [rows[0] | {"batch": 1}, rows[0] | {"consumer": "another"}]
    ledger = spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema)
    found = found_in_rejects(ledger, spec(), 1, 97)
    assert found.observed == 3
    assert [one.message for one in found.sample] == [
        "2 x op is missing (first at line 3 of f); 3.00% of the table's records; rejects.max_fraction allows 1.00%",
        "1 x key id is null (first at line 9 of f); 3.00% of the table's records; rejects.max_fraction allows 1.00%",
    ]
    assert found_in_rejects(ledger, spec(), 2, 97).observed == 0
    assert found_in_rejects(None, spec(), 0, 97).observed == 0
    hint = catalogue.CHECKS["rejects"].hint
    assert all(f"`siltstone rejects {command}" in hint for command in ("show TABLE`", "replay`", "dismiss`"))


def test_only_a_run_that_checks_its_own_batch_knows_that_nothing_was_rejected() -> None:
    own = {"table_rejected": 0, "rejected": 0, "changes": 9, "appended": 9, "batches": 1, "control_since": 4}
    others = [
        {"rejected": 1},
        {"table_rejected": 1},
        {"appended": 0},  # an earlier run stopped before the fold
        {"changes": 0, "appended": 0},
        {"batches": 2},
    ]
    assert [is_clean(own | change) for change in ({}, *others)] == [True] + [False] * len(others)
    del own["control_since"]
    assert not is_clean(own)
    assert not is_clean(None)


def test_rejects_that_name_no_table_are_reported_for_each_table_of_the_source(spark: SparkSession) -> None:
    one, schema = spec(), T.StructType.fromDDL(SCHEMAS["rejects"])
    source = f"control:{one.source.path}"
    row = {"batch": 7, "consumer": source, "reason": "not JSON", "file": "f", "line": 4}
    rows = [row, row | {"line": 2}, row | {"line": 3, "reason": "no table"}, row | {"batch": 6}]
    rows += [row | {"table": "another"}, row | {"consumer": "control:/elsewhere"}]
    rows += [{"batch": 2, "consumer": one.table, "table": one.table, "reason": "bad op", "file": "f", "line": 9}]
    ledger = spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema)
    found = found_in_rejects(ledger, one, 1, 99, control_since=6)
    unnamed = (
        "3 records of the source name no table and may be of this one: not JSON (2, first at line 2 of f);"
        " no table (1, first at line 3 of f)"
    )
    assert found.observed == 4
    assert [each.message for each in found.sample] == [
        "1 x bad op (first at line 9 of f); 1.00% of the table's records; rejects.max_fraction allows 1.00%",
        unnamed,
    ]
    assert message("rejects", found_in_rejects(ledger, one, 2, 99, control_since=6)) == unnamed
    assert found_in_rejects(ledger, one, 2, 99, control_since=7).observed == 0
    assert found_in_rejects(ledger, one, 2, 99).observed == 4


def test_late_changes_are_counted_by_their_delay(spark: SparkSession) -> None:
    days = {"a second": 1, "a minute": 60, "an hour": 3000, "a week": 7 * 86400}
    changes = [
        change(10 + n, "insert", key, {"a": 1}, commit_ts=NOON - by * SECOND, batch=2)
        for n, (key, by) in enumerate(days.items())
    ]
    changes += [change(1, "insert", "first", {"a": 1}), change(30, "insert", "in time", {"a": 1}, batch=2)]
    changes += [change(5, "insert", "too late", {"a": 1}, batch=2, too_late=True)]
    stage = Stage(spark, ROW, ("k",))
    tables = stage.tables([one for one in changes if not one.get("too_late")])
    tables = type(tables)(stage.changes(changes), tables.history, tables.latest, None, reached=at(NOON))
    found = find(tables, spec(), 1, ["late_changes"])["late_changes"]
    assert found.observed == 5
    numbers = dict(found.numbers)
    assert [numbers[f"late_by_{name}"] for name in ("minute", "hour", "day", "more")] == [2, 1, 0, 1]
    assert (numbers["half_seconds"], numbers["longest_seconds"], numbers["too_late"]) == (60, 7 * 86400, 1)
    assert message("late_changes", found).endswith("1 change arrived later than lateness allows: not applied")
    nothing = type(tables)(tables.changes, tables.history, tables.latest, None, reached=at(NOON - 14 * 86400 * SECOND))
    assert find(nothing, spec(), 1, ["late_changes"])["late_changes"].observed == 1  # the one that is too late


def test_duplicates_and_reads_that_heal_are_counted() -> None:
    clean = found_in_outcomes(NUMBERS)
    assert {check: found.observed for check, found in clean.items()} == {"duplicates": 0, "snapshot_reads": 0}
    assert clean["snapshot_reads"].note == "no READ contradicts the stream (2 superseded, 0 absorbed)"
    found = found_in_outcomes(NUMBERS | {"outcome:redelivered": 3, "outcome:healed": 1})
    assert message("duplicates", found["duplicates"]) == "3 duplicates among 10 changes (30.0%)"
    assert (found["duplicates"].observed, dict(found["duplicates"].numbers)["rate"]) == (3, 0.3)
    assert found["snapshot_reads"].observed == 1
    assert {found.unavailable for found in found_in_outcomes(None).values()} == {"this check needs the counts of a run"}


def test_a_check_that_no_source_supports_is_reported_with_the_reason() -> None:
    unsupported = dict(unavailable_checks(["canal"]))
    assert unsupported["incomplete_transaction"].startswith(
        "not available for this format: its events do not report the size"
    )
    assert "log_gap" in dict(unavailable_checks(["dts-mysql"]))
    assert "log_gap" not in dict(unavailable_checks(["mysql:a", "postgresql:b"]))
    assert "log_gap" in dict(unavailable_checks(["oracle:a", "sqlserver:b"]))
    assert dict(unavailable_checks([])) == {} == dict(unavailable_checks(["unheard-of:x"]))
    assert {check for kind in SOURCES for check in kind.unavailable_checks} <= set(CHECK_NAMES)


def test_every_check_is_described_and_the_documentation_shows_which_formats_support_it() -> None:
    assert set(catalogue.CHECKS) == set(CHECK_NAMES)
    assert as_markdown().strip() in CHECKS_PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("compacted", [True, False])
def test_missing_changes_of_a_compacted_source_have_severity_info(compacted: bool) -> None:
    severity = spec(compacted=compacted, quality={"severity": {"orphan": "warn"}}).quality.severity
    assert severity["chain_break"] == ("info" if compacted else "error")
    assert (severity["orphan"], severity["latest_equals_open_versions"]) == ("warn", "error")


def test_the_default_of_grace_is_15_minutes() -> None:
    assert spec().quality.grace == timedelta(minutes=15)
    assert spec(quality={"grace": "2h"}).quality.grace == timedelta(hours=2)
