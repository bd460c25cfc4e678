"""Tables without a key: the fold of drawn multisets, and each rule with a few rows."""

import random
import zlib
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.fold.recompute_keys import fold_with_links
from siltstone.engine.frames import local_frame
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import change_rows, truncate_rows
from siltstone.engine.ordering.snapshot_windows import attach_windows
from siltstone.engine.schema.change_row import change_schema, key_schema
from tests.oracle import Rules
from tests.oracle_copies import fold_copies
from tests.property.engine_fold import WINDOWS, moment
from tests.property.histories import NOON, SECOND, Row
from tests.property.profile import KEYLESS, SEED

IMAGE = T.StructType([T.StructField(name, T.LongType()) for name in ("case", "a")])
CHANGES = change_schema(key_schema(("case", "a"), IMAGE), IMAGE)
RULES = Rules(("case", "a"), ("case", "a"), guard=20 * SECOND)
SHOWN = ("_copy", "_valid_from", "_valid_to", "_is_current", "_op", "_position")
Case = tuple[list[Row], list[tuple[str, int, str | None, int | None]]]


def change(op: str, place: int | None, seconds: float, a: int | None = 1, nth: int = 1, **more: Any) -> Row:
    """A change of the image `a`. Of equal rows at one position, it is the nth."""
    at = NOON + int(seconds * SECOND)
    return {
        "key": None if op == "truncate" else (0, a),
        "op": op,
        "row": None if op == "truncate" else {"case": 0, "a": a},
        "present": None,
        "before": None,
        "position": None if place is None else f"0000-{place:016X}",
        "commit_ts": at,
        "ingest_ts": at + SECOND,
        "tx_id": None,
        "tx_order": None,
        "old_key": None,
        "new_key": None,
        "content": zlib.crc32(repr((op, a, nth)).encode()),
        **more,
    }


def updated(place: int, seconds: float, old: int, new: int) -> list[Row]:
    """An update: a delete of one row and an insert of another."""
    gone = change("delete", place, seconds, old, new_key=(0, new))
    return [gone, change("insert", place, seconds, new, old_key=(0, old))]


def fold(spark: SparkSession, cases: list[Case]) -> dict[int, list[tuple[Any, ...]]]:
    """History rows by case, folded by the engine from an empty table: (image, copy, from, to, ...)."""
    rules = FoldRules(
        ("case", "a"), ("case", "a"), ("case", "a"), guard=moment(RULES.guard) - moment(0), keyless=True, swaps=False
    )
    encoded_changes = [encoded(n, c) for n, (changes, _) in enumerate(cases) for c in changes]
    named = [(n, *w) for n, (_, windows) in enumerate(cases) for w in windows]
    marks = [dict(zip(WINDOWS.names, (str(n), o, o, moment(at), c), strict=True)) for n, o, at, c, _ in named]
    windows = local_frame(spark, marks, WINDOWS)
    placed = change_rows(attach_windows(local_frame(spark, encoded_changes, CHANGES), windows, rules.margin), rules)
    rows = placed.where(F.col("op") != "truncate").localCheckpoint()
    keys = rows.select("key").distinct()
    of_case = F.col("of") == F.col("key.case")
    ends = truncate_rows(placed.where(F.col("op") == "truncate").withColumn("of", F.col("row.case")), keys)
    rows = (
        rows.unionByName(ends.where(of_case).drop("of"))
        if any(c["op"] == "truncate" for c in encoded_changes)
        else rows
    )
    found: dict[int, list[tuple[Any, ...]]] = {n: [] for n in range(len(cases))}
    judged = fold_with_links(rows.localCheckpoint(), rules)
    for row in judged.where(F.col("action").isNotNull()).select("version.*").collect():
        found[row["case"]].append(comparable(row.asDict() | {"key": (row["case"], row["a"])}))
    return {n: sorted(rows, key=repr) for n, rows in found.items()}


def encoded(number: int, change: Row) -> Row:
    keys = {n: change[n] and {"case": number, "a": change[n][1]} for n in ("key", "old_key", "new_key")}
    times = {n: moment(change[n]) for n in ("commit_ts", "ingest_ts")}
    row = {
        "case": number,
        "a": (change["row"] or {"a": None})["a"],
    }  # for a truncate, this is the case whose rows it ends
    origin = "snapshot" if change["op"] == "read" else "stream"
    named = {n: v for n, v in change.items() if n in CHANGES.names} | {"content_hash": change["content"]}
    return named | keys | times | {"row": row, "origin": origin, "batch": 1, "source": str(number)}


def comparable(row: Row) -> tuple[Any, ...]:
    times = {n: row[n] for n in ("_valid_from", "_valid_to")}
    micros = {n: int(t.timestamp()) * SECOND + t.microsecond for n, t in times.items() if hasattr(t, "timestamp")}
    return (row["key"][1], *[(row | micros)[name] for name in SHOWN])


def folded_by_oracle(case: Case) -> list[tuple[Any, ...]]:
    return sorted(map(comparable, fold_copies(*case, RULES)), key=repr)


def drawn_case(chance: random.Random) -> Case:
    """The changes of a table with a few equal rows, as they were delivered."""
    changes: list[Row] = []
    windows: list[tuple[str, int, str | None, int | None]] = []
    seconds = 0.0
    for place in range(16, 16 + chance.randint(1, 24)):
        seconds += chance.choice((0, 0, 1, 4, 9, 30, -2))
        a, kind = chance.choice((1, 1, 2, None)), chance.choice("iiiddumtrrw")
        if kind == "i":
            changes += [change("insert", place, seconds, a, nth) for nth in range(1, chance.choice((1, 1, 3)) + 1)]
        elif kind == "d":
            changes.append(change("delete", place, seconds, a))
        elif kind == "u":
            changes.append(change("update", place, seconds, a))
        elif kind == "m":
            changes += updated(place, seconds, 1, 2)
        elif kind == "t" and chance.random() < 0.5:
            changes.append(change("truncate", place, seconds))
        elif kind == "r":
            timed = chance.random() < 0.3
            changes += [change("read", None if timed else place, seconds, a, n) for n in range(1, chance.randint(2, 4))]
        elif kind == "w":
            opened = f"0000-{place:016X}", NOON + int(seconds * SECOND)
            windows.append((*opened, f"0000-{place + 3:016X}", opened[1] + SECOND))
    redelivered = [c | {"ingest_ts": c["ingest_ts"] + 60 * SECOND} for c in changes if chance.random() < 0.15]
    delivered = [c for c in changes + redelivered if chance.random() < 0.95]
    chance.shuffle(delivered)
    return delivered, windows


def test_drawn_multisets_give_the_rows_of_the_oracle(spark: SparkSession) -> None:
    chance = random.Random(SEED)
    cases = [drawn_case(chance) for _ in range(KEYLESS)]
    found = fold(spark, cases)
    wrong = [n for n, case in enumerate(cases) if found[n] != folded_by_oracle(case)]
    if wrong:
        first = min(wrong, key=lambda n: len(cases[n][0]))
        lines = [
            *map(str, cases[first]),
            "engine",
            *map(str, found[first]),
            "oracle",
            *map(str, folded_by_oracle(cases[first])),
        ]
        pytest.fail("\n".join([f"{len(wrong)} of {len(cases)} differ", *lines]))


CASES: dict[str, tuple[list[Row], list[tuple[Any, ...]]]] = {
    "equal rows are numbered": (
        [change("insert", 10, 1), change("insert", 11, 2)],
        [(1, 1, 1, None, "insert"), (1, 2, 2, None, "insert")],
    ),
    "equal rows of one statement share a position and count separately": (
        [change("insert", 10, 1, nth=1), change("insert", 10, 1, nth=2), change("insert", 10, 1, nth=2)],
        [(1, 1, 1, None, "insert"), (1, 2, 1, None, "insert")],
    ),
    "a delete removes the newest of equal rows": (
        [change("insert", 10, 1), change("insert", 11, 2), change("delete", 12, 3)],
        [(1, 1, 1, None, "insert"), (1, 2, 2, 3, "insert"), (1, 2, 3, None, "delete")],
    ),
    "a row of nulls is a row": ([change("insert", 10, 1, None)], [(None, 1, 1, None, "insert")]),
    "an update removes a row and adds another": (
        [change("insert", 10, 1, 1), *updated(11, 2, 1, 2)],
        [(1, 1, 1, 2, "insert"), (1, 1, 2, None, "delete"), (2, 1, 2, None, "insert")],
    ),
    "READs confirm existing rows and add missing rows": (
        [change("insert", 10, 1), *[change("read", 20, 100, nth=nth) for nth in (1, 2)]],
        [(1, 1, 1, None, "insert"), (1, 2, 100, None, "read")],
    ),
    "a READ that may have missed a delete does not restore the row": (
        [change("insert", 10, 1), change("delete", 11, 95), change("read", 20, 100)],
        [(1, 1, 1, 95, "insert"), (1, 1, 95, None, "delete")],
    ),
    "a late insert counts at its position": (
        [change("delete", 12, 3), change("insert", 11, 2), change("insert", 10, 1)],
        [(1, 1, 1, None, "insert"), (1, 2, 2, 3, "insert"), (1, 2, 3, None, "delete")],
    ),
    "a truncate ends all rows, also those whose insert arrives later": (
        [change("truncate", 20, 5), change("insert", 10, 1), change("insert", 11, 2)],
        [(1, 1, 1, 5, "insert"), (1, 1, 5, None, "delete"), (1, 2, 2, 5, "insert"), (1, 2, 5, None, "delete")],
    ),
    "a delete of an unknown row leaves a tombstone": (
        [change("delete", 10, 1), change("insert", 11, 2)],
        [(1, 1, 1, 2, "delete"), (1, 1, 2, None, "insert")],
    ),
}


@pytest.fixture(scope="module")
def folded(spark: SparkSession) -> dict[int, list[tuple[Any, ...]]]:
    return fold(spark, [(changes, []) for changes, _ in CASES.values()])


@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_the_expected_versions(folded: dict[int, list[tuple[Any, ...]]], name: str) -> None:
    changes, expected = CASES[name]
    found = folded[list(CASES).index(name)]
    assert sorted(map(short, found), key=repr) == sorted(expected, key=repr)
    assert found == folded_by_oracle((changes, []))


def test_equal_reads_at_two_positions_of_one_window_are_counted_separately(spark: SparkSession) -> None:
    """All READs of a window take effect at its close. READs at its two positions are not copies of each other."""
    opened = f"0000-{17:016X}", NOON + 9 * SECOND
    windows = [(*opened, f"0000-{20:016X}", opened[1] + SECOND)]
    case: Case = [change("read", 18, 10), *[change("read", 19, 19, nth=nth) for nth in (1, 2, 3)]], windows
    found = fold(spark, [case])[0]
    assert [row[1] for row in found] == [1, 2, 3]
    assert found == folded_by_oracle(case)


def short(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A version in the form of CASES: image, copy, from, to, op."""
    image, copy, *times, _, op, _ = row
    return image, copy, *[at and (at - NOON) // SECOND for at in times], op
