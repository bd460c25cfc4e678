"""Acknowledged gaps are looked at again when something has come that can heal them, and only then."""

from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.schema.gap_record import Gap
from siltstone.quality.gap_lifecycle import Looked, updated
from siltstone.quality.healing import reaches_back
from siltstone.quality.results import Finding, Found
from tests.quality.stage import Stage, change, place
from tests.quality.test_recheck import SPEC, VISIT
from tests.quality.test_source_evidence import frame

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])


def gap(check: str, position_from: str | None, position_to: str | None = None, tx_id: str | None = None) -> Gap:
    one = Finding(check, position_from, position_to, None, "said", tx_id)
    (found,) = updated([], [Looked({check: Found(1, None, None, (one,))}, 0)], SPEC, VISIT)
    return found


def told(kind: str, number: int | None, batch: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "position": None if number is None else place(number), "batch": batch} | more


OLD = [
    told("window_open", 20, 1, event_id="w-open"),
    told("transaction_ledger", 30, 1, tx_id="cut"),
    told("log_file", None, 1) | {"position": "0000-0000000000000008"},
]
WINDOW, CUT = gap("open_window", place(20)), gap("incomplete_transaction", place(25), place(30), "cut")
FILES = gap("log_gap", "0000-0000000000000005", "0000-0000000000000008")
KEY = gap("chain_break", place(10), place(40))
CLOSE, END = told("window_close", 90, 2, event_id="w-close"), told("transaction_ledger", 95, 2, tx_id="cut")
FILE = told("log_file", None, 2)


def test_what_continues_or_stands_before_an_acknowledged_gap_reaches_back(spark: SparkSession) -> None:
    changes = [change(10, "insert", "x", {"a": 1}), change(99, "insert", "y", {"a": 1}, batch=2)]
    tables = replace(Stage(spark, ROW, ("k",)).tables(changes), since=1, control_since=1)

    def reaches(gap: Gap, *new: dict[str, Any]) -> bool:
        return reaches_back(replace(tables, control=frame(spark, [*OLD, *new])), 1, [gap])

    others = [told("window_close", 91, 2, event_id="v-close"), told("transaction_ledger", 96, 2, tx_id="another")]
    others.append(FILE | {"position": "0000-0000000000000008"})
    assert [reaches(one, *others) for one in (WINDOW, CUT, FILES, KEY)] == [False] * 4
    assert reaches(WINDOW, CLOSE)
    assert reaches(CUT, END)
    assert reaches(FILES, FILE | {"position": "0000-0000000000000006"})
    assert reaches(KEY, told("window_close", 35, 2, event_id="v-close"))
    assert reaches_back(tables, 1, [gap("stalled_source", None)])
