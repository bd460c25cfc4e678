"""Extreme values of every kind, and a workload with one row for each value."""

import math
from decimal import Decimal
from typing import Any

from tests.conformance.encoder import Encoder
from tests.conformance.wire import DAY, SECOND, days_of, micros_of
from tests.conformance.workload import NOON, Event, Step, Table, Workload

DAYS = [days_of(1, 1, 1), days_of(1582, 10, 4), days_of(1582, 10, 10), days_of(1582, 10, 15), days_of(1970, 1, 1)]
DAYS += [days_of(2000, 2, 29), days_of(9999, 12, 31)]
BEYOND_DAYS = [days_of(10000, 1, 1), days_of(0, 12, 31), days_of(-43, 3, 15), days_of(200_000, 12, 31)]
MOMENTS = [micros_of(1, 1, 1), micros_of(1582, 10, 4, 1), micros_of(1582, 10, 10), -1, 0, 1, NOON + 999_999]
MOMENTS += [micros_of(1883, 11, 18, 12 * 3600 * SECOND + 7), micros_of(9999, 12, 31, DAY - 1)]
BEYOND_MOMENTS = [micros_of(10000, 1, 1), micros_of(0, 12, 31, DAY - 1), micros_of(-43, 3, 15), micros_of(100000, 1, 1)]
FIRST, LAST = micros_of(1, 1, 1), micros_of(10000, 1, 1)
LONGEST = (838 * 3600 + 3599) * SECOND  # the longest TIME of MySQL
NINES = "9" * 28 + "." + "9" * 10
FLOATS = [0.0, -0.0, 0.1, math.nan, math.inf, -math.inf]
TEXTS = [
    "", " ", "  padded  ", "null", "NULL", "NaN", "0", "007", "1e3", "true", "2020-01-01", '"', "\\", "'", "a,b;c|d",
    'say "so"', "a\tb", "a\nb", "a\r\nb", "a\rb", "\x00", "a\x00b", "\x01\x1f\x7f", "Zoë", "e\u0301",
    "李雷", "😀👩‍👩‍👧", "مرحبا", "\u2028\ufeff", "{}", "[]", '{"scale":2,"value":"MDk="}', "x" * 1_000_000,
]  # fmt: skip
EXTREMES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "smallint": [-(2**15), -1, 0, 2**15 - 1],
    "int": [-(2**31), -1, 0, 2**31 - 1],
    "bigint": [-(2**63), -(2**53) - 1, 0, 2**53 + 1, 2**63 - 1],
    "ubigint": [0, 2**63 - 1, 2**63, 2**64 - 1],
    "float": [*FLOATS, 3.4028234663852886e38, 1.401298464324817e-45, -16777216.0],
    "double": [*FLOATS, 1.7976931348623157e308, 5e-324, 0.30000000000000004, 2.0**53 + 2],
    "decimal(12,2)": [Decimal(text) for text in ("0.00", "-0.01", "9999999999.99", "-9999999999.99", "1.50")],
    "decimal(38,10)": [Decimal(text) for text in (NINES, "-" + NINES, "1E-10", "0")],
    "decimal(65,30)": [Decimal(text) for text in ("9" * 35 + "." + "9" * 30, "-" + "1" * 35 + "." + "2" * 30, "1E-30")],
    "numeric": [Decimal(text) for text in ("0", "-1.50", "1" * 60 + "." + "3" * 20, "0." + "0" * 39 + "7")],
    "text": TEXTS,
    "bytes": [b"", b"\x00", b"a\x00", b"\xff\xfe", bytes(range(256)), b"\xde\xad\xbe\xef" * 25_000],
    "date": [*DAYS, *BEYOND_DAYS],
    "timestamp": [*MOMENTS, *BEYOND_MOMENTS],
    "datetime": [*MOMENTS, *BEYOND_MOMENTS],
    "time": [0, 1, DAY // 2, DAY - 1, DAY, LONGEST, -LONGEST, -1_500_000],
    "json": [
        '{"a": {"b": [1, null, "x", {}]}, "e": "", "n": 0.1234567890123456}',
        "[]", "{}", '[{"k": "😀 \\u0000 \\" "}]',
    ],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "array<int>": [[], [1, None, 3], [None], [-(2**31), 2**31 - 1]],
    "array<text>": [[], ["a", None, ""], ['q"uote', "with,comma", "{brace}", "back\\slash", "😀", "NULL", "a\nb"]],
}  # fmt: skip


def column(kind: str) -> str:
    """The name of the column that holds a kind."""
    return "c_" + "".join(sign if sign.isalnum() else "_" for sign in kind).rstrip("_")


def zoo(encoder: Encoder, typed: bool) -> tuple[Workload, list[tuple[str, Any]]]:
    """A workload with one row for each value that the source can have (all other columns are null), and the kind and
    the value of each row, by its id."""
    kinds = [kind for kind in EXTREMES if encoder.has(kind) and (typed or kind not in encoder.misnamed)]
    table = Table("zoo", ("id",), {"id": "bigint"} | {column(kind): kind for kind in kinds})
    held = [(kind, value) for kind in kinds for value in [*EXTREMES[kind], *encoder.specials(kind)]]
    empty = dict.fromkeys(table.columns)
    rows = [empty | {"id": number, column(kind): value} for number, (kind, value) in enumerate(held)]
    events = [Event("insert", table, None, row) for row in rows]
    steps = [Step("stream", number, NOON + number * SECOND, (event,)) for number, event in enumerate(events, 1)]
    return Workload((table,), steps), held


def fits(kind: str, value: Any) -> bool:
    """Whether the stored type of the kind can hold the value. Other values are rescued or rejected."""
    if kind == "date":
        return days_of(1, 1, 1) <= value < days_of(10000, 1, 1)
    if kind in ("timestamp", "datetime"):
        return FIRST <= value < LAST
    return True
