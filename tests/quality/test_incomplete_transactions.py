"""Each case is a transaction of one source, so that one pass checks all of them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.spec.model import SourceSpec
from siltstone.quality.incomplete_transactions import incomplete_transactions, transaction_states
from siltstone.quality.source_evidence import evidence_of
from tests.decoding import envelopes, transaction_rows
from tests.unit.decode.formats.test_spanner import record
from tests.unit.decode.given import lines

NOON_MS = 1_790_000_000_000
NOON = datetime.fromtimestamp(NOON_MS / 1000, UTC)
GRACE = timedelta(minutes=15)
SOURCE = "mariadb:dbz"


def change(tx: str, order: int, table: str = "orders", op: str = "u", at_ms: int = NOON_MS) -> str:
    source = {"connector": "mariadb", "name": "dbz", "db": "shop", "table": table, "ts_ms": at_ms}
    source |= {"file": "mbin.000001", "pos": 100 * order, "row": 0}
    row = None if op == "t" else {"id": order}
    value = {"op": op, "before": None, "after": row, "source": source, "ts_ms": at_ms}
    return json.dumps(
        {"topic": f"dbz.shop.{table}", "value": value | {"transaction": {"id": tx, "total_order": order}}}
    )


def end(tx: str, count: int, at_ms: int = NOON_MS, **tables: int) -> str:
    listed = [{"data_collection": f"shop.{table}", "event_count": n} for table, n in tables.items()]
    value = {"status": "END", "id": tx, "event_count": count, "data_collections": listed, "ts_ms": at_ms}
    return json.dumps({"topic": "dbz.transaction", "value": value})


FIRST = [
    *(change("complete", 1), change("complete", 2, "lines"), end("complete", 2, orders=1, lines=1)),
    *(change("short", 1), change("short", 3), end("short", 3, orders=3)),
    *(change("short elsewhere", 1), end("short elsewhere", 2, orders=1, lines=1)),
    *(change("split", 1), change("half", 1)),
    *(change("twice", 1), change("twice", 2), end("twice", 2, orders=2)),
    *(change("no end", 1), change("no end", 4)),
    change("truncate", 1, op="t"),
    end("lost whole", 2, orders=2),
    *(change("recent", 1, at_ms=NOON_MS + 3_000_000), end("recent", 2, NOON_MS + 3_000_000, orders=2)),
]
SECOND = [
    *(change("split", 2), end("split", 2, orders=2)),
    *(change("half", 1), end("half", 2, orders=2)),
    *(change("twice", 2), end("twice", 0)),
]


def control(spark: SparkSession, *batches: list[str], form: str = "debezium-json") -> DataFrame:
    """The ledger of these lines, one batch each."""
    found = None
    for number, texts in enumerate(batches, 1):
        read = envelopes(lines(spark, texts), SourceSpec(form, "x"), {}).localCheckpoint()
        sources = [row["source"] for row in read.select("source").distinct().collect() if row["source"]]
        rows = transaction_rows(read, sources).withColumn("batch", F.lit(number))
        found = rows if found is None else found.unionByName(rows)
    assert found is not None
    return found


def states(rows: DataFrame, since: int = 0, before: datetime | None = None, minutes: float = 60) -> DataFrame:
    return transaction_states(rows, since, {SOURCE: before}, {SOURCE: NOON + timedelta(minutes=minutes)}, GRACE)


@pytest.fixture(scope="module")
def ledger(spark: SparkSession) -> DataFrame:
    return control(spark, FIRST, SECOND).localCheckpoint()


def by_tx(rows: DataFrame) -> dict[str, Row]:
    return {row["tx_id"]: row for row in rows.collect()}


def test_a_transaction_is_complete_when_all_announced_changes_arrived(ledger: DataFrame) -> None:
    found = {
        tx: (row["state"], row["announced"], row["counted"], row["holes"]) for tx, row in by_tx(states(ledger)).items()
    }
    assert found == {
        "complete": ("complete", 2, 2, 0),
        "short": ("overdue", 3, 2, 1),
        "short elsewhere": ("overdue", 2, 1, 0),
        "split": ("complete", 2, 2, 0),
        "half": ("overdue", 2, 1, 0),
        "twice": ("complete", 2, 2, 0),
        "no end": ("overdue", None, 2, 2),
        "truncate": ("complete", None, 1, 0),
        "lost whole": ("overdue", 2, 0, 0),
        "recent": ("open", 2, 1, 0),
    }


def test_a_split_transaction_is_open_then_complete_and_an_open_one_is_overdue_later(ledger: DataFrame) -> None:
    def at(batches: int, minutes: float, **more: Any) -> dict[str, str]:
        rows = states(ledger.where(F.col("batch") <= batches), minutes=minutes, **more)
        return {tx: row["state"] for tx, row in by_tx(rows).items() if tx in ("split", "half", "complete")}

    assert at(1, 10) == {"complete": "complete", "split": "open", "half": "open"}
    assert at(2, 14, since=1, before=NOON + GRACE + GRACE) == {"split": "complete", "half": "open"}
    # Nothing of it arrives in the later batch, but it was not overdue when the earlier one was checked.
    later = at(2, 40, since=2, before=NOON + timedelta(minutes=14))
    assert later == {"complete": "complete", "split": "complete", "half": "overdue"}


def test_a_source_that_lags_is_not_overdue_by_the_clock_of_another(ledger: DataFrame) -> None:
    both = ledger.unionByName(ledger.withColumn("source", F.lit("mariadb:hourly")))
    newest = {SOURCE: NOON + timedelta(minutes=60), "mariadb:hourly": NOON}
    found = transaction_states(both, 0, {}, newest, GRACE).where(F.col("tx_id") == "half").collect()
    assert {row["source"]: row["state"] for row in found} == {SOURCE: "overdue", "mariadb:hourly": "open"}
    before = {SOURCE: NOON + timedelta(minutes=60), "mariadb:hourly": NOON}
    left = transaction_states(both, 2, before, newest, GRACE).where(F.col("tx_id") == "half").collect()
    assert [row["source"] for row in left] == ["mariadb:hourly"]  # the other was overdue before


def test_a_commit_time_in_the_future_keeps_no_transaction_from_being_overdue(ledger: DataFrame) -> None:
    ahead = F.when(F.col("tx_id") == "half", F.lit(NOON + timedelta(days=900))).otherwise(F.col("commit_ts"))
    wrong = ledger.withColumn("commit_ts", ahead)
    assert by_tx(states(wrong))["half"]["state"] == "overdue"
    seen = evidence_of(wrong, [SOURCE], 1, {}, None)
    newest = {one: moment and moment.astimezone(UTC) for one, moment in seen.commit_newest.items()}
    assert newest == {SOURCE: NOON + timedelta(minutes=50)}
    assert seen.commit_before[SOURCE] == seen.commit_newest[SOURCE]


def test_findings_have_the_missing_counts_by_table(ledger: DataFrame) -> None:
    def findings(table: str) -> dict[str, str]:
        rows = incomplete_transactions(states(ledger), table, T.StructType()).collect()
        assert {row["check"] for row in rows} == {"incomplete_transaction"}
        return {row["tx_id"]: row["message"] for row in rows}

    assert findings("shop.orders") == {
        "short": "transaction short announced 3 changes; 2 arrived and 1 before the last of them did not, 1 is missing",
        "half": "transaction half announced 2 changes; 1 arrived, 1 is missing",
        "no end": "the end of transaction no end has not arrived;"
        " 2 changes arrived and 2 before the last of them did not",
        "lost whole": "transaction lost whole announced 2 changes; 0 arrived, 2 are missing",
    }
    assert set(findings("shop.lines")) == {"short elsewhere"}


def test_positions_of_a_finding_are_those_of_the_changes_that_arrived(ledger: DataFrame) -> None:
    row = by_tx(states(ledger))["short"]
    assert (row["low"][-25:], row["high"][-25:]) == ("0000000000000064-00000000", "000000000000012C-00000000")


@pytest.mark.slow
def test_spanner_counts_records_over_partitions(spark: SparkSession) -> None:
    def spanner_record(tx: str, sequence: int, token: str, last: bool, records: int, partitions: int = 2) -> str:
        sizes = {"number_of_records_in_transaction": records, "number_of_partitions_in_transaction": partitions}
        more = {"record_sequence": f"{sequence:08}", "is_last_record_in_transaction_in_partition": last}
        return json.dumps(record(server_transaction_id=tx, partition_token=token, **sizes, **more))

    texts = [spanner_record("whole", 0, "p1", True, 2), spanner_record("whole", 1, "p2", True, 2)]
    texts += [spanner_record("short", 0, "p1", False, 3), spanner_record("short", 2, "p2", True, 3)]
    texts += [spanner_record("alone", 5, "p1", True, 1, 1)] * 2
    rows = transaction_states(
        control(spark, texts, form="spanner-json"), 0, {}, {"spanner": datetime(2024, 1, 1, tzinfo=UTC)}, GRACE
    )
    assert {tx: row["state"] for tx, row in by_tx(rows).items()} == {
        "whole": "complete", "short": "overdue", "alone": "complete",
    }  # fmt: skip
    (finding,) = incomplete_transactions(rows, "T", T.StructType()).collect()
    assert finding["message"] == (
        "transaction short announced 3 records in 2 partitions; 2 arrived; partitions whose last record arrived: 1"
    )


def test_shareplex_counts_operations(spark: SparkSession) -> None:
    def operation(tx: str, seq: int, size: int, op: str = "ins") -> str:
        meta = {"time": "2024-01-01T00:00:00", "op": op, "scn": "7", "trans": tx, "seq": seq, "table": "A.T"}
        return json.dumps({"meta": meta | {"idx": f"{seq}/{size}"}, "data": {"ID": str(seq)}})

    texts = [operation("1.1", 1, 2), operation("1.1", 2, 2), operation("1.2", 1, 2)]
    texts += [operation("1.3", 1, 3, "UPDATE BEFORE"), operation("1.3", 2, 3, "UPDATE AFTER")]
    texts += [operation("1.3", 3, 3, "DROP COLUMN"), operation("1.4", 1, 2, "UPDATE BEFORE")]
    texts += [operation("1.5", 1, 1, "UPDATE BEFORE"), operation("1.5", 1, 1, "UPDATE AFTER")]
    rows = transaction_states(
        control(spark, texts, form="shareplex-json"), 0, {}, {"shareplex": datetime(2024, 1, 2, tzinfo=UTC)}, GRACE
    )
    assert {tx: row["state"] for tx, row in by_tx(rows).items()} == {
        "1.1": "complete", "1.2": "overdue", "1.3": "complete", "1.4": "overdue", "1.5": "complete",
    }  # fmt: skip
