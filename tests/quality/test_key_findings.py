"""Each case is a key of one table, so that one pass of Spark checks all of them."""

import math
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.quality.check_timeline import version_order
from siltstone.quality.findings import KEY_CHECKS, find
from siltstone.quality.results import Found
from siltstone.quality.scope import Tables
from tests.oracle import Rules, fold
from tests.quality.stage import NOON, SECOND, Row, Stage, change, place
from tests.unit.spec.cases import spec

ROW = T.StructType(
    [
        T.StructField("k", T.StringType()),
        T.StructField("a", T.IntegerType()),
        T.StructField("b", T.DoubleType()),
        T.StructField("c.d", T.StringType()),
    ]
)
LATER = 100  # a READ there is not within the margin of the changes at 10 to 30


def row(a: int | None, b: float | None = 0.5, c: str | None = "x") -> Row:
    return {"a": a, "b": b, "c.d": c}


def updated(number: int, key: str, before: Row, after: Row, **more: Any) -> Row:
    return change(number, "update", key, after, before=before, **more)


def chains() -> dict[str, list[Row]]:
    """Cases of before images."""

    def chain(key: str, first: Row, *rest: Row, op: str = "insert", number: int = 10, **more: Any) -> None:
        cases[key] = [change(number, op, key, first, **more), *rest]

    cases: dict[str, list[Row]] = {}
    chain(
        "intact", row(1), updated(11, "intact", row(1), row(2)), change(12, "delete", "intact", row(2), before=row(2))
    )
    chain("lost update", row(1), updated(12, "lost update", row(2), row(3)))
    chain("lost insert", row(1), change(11, "delete", "lost insert", row(1), before=row(1)))
    cases["lost insert"].append(updated(13, "lost insert", row(1), row(2)))
    chain("not a number", row(1, math.nan), updated(11, "not a number", row(1, math.nan), row(2, math.nan)))
    chain("rounded read", row(1, 0.1), updated(LATER, "rounded read", row(1, 0.10000001), row(2)), op="read")
    chain("other layout", row(1, c='{"a": [1, 2]}'), updated(11, "other layout", row(1, c='{"a":[1,2]}'), row(2)))
    chain("other document", row(1, c='{"a": 1}'), updated(11, "other document", row(1, c='{"a": 2}'), row(2)))
    moments = ("2026-09-21T14:18:23Z", "2026-09-21T14:18:23.000Z", "2026-09-21 16:18:23.0+02:00", "2026-09-21T14:18:23")
    for written in moments[1:3]:
        case = f"written {written}"
        chain(case, row(1, c=moments[0]), updated(11, case, row(1, c=written), row(2)))
    chain("local", row(1, c=moments[3]), updated(11, "local", row(1, c="2026-09-21 14:18:23.00"), row(2)))
    chain("of no zone", row(1, c=moments[0]), updated(11, "of no zone", row(1, c=moments[3]), row(2)))
    nanos = ("2026-09-21T14:18:23.123456789Z", "2026-09-21T14:18:23.123456788Z")
    chain("other nanosecond", row(1, c=nanos[0]), updated(11, "other nanosecond", row(1, c=nanos[1]), row(2)))
    chain("other digits", row(1, c="1.0"), updated(11, "other digits", row(1, c="1.00"), row(2)))
    chain("absent", row(1), op="read", present={"k", "a"})
    cases["absent"].append(updated(LATER, "absent", row(1, 7.0, "y"), row(2)))
    chain("read saw it", row(2), updated(LATER, "read saw it", row(1), row(2)), op="read")
    chain("twice", row(1), *[updated(12, "twice", row(2), row(3)) for _ in "ab"])
    chain("only the key", row(1), change(11, "delete", "only the key", {}, before={}))
    chain("one place", row(1), *at_once("one place", ("update", 1, 2), ("update", 2, 3), ("delete", 3, None)))
    chain("one place, twice", row(1), *at_once("one place, twice", ("update", 1, 2), ("update", 2, 3)) * 2)
    chain("no order", row(1), *unordered("no order", ("update", 1, 2), ("update", 2, 3), ("delete", 3, None)))
    chain("replaced", row(1), *unordered("replaced", ("delete", 1, None), ("insert", None, 2)))
    chain("lost before no order", row(0), *unordered("lost before no order", ("update", 1, 2), ("update", 2, 3)))
    chain("by offset, twice", row(2), *by_offset("by offset, twice", ("update", 2, 3), ("update", 3, 1)))
    chain("lost before one place", row(0), *at_once("lost before one place", ("update", 1, 2), ("update", 2, 3)))
    chain("late", row(1), updated(14, "late", row(2), row(3)), updated(12, "late", row(1), row(2), batch=2))
    return cases


def at_once(key: str, *steps: tuple[str, int | None, int | None]) -> list[Row]:
    """Changes of one transaction, all at one position: op, column `a` before, and after."""
    return [
        change(
            11,
            op,
            key,
            row(old if new is None else new),
            before=None if old is None else row(old),
            tx_id="5",
            tx_order=n,
        )
        for n, (op, old, new) in enumerate(steps, 1)
    ]


def unordered(key: str, *steps: tuple[str, int | None, int | None]) -> list[Row]:
    """The same, but only ops and images show their order; they arrive in the opposite order."""
    return [step | {"tx_order": None} for step in reversed(at_once(key, *steps))]


def by_offset(key: str, *steps: tuple[str, int | None, int | None]) -> list[Row]:
    """The same, in the order of their offsets, and delivered twice."""
    numbered = [(n, step | {"tx_order": None}) for n, step in enumerate(at_once(key, *steps), 1)]
    return [step | {"kafka_partition": 0, "kafka_offset": n + first} for first in (0, 10) for n, step in numbered]


def swapped() -> list[Row]:
    """One transaction: row "one" becomes "two", row "two" becomes "three"."""
    more = {"tx_id": "7"}
    return [
        change(10, "insert", "one", row(1)),
        change(11, "insert", "two", row(2)),
        change(12, "delete", "one", row(1), before=row(1), new_key=("two",), **more),
        change(12, "insert", "two", row(1), old_key=("one",), **more),
        change(13, "delete", "two", row(2), before=row(2), new_key=("three",), **more),
        change(13, "insert", "three", row(2), old_key=("two",), **more),
    ]


def beginnings() -> list[Row]:
    """Cases of first changes and of inserts."""
    early = {"commit_ts": NOON + 5 * SECOND}
    return [
        change(1, "insert", "truncated", row(1)),
        change(2, "truncate", None),
        change(10, "insert", "truncated", row(1)),
        change(10, "update", "orphaned update", row(1)),
        change(10, "delete", "orphaned delete", row(1)),
        change(10, "delete", "orphaned delete", row(1)),
        change(10, "read", "read", row(1)),
        change(LATER, "update", "read", row(2)),
        change(40, "read", "superseded read", row(1)),
        change(39, "update", "superseded read", row(2)),
        change(10, "update", "read much later", row(1)),
        change(LATER, "read", "read much later", row(1)),
        change(10, "update", "read without position", row(1)),
        change(11, "read", "read without position", row(1), position=None, **early),
        change(10, "insert", "inserted twice", row(1)),
        change(11, "insert", "inserted twice", row(2)),
        change(10, "insert", "delivered twice", row(1)),
        change(10, "insert", "delivered twice", row(1)),
        change(10, "insert", "inserted twice", row(1)),
        change(11, "delete", "inserted twice", row(1)),
        change(12, "insert", "inserted twice", row(1)),
        change(10, "read", "read saw the insert", row(1)),
        change(LATER, "insert", "read saw the insert", row(1)),
        change(10, "insert", "revived", row(1)),
        change(11, "delete", "revived", row(1)),
        change(12, "update", "revived", row(1)),
        *at_once("begun and gone", ("insert", None, 1), ("update", 1, 2), ("delete", 2, None)),
        *at_once("gone and back", ("insert", None, 1), ("delete", 1, None), ("insert", None, 2)),
        change(9, "insert", "repeated", row(1)),
        *at_once("repeated", ("delete", 1, None), ("insert", None, 1), ("delete", 1, None), ("insert", None, 2)),
        change(8, "insert", "raised", row(1)),
        change(9, "delete", "raised", row(1)),
        *at_once("raised", ("insert", None, 1), ("update", 1, 2)),
        change(10, "update", "too late", row(1), too_late=True),
    ]


def corrupted(history: list[Row], latest: list[Row]) -> tuple[list[Row], list[Row]]:
    """Faults written by other programs; the key names the fault."""
    latest = [dict(row) for row in latest]

    def versions(key: str) -> list[Row]:
        return [row for row in history if row["k"] == key]

    def live(key: str) -> Row:
        return next(row for row in latest if row["k"] == key)

    versions("gap")[1]["_valid_from"] += SECOND
    versions("overlap")[1]["_valid_from"] -= SECOND
    versions("two open")[0]["_valid_to"] = None
    versions("none open")[1]["_valid_to"] = versions("none open")[1]["_valid_from"] + SECOND
    versions("wrongly current")[0]["_is_current"] = True
    live("another value")["a"] = 9
    kept = [row for row in latest if row["k"] != "not in latest"]
    return history, [*kept, live("twice in latest") | {}, live("gap") | {"k": "only in latest"}]


CORRUPTED = (
    *("gap", "overlap", "two open", "none open", "wrongly current"),
    *("another value", "not in latest", "twice in latest", "sound"),
)
UNTILED = {"gap", "overlap", "two open", "none open", "wrongly current"}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Found]:
    """The findings of all cases."""
    stage = Stage(spark, ROW, ("k",))
    changes = [one for case in chains().values() for one in case] + swapped() + beginnings()
    for key in CORRUPTED:
        changes += [change(10, "insert", key, row(1)), change(11, "update", key, row(2))]
    folded = [one for one in changes if not one.get("too_late")]
    history, latest = corrupted(*fold(folded, [], Rules(tuple(ROW.names), ("k",))))
    tables = Tables(stage.changes(changes), stage.history(history), stage.latest(latest), stage.control([]))
    return find(tables, spec(), 0, sorted(KEY_CHECKS))


def keys(found: Found) -> set[str]:
    return {str(finding.key).removeprefix('{"k":"').removesuffix('"}') for finding in found.sample}


def test_a_chain_is_broken_where_the_before_image_is_not_the_version_before(found: dict[str, Found]) -> None:
    assert keys(found["chain_break"]) == {
        "lost update",
        "lost insert",
        "other document",
        "twice",
        "lost before one place",
        "lost before no order",
        "of no zone",
        "other nanosecond",
        "other digits",
    }


def test_text_is_compared_as_the_type_that_history_gives_it(spark: SparkSession) -> None:
    text, typed = (
        T.StructType.fromDDL("k string, n string, t string"),
        T.StructType.fromDDL("k string, n decimal(10,2), t timestamp"),
    )
    moment, changes = "2026-09-21T14:18:23", []
    for key, number in (("same", "1.00"), ("other", "1.50")):
        changes.append(change(10, "insert", key, {"n": "1.0", "t": f"{moment}Z"}))
        changes.append(updated(11, key, {"n": number, "t": f"{moment}.000Z"}, {"n": "2", "t": f"{moment}Z"}))
    history, latest = fold(changes, [], Rules(tuple(text.names), ("k",)))
    as_typed = {"t": datetime.fromisoformat(f"{moment}+00:00")}
    history, latest = ([row | as_typed | {"n": Decimal(row["n"])} for row in rows] for rows in (history, latest))
    stage, stored = Stage(spark, text, ("k",)), Stage(spark, typed, ("k",))
    tables = Tables(stage.changes(changes), stored.history(history), stored.latest(latest), stage.control([]))
    found = find(tables, spec(columns=None), 0, ["chain_break"])["chain_break"]
    assert keys(found) == {"other"}
    assert found.sample[0].message.endswith("differs from the version before it in n")


def test_a_broken_chain_names_the_columns_and_the_positions_on_both_sides(found: dict[str, Found]) -> None:
    finding = next(one for one in found["chain_break"].sample if one.key == '{"k":"lost update"}')
    assert finding.message == "the before image of the update differs from the version before it in a"
    assert (finding.position_from, finding.position_to) == (place(10), place(12))


def test_a_change_delivered_twice_is_checked_once(found: dict[str, Found]) -> None:
    assert found["chain_break"].observed == len(keys(found["chain_break"]))


def test_a_change_of_a_key_that_never_began_is_an_orphan(found: dict[str, Found]) -> None:
    assert keys(found["orphan"]) == {"orphaned update", "orphaned delete", "read much later", "revived"}


def test_an_insert_over_a_live_row_is_a_double_insert(found: dict[str, Found]) -> None:
    assert keys(found["double_insert"]) == {"inserted twice"}


def test_versions_that_do_not_tile_time_are_found(found: dict[str, Found]) -> None:
    messages = {str(one.key)[6:-2]: one.message for one in found["versions_tile_time"].sample}
    assert messages == {
        "gap": "there is a gap before a version",
        "overlap": "two versions overlap",
        "two open": "2 versions are open",
        "none open": "no version of the key is open",
        "wrongly current": "_is_current is wrong",
    }


def test_latest_rows_that_are_not_the_open_versions_are_found(found: dict[str, Found]) -> None:
    messages = {str(one.key)[6:-2]: one.message for one in found["latest_equals_open_versions"].sample}
    assert {key: text for key, text in messages.items() if key not in UNTILED} == {
        "another value": "the latest table's row differs from the open version",
        "not in latest": "the latest table lacks a live row",
        "twice in latest": "2 rows of the latest table have one key",
        "only in latest": "the latest table has a row that is not live",
    }


def test_nothing_is_missing_from_the_sample(found: dict[str, Found]) -> None:
    assert all(what.observed == len(what.sample) for what in found.values())


def test_a_commit_time_that_runs_against_the_order_or_ahead_of_the_connector_is_found(spark: SparkSession) -> None:
    def stamped(number: int, key: str, seconds: int, taken: int | None = None) -> Row:
        moment = NOON + seconds * SECOND
        more = {"commit_ts": moment, "ingest_ts": moment if taken is None else NOON + taken * SECOND}
        return change(number, "insert" if number == 10 else "update", key, row(number), **more)

    untaken = stamped(10, "of a time to come", 10**10) | {"ingest_ts": None}
    changes = [
        untaken,
        *(stamped(10, "sound", 50), stamped(11, "sound", 46), stamped(12, "sound", 60)),
        *(stamped(10, "against", 50), stamped(11, "against", 40), stamped(12, "against", 60)),
        *(stamped(10, "ahead", 50, taken=44), stamped(10, "a little ahead", 50, taken=46)),
    ]
    timed = [one | {"ingest_ts": one["ingest_ts"] or one["commit_ts"]} for one in changes]
    folded = fold(timed, [], Rules(tuple(ROW.names), ("k",)))
    stage = Stage(spark, ROW, ("k",))
    tables = Tables(stage.changes(changes), stage.history(folded[0]), stage.latest(folded[1]), stage.control([]))
    found = find(tables, spec(), 0, ["time_against_order"])["time_against_order"]
    assert {(one.key, one.position_to, one.message) for one in found.sample} == {
        ('{"k":"of a time to come"}', place(10), "the commit time, 2343-08-12 08:00:00, is in the future"),
        ('{"k":"against"}', place(11), "the commit time is 10.000 s before that of an earlier change"),
        ('{"k":"ahead"}', place(10), "the commit time is 6.000 s after the connector read the change"),
    }


def test_a_broken_chain_has_its_columns_and_its_transaction(spark: SparkSession) -> None:
    broken = [change(10, "insert", "x", row(1)), updated(12, "x", row(2, 0.7), row(3), tx_id="tx 7")]
    tables = Stage(spark, ROW, ("k",)).tables(broken)
    (finding,) = find(tables, spec(), 0, ["chain_break"])["chain_break"].sample
    assert (finding.columns, finding.tx_id) == (("a", "b"), "tx 7")


def test_versions_of_zero_duration_keep_their_order(spark: SparkSession) -> None:
    """A key moves twice between rows in one transaction, before the READ's time: the delete is last in the log, but
    precedes the insert that takes the key."""
    moments = "valid_from string, valid_to string, last_position string, position string, is_nth int"
    rows = [("t", "t", "20", "30", 2), ("t", "t", "20", "20", 3), ("t", "t", "10", "10", 1), ("t", None, "40", "40", 4)]
    versions = spark.createDataFrame(rows, moments).select(F.struct("*").alias("version"))
    assert [row["version"]["is_nth"] for row in versions.orderBy(*version_order()).collect()] == [1, 2, 3, 4]
