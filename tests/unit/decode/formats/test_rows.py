"""Plain rows: the order of their sequences, their conditions, their times, and rows without a position."""

import json
import random
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.row_values import number_segment, plain_number
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.predicates import parse_predicate
from siltstone.engine.spec.rows_format import RowsSpec

NUMBERS = [
    Decimal(text)
    for text in (
        "0", "1", "-1", "9", "10", "-9", "-10", "0.5", "-0.5", "0.05", "-0.05", "1.5", "1.25", "99.9", "100", "-99.9",
        "-100", "1" * 50, "-" + "1" * 50, "-" + "1" * 49,
        "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1000000", "999999",
    )
]  # fmt: skip
TIMES = [
    "0001-01-01", "1582-10-04T23:59:59", "1969-12-31T23:59:59.999999Z", "1970-01-01 00:00:00Z", "2024-01-01T00:00:00Z",
    "2024-01-01T01:00:00.5+01:00", "2024-01-01T00:00:00.500000001Z", "2024-01-01T00:00:00.500001Z",
    "2024-01-01T00:00:01", "2024-01-02", "9999-12-31T23:59:59.999999Z",
]  # fmt: skip
TEXTS = ["", "!", "A", "AA", "AB", "B", "a", "\u00e9", "\uffff", "\U0001f600"]
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
NO_TIME = "no sequence column is a time or a number; name a column with the time under source.time_by"


def schema(**kinds: str) -> str:
    """The columns that a file declares."""
    return json.dumps({"columns": [[name, kind, ["text", None, None]] for name, kind in kinds.items()]})


def found(
    values: list[Any], zone: str = "UTC", declared: str | None = None, binaries: Any = "bytes", **settings: Any
) -> list[Event]:
    sequence = settings.pop("sequence_by", (("n", "any"),))
    conditions: dict[str, Any] = {k: parse_predicate(v) if "when" in k else v for k, v in settings.items()}
    rows = RowsSpec("a.b", sequence, **conditions)
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    source = SourceSpec("rows", "x", time_zone=zone, rows=rows, binaries=binaries)
    lines = [text.encode("utf-8", "surrogateescape") for text in texts]
    return decode_messages([Message("a", line, text, declared) for line, text in enumerate(lines, 1)], source, {})


def places(values: list[Any], *args: Any, **settings: Any) -> list[str | None]:
    return [event.position for event in found(values, *args, **settings)]


def reasons(values: list[Any], *args: Any, **settings: Any) -> list[str | None]:
    return [event.reason for event in found(values, *args, **settings)]


def times(values: list[Any], *args: Any, **settings: Any) -> list[int | None]:
    return [event.commit_us for event in found(values, *args, **settings)]


def ops(values: list[Any], *args: Any, **settings: Any) -> list[str | None]:
    return [event.op for event in found(values, *args, **settings)]


def is_ascending(values: list[str | None]) -> bool:
    return None not in values and values == sorted(set(values), key=str)


# --- order ----------------------------------------------------------------------------------------------------------


def test_numbers_are_ordered_before_times_and_times_before_texts() -> None:
    drawn = random.Random(7)
    more = [Decimal(drawn.randint(-(10**20), 10**20)).scaleb(-drawn.randint(0, 20)) for _ in range(200)]
    numbers: list[Any] = [f'{{"n": {number:f}, "t": 1}}' for number in sorted({*NUMBERS, *more})]
    others = [{"n": value, "t": 1} for value in [*TIMES, *TEXTS]]
    assert is_ascending(places(numbers + others, time_by="t"))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("any", ['{"n": 10}', '{"n": "10"}', '{"n": 10.0}', '{"n": 1e1}', '{"n": "+010.00"}']),
        (
            "number",
            [{"n": n} for n in (".5", "0.5", "+.50", " 0.5", "\t.5\r\n", "5e-1", "5.e-1", " .05e1 ")],
        ),
        (
            "any",
            [{"n": n} for n in ("2024-01-01T00:00:00Z", "2024-01-01 01:00:00", "2024-01-01T02:00:00+02:00")],
        ),
    ],
)
def test_equal_values_have_the_same_position_in_any_spelling(kind: str, values: list[Any]) -> None:
    assert len(set(places(values, "+01:00", sequence_by=(("n", kind),)))) == 1


def test_values_that_are_not_numbers_are_texts() -> None:
    written = ["-5.", "-.5", "-.05", " .0", ".5", "1", "5.", " 7", "7.5\n", "10 ", ".", "+", "1.2.", "7 7"]
    found_places = places([{"n": n, "t": 1} for n in written], time_by="t")
    assert is_ascending(found_places[:-4])
    assert [str(place)[5] for place in found_places] == [*"AAABBBBBBB", *"DDDD"]


def test_numbers_with_powers_of_ten_are_ordered_by_their_value() -> None:
    ordered = ["-Infinity", "-1.5e308", "-1e255", "-1e254", "-9e253", "-1e29", "-1001", "-1e3", "-1.5", "-2.5E-12",
               "-1.5e-12", "-1e-999", "0", "1e-999", "1e-12", "2.5e-12", "0.5", "1.5", "1e3", "1001", "1e29",
               "123456789012345678901234567890123456789012", "1.5e100", "9e253", "1e254", "1e255",
               "2e255", "1.7976931348623157E308", "Infinity"]  # fmt: skip
    assert is_ascending(places([{"n": number, "t": 1} for number in ordered], time_by="t"))
    none = [{"n": number} for number in ("1e1000", "1e", "e5", "NaN", "infinit", "1" * 65_535)]
    assert set(reasons(none, sequence_by=(("n", "number"),))) == {'sequence column "n": the value is not a number'}


def test_a_number_with_a_power_of_ten_equals_the_number_in_full() -> None:
    drawn = random.Random(11)
    numbers = [f"{drawn.randint(-(10**9), 10**9) / 1000}e{drawn.randint(-40, 40)}" for _ in range(200)]
    alike = [("15e2", "1500"), ("+001.50E+003", "1500"), ("-12.5e0", "-12.5"), ("0.0e999", "0"), ("-0e-5", "0")]
    alike += [("inf", "Infinity"), (" +INFINITY", "Infinity"), ("-inf", "-Infinity"), ("\x001\x1f", "1")]
    alike += [(number, f"{Decimal(number):f}") for number in numbers]
    for written, digits in alike:
        assert number_segment(str(plain_number(written))) == number_segment(digits), written
    for text in (
        "",
        " ",
        ".",
        "-.",
        "1..2",
        "--1",
        "0x10",
        "\u0661",
        "1e5e5",
        "1,5",
        "\u00a05",
        "1 2",
        "1_0",
        "\u00b2",
    ):
        assert plain_number(text) is None, text


def test_numbers_in_json_keep_all_digits() -> None:
    ordered = ["-1.5e29", "0", "4e-400", "1e-12", "0.30000000000000001", "0.30000000000000002", "1700000000.12345671",
               "1700000000.12345672", "12345678901234567.125", "12345678901234567.25", "199999999999999999999999",
               "2e23", "1e29", "100000000000000000000000000001.5"]  # fmt: skip
    in_json = places([f'{{"n": {number}}}' for number in ordered])
    assert is_ascending(in_json)
    assert in_json == places([{"n": number} for number in ordered])


def test_bytes_are_ordered_as_bytes_if_the_file_or_the_spec_declares_them() -> None:
    ordered = sorted([bytes([0, 0, 0, n]) for n in (0, 104, 208, 255)] + [b"", b"\xd7m\xf8", b"\xd7m\xf8\xe7", b"\xff"])
    base64 = [{"s": b64encode(value).decode(), "n": 7} for value in ordered]  # "1234" is the base64 of three bytes
    typed, any_kind, by_spec = (
        schema(s="binary", n="string"),
        (("s", "any"), ("n", "any")),
        (("s", "bytes"), ("n", "any")),
    )
    expected = places(base64, declared=typed, sequence_by=any_kind)
    assert is_ascending(expected)
    assert set(times(base64, declared=typed, sequence_by=any_kind)) == {7}
    assert (
        places(base64, sequence_by=by_spec)
        == places(base64, declared=typed, binaries="hex", sequence_by=by_spec)
        == expected
    )
    in_hex = [{"s": value.hex(), "n": 7} for value in ordered]
    assert places(in_hex, binaries="hex", sequence_by=by_spec) == expected
    wrong = reasons([{"s": "x", "n": 7}], binaries="hex", sequence_by=by_spec)
    assert wrong == ['sequence column "s": the value is not bytes']


def test_objects_and_lists_have_no_order() -> None:
    parts: list[Any] = [{"n": {"n": 9}}, {"n": [1]}, {"n": "{}"}, {"n": "[]"}]
    texts: list[Any] = [{"n": "{6F9619FF-8B86-D011-B42D-00C04FC964FF}"}, {"n": "[a"}, {"n": "{"}]
    assert set(reasons(parts)) == {'sequence column "n": the value is not a number, a time or text'}
    assert set(reasons(texts, time_by="n")) == {'time column "n": the value is not a time'}


def test_several_columns_give_the_order_one_after_the_other() -> None:
    rows = [{"s": s, "n": n} for s in ("a", "a-", "aa", "b") for n in (-1, 2, 10)]
    assert is_ascending(places(rows, sequence_by=(("s", "text"), ("n", "number"))))


@pytest.mark.parametrize(("ties", "order"), [("delete", -1), ("upsert", 1), ("order", 0)])
def test_the_spec_sets_which_change_wins_a_tie(ties: str, order: int) -> None:
    one, two = places([{"n": 1, "op": "U"}, {"n": 1, "op": "D"}], delete_when="op = 'D'", ties=ties)
    assert (str(one) > str(two)) - (str(one) < str(two)) == order


# --- times ----------------------------------------------------------------------------------------------------------


def test_a_time_with_a_zone_is_the_same_in_every_spelling() -> None:
    clocks = ["10:00:00+09", "10:00:00.000 +0900", "01:00:00+00", "01:00:00Z", "01:00:00 UTC", "01:00:00.0UTC",
              "02:00:00 Europe/Berlin", "10:00:00 UTC+9", "10:00:00"]  # fmt: skip
    rows = [{"n": f"2024-01-01 {clock}"} for clock in clocks]
    assert set(times(rows, "Asia/Seoul")) == {1_704_070_800_000_000}
    assert len(set(places(rows, "Asia/Seoul"))) == 1
    unknown = [{"n": f"2024-01-01 10:00:00 {zone}"} for zone in ("Foo/Bar", "utc", "+99")]
    wrong = reasons(unknown, "Asia/Seoul", sequence_by=(("n", "time"),))
    assert set(wrong) == {'sequence column "n": the value is not a time'}


def test_a_time_beyond_the_calendar_gives_the_order_and_an_end_of_the_calendar() -> None:
    ends = ["0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999-05:00"]
    rows = [{"n": end} for end in ends]
    assert times(rows, "Asia/Seoul", time_by="n") == [FIRST, FIRST, 253_402_300_799_000_000, LAST]
    assert is_ascending(places(rows, "Asia/Seoul", time_by="n"))
    assert times([{"n": "-1e40"}, {"n": "1e40"}, {"n": -(10**17)}]) == [FIRST, LAST, FIRST]


@pytest.mark.parametrize(("digits", "second"), [(0, 10**3), (3, 10**3), (6, 10**6), (9, 10**9)])
def test_the_digits_of_the_declared_type_set_the_unit_of_a_number(digits: int, second: int) -> None:
    same = [1_700_000_000 * second, f"{1_700_000_000 * second}.0", "2023-11-14T22:13:20Z", "2023-11-15 07:13:20"]
    counts = [-second, -1, 0, 1, second, 1_700_000_000 * second, 1_700_000_000 * second + 1]
    none = ["x", "1.5", 2**63, *([10**18] if digits < 9 else [])]
    settings: dict[str, Any] = {"sequence_by": (("n", "time"),), "digits": (("n", digits),)}
    placed = found([{"n": value} for value in counts], "Asia/Seoul", **settings)
    assert is_ascending([row.position for row in placed])
    assert [row.commit_us for row in placed] == [count * 10**6 // second for count in counts]
    alike = found([{"n": value} for value in same], "Asia/Seoul", **settings)
    assert {(row.position, row.commit_us) for row in alike} == {(placed[-2].position, 1_700_000_000 * 10**6)}
    wrong = reasons([{"n": value} for value in none], "Asia/Seoul", **settings)
    assert set(wrong) == {'sequence column "n": the value is not a time'}
    assert times([{"n": 1, "t": second}], time_by="t", digits=(("t", digits),)) == [10**6]


@pytest.mark.parametrize(
    ("unit", "micros"), [("seconds", 10_500_000), ("milliseconds", 10_500), ("microseconds", 10), ("nanoseconds", 0)]
)
def test_the_time_unit_sets_the_time_of_a_number(unit: str, micros: int) -> None:
    assert times(['{"n": 10.5}'], time_unit=unit) == [micros]


def test_a_row_gets_the_first_time_of_its_sequence_or_its_first_number() -> None:
    sequence = (("a", "any"), ("b", "any"))
    rows = [{"a": 5, "b": "1970-01-01T00:00:01Z"}, {"a": 5, "b": 6}, {"a": "x", "b": 6}]
    assert times(rows, sequence_by=sequence) == [1_000_000, 5, 6]


def test_infinity_gives_an_order_but_no_time() -> None:
    rows = [{"n": "-Infinity", "t": 7}, {"n": "1", "t": 8}, {"n": "Infinity", "t": 9}]
    assert times(rows, time_by="t") == [7, 8, 9]
    assert is_ascending(places(rows, time_by="t"))
    assert reasons(rows) == [NO_TIME, None, NO_TIME]
    no_time = 'time column "n": the value is not a time'
    assert reasons(rows, time_by="n") == [no_time, None, no_time]


# --- conditions -----------------------------------------------------------------------------------------------------


def test_conditions_compare_all_digits_of_numbers() -> None:
    long = "12345678901234567890123456789"
    for condition, alike, others in (
        ("x = 0", ["0", "-0.000", "0e5", '" .0 "', '"0."'], ["0.00000000001", "-1e-300", '""', "true", "null", '"."']),
        (f"x = {long}", [long, f'"+0{long}.0"', f'"{long}e0"'], [f"{long[:-1]}8", f"{long}.{'0' * 30}1"]),
        ("x > 0.00000000001", ["0.000000000011", "1e200"], ["0.00000000001", "1e-12", "-1"]),
        ("x = 1700000000.12345671", ["1700000000.12345671"], ["1700000000.12345672"]),
    ):
        found_ops = ops([f'{{"n": 1, "x": {x}}}' for x in [*alike, *others]], delete_when=condition)
        assert found_ops == ["delete"] * len(alike) + ["update"] * len(others), condition


def test_a_number_is_compared_with_text_as_it_is_written() -> None:
    rows = [f'{{"n": 1, "x": {x}}}' for x in ("1.50", '"1.50"', "1.5", "15e-1")]
    assert ops(rows, delete_when="x = '1.50'") == ["delete", "delete", "update", "update"]
    assert ops(rows, delete_when="x = 1.5") == ["delete"] * 4


def test_a_flag_is_true_or_false_or_a_number_and_a_number_can_be_compared_with_it() -> None:
    true = ["true", '"True"', '"yes"', "1", "1.0", '"1.0"', "2", "-1", '" 1. "', "0.5", "1e200"]
    false = ["false", '"F"', "0", "0.0", '"0.0"', "-0", '"0e5"']
    unknown = ["null", '"x"', '""', '"."', "{}"]
    rows = [f'{{"n": 1, "x": {x}}}' for x in [*true, *false, *unknown]]
    expected = ["delete"] * len(true) + ["truncate"] * len(false) + ["update"] * len(unknown)
    assert ops(rows, delete_when="x", truncate_when="NOT x") == expected
    flags = ['{"n": 1, "x": true}', '{"n": 1, "x": false}', '{"n": 1, "x": "true"}', '{"n": 1}']
    found_ops = ops(flags, delete_when="x = 1", truncate_when="x IN (0, 7)")
    assert found_ops == ["delete", "truncate", "delete", "update"]


def test_conditions_compare_times_as_times_if_the_column_has_times() -> None:
    when = "x >= '2024-01-02T00:00:00+01:00'"
    texts = ["2024-01-02 03:00:00Z", "2024-01-01 23:00:00", "2024-01-01T22:59:59.999999999Z", "soon"]
    rows = [{"n": 1, "x": x} for x in [*texts, 1_704_150_000_000]]
    declared = ops(rows, delete_when=when, kinds=(("x", "time"),), digits=(("x", 0),))
    assert declared == ["delete", "delete", "update", "update", "delete"]
    as_texts = ["update"] * 3 + ["delete", "update"]
    assert ops(rows, delete_when=when) == as_texts
    assert ops(rows, delete_when=when, declared=schema(x="string")) == as_texts
    assert ops(rows, delete_when=when, declared=schema(x="timestamp"))[:3] == ["delete", "delete", "update"]


def test_conditions_set_the_operation_of_a_row_and_never_fail() -> None:
    rows = [{"n": 1, "op": op, "x": x} for op in ("D", "T", None, 5) for x in (True, "x", 7, None)]
    found_ops = ops(rows, delete_when="op = 'D' AND x", truncate_when="op IN ('T', 5) AND x > 6.5")
    expected = {("D", 0): "delete", ("D", 2): "delete", ("T", 2): "truncate", (5, 2): "truncate"}
    assert found_ops == [expected.get((op, i), "update") for op in ("D", "T", None, 5) for i in range(4)]
    nulls = [{"n": 1, "x": None}, {"n": 1}, {"n": 1, "x": 0}]
    assert ops(nulls, delete_when="x IS NULL OR x = 9") == ["delete", "delete", "update"]
    assert ops(nulls, delete_when="NOT (x = 1 AND x = 2)") == ["update", "update", "delete"]


# --- events ---------------------------------------------------------------------------------------------------------


def test_a_row_is_the_after_image_of_a_change_and_the_before_image_of_a_delete() -> None:
    declared, when = schema(n="int"), {"delete_when": "op = 'D'", "truncate_when": "op = 'T'"}
    put, delete, truncate = found([{"n": 1}, {"n": 1, "op": "D"}, {"n": 1, "op": "T"}], declared=declared, **when)
    assert (put.after, put.before) == (put.text, None)
    assert (delete.after, delete.before) == (None, delete.text)
    assert (truncate.after, truncate.before) == (None, None)
    assert (put.table, put.source, put.connector, put.origin) == ("a.b", "rows:a.b", "rows", "stream")
    assert put.row_schema == declared
    assert put.schema_hash == delete.schema_hash is not None


def test_a_row_without_a_position_is_rejected_with_a_reason() -> None:
    bad: list[Any] = ["{", "7", "nul", {"a": 1}, {"n": None}, {"n": "x"}, {"n": "NaN"}, '{"n": 1} {"n": 2}']
    bad += ['{"n": 1, "x": "\\ud800"}', '{"n": 1, "x": "\udcff"}', '{"n": NaN}']
    missing, unfit = 'sequence column "n" is null or missing', 'sequence column "n": the value is not a number'
    rejected = found(bad, sequence_by=(("n", "number"),))
    assert [row.reason for row in rejected] == [
        "not JSON", "not a JSON object", "not JSON", missing, missing, unfit, unfit, "not JSON",
        "not JSON", "not UTF-8 text", "not JSON",
    ]  # fmt: skip
    assert {(row.kind, row.table) for row in rejected} == {("reject", "a.b")}


def test_a_null_line_is_a_null_message_except_in_a_file_with_columns() -> None:
    controls = found(["null", " null\r"])
    assert [(row.kind, row.control_kind, row.table) for row in controls] == [("control", "null_message", "a.b")] * 2
    assert [row.kind for row in found(["null"], declared=schema(n="string"))] == ["reject"]


def test_an_ignored_row_is_a_control_event_even_if_it_is_invalid() -> None:
    types = ("insert", "update_preimage", "update_postimage", "delete")
    rows: list[Any] = [{"n": 1, "_change_type": kind} for kind in types]
    when = {"ignore_when": "_change_type = 'update_preimage'", "delete_when": "_change_type = 'delete'"}
    events = found([*rows, {"_change_type": "update_preimage"}, {"_change_type": "insert"}], **when)
    assert [row.kind for row in events] == ["change", "control", "change", "change", "control", "reject"]
    assert [row.op for row in events] == ["update", None, "update", "delete", None, None]
    assert {(row.control_kind, row.table, row.source) for row in events if row.kind == "control"} == {
        ("ignored", "a.b", "rows:a.b")
    }
    assert ops([{"n": 1, "op": "D"}], ignore_when="op IS NULL", delete_when="op = 'D'") == ["delete"]


def test_a_record_with_a_read_problem_is_rejected_with_it() -> None:
    source = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),)))
    (event,) = decode_messages([Message("a", 1, b'{"n": 1}', problem="a quote is not closed")], source, {})
    assert (event.kind, event.reason) == ("reject", "a quote is not closed")


def test_columns_with_any_names_are_found() -> None:
    for name in ('a"b', "a\\b", "\u00e9", "a\nb", "", "class", "column_0"):
        assert times([{name: 5, "x": 1}], sequence_by=((name, "any"),)) == [5], name
    assert times(['{"n": 1, "n": 2}']) == [2]


# --- the order of delivery, and snapshots -----------------------------------------------------------------------------

# AWS DMS on S3: a full load, changes with their commit times, and files named by the time of writing.
BY_PLACE = (("ts", "any"), ("_file", "text"), ("_pos", "number"))
LOADED = {"id": "1", "name": "Bob", "ts": "2024-01-01 12:00:00.000000"}


def in_files(files: dict[str, list[Any]], **settings: Any) -> list[Event]:
    conditions = {k: parse_predicate(v) if "when" in k else v for k, v in settings.items()}
    source = SourceSpec("rows", "/in/hr/employee/*", rows=RowsSpec("hr.employee", **conditions))
    messages = [
        Message(f"file:/in/hr/employee/{file}", line, json.dumps(row).encode())
        for file, rows in files.items()
        for line, row in enumerate(rows, 1)
    ]
    return decode_messages(messages, source, {})


def test_rows_with_the_same_sequence_value_have_the_order_of_delivery() -> None:
    at = {"ts": "2024-01-01 12:00:00.000000"}
    files = {
        "20240101-120100000.csv": [{"Op": "I", "n": 3} | at],
        "20240101-120000999.csv": [{"Op": "I", "n": 1} | at, *[{"Op": "U", "n": 2} | at] * 10],
    }
    found = sorted(in_files(files, sequence_by=BY_PLACE), key=lambda event: event.position or "")
    assert [json.loads(event.after or b"")["n"] for event in found] == [1, *[2] * 10, 3]
    assert [event.line for event in found] == [*range(1, 12), 1]


def test_the_time_in_a_file_name_is_the_time_of_its_changes() -> None:
    names = ("20240101-120000123.csv", "x/2024-01-01T12-00-00.csv", "LOAD00000001.csv", "20241301-120000.csv", "1.csv")
    files = {name: [{"id": 1}] for name in names}
    by_delivery = (("_file", "text"), ("_pos", "number"))
    noon = 1_704_110_400_000_000
    assert [event.commit_us for event in in_files(files, sequence_by=by_delivery)] == [
        noon + 123_000, noon, None, None, None
    ]  # fmt: skip
    assert [event.reason for event in in_files(files, sequence_by=by_delivery)][2:] == [NO_TIME] * 3
    named = in_files({"20240101-120000123.csv": [LOADED | {"n": 5}]}, sequence_by=(("n", "any"),), time_by="_file")
    assert [(event.commit_us, event.position) for event in named] == [(noon + 123_000, "0000-B015-0")]


@pytest.mark.parametrize("when", ["Op IS NULL", "_file >= 'LOAD' AND _file < 'LOAE'", "_pos = 1 AND Op IS NULL"])
def test_the_rows_of_a_full_load_are_reads(when: str) -> None:
    files = {"LOAD00000001.csv": [LOADED], "20240101-120100000.csv": [LOADED | {"Op": "D"}]}
    read, delete = in_files(files, sequence_by=BY_PLACE, delete_when="Op = 'D'", snapshot_when=when)
    assert (read.op, read.origin, read.position) == ("read", "snapshot", None)
    assert (read.commit_us, json.loads(read.after or b"")) == (1_704_110_400_000_000, LOADED)
    assert (delete.op, delete.origin) == ("delete", "stream")
    (timeless,) = in_files({"LOAD1.csv": [{"id": 1}]}, sequence_by=BY_PLACE, snapshot_when=when)
    assert (timeless.op, timeless.commit_us, timeless.reason) == ("read", 0, None)
