"""Acknowledged gaps are rechecked only when something arrives that can heal them."""

from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.schema.gap_record import Gap
from siltstone.quality.gap_lifecycle import CheckPass, updated
from siltstone.quality.healing import can_heal
from siltstone.quality.results import Finding, Found
from tests.quality.stage import Stage, change, place
from tests.quality.test_recheck import CHECK_RUN, SPEC
from tests.quality.test_source_evidence import frame

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])


def gap(check: str, position_from: str | None, position_to: str | None = None, tx_id: str | None = None) -> Gap:
    one = Finding(check, position_from, position_to, None, "text", tx_id)
    (found,) = updated([], [CheckPass({check: Found(1, None, None, (one,))}, 0)], SPEC, CHECK_RUN)
    return found


def control_row(kind: str, number: int | None, batch: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "position": None if number is None else place(number), "batch": batch} | more


OLD = [
    control_row("window_open", 20, 1, event_id="w-open"),
    control_row("transaction_ledger", 30, 1, tx_id="cut"),
    control_row("log_file", None, 1) | {"position": "0000-0000000000000008"},
]
WINDOW, CUT = gap("open_window", place(20)), gap("incomplete_transaction", place(25), place(30), "cut")
FILES = gap("log_gap", "0000-0000000000000005", "0000-0000000000000008")
KEY = gap("chain_break", place(10), place(40))
CLOSE, END = (
    control_row("window_close", 90, 2, event_id="w-close"),
    control_row("transaction_ledger", 95, 2, tx_id="cut"),
)
FILE = control_row("log_file", None, 2)


def test_rows_that_continue_or_precede_an_acknowledged_gap_can_heal_it(spark: SparkSession) -> None:
    changes = [change(10, "insert", "x", {"a": 1}), change(99, "insert", "y", {"a": 1}, batch=2)]
    tables = replace(Stage(spark, ROW, ("k",)).tables(changes), since=1, control_since=1)

    def heals(gap: Gap, *new: dict[str, Any]) -> bool:
        return can_heal(replace(tables, control=frame(spark, [*OLD, *new])), 1, [gap])

    others = [
        control_row("window_close", 91, 2, event_id="v-close"),
        control_row("transaction_ledger", 96, 2, tx_id="another"),
    ]
    others.append(FILE | {"position": "0000-0000000000000008"})
    assert [heals(one, *others) for one in (WINDOW, CUT, FILES, KEY)] == [False] * 4
    assert heals(WINDOW, CLOSE)
    assert heals(CUT, END)
    assert heals(FILES, FILE | {"position": "0000-0000000000000006"})
    assert heals(KEY, control_row("window_close", 35, 2, event_id="v-close"))
    assert can_heal(tables, 1, [gap("stalled_source", None)])
