"""Batches without a change of the table or of one of its sources: their control rows are checked."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.findings import find
from siltstone.quality.scope import Tables
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import START_MS, Shop, event, insert, row
from tests.quality.stage import NOON, SECOND, Row, Stage, at, change, place
from tests.quality.test_source_evidence import frame
from tests.unit.spec.cases import source, spec

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
CHECKS = ("incomplete_transaction", "log_gap", "open_window", "stalled_source")
SHOP, OTHER = "mysql:shop", "mysql:other"


def log_file(number: int, batch: int) -> dict[str, Any]:
    return {"kind": "log_file", "position": f"0000-{number:08X}", "batch": batch, "source": SHOP}


def ledger(tx: str, second: int, announced: int, came: int) -> dict[str, Any]:
    """A transaction that announces changes of inventory.customers. Only `came` of them arrived."""
    part = {"table": "inventory.customers", "is_last": False, "spans": [{"lo": 1, "hi": came}] if came else []}
    payload = {"size": announced, "ended": True, "rows": came, "low": place(second), "parts": [part] if came else []}
    payload |= {"tables": [{"data_collection": "inventory.customers", "event_count": announced}]}
    where = {"batch": 2, "source": SHOP, "position": place(second), "commit_ts": at(NOON + second * SECOND)}
    return where | {"kind": "transaction_ledger", "tx_id": tx, "payload": json.dumps(payload)}


CONTROL = [
    *(log_file(5, 1), log_file(8, 2)),
    *(ledger("lost", 100, 1, 0), ledger("later", 5000, 1, 1), ledger("cut", 5000, 2, 1)),
    {"kind": "window_open", "event_id": "w-open", "position": place(90), "batch": 2, "source": SHOP},
]


def tables(spark: SparkSession, changes: list[Row], *sources: str) -> Tables:
    found = Stage(spark, ROW, ("k",)).tables(changes)
    return replace(found, control=frame(spark, CONTROL), sources=sources, since=1, control_since=1)


def messages(spark: SparkSession, changes: list[Row], *sources: str, several: str = "disjoint") -> dict[str, list[str]]:
    found = find(tables(spark, changes, *sources), spec(source=source(several=several)), 1, CHECKS)
    return {check: [one.message for one in what.sample] for check, what in found.items() if what.observed}


EVERYTHING = {
    "incomplete_transaction": ["transaction lost announced 1 change; 0 arrived, 1 is missing"],
    "log_gap": ["no event arrived from log files 6 to 7"],
    "open_window": ["snapshot window w was opened and not closed"],
}


def test_control_rows_are_checked_for_a_source_without_changes(spark: SparkSession) -> None:
    before = change(10, "insert", "x", {"a": 1}, source=SHOP)
    assert messages(spark, [before], SHOP) == EVERYTHING
    of_other = change(9000, "insert", "y", {"a": 1}, batch=2, source=OTHER)
    assert messages(spark, [before, of_other], SHOP) == EVERYTHING


def test_a_source_does_not_advance_because_another_does(spark: SparkSession) -> None:
    of_both = [change(n, "insert", f"{n}", {"a": 1}, batch=2, source=one) for n, one in ((200, SHOP), (9000, OTHER))]
    assert messages(spark, [change(10, "insert", "x", {"a": 1}, source=SHOP), *of_both], SHOP) == EVERYTHING


def test_unfinished_work_of_an_older_name_of_a_log_is_found_while_a_newer_name_advances(spark: SparkSession) -> None:
    of_newer = change(9000, "insert", "y", {"a": 1}, batch=2, source=OTHER)
    found = messages(spark, [change(10, "insert", "x", {"a": 1}, source=SHOP), of_newer], SHOP, several="one_log")
    cut = "transaction cut announced 2 changes; 1 arrived, 1 is missing"
    assert found == EVERYTHING | {"incomplete_transaction": [*EVERYTHING["incomplete_transaction"], cut]}


@pytest.mark.slow
def test_a_lost_change_is_found_in_a_run_without_changes_of_its_table(
    spark: SparkSession, project: ProjectSpec
) -> None:
    shop = Shop(spark, project)

    def run() -> tuple[int, dict[str, str]]:
        (table,) = (report := catch_up(shop.project, [shop.spec()], spark, checks=checks_of_run)).tables
        return report.exit_code, {one.check: one.status for one in table.checks or ()}

    def in_transaction(line: str, tx: str) -> str:
        return json.dumps(json.loads(line) | {"transaction": {"id": tx, "total_order": 1}}) + "\n"

    shop.write("a.jsonl", [insert(10, row(1, "Alice"))])
    assert run()[0] == 0
    end = {"status": "END", "id": "t1", "event_count": 1, "ts_ms": START_MS + 20_000}
    end |= {"data_collections": [{"data_collection": "shop.things", "event_count": 1}]}
    of_other = event("c", 5000, None, row(7, "of another table"), table="shop.others")
    message = {"topic": "shop.transaction", "value": end}
    shop.write("b.jsonl", [json.dumps(message) + "\n", in_transaction(of_other, "t2")])
    code, statuses = run()
    assert (code, statuses["incomplete_transaction"]) == (5, "failed")
