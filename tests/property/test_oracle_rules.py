"""Small examples of rules that the recordings do not show: which READs win, and when a version starts."""

from typing import Any

import pytest

from tests import oracle

SECOND = oracle.SECOND
RULES = oracle.Rules(("id", "a", "b"), ("id",), defaults={"b": "none"})


def change(op: str, position: str | None, seconds: int, key: int | None = 1, **also: Any) -> dict[str, Any]:
    row = also.pop("row", None)
    made = {
        "key": None if key is None else (key,),
        "op": op,
        "row": row and {"id": key, **row},
        "present": None,
        "before": None,
        "position": position,
        "commit_ts": seconds * SECOND,
        "ingest_ts": seconds * SECOND,
        "tx_id": None,
        "tx_order": None,
        "old_key": None,
        "new_key": None,
    }
    return made | also | {"content": repr((op, row))}


def timeline(changes: list[dict], windows: tuple = (), rules: oracle.Rules = RULES) -> list[tuple]:
    """(key, op, a, b, from, to) of each version, times in seconds."""
    history, _ = oracle.fold(changes, windows, rules)
    seconds = [[at and at // SECOND for at in (row["_valid_from"], row["_valid_to"])] for row in history]
    return [(row["id"], row["_op"], row["a"], row["b"], *times) for row, times in zip(history, seconds, strict=True)]


UPDATE = change("update", "20", 100, row={"a": 1, "b": "x"})
LATER_READ = change("read", "30", 200, row={"a": 2, "b": "x"})


@pytest.mark.parametrize(
    ("read", "versions"),
    [
        pytest.param(
            LATER_READ,
            [(1, "update", 1, "x", 100, 200), (1, "read", 2, "x", 200, None)],
            id="a READ long after the change heals the missed change",
        ),
        pytest.param(
            change("read", "30", 110, row={"a": 2, "b": "x"}),
            [(1, "update", 1, "x", 100, None)],
            id="a change within the margin supersedes the READ",
        ),
        pytest.param(
            change("read", "10", 200, row={"a": 2, "b": "x"}),
            [(1, "read", 2, "x", 200, 200), (1, "update", 1, "x", 200, None)],
            id="a READ with an earlier position is placed before the change, whatever its time",
        ),
        pytest.param(
            change("read", None, 200, row={"a": 2, "b": "x"}),
            [(1, "update", 1, "x", 100, None)],
            id="a READ without a position yields inside its guard",
        ),
        pytest.param(
            change("read", "30", 200, row={"a": 1, "b": "x"}),
            [(1, "update", 1, "x", 100, None)],
            id="an equal READ is absorbed",
        ),
    ],
)
def test_a_read_and_a_streamed_change_give_the_same_versions_in_any_order(read: dict, versions: list[tuple]) -> None:
    assert timeline([UPDATE, read]) == timeline([read, UPDATE]) == versions


def test_a_read_yields_to_all_changes_since_its_window_opened() -> None:
    assert timeline([UPDATE, LATER_READ], (("20", 150 * SECOND, "40", 210 * SECOND),)) == [
        (1, "update", 1, "x", 100, None)
    ]


def test_a_superseded_read_fills_the_columns_that_no_change_has() -> None:
    partial = change("update", "20", 100, row={"a": 1}, present={"id", "a"})
    stale = change("read", "30", 105, row={"a": 7, "b": "y"})
    assert timeline([partial]) == [(1, "update", 1, "none", 100, None)]
    assert timeline([partial, stale]) == [(1, "update", 1, "y", 100, None)]


def test_a_truncate_ends_only_live_keys_and_supersedes_reads() -> None:
    truncate = change("truncate", "25", 104, key=None)
    gone = change("delete", "22", 101, key=2)
    assert timeline([UPDATE, gone, truncate, change("read", "30", 105, row={"a": 1, "b": "x"})]) == [
        (1, "update", 1, "x", 100, 104),
        (1, "delete", None, None, 104, None),
        (2, "delete", None, None, 101, None),
    ]


def test_key_changes_of_one_transaction_move_the_rows_from_before_it() -> None:
    old = [change("insert", "10", 100, key=k, row={"a": k, "b": f"row {k}"}) for k in (1, 2)]
    moves = [
        change("delete", "20", 200, key=1, row={"a": 1, "b": "row 1"}, new_key=(2,)),
        change("insert", "20", 200, key=2, row={"a": 1}, present={"id", "a"}, old_key=(1,)),
        change("delete", "21", 200, key=2, row={"a": 2, "b": "row 2"}, new_key=(3,)),
        change("insert", "21", 200, key=3, row={"a": 2}, present={"id", "a"}, old_key=(2,)),
    ]
    one_transaction = [move | {"tx_id": "7", "before": move["row"]} for move in moves]
    live = [version for version in timeline(old + one_transaction) if version[-1] is None]
    assert live == [
        (1, "delete", None, None, 200, None),
        (2, "insert", 1, "row 1", 200, None),
        (3, "insert", 2, "row 2", 200, None),
    ]


def test_a_commit_time_in_the_future_is_replaced_and_one_that_runs_backwards_is_clamped() -> None:
    ahead = UPDATE | {"ingest_ts": 50 * SECOND}
    backwards = change("update", "21", 30, row={"a": 3, "b": "x"})
    assert timeline([ahead, backwards]) == [(1, "update", 1, "x", 55, 55), (1, "update", 3, "x", 55, None)]
