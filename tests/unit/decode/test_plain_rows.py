"""Plain rows: the order of their sequences, their conditions, their times, and what has no place."""

import json
import random
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import decode_rows, discover, envelopes, values
from engine.decode.carried import carried_schema
from engine.decode.numbers import plain_number
from engine.decode.position import is_plain_number
from engine.decode.records import row_records
from engine.decode.shape import Encoding
from engine.frames import local_frame
from engine.spec.model import ColumnSpec, SourceSpec
from engine.spec.predicates import parse_predicate
from engine.spec.rows import RowsSpec
from tests.unit.decode.given import decoded, lines, spec

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
RANDOM = random.Random(11)
TEXTS = ["", "!", "A", "AA", "AB", "B", "a", "\u00e9", "\uffff", "\U0001f600"]


def numbers() -> list[Decimal]:
    drawn = random.Random(7)
    more = [Decimal(drawn.randint(-(10**20), 10**20)).scaleb(-drawn.randint(0, 20)) for _ in range(200)]
    return sorted({*NUMBERS, *more})


def found(spark: SparkSession, values: list[dict[str, Any] | str], zone: str = "UTC", **settings: Any) -> list[Row]:
    sequence = settings.pop("sequence_by", (("n", "any"),))
    rows = RowsSpec("a.b", sequence, **{k: parse_predicate(v) if "when" in k else v for k, v in settings.items()})
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    source = SourceSpec("rows", "x", time_zone=zone, rows=rows)
    told = envelopes(lines(spark, texts), source).orderBy("line")
    return told.select("position", "op", "table", "reason", F.unix_micros("commit_ts").alias("commit_us")).collect()


def test_numbers_come_before_times_before_texts_each_in_their_order(spark: SparkSession) -> None:
    ordered = [f'{{"n": {number:f}}}' for number in numbers()]
    ordered += [json.dumps({"n": value}) for value in [*TIMES, *TEXTS]]
    places = [row.position for row in found(spark, ordered, time_by="n")]
    assert None not in places
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_equal_values_have_one_place_however_they_are_written(spark: SparkSession) -> None:
    same = ['{"n": 10}', '{"n": "10"}', '{"n": 10.0}', '{"n": 1e1}', '{"n": "+010.00"}']
    assert len({row.position for row in found(spark, same)}) == 1
    half = [".5", "0.5", "+.50", " 0.5", "\t.5\r\n", "5e-1", "5.e-1", " .05e1 "]
    assert len({row.position for row in found(spark, [{"n": n} for n in half], sequence_by=(("n", "number"),))}) == 1
    ordered = ["-5.", "-.5", "-.05", " .0", ".5", "1", "5.", " 7", "7.5\n", "10 ", ".", "+", "1.2.", "7 7"]
    places = [row.position for row in found(spark, [{"n": n} for n in ordered], time_by="t")]
    assert places[:-4] == sorted({*places[:-4]})
    assert [place[5] for place in places] == [*"AAABBBBBBB", *"DDDD"]
    zones = ['{"n": "2024-01-01T00:00:00Z"}', '{"n": "2024-01-01 01:00:00"}', '{"n": "2024-01-01T02:00:00+02:00"}']
    assert len({row.position for row in found(spark, zones, zone="+01:00")}) == 1


def test_bytes_are_ordered_as_bytes_where_the_file_or_the_spec_says_so(spark: SparkSession) -> None:
    ordered = sorted([bytes([0, 0, 0, n]) for n in (0, 104, 208, 255)] + [b"", b"\xd7m\xf8", b"\xd7m\xf8\xe7", b"\xff"])
    base64 = [b64encode(value).decode() for value in ordered]  # 1234 stands for three of them
    typed = carried_schema({"s": (T.BinaryType(), Encoding("base64")), "n": (T.StringType(), Encoding("text"))})

    def places(texts: list[str], kind: Any, told: str | None, binaries: Any = "bytes") -> list[Row]:
        rows = RowsSpec("a.b", (("s", kind), ("n", "any")))
        of_files = lines(spark, [json.dumps({"s": text, "n": 7}) for text in texts]).withColumn(
            "row_schema", F.lit(told)
        )
        source = SourceSpec("rows", "x", rows=rows, binaries=binaries)
        return (
            envelopes(of_files, source)
            .orderBy("line")
            .select("position", F.unix_micros("commit_ts").alias("at"), "reason")
            .collect()
        )

    told = places(base64, "any", typed)
    assert [row.position for row in told] == sorted({row.position for row in told})
    assert {row.at for row in told} == {7}
    assert places(base64, "bytes", typed, "hex") == places(base64, "bytes", None) == told
    assert places([value.hex() for value in ordered], "bytes", None, "hex") == told
    (wrong,) = places(["x"], "bytes", None, "hex")
    assert wrong.reason == 'sequence column "s": the value is not bytes'


def test_objects_and_lists_have_no_order(spark: SparkSession) -> None:
    parts: list[Any] = [{"n": {"n": 9}}, {"n": [1]}, {"n": "{}"}, {"n": "[]"}]
    texts: list[Any] = [{"n": "{6F9619FF-8B86-D011-B42D-00C04FC964FF}"}, {"n": "[a"}, {"n": "{"}]
    reasons = [row.reason for row in found(spark, [*parts, *texts], time_by="n", sequence_by=(("n", "any"),))]
    assert reasons[: len(parts)] == ['sequence column "n": the value is not a number, a time or text'] * len(parts)
    assert set(reasons[len(parts) :]) == {'time column "n": the value is no time'}


def test_a_time_is_the_instant_that_its_zone_says_however_it_is_written(spark: SparkSession) -> None:
    clocks = ["10:00:00+09", "10:00:00.000 +0900", "01:00:00+00", "01:00:00Z", "01:00:00 UTC", "01:00:00.0UTC",
              "02:00:00 Europe/Berlin", "10:00:00 UTC+9", "10:00:00"]  # fmt: skip
    rows = found(spark, [{"n": f"2024-01-01 {clock}"} for clock in clocks], zone="Asia/Seoul")
    assert {row.commit_us for row in rows} == {1_704_070_800_000_000}
    assert len({row.position for row in rows}) == 1
    ends = ["0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999-05:00"]
    edge = found(spark, [{"n": end} for end in ends], zone="Asia/Seoul", time_by="n")
    assert [row.commit_us for row in edge] == [
        *2 * [-62_135_596_800_000_000], 253_402_300_799_000_000, 253_402_300_799_999_999
    ]  # fmt: skip
    assert [row.position for row in edge] == sorted({row.position for row in edge})
    unknown: list[Any] = [{"n": f"2024-01-01 10:00:00 {zone}"} for zone in ("Foo/Bar", "utc", "+99")]
    reasons = {row.reason for row in found(spark, unknown, "Asia/Seoul", sequence_by=(("n", "time"),))}
    assert reasons == {'sequence column "n": the value is not a time'}


@pytest.mark.parametrize(("digits", "second"), [(0, 10**3), (3, 10**3), (6, 10**6), (9, 10**9)])
def test_a_number_is_the_time_that_the_digits_of_its_declared_type_say(
    spark: SparkSession, digits: int, second: int
) -> None:
    same = [1_700_000_000 * second, f"{1_700_000_000 * second}.0", "2023-11-14T22:13:20Z", "2023-11-15 07:13:20"]
    counts = [-second, -1, 0, 1, second, 1_700_000_000 * second, 1_700_000_000 * second + 1]
    none = ["x", "1.5", 10**18, 2**63] if digits < 9 else ["x", "1.5", 2**63]
    settings: dict[str, Any] = {"sequence_by": (("n", "time"),), "digits": (("n", digits),)}
    told = found(spark, [{"n": value} for value in [*counts, *same, *none]], "Asia/Seoul", **settings)
    placed, alike, wrong = told[: len(counts)], told[len(counts) : -len(none)], told[-len(none) :]
    assert [row.position for row in placed] == sorted({row.position for row in placed})
    assert [row.commit_us for row in placed] == [count * 10**6 // second for count in counts]
    assert {(row.position, row.commit_us) for row in alike} == {(placed[-2].position, 1_700_000_000 * 10**6)}
    assert {row.reason for row in wrong} == {'sequence column "n": the value is not a time'}
    labelled = found(spark, [{"n": 1, "t": second}], time_by="t", digits=(("t", digits),))
    assert [row.commit_us for row in labelled] == [10**6]


def test_numbers_in_scientific_form_are_the_numbers_that_their_digits_written_out_are(spark: SparkSession) -> None:
    ordered = ["-Infinity", "-1.5e308", "-1e255", "-1e254", "-9e253", "-1e29", "-1001", "-1e3", "-1.5", "-2.5E-12",
               "-1.5e-12", "-1e-999", "0", "1e-999", "1e-12", "2.5e-12", "0.5", "1.5", "1e3", "1001", "1e29",
               "123456789012345678901234567890123456789012", "1.5e100", "9e253", "1e254", "1e255",
               "2e255", "1.7976931348623157E308", "Infinity"]  # fmt: skip
    places = [row.position for row in found(spark, [{"n": number} for number in ordered])]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    drawn = [f"{RANDOM.randint(-(10**9), 10**9) / 1000}e{RANDOM.randint(-40, 40)}" for _ in range(100)]
    alike = [("15e2", "1500"), ("+001.50E+003", "1500"), ("-12.5e0", "-12.5"), ("0.0e999", "0"), ("-0e-5", "0")]
    alike += [("inf", "Infinity"), (" +INFINITY", "Infinity"), ("-inf", "-Infinity")]
    alike += [(number, f"{Decimal(number):f}") for number in drawn]
    written = found(spark, [{"n": number} for pair in alike for number in pair])
    assert [row.position for row in written[::2]] == [row.position for row in written[1::2]]
    none = ("1e1000", "1e", "e5", "NaN", "infinit")
    unfit = found(spark, [{"n": number} for number in none], sequence_by=(("n", "number"),))
    assert {row.reason for row in unfit} == {'sequence column "n": the value is not a number'}


def test_infinity_orders_rows_but_dates_none(spark: SparkSession) -> None:
    rows: list[Any] = [{"n": "-Infinity", "t": 7}, {"n": "1", "t": 8}, {"n": "Infinity", "t": 9}]
    dated = found(spark, rows, time_by="t")
    assert [(row.reason, row.commit_us) for row in dated] == [(None, 7), (None, 8), (None, 9)]
    assert [row.position for row in dated] == sorted({row.position for row in dated})
    undated = "no sequence column tells a time or a number; name a column with the time under source.time_by"
    assert [row.reason for row in found(spark, rows)] == [undated, None, undated]
    assert [row.reason for row in found(spark, rows, time_by="n")] == [
        'time column "n": the value is no time', None, 'time column "n": the value is no time'
    ]  # fmt: skip


def test_a_plain_number_is_what_its_writing_says(spark: SparkSession) -> None:
    """Against the same in Spark's own functions, of which most are regular expressions."""
    parts = (["", "-", "+"], ["", "0", "7", "007", "12", "120", "9" * 260], ["", ".", ".0", ".5", ".050"],
             ["", "e3", "E-3", "e+0", "e007", "e-12", "e999", "e1000", "e", "e-", "e0000999", "e-0000"])  # fmt: skip
    listed = ["".join(drawn) for drawn in product(*parts)]
    around = ((" ", ""), ("", "\t"), ("\x00", "\x01"), ("\u00a0", ""), ("", "\u2028"))
    listed += [f"{one}{number}{other}" for number in ("5", ".5", "5e-1", "1 2") for one, other in around]
    listed += ["", " ", ".", "-.", "e5", "1..2", "1.2.3", "--1", "0x10", "\u0661", "1e5e5", "1,5"]
    rows = local_frame(spark, [{"text": text} for text in listed], "text string").localCheckpoint()
    text = F.col("text")
    led = F.regexp_replace(F.regexp_replace(text, values.BLANKS, ""), r"^([+-]?)\.", "$10.")
    with_digits = F.regexp_replace(led, r"\.(?![0-9])", "")
    odd = rows.select("text", F.when(text.rlike(values.A_NUMBER), with_digits).alias("odd"))
    scientific = F.when(F.col("odd").rlike(r"^[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?0*[0-9]{1,3}$"), F.col("odd"))
    written = odd.select("*", values.plain_digits(scientific).alias("digits"))
    told = [F.when(is_plain_number(F.col(name)), F.col(name)) for name in ("text", "odd", "digits")]
    both = written.select("text", plain_number(text).alias("mine"), F.coalesce(*told).alias("spark")).localCheckpoint()
    assert [tuple(row) for row in both.where("mine is distinct from spark").collect()] == []
    assert 200 < both.where("mine is not null").count() < both.count() - 100


def test_fractions_in_json_keep_the_digits_that_a_double_has_no_room_for(spark: SparkSession) -> None:
    ordered = ["-1.5e29", "0", "4e-400", "1e-12", "0.30000000000000001", "0.30000000000000002", "1700000000.12345671",
               "1700000000.12345672", "12345678901234567.125", "12345678901234567.25", "199999999999999999999999",
               "2e23", "1e29", "100000000000000000000000000001.5"]  # fmt: skip
    texts = [f'{{"id": 1, "n" : {number}, "a": "first"}}' for number in ordered]
    places = [row.position for row in found(spark, texts)]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert places == [row.position for row in found(spark, [{"n": number} for number in ordered])]
    alike = found(spark, ['{"n": 2e23, "x": 1.5}', '{"n": 200000000000000000000000.0, "x": 1.25}', '{"n": "2e23"}'])
    assert len({row.position for row in alike}) == 1


def test_fractions_keep_their_digits_beside_values_that_the_reader_refuses(spark: SparkSession) -> None:
    columns = {"id": "int", "i": "int", "d": "decimal(30,3)", "t": "string", "j": "string", "f": "double"}
    source = SourceSpec("rows", "x", rows=RowsSpec("r", (("id", "number"),)))
    numbers = ("12345678901234567.891", "123456789012345678901234567.5", "9007199254740993.125", "1.10")
    texts = [
        f'{{"id": {n}, "i": {i}, "d": {number}, "t": {number}, "j": {{"d": 1.5}}, "f": {f}}}'
        for n, number in enumerate(numbers)
        for i, f in ((7, "0.5"), ('"7"', "0.5"), (7, '"0.5"'), ("7.0", '"nan"'))
    ]
    rows = decoded(spark, texts, replace(spec(columns, table="r"), source=source))
    assert [row.reason for row in rows] == [None] * len(texts)
    told = [(Decimal(text), "1.1" if text == "1.10" else text) for text in numbers for _ in range(4)]
    assert [(row.row.d, row.row.t) for row in rows] == told
    assert {(row.row.i, row.row.j) for row in rows} == {(7, '{"d":1.5}')}


def test_conditions_see_every_digit_of_a_fraction(spark: SparkSession) -> None:
    rows = [f'{{"n": 1, "x": {x}, "y": 0.5}}' for x in ("1700000000.12345671", "1700000000.12345672", "1.50")]
    told = found(spark, rows, delete_when="x = 1700000000.12345671", truncate_when="x = '1.5' AND y = 0.5")
    assert [row.op for row in told] == ["delete", "update", "truncate"]


def test_conditions_compare_numbers_by_all_their_digits(spark: SparkSession) -> None:
    long = "12345678901234567890123456789"
    for condition, alike, others in (
        ("x = 0", ["0", "-0.000", "0e5", '" .0 "', '"0."'], ["0.00000000001", "-1e-300", '""', "true", "null", '"."']),
        (f"x = {long}", [long, f'"+0{long}.0"', f'"{long}e0"'], [f"{long[:-1]}8", f"{long}.{'0' * 30}1"]),
        ("x > 0.00000000001", ["0.000000000011", "1e200"], ["0.00000000001", "1e-12", "-1"]),
    ):
        told = found(spark, [f'{{"n": 1, "x": {x}}}' for x in [*alike, *others]], delete_when=condition)
        assert [row.op for row in told] == ["delete"] * len(alike) + ["update"] * len(others)


def test_a_flag_is_true_or_false_or_a_number_and_a_number_can_be_compared_with_it(spark: SparkSession) -> None:
    true = ["true", '"True"', '"yes"', "1", "1.0", '"1.0"', "2", "-1", '" 1. "', "0.5", "1e200"]
    false = ["false", '"F"', "0", "0.0", '"0.0"', "-0", '"0e5"']
    unknown = ["null", '"x"', '""', '"."', "{}"]
    rows = [f'{{"n": 1, "x": {x}}}' for x in [*true, *false, *unknown]]
    told = [row.op for row in found(spark, rows, delete_when="x", truncate_when="NOT x")]
    assert told == ["delete"] * len(true) + ["truncate"] * len(false) + ["update"] * len(unknown)
    flags = ['{"n": 1, "x": true}', '{"n": 1, "x": false}', '{"n": 1, "x": "true"}', '{"n": 1}']
    told = [row.op for row in found(spark, flags, delete_when="x = 1", truncate_when="x IN (0, 7)")]
    assert told == ["delete", "truncate", "delete", "update"]


def test_files_of_texts_can_write_flags_and_whole_numbers_as_fractions(spark: SparkSession) -> None:
    source = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),)))
    columns = {"n": ColumnSpec("bigint"), "flag": ColumnSpec("boolean"), "id": ColumnSpec("int")}
    table_spec = replace(spec(None, table="a.b"), source=source, columns=columns)
    texts = [json.dumps(dict.fromkeys(columns, text)) for text in ("1", "1.0", "2", "0.0", "1.5")]
    told = carried_schema({name: (T.StringType(), Encoding("text")) for name in columns})
    of_files = lines(spark, texts).withColumn("row_schema", F.lit(told))
    events = envelopes(of_files, source).localCheckpoint()
    rows = decode_rows(events, discover(events, table_spec), table_spec).orderBy("line").collect()
    assert [(row.row.n, row.row.flag, row.key.id) for row in rows[:-1]] == [
        (1, True, 1), (1, True, 1), (2, True, 2), (0, False, 0)
    ]  # fmt: skip
    assert [row.reason is None for row in rows] == [True] * 4 + [False]


def test_conditions_compare_times_as_times_where_the_column_is_known_to_have_them(spark: SparkSession) -> None:
    when = "x >= '2024-01-02T00:00:00+01:00'"
    texts = ["2024-01-02 03:00:00Z", "2024-01-01 23:00:00", "2024-01-01T22:59:59.999999999Z", "soon"]
    rows: list[Any] = [{"n": 1, "x": text} for text in [*texts, 1_704_150_000_000]]
    declared = found(spark, rows, delete_when=when, kinds=(("x", "time"),), digits=(("x", 0),))
    assert [row.op for row in declared] == ["delete", "delete", "update", "update", "delete"]
    assert [row.op for row in found(spark, rows, delete_when=when)] == ["update"] * 3 + ["delete", "update"]
    source = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("n", "any"),), parse_predicate(when)))
    schemas = [carried_schema({"x": (kind, Encoding("text"))}) for kind in (T.TimestampType(), T.StringType())]
    of_files = lines(spark, [json.dumps(rows[0])]).select("*", F.explode(F.lit(schemas)).alias("row_schema"))
    deleted = envelopes(of_files, source).where(F.col("op") == "delete").collect()
    assert [row.row_schema_json for row in deleted] == schemas[:1]


def test_several_columns_order_one_after_the_other_and_ties_as_the_spec_says(spark: SparkSession) -> None:
    rows: list[Any] = [{"s": s, "n": n} for s in ("a", "a-", "aa", "b") for n in (-1, 2, 10)]
    places = [row.position for row in found(spark, rows, sequence_by=(("s", "text"), ("n", "number")))]
    assert places == sorted(places)
    tied: list[Any] = [{"n": 1, "op": "U"}, {"n": 1, "op": "D"}]
    for ties, sign in (("delete", -1), ("upsert", 1), ("order", 0)):
        one, two = (row.position for row in found(spark, tied, delete_when="op = 'D'", ties=ties))
        assert (one > two) - (one < two) == sign


def test_conditions_say_what_a_row_does_and_never_fail(spark: SparkSession) -> None:
    rows: list[Any] = [{"n": 1, "op": op, "x": x} for op in ("D", "T", None, 5) for x in (True, "x", 7, None)]
    ops = [
        row.op for row in found(spark, rows, delete_when="op = 'D' AND x", truncate_when="op IN ('T', 5) AND x > 6.5")
    ]
    expected = {("D", 0): "delete", ("D", 2): "delete", ("T", 2): "truncate", (5, 2): "truncate"}
    assert ops == [expected.get((op, i), "update") for op in ("D", "T", None, 5) for i in range(4)]


def test_a_row_without_a_place_is_rejected_with_its_reason(spark: SparkSession) -> None:
    bad: list[Any] = ["{", "7", {"a": 1}, {"n": None}, {"n": "x"}, {"n": "NaN"}, '{"n": 1} {"n": 2}']
    rows = found(spark, bad, sequence_by=(("n", "number"),))
    missing, unfit = 'sequence column "n" is null or missing', 'sequence column "n": the value is not a number'
    assert [row.reason for row in rows] == ["not JSON", "not a JSON object", missing, missing, unfit, unfit, "not JSON"]
    assert {row.table for row in rows} == {"a.b"}
    (untimed,) = found(spark, [{"n": "b"}])
    assert "source.time_by" in untimed.reason


@pytest.mark.parametrize(
    ("unit", "micros"), [("seconds", 10_000_000), ("milliseconds", 10_000), ("microseconds", 10), ("nanoseconds", 0)]
)
def test_a_number_can_count_the_time(spark: SparkSession, unit: str, micros: int) -> None:
    (row,) = found(spark, [{"n": 10}], time_unit=unit)
    assert row.commit_us == micros


def test_a_number_counts_in_utc_and_text_without_a_zone_in_the_zone_of_the_source(spark: SparkSession) -> None:
    source = SourceSpec("rows", "x", time_zone="Europe/Berlin", rows=RowsSpec("a.b", (("n", "any"),)))
    columns = {"id": ColumnSpec("int"), "at": ColumnSpec("timestamp(3)"), "local": ColumnSpec("timestamp_ntz(3)")}
    table_spec = replace(spec(None, table="a.b"), source=source, columns=columns)
    texts = [
        json.dumps({"id": 1, "n": n, "at": at, "local": at})
        for n, at in enumerate((1_767_225_600_000, "2026-01-01T01:00:00", "2026-01-01T00:00:00Z"))
    ]
    events = envelopes(lines(spark, texts), source).localCheckpoint()
    told = decode_rows(events, discover(events, table_spec), table_spec).orderBy("line")
    rows = told.select(F.unix_seconds("row.at").alias("at"), F.date_format("row.local", "HH").alias("local")).collect()
    assert [(row["at"], row["local"]) for row in rows] == [
        (1_767_225_600, "00"),
        (1_767_225_600, "01"),
        (1_767_225_600, "00"),
    ]


def test_fields_are_rescued_however_their_colons_are_written(spark: SparkSession) -> None:
    columns = {"id": ColumnSpec("string"), "name": ColumnSpec("string")}
    source = SourceSpec("rows", "x", rows=RowsSpec("a.b", (("id", "any"),)))
    texts = [
        '{"id":"1","name":"x","extra" : "2"}', '{"id":"1","name":"x","extra"\t:"2"}', '{"id" : "1","name":"x"}',
        '{"id":"1" ,"name":"x"}', '{"id" : "1","name" : ":x","extra" : ":y"}',
        '{"id":"1","name":"x","extra":12345678901234567.892,"j":{"d":0.5},"t":1.10}',
    ]  # fmt: skip
    changes = envelopes(lines(spark, texts), source).where(F.col("kind") == "change")
    table_spec = replace(spec({}), table="a.b", keys=("id",), columns=columns, source=source)
    rows = decode_rows(changes, discover(changes, table_spec), table_spec).orderBy("line").collect()
    rescued = [json.loads(row.rescued or "{}") for row in rows]
    digits = {"extra": "12345678901234567.892", "j": '{"d":0.5}', "t": "1.1"}
    assert rescued == [{"extra": "2"}, {"extra": "2"}, {}, {}, {"extra": ":y"}, digits]


def test_what_is_inside_a_typed_value_keeps_its_microseconds_and_its_nulls(spark: SparkSession) -> None:
    inside = (
        "named_struct('t', timestamp'2024-01-02T03:04:05.123456Z', 'l', timestamp_ntz'2024-01-02T03:04:05', 'n', null)"
    )
    record = spark.sql(f"SELECT struct({inside} AS s, array({inside}.t) AS a, map('k', {inside}.l) AS m) AS record")
    rows = record.selectExpr("'a' AS file", "0L AS start", "0L AS row", "record")
    (row,) = row_records(rows, rows.schema["record"].dataType.json(), avro=False, malformed="_malformed").collect()
    zoned, local = "2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05.000000"
    assert {name: json.loads(text) for name, text in json.loads(row.text).items()} == {
        "s": {"t": zoned, "l": local, "n": None}, "a": [zoned], "m": {"k": local},
    }  # fmt: skip
