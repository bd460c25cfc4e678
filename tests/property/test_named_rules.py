"""The rules of order and windows, and known failures of other engines, each as a few readable rows."""

import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.frames import local_frame
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.ledger import ledger_schema
from tests import oracle
from tests.property.batched import fold_steps
from tests.property.engine_fold import CHANGES, encoded, fold, folded_by_oracle, ordered
from tests.property.histories import COLUMNS, KEYS, NOON, SECOND, Case, Row

RULES = oracle.Rules(COLUMNS, KEYS)
HOUR = 3600
PARTIAL = {"headers": "partial"}
ONE, TWO = (
    {"source": f"postgresql:{name}"} | PARTIAL for name in ("one", "two")
)  # each position of a source has one key-change link
Version = tuple[Any, ...]


def change(op: str, place: int | None, seconds: float, a: int | None = None, **more: Any) -> Row:
    """A change of key 1 at a position in the log, `seconds` after noon."""
    number = more.pop("k", 1)
    values = {"case": 0, "k": number, "a": a, "b": more.pop("b", None), "c": more.pop("c", None)}
    at = NOON + int(seconds * SECOND)
    content = more.pop("content", zlib.crc32(repr((op, a, values["b"], values["c"])).encode()))
    return {
        "key": None if op == "truncate" else (0, number),
        "op": op,
        "row": None if op == "truncate" else values,
        "present": None,
        "before": None,
        "position": None if place is None else f"0000-{place:016X}",
        "commit_ts": at,
        "ingest_ts": at + SECOND,
        "tx_id": None if op == "read" else str(place),
        "tx_order": None,
        "old_key": None,
        "new_key": None,
        "content": content,
        **more,
    }


def image(a: int) -> Row:
    """The complete row of key 1, as a before image has it."""
    return {"case": 0, "k": 1, "a": a, "b": None, "c": None}


def window(opened: int, open_at: int, closed: int, close_at: int) -> tuple[str, int, str, int]:
    return f"0000-{opened:016X}", NOON + open_at * SECOND, f"0000-{closed:016X}", NOON + close_at * SECOND


def nth(offset: int, op: str, a: int, before: int | None = None, place: int = 10) -> Row:
    """One of several changes at a position. Only the offset gives their order."""
    fields = {"before": None if before is None else image(before), "kafka_partition": 0, "kafka_offset": offset}
    return change(op, place, place, a, **fields)


CASES: Mapping[str, tuple[list[Row], list[tuple[str, int, str, int]], list[Version]]] = {
    "a READ hours later does not overwrite newer changes": (
        [change("update", 40, 10, 2), change("read", 90, 5 * HOUR, 1)],
        [window(30, 5, 90, 5 * HOUR)],
        [(2, 10, None, "update")],
    ),
    "a READ wins if the stream missed a change": (
        [change("insert", 10, 0, 1), change("read", 55, HOUR, 2)],
        [window(50, HOUR - 2, 60, HOUR + 2)],
        [(1, 0, HOUR, "insert"), (2, HOUR, None, "read")],
    ),
    "a READ within the margin after a change yields to it": (
        [change("update", 10, 0, 2), change("read", 20, 9, 1)],
        [],
        [(2, 0, None, "update")],
    ),
    "a row changes to a value, back, and to the value once more at one position": (
        [nth(1, "insert", 1, place=5), nth(2, "update", 2, 1), nth(3, "update", 1, 2), nth(4, "update", 2, 1)],
        [],
        [(1, 5, 10, "insert"), (2, 10, None, "update")],
    ),
    "a row is deleted, inserted and deleted at one position": (
        [nth(1, "insert", 1, place=5), nth(2, "delete", 1, 1), nth(3, "insert", 1), nth(4, "delete", 1, 1)],
        [],
        [(1, 5, 10, "insert"), (None, 10, None, "delete")],
    ),
    "the first changes at one position are delivered twice": (
        [
            nth(1, "insert", 1),
            nth(2, "update", 2, 1),
            nth(3, "update", 3, 2),
            nth(4, "insert", 1),
            nth(5, "update", 2, 1),
        ],
        [],
        [(1, 10, 10, "insert"), (2, 10, 10, "update"), (3, 10, None, "update")],
    ),
    "if a READ is delivered twice, the copy that was processed first counts": (
        [
            change("update", 10, 0, 2),
            change("read", 20, 20, 1, ingest_ts=NOON),
            change("read", 20, 20, 1, ingest_ts=NOON + HOUR * SECOND),
        ],
        [],
        [(2, 0, None, "update")],
    ),
    "a READ beyond the margin wins": (
        [change("update", 10, 0, 2), change("read", 20, 11, 1)],
        [],
        [(2, 0, 11, "update"), (1, 11, None, "read")],
    ),
    "a repeated snapshot of an unchanged row writes no version": (
        [change("read", 10, 0, 1), change("read", 90, HOUR, 1), change("read", 95, 2 * HOUR, 1)],
        [],
        [(1, 0, None, "read")],
    ),
    "a READ fills the columns that a superseding change lacks, in place": (
        [change("update", 40, 10, 2, present={"case", "k", "a"}), change("read", 50, 11, 1, b="of the read")],
        [window(30, 9, 60, 12)],
        [(2, 10, None, "update", "of the read")],
    ),
    "a READ fills a column that was added after an insert, in place": (
        [
            change("insert", 20, 1, 1, present={"case", "k", "a"}),
            change("read", 50, 11, 1, b="of the read"),
            change("update", 70, 20, 2, b="of the read"),
        ],
        [window(30, 9, 60, 12)],
        [(1, 1, 20, "insert", "of the read"), (2, 20, None, "update", "of the read")],
    ),
    "a truncate supersedes a READ": (
        [change("insert", 10, 0, 1), change("truncate", 40, 10), change("read", 50, 11, 1)],
        [window(30, 9, 60, 12)],
        [(1, 0, 10, "insert"), (None, 10, None, "delete")],
    ),
    "the remaining columns of a superseded READ do not apply to a deleted row": (
        [
            change("insert", 10, 0, 1, b="before"),
            change("update", 30, 100, 2, present={"case", "k", "a"}),
            change("truncate", 31, 50),  # the clock went back: the READ's window does not contain it
            change("read", 40, 105, 3, b="of the read"),
            change("update", 41, 110, 4, present={"case", "k", "a"}),
        ],
        [],
        [
            (1, 0, 100, "insert", "before"),
            (2, 100, 100, "update", "before"),
            (None, 100, 110, "delete", None),
            (4, 110, None, "update", None),
        ],
    ),
    "a READ of two snapshots at once is in the window that closes last": (
        [change("update", 40, 15, 2), change("read", 70, 40, 1)],
        [window(30, 10, 90, 60), window(50, 20, 60, 25)],
        [(2, 15, None, "update")],
    ),
    "a window that never closes does not count": (
        [change("update", 40, 0, 2), change("read", 50, 11, 1)],
        [("0000-000000000000001E", NOON - SECOND, None, None)],  # type: ignore[list-item]
        [(2, 0, 11, "update"), (1, 11, None, "read")],
    ),
    "the second READ of an interrupted chunk yields inside the window that closed": (
        [
            change("insert", 10, 0, 1),
            change("read", 50, 11, 1),
            change("update", 75, 33, 2),
            change("read", 80, 35, 1),
        ],
        [("0000-0000000000000028", NOON + 10 * SECOND, None, None), window(70, 30, 90, 40)],  # type: ignore[list-item]
        [(1, 0, 33, "insert"), (2, 33, None, "update")],
    ),
    "a resumed snapshot finds a change that the stream lost": (
        [change("insert", 10, 0, 1), change("read", 50, 11, 1), change("read", 80, 35, 2)],
        [("0000-0000000000000028", NOON + 10 * SECOND, None, None), window(70, 30, 90, 40)],  # type: ignore[list-item]
        [(1, 0, 35, "insert"), (2, 35, None, "read")],
    ),
    "a READ of chunks that interleave is in the window that closes last": (
        [change("insert", 10, 0, 1), change("read", 50, 40, 3), change("update", 80, 70, 2)],
        [window(30, 10, 60, 45), window(40, 20, 90, 80)],
        [(1, 0, 70, "insert"), (2, 70, None, "update")],
    ),
    "a READ without a position yields inside its guard": (
        [change("insert", 10, 0, 2), change("read", None, 14 * 60, 1)],
        [],
        [(2, 0, None, "insert")],
    ),
    "a READ without a position wins beyond its guard": (
        [change("insert", 10, 0, 2), change("read", None, 16 * 60, 1)],
        [],
        [(2, 0, 16 * 60, "insert"), (1, 16 * 60, None, "read")],
    ),
    "a READ without a position is placed before the first later change": (
        [change("insert", 10, 0, 1), change("update", 20, 2 * HOUR, 3), change("read", None, HOUR, 2)],
        [],
        [(1, 0, HOUR, "insert"), (2, HOUR, 2 * HOUR, "read"), (3, 2 * HOUR, None, "update")],
    ),
    "a backfill row in the same second as a change yields": (
        [change("update", 10, 0.4, 2), change("read", None, 0, 1)],
        [],
        [(2, 0.4, None, "update")],
    ),
    "a change with an early timestamp and a late commit is inside the guard": (
        [change("update", 10, 2 * HOUR, 3), change("update", 20, HOUR - 60, 4), change("read", None, HOUR, 2)],
        [],
        [(3, 2 * HOUR, 2 * HOUR, "update"), (4, 2 * HOUR, None, "update")],
    ),
    "equal rows of a backfill at different times are different READs": (
        [change("read", None, 0, 1), change("insert", 10, HOUR, 2), change("read", None, 2 * HOUR, 1)],
        [],
        [(1, 0, HOUR, "read"), (2, HOUR, 2 * HOUR, "insert"), (1, 2 * HOUR, None, "read")],
    ),
    "insert, delete, insert in one millisecond": (
        [change("insert", 12, 0, 2), change("delete", 11, 0, 1), change("insert", 10, 0, 1)],
        [],
        [(1, 0, 0, "insert"), (None, 0, 0, "delete"), (2, 0, None, "insert")],
    ),
    "a delete older than the row and an update older than the delete": (
        [change("insert", 40, 4, 3), change("delete", 30, 3, 2), change("update", 20, 2, 2)],
        [],
        [(2, 2, 3, "update"), (None, 3, 4, "delete"), (3, 4, None, "insert")],
    ),
    "a delete of an unknown key leaves a tombstone": (
        [change("delete", 10, 0, 1)],
        [],
        [(None, 0, None, "delete")],
    ),
    "a truncate ends the row of a late insert from before it": (
        [change("truncate", 20, 2), change("insert", 10, 0, 1)],
        [],
        [(1, 0, 2, "insert"), (None, 2, None, "delete")],
    ),
    "a late change splits a version whose updates changed nothing": (
        [
            change("insert", 5, 5, 1),
            change("update", 10, 10, 1),
            change("update", 15, 15, 1),
            change("update", 20, 20, 3),
            change("update", 12, 12, 2),
        ],
        [],
        [(1, 5, 12, "insert"), (2, 12, 15, "update"), (1, 15, 20, "update"), (3, 20, None, "update")],
    ),
    "A, B, A are three versions": (
        [change("insert", 1, 1, 1), change("update", 2, 2, 2), change("update", 3, 3, 1)],
        [],
        [(1, 1, 2, "insert"), (2, 2, 3, "update"), (1, 3, None, "update")],
    ),
    "null, value, null are three versions": (
        [change("insert", 1, 1), change("update", 2, 2, 2), change("update", 3, 3)],
        [],
        [(None, 1, 2, "insert"), (2, 2, 3, "update"), (None, 3, None, "update")],
    ),
    "the order of positions wins over times": (
        [change("insert", 10, 5, 1), change("update", 20, 3, 2)],
        [],
        [(1, 5, 5, "insert"), (2, 5, None, "update")],
    ),
    "a timestamp in the future becomes the processing time plus the skew": (
        [change("insert", 10, HOUR, 1, ingest_ts=NOON)],
        [],
        [(1, 5, None, "insert")],
    ),
    "an absent column keeps its value, a null column loses it": (
        [
            change("insert", 1, 1, 1, b="x", c="y"),
            change("update", 2, 2, 2, present={"case", "k", "a", "c"}),
            change("update", 3, 3, 3, b="z"),
        ],
        [],
        [(1, 1, 2, "insert", "x"), (2, 2, 3, "update", "x"), (3, 3, None, "update", "z")],
    ),
    "an insert after a delete takes no value from the deleted row": (
        [
            change("insert", 1, 1, 1, b="x"),
            change("delete", 2, 2, 1),
            change("insert", 3, 3, 2, present={"case", "k", "a"}),
        ],
        [],
        [(1, 1, 2, "insert", "x"), (None, 2, 3, "delete", None), (2, 3, None, "insert", None)],
    ),
    "a key change keeps the values that its insert lacks": (
        [
            change("insert", 1, 1, 1, b="x", k=2),
            change("delete", 2, 2, 1, k=2, new_key=(0, 1)),
            change("insert", 2, 2, 1, old_key=(0, 2), present={"case", "k", "a"}),
        ],
        [],
        [(1, 2, None, "insert", "x")],
    ),
    "a key change with a partial key in its headers keeps the values that its insert lacks": (
        [
            change("insert", 1, 1, 1, b="x", k=2),
            change("delete", 2, 2, 1, k=2, new_key=(0, 1), **ONE),
            change("insert", 2, 2, 1, old_key=(0, 2), present={"case", "k", "a"}, **ONE),
        ],
        [],
        [(1, 2, None, "insert", "x")],
    ),
    "a key change of the message's key alone deletes the row before it inserts it, and keeps its values": (
        [
            change("insert", 1, 1, 1, b="x"),
            change("insert", 2, 2, 2, old_key=(0, 1), content=1, present={"case", "k", "a"}, **TWO),
            change("delete", 2, 2, 1, new_key=(0, 1), content=2, **TWO),
        ],
        [],
        [(1, 1, 2, "insert", "x"), (None, 2, 2, "delete", None), (2, 2, None, "insert", "x")],
    ),
    "a key change of the message's key alone deletes the row before it inserts it, in any source": (
        [
            change("insert", 1, 1, 1, b="x"),
            change("insert", 2, 2, 2, b="x", old_key=(0, 1), content=1, **PARTIAL),
            change("delete", 2, 2, 1, new_key=(0, 1), content=2, **PARTIAL),
        ],
        [],
        [(1, 1, 2, "insert"), (None, 2, 2, "delete"), (2, 2, None, "insert")],
    ),
    "a second copy of the delete of a key change does not affect its insert": (
        [
            change("insert", 1, 1, 1, b="x", k=2),
            change("delete", 2, 2, 1, k=2, new_key=(0, 1)),
            change("delete", 2, 2, 1, k=2, new_key=(0, 1), ingest_ts=NOON + HOUR * SECOND),
            change("insert", 2, 2, 1, old_key=(0, 2), present={"case", "k", "a"}),
        ],
        [],
        [(1, 2, None, "insert", "x")],
    ),
    "a key change after a partial update deletes the row that the update left": (
        [
            change("insert", 1, 1, 1, b="x", tx_id="7"),
            change("update", 2, 1, 2, tx_id="7", present={"case", "k", "a"}),
            change("delete", 3, 1, 2, b="x", tx_id="7", new_key=(0, 2), before=image(2) | {"b": "x"}),
        ],
        [],
        [(1, 1, 1, "insert"), (2, 1, 1, "update"), (None, 1, None, "delete")],
    ),
    "a READ during a transaction does not hide the row that a key change deletes": (
        [
            change("insert", 1, 1, 1),
            change("insert", 2, 2, 5, tx_id="7", old_key=(0, 3)),
            change("read", 3, 2, 5),
            change("delete", 4, 2, 1, tx_id="7", new_key=(0, 2), before=image(1)),
        ],
        [],
        [(1, 1, 2, "insert"), (None, 2, 2, "delete"), (5, 2, None, "insert")],
    ),
    "both copies of a delete of the old row are placed before the insert": (
        [
            change("insert", 1, 1, 1),
            change("insert", 2, 2, 5, tx_id="7", old_key=(0, 3)),
            *[
                change("delete", 3, 2, 1, tx_id="7", new_key=(0, 2), before=image(1), ingest_ts=NOON + at * SECOND)
                for at in (3, HOUR)
            ],
        ],
        [],
        [(1, 1, 2, "insert"), (None, 2, 2, "delete"), (5, 2, None, "insert")],
    ),
    "a lost update does not make the row of a key change another row": (
        [
            change("insert", 1, 1, 1, b="old", k=2),
            change("delete", 2, 2, 1, k=2, tx_id="7", new_key=(0, 1)),
            change("insert", 2, 2, 1, tx_id="7", old_key=(0, 2), present={"case", "k", "a"}),
            # the update to b="new" is lost
            change("delete", 4, 2, 1, tx_id="7", new_key=(0, 3), before=image(1) | {"b": "new"}),
        ],
        [],
        [(1, 2, 2, "insert"), (None, 2, None, "delete")],
    ),
}


@pytest.fixture(scope="module")
def folded(spark: SparkSession) -> dict[int, list[Row]]:
    return fold(spark, [case(number) for number in range(len(CASES))], RULES)


def case(number: int) -> Case:
    changes, windows, _ = list(CASES.values())[number]
    return Case(number, [numbered(each, number) for each in changes], list(windows))


def numbered(found: Row, number: int) -> Row:
    """The change with a case number."""
    keys = {name: found[name] and (number, found[name][1]) for name in ("key", "old_key", "new_key")}
    images = {name: found[name] and found[name] | {"case": number} for name in ("row", "before")}
    return found | keys | images


@pytest.mark.parametrize("name", CASES)
def test_a_rule_gives_the_expected_versions(folded: dict[int, list[Row]], name: str) -> None:
    number = list(CASES).index(name)
    expected = CASES[name][2]
    assert [short(row, expected) for row in folded[number] if row["k"] == 1] == expected
    assert folded[number] == folded_by_oracle(case(number), RULES)


@pytest.mark.parametrize(("source", "newest"), [("datastream-oracle:shop", 2), ("datastream-mysql:shop", 1)])
def test_a_read_yields_to_a_statement_that_was_committed_after_it(
    spark: SparkSession, source: str, newest: int
) -> None:
    """If positions are those of statements, the guard extends a READ's window backwards. Otherwise the margin does."""
    changes = [change("update", 10, 0, 2, source=source), change("read", 20, 5 * 60, 1, source=source)]
    assert fold(spark, [Case(0, changes)], RULES)[0][-1]["a"] == newest


@pytest.mark.parametrize(
    ("batches", "versions"),
    [
        pytest.param(
            [
                [change("insert", 10, 1, 1), change("delete", 30, 3, 1)],
                [change("truncate", 20, 2)],
            ],
            [(1, 1, 2, "insert"), (None, 2, None, "delete")],
            id="a late truncate ends the row of a key that was deleted later",
        ),
        pytest.param(
            [
                [change("read", 30, 200, 1)],
                [change("update", 20, 199, 2)],
            ],
            [(2, 199, None, "update")],
            id="a late change inside the window of a READ retracts the READ",
        ),
        pytest.param(
            [
                [change("insert", 20, 1, 1, present={"case", "k", "a"})],
                [change("read", 50, 9, 1, b="of the read")],
            ],
            [(1, 1, None, "insert", "of the read")],
            id="a READ fills the columns that an insert of another batch lacks",
        ),
        pytest.param(
            [
                [change("insert", 5, 5, 1), change("update", 15, 15, 1)],
                [change("update", 20, 20, 3)],
                [change("update", 12, 12, 2)],
            ],
            [(1, 5, 12, "insert"), (2, 12, 15, "update"), (1, 15, 20, "update"), (3, 20, None, "update")],
            id="a late change splits a version whose updates changed nothing",
        ),
    ],
)
def test_a_rule_holds_across_batches(
    spark: SparkSession, project: ProjectSpec, batches: list[list[Row]], versions: list[Version]
) -> None:
    rows = [
        encoded(0, each, each["key"]) | {"batch": number, "too_late": False}
        for number, batch in enumerate(batches, 1)
        for each in batch
    ]
    changes, control = local_frame(spark, rows, CHANGES), local_frame(spark, [], ledger_schema("control"))
    found, _ = fold_steps(spark, project, changes, control, RULES, range(1, len(batches) + 1))
    assert [short(row, versions) for row in ordered(found)] == versions
    assert ordered(found) == folded_by_oracle(Case(0, [each for batch in batches for each in batch]), RULES)


def test_a_redelivered_truncate_is_detected(spark: SparkSession, project: ProjectSpec) -> None:
    """A redelivered truncate ends no row and adds no change, whatever was folded since."""
    batches = [
        [change("insert", 10, 1, 1), change("truncate", 20, 2), change("insert", 30, 3, 1)],
        [change("truncate", 20, 2)],
        [change("truncate", 20, 2), change("truncate", 40, 4)],
    ]
    rows = [
        encoded(0, each, each["key"]) | {"batch": number, "too_late": False}
        for number, batch in enumerate(batches, 1)
        for each in batch
    ]
    changes, control = local_frame(spark, rows, CHANGES), local_frame(spark, [], ledger_schema("control"))
    _, steps = fold_steps(spark, project, changes, control, RULES, range(1, 4))
    counted = [{name: number for name, number in step.outcomes.items() if number} for step in steps]
    assert counted == [{"opened": 3}, {"redelivered": 1}, {"redelivered": 1, "opened": 1}]


def short(row: Row, like: list[Version]) -> Version:
    """A version in the form of CASES: a, from, to, op, and b if the case needs it."""
    times = [None if row[n] is None else (row[n] - NOON) / SECOND for n in ("_valid_from", "_valid_to")]
    return (row["a"], *times, row["_op"], *([row["b"]] if len(like[0]) > len("afto") else []))
