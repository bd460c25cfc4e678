"""Transactions that are missing completely: other transactions identify them, or nothing does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.spec.model import SourceSpec
from siltstone.quality.missing_transactions import is_numbered, lost_transactions
from tests import recordings
from tests.decoding import control_rows, envelopes, transaction_rows
from tests.quality.test_source_evidence import frame
from tests.unit.decode.given import lines

NOON = datetime.fromtimestamp(1_790_000_000, UTC)
GRACE = timedelta(minutes=15)
WEEKS = 60 * 24 * 365 * 100  # minutes after the recordings
Row = dict[str, Any]
Missing = list[tuple[str | None, str | None, str]]


def pg(number: int, before: int | None, *lsns: int, commit: int) -> list[Row]:
    """The control rows of a transaction after the commit `before`: its ledger row, and its end at `commit`."""
    whole = {"source": "postgresql:srv", "tx_id": str(number), "commit_ts": NOON}
    places = [place(lsn if before is None else before, lsn) for lsn in lsns]
    ledger = {"kind": "transaction_ledger", "position": max(places), "payload": f'{{"size":1,"low":"{min(places)}"}}'}
    end = {"kind": "transaction_end", "payload": f'{{"status": "END", "id": "{number}:{commit}", "event_count": 1}}'}
    return [whole | ledger, whole | end]


def message(lsn: int) -> Row:
    return {"source": "postgresql:srv", "kind": "message", "position": place(lsn, lsn), "commit_ts": NOON}


def maria(number: int, domain: int = 0, ends: bool = True, epoch: int = 0, minute: int = 0) -> list[Row]:
    """The control rows of a transaction with one change; DDL has no end and no ledger row."""
    at, here = NOON + timedelta(minutes=minute), binlog(number, epoch)
    whole = {"source": "mariadb:dbz", "tx_id": f"{domain}-7001-{number}", "commit_ts": at}
    ledger = {"kind": "transaction_ledger", "position": here, "payload": f'{{"low":"{here}"}}'}
    begin = whole | {"kind": "transaction_begin"}
    return [begin, whole | ledger, whole | {"kind": "transaction_end"}] if ends else [begin]


def place(before: int, lsn: int) -> str:
    return f"0000-{before:016X}-{lsn:016X}"


def binlog(number: int, epoch: int = 0) -> str:
    return f"{epoch:04X}-00000001-{100 * number:016X}-00000000"


def control(spark: SparkSession, *batches: list[Row]) -> DataFrame:
    """The control table with these rows, batch by batch."""
    return frame(spark, [row | {"batch": number} for number, rows in enumerate(batches, 1) for row in rows])


def recorded(read: DataFrame) -> DataFrame:
    """The control rows of envelopes."""
    sources = [row["source"] for row in read.select("source").distinct().collect() if row["source"]]
    rows = control_rows(read, sources).unionByName(transaction_rows(read, sources))
    return rows.withColumn("batch", F.lit(1))


def found_in(rows: DataFrame, since: int = 0, before: datetime | None = None, minutes: float = 60) -> Missing:
    found = lost_transactions(rows, since, before, NOON + timedelta(minutes=minutes), GRACE, T.StructType())
    if found is None:
        return []
    return sorted((row["position_from"], row["position_to"], row["message"]) for row in found.collect())


SOUND = [*pg(1, None, 90, 95, commit=100), *pg(2, 100, 110, 115, commit=120)]
LOST = pg(3, 120, 122, 125, commit=130)
AFTER = [
    *pg(4, 130, 140, 145, commit=150),
    message(160),  # outside of transactions: the next transaction names it like a commit
    *pg(5, 160, 160, 165, commit=170),
    *pg(6, 170, 170, commit=180),  # directly after it: its position is the commit before it
]
FOUND = [(place(120, 0), place(130, 140), "nothing arrived of the transaction that was committed at LSN 130")]


def test_a_named_commit_whose_end_is_missing_is_found_between_its_neighbours(spark: SparkSession) -> None:
    assert found_in(control(spark, SOUND + AFTER)) == FOUND
    assert found_in(control(spark, SOUND + LOST + AFTER)) == []


def test_a_transaction_that_arrives_later_is_not_missing(spark: SparkSession) -> None:
    assert found_in(control(spark, SOUND + AFTER), minutes=10) == []  # it can still arrive
    separate = control(spark, SOUND, AFTER)
    assert found_in(separate, since=1, before=NOON) == FOUND
    assert found_in(control(spark, SOUND, AFTER, LOST), since=-1) == []
    assert found_in(control(spark, SOUND, LOST, AFTER), since=2, before=NOON + timedelta(hours=5), minutes=600) == []


def test_commits_before_the_first_end_or_without_positions_of_ends_are_unknown(spark: SparkSession) -> None:
    assert found_in(control(spark, AFTER)) == []
    old = [row | {"payload": str(row["payload"]).replace(":100", "").replace(":120", "")} for row in SOUND]
    rows = control(spark, old)
    assert found_in(rows) == []
    assert rows.where(is_numbered()).isEmpty()
    # Two connectors, one after the other: the second one has seen no commit when it begins.
    second = [*pg(8, None, 190, 195, 197, commit=200), *pg(9, 200, 210, commit=220)]
    assert found_in(control(spark, SOUND + LOST + AFTER + second)) == []


def test_missing_numbers_of_mariadb_are_found(spark: SparkSession) -> None:
    first = [*maria(7), *maria(8, ends=False), *maria(9), *maria(3, domain=1)]
    second = [*maria(10), *maria(12), *maria(15), *maria(4, domain=1)]
    assert found_in(control(spark, first)) == []
    rows = control(spark, first, second)
    assert found_in(rows, since=1, before=NOON) == [
        (binlog(10), binlog(12), "nothing arrived of transaction 11 in GTID domain 0"),
        (binlog(12), binlog(15), "nothing arrived of transactions 13 to 14 in GTID domain 0"),
    ]
    assert found_in(control(spark, first, second, [*maria(11), *maria(13), *maria(14)]), since=-1) == []


def test_numbers_restart_with_the_log(spark: SparkSession) -> None:
    old = [*maria(100), *maria(101), *maria(102, ends=False, minute=1)]
    new = [maria(number, epoch=2, minute=5) for number in (2, 3, 5)]
    ddl = maria(1, ends=False, minute=4)  # after RESET MASTER, and before any row with a position
    rows = control(spark, [*old, *ddl, *[row for each in new for row in each]])
    assert found_in(rows) == [
        (binlog(3, epoch=2), binlog(5, epoch=2), "nothing arrived of transaction 4 in GTID domain 0")
    ]
    hidden = [
        *maria(3),
        *maria(4),
        *maria(5),
        *[row for each in new for row in each],
    ]  # number 4 of the log before arrived
    assert len(found_in(control(spark, hidden))) == 1


@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=f"the recordings are not there: {recordings.DATA}")
def test_a_recorded_log_has_no_missing_transaction_until_one_is_removed(spark: SparkSession) -> None:
    for name, lost, text in (
        ("postgresql/events.avro.jsonl.gz", '"120940:', "committed at LSN"),
        ("mariadb/debezium.noschema.jsonl.gz", '"0-7001-500"', "transaction 500 in GTID domain 0"),
    ):
        texts = list(recordings.lines(recordings.DATA / name))
        read = envelopes(lines(spark, texts), SourceSpec("debezium-json", "x"), {}).drop("text").localCheckpoint()
        assert found_in(recorded(read), minutes=WEEKS) == []
        of_lost = [number for number, one in enumerate(texts, 1) if lost in one]
        ((_, _, message),) = found_in(recorded(read.where(~F.col("line").isin(of_lost))), minutes=WEEKS)
        assert text in message
