"""Changes of one key at one position, in the order of the chain of their ops and images: examples, walks, and Spark."""

import random
from itertools import pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.frames import local_frame
from siltstone.engine.ordering.tie_breaking import MOST_CHAINED, NO_ROW, Tied, with_turns
from tests import oracle

GONE = oracle.GONE
TIES = T.StructType(
    [
        T.StructField(name, T.StringType() if name == "op" else T.LongType())
        for name in ("case", "op", "content", "starts", "ends")
    ]
)
Change = dict[str, Any]


def change(op: str, before: Any = None, after: Any = None, content: int | None = None) -> Change:
    """A change between two states, which are texts. None: unknown."""
    hashed = content if content is not None else sum(map(ord, f"{op}{before if op == 'delete' else after}"))
    made = {"op": op, "starts": before, "row": after, "present": None if after is not None else {"k"}}
    return made | {"content": hashed, "position": "1", "new_key": None, "tx_order": None}


def insert(row: str) -> Change:
    return change("insert", None, row)


def update(before: str | None, row: str | None) -> Change:
    return change("update", before, row)


def delete(before: str | None = None) -> Change:
    return change("delete", before)


CASES: dict[str, list[Change]] = {
    "an insert comes before the update that starts from its row": [insert("A"), update("A", "B")],
    "a delete comes last": [insert("A"), update(None, "B"), delete()],
    "a delete of another row than the one inserted comes first": [delete("A"), insert("B")],
    "a delete of the row that is inserted comes after it": [insert("A"), delete("A")],
    "updates follow each other by their images": [update(a, b) for a, b in ("DX", "XB", "BZ", "ZA", "AY")],
    "a row changes to a value and back": [insert("A"), update("A", "B"), update("B", "A"), update("A", "C")],
    "an old row is deleted, a second one is inserted and deleted, a third one stays": [
        update("A", "B"), delete("B"), insert("C"), update("C", "D"), delete("D"), insert("E"), update("E", "F"),
    ],
    "a truncate comes before a delete, after all others": [insert("A"), change("truncate", content=9), delete()],
    "an update that changes nothing follows its row": [insert("A"), update("A", "A"), delete("A")],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_changes_have_the_order_of_their_chain(name: str) -> None:
    for _ in range(5):
        shuffled = random.sample(CASES[name], len(CASES[name]))
        assert oracle.in_chain(shuffled) == CASES[name]


def test_the_content_breaks_a_tie() -> None:
    one, two = update(None, "A") | {"content": 1}, update(None, "B") | {"content": 2}
    there, back = update("A", "B") | {"content": 2}, update("B", "A") | {"content": 1}
    assert oracle.in_chain([two, one]) == [one, two]
    assert oracle.in_chain([there, back]) == oracle.in_chain([back, there]) == [back, there]


def walk(chance: random.Random, length: int) -> list[Change]:
    """The changes of a row in order. Each state occurs once, but a deleted row can be inserted a second time."""
    states, now, steps = list("ABCDEFGHIJKLMNOP"), chance.choice((GONE, "Z")), []
    chance.shuffle(states)
    while len(steps) < length:
        following = GONE if now != GONE and chance.random() < 0.3 else states.pop()
        op = "insert" if now == GONE else "delete" if following == GONE else "update"
        steps.append(change(op, None if op == "insert" else now, None if op == "delete" else following))
        now = following
    return steps


def drawn(chance: random.Random) -> list[Change]:
    """Random changes of a few states, some of which are unknown."""
    found: dict[Any, Change] = {}
    for _ in range(chance.randint(1, MOST_CHAINED + 3)):
        op, before, after = (
            chance.choice(("insert", "update", "update", "delete", "truncate")),
            *chance.choices("ABCDE", k=2),
        )
        is_known = chance.random() < 0.8
        start = before if op in ("update", "delete") and is_known else None
        row = after if op in ("insert", "update") else None
        one = change(op, start, row, chance.randint(-9, 9))
        one["present"] = None if chance.random() < 0.9 else {"k"}
        found[op, one["content"]] = one
    return list(found.values())


def test_a_chain_ends_in_the_last_state_for_any_order_of_arrival() -> None:
    chance = random.Random(5)
    for _ in range(500):
        steps = walk(chance, chance.randint(1, 10))
        ordered = oracle.in_chain(random.sample(steps, len(steps)))
        assert all(oracle.end_of(one) == oracle.start_of(two) for one, two in pairwise(ordered))
        assert oracle.start_of(ordered[0]) == oracle.start_of(steps[0]) or steps[0]["op"] == "insert"
        assert oracle.end_of(ordered[-1]) == oracle.end_of(steps[-1])


def test_spark_finds_the_same_chains_as_the_oracle(spark: SparkSession) -> None:
    chance = random.Random(3)
    cases = [
        *CASES.values(),
        *[walk(chance, chance.randint(1, 8)) for _ in range(60)],
        *[drawn(chance) for _ in range(300)],
    ]
    rows = [encoded(number, one) for number, case in enumerate(cases) for one in case]
    copies = [row | {"starts": None} for row in rows if chance.random() < 0.2]  # copies without the state before
    frame = local_frame(spark, chance.sample(rows + copies, len(rows + copies)), TIES)
    tied = Tied(F.lit(True), F.col("op"), F.col("content"), F.col("starts"), F.col("ends"))
    found: dict[int, dict[tuple[str, int], set[int]]] = {}
    for row in with_turns(frame, [F.col("case")], tied).collect():
        found.setdefault(row["case"], {}).setdefault((row["op"], row["content"]), set()).add(row["turn"])
    for number, case in enumerate(cases):
        turns = found[number]
        assert all(len(each) == 1 for each in turns.values()), case
        in_order = sorted(turns, key=lambda identity: min(turns[identity]))
        assert in_order == [(one["op"], one["content"]) for one in oracle.in_chain(case)], case


def encoded(number: int, one: Change) -> dict[str, Any]:
    states = {"starts": oracle.start_of(one), "ends": oracle.end_of(one)}
    hashes = {
        name: None if state is None else NO_ROW if state == GONE else ord(state) for name, state in states.items()
    }
    return {"case": number, "op": one["op"], "content": one["content"], **hashes}
