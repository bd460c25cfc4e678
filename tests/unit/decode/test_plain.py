"""Plain rows are read in one look. What that gives is what all the steps give, whatever an image holds."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import ENVELOPE_SCHEMA, decode_rows
from engine.decode.plain import plans_of
from engine.decode.rows import _images
from engine.decode.shape import SINGLE, ColumnShape, Encoding, EncodingKind, TableShape
from engine.decode.unavailable import placeholders
from engine.frames import local_frame
from tests.unit.decode.given import TABLE, spec
from tests.unit.decode.test_parsing import ODD

SEED = 3
SCHEMA_HASH = 7
DROPPED = "dropped"
SAME = {
    "file": "f", "kind": "change", "connector": "postgresql", "source": "s", "table": TABLE, "origin": "stream",
    "key_json": '{"c0":5}',
}  # fmt: skip
ZONED, LOCAL = T.TimestampType(), T.TimestampNTZType()
KINDS: tuple[tuple[EncodingKind, int | None, T.DataType, str], ...] = (  # and a plain value
    ("integer", None, T.LongType(), "1"),
    ("integer", None, T.IntegerType(), "-7"),
    ("text", None, T.StringType(), '"caf\\u00e9"'),
    ("any_text", None, T.StringType(), '"x"'),
    ("boolean", None, T.BooleanType(), "true"),
    ("floating", None, T.DoubleType(), "1.25"),
    ("floating", SINGLE, T.FloatType(), "0.1"),
    ("unsigned", None, T.DecimalType(20, 0), "-1"),
    ("decimal_base64", 2, T.DecimalType(12, 2), '"YWI="'),
    ("decimal_base64", 4, T.DecimalType(9, 2), '"ZA=="'),
    ("decimal_base64", 0, T.DecimalType(38, 9), '"AP//"'),
    ("decimal_text", None, T.DecimalType(10, 2), '"12.5"'),
    ("decimal_number", None, T.DecimalType(10, 2), "12.5"),
    ("base64", None, T.BinaryType(), '"YWI="'),
    ("days", None, T.DateType(), "19000"),
    ("date", None, T.DateType(), '"2024-02-29"'),
    ("millis", None, LOCAL, "1700000000123"),
    ("micros", None, LOCAL, "1700000000123456"),
    ("nanos", None, LOCAL, "-1700000000123456789"),
    ("micros", None, ZONED, "-1"),
    ("moment", None, LOCAL, '"2024-02-29T12:30:45.5"'),
    ("moment", 3, LOCAL, "1700000000123"),
    ("moment", 6, ZONED, '"2024-02-29 12:30:45.123456Z"'),
    ("moment", 9, ZONED, "1700000000123456789"),
    ("zoned_text", None, ZONED, '"2024-02-29T12:30:45Z"'),
    ("local_text", None, LOCAL, '"2024-02-29T12:30:45.000001"'),
    ("local_text", None, ZONED, '"2024-02-29T12:30:45"'),
    ("instant", None, ZONED, '"2024-02-29T12:30:45Z"'),
    ("instant", 6, LOCAL, "1700000000123456"),
    ("time_millis", None, T.StringType(), "3600001"),
    ("time_micros", None, T.StringType(), "-3600000001"),
    ("time_nanos", None, T.StringType(), "360000000000999"),
    ("time", 6, T.StringType(), '"12:30:45"'),
    ("micros", None, T.DateType(), "-1"),
    ("nanos", None, T.DateType(), "1700000000123456789"),
    ("written_text", None, T.StringType(), '"x"'),
    ("written_integer", None, T.LongType(), '"-12"'),
    ("written_integer", None, T.IntegerType(), "12"),
    ("written_integer", None, T.DecimalType(20, 0), '"18446744073709551615"'),
    ("written_floating", None, T.DoubleType(), '"1.5e3"'),
    ("written_floating", SINGLE, T.FloatType(), '"0.1"'),
    ("written_floating", None, T.FloatType(), "0.1"),
    ("written_boolean", None, T.BooleanType(), '"1"'),
    ("written_moment", None, LOCAL, '"2024-02-29 12:30:45"'),
    ("written_moment", None, ZONED, '"2024-02-29T12:30:45.123456789Z"'),
    ("written_time", None, T.StringType(), '"-38:30:45.5"'),
    ("written_enum", None, T.StringType(), '"a"'),
    ("written_set", None, T.StringType(), '"a,b"'),
    ("written_bits", 6, T.StringType(), '"5"'),
    ("written_bits", None, T.StringType(), "5"),
    ("written_bytes", 4, T.BinaryType(), '"ab"'),
    ("written_bytes", None, T.BinaryType(), '"\\u0000"'),
)
LABELS = ("a", "b", "12")
TIMES = (
    '"2024-02-30"', '"2023-02-29"', '"2024-13-01"', '"2024-00-10"', '"0001-01-01"', '"0000-01-01"', '"9999-12-31"',
    '"1582-10-10"', '"1900-02-29"', '"2000-02-29"', '"2024-2-9"', '"20240229"', '"2024-02-29T"',
    '"2024-02-29T24:00:00"', '"2024-02-29T12:30"', '"2024-02-29T12:30:45."', '"2024-02-29T12:30:45.1234567"',
    '"2024-02-29T12:30:45.123456789Z"', '"2024-02-29T12:30:60Z"', '"2024-02-29T12:30:45+02:00"',
    '"2024-02-29T12:30:45-0230"', '"2024-02-29 12:30:45z"', '"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999999Z"',
    '"+12024-02-29T12:30:45Z"', '"2024-02-29T12:30:45 Z"', '"2024-02-29T12:30:45.5ZZ"', '"infinity"', '"-infinity"',
    '"2024-02-29T12:30:45 Europe/Berlin"', '"2024-02-29Z"', '"12:30"', '":"', '"25:61:61"', '"2024-02-29x12:30:45"',
    '"2024-02-29T1\\uff12:30:45"', "-719162", "-719163", "2932896", "2932897", "253402300799999", "253402300800000",
    "253402300799999999", "253402300800000000", "-62135596800000000", "-62135596800000001", "86399999999",
    "86400000000", "-1", "9223372036854775", "-9223372036854775808", "1.5",
    '"2024-02-29T12:30:45.123456999"', '"2024-02-29T12:30:45.1234560Z"', '"2024-02-29T12:30:45.1234567891Z"',
    '"2024-02-29T12:30:45.123456000Z"', '"5:00:00"', '"005:00:00"', '"12:3:00"', '"12:99:99"', '"12:30:45."',
    '"12:30:45.1234567"', '"-:30:45"', '"12:30:45\\n"',
)  # fmt: skip
NUMBERS = (
    '"1.234"', '"1.230"', '"-0.00"', '"1e2"', '"+5"', '".5"', '"5."', '"1234567890.12"', '"99999999.99"',
    '"100000000.00"', '"00012.50"', '"-"', '"1-2"', '"1.2.3"', '"NaN"', '"Infinity"', '"12,5"', '"1_000"',
    '"' + "9" * 40 + '"', "99999999.99", "100000000", "0.001", "12.50", "18446744073709551615", "18446744073709551616",
    '"f////w=="', '"AA=="', '"gA=="', '"' + "f" * 20 + '"', '"' + "/" * 24 + '"', '"AAAAAAAAAAAAAAAAAAAAAAAB"',
)  # fmt: skip


def shape(keys: tuple[str, ...]) -> TableShape:
    """A column of each kind."""
    columns = [
        ColumnShape(name_of(at), kind, ((None, Encoding(encoding, size, labels=labels(encoding))),))
        for at, (encoding, size, kind, _) in enumerate(KINDS)
    ]
    return TableShape(keys, tuple(columns), frozenset((DROPPED, "dropped\n")))


def labels(encoding: EncodingKind) -> tuple[str, ...]:
    return LABELS if encoding in ("written_enum", "written_set") else ()


def name_of(at: int) -> str:
    return f"c{at}"


def plain_values(table: TableShape) -> dict[str, str]:
    return {name_of(at): value for at, (*_, value) in enumerate(KINDS) if name_of(at) in table.row_type.names}


def told(values: dict[str, str]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in values.items()) + "}"


def images(table: TableShape, seed: int, number: int) -> Iterator[str]:
    """Plain rows but for one value, so many of a column; rows with nulls, other fields, or in another order; some of
    all that."""
    draw, plain = random.Random(seed), plain_values(table)
    left_out = [json.dumps(text) for text in placeholders()]
    for name in plain:
        values = (*ODD, *TIMES, *NUMBERS, *left_out)
        yield from (told(plain | {name: value}) for value in draw.sample(values, k=min(number, len(values))))
        yield told({other: value for other, value in plain.items() if other != name})
        yield told(plain | {name: "null"})
    yield told(plain | {"other": "1"})
    yield told(plain | {DROPPED: '{"a":[1,"}"]}'})
    yield told(plain | {DROPPED: '{"a":[1,"}"}'})
    yield told({DROPPED: "null"} | plain | {DROPPED.upper(): "1"})
    yield told({DROPPED: "1"})
    yield "{}"
    for name in draw.sample(sorted(plain), k=min(number, len(plain))):  # twice
        yield told(plain)[:-1] + f',"{name}":{draw.choice(("null", plain[name], *TIMES, *NUMBERS, *ODD))}}}'
        yield f'{{"{name}":{draw.choice(("null", plain[name], *TIMES, *NUMBERS))},' + told(plain)[1:]
    yield told(dict.fromkeys(plain, "null"))
    yield told(dict(reversed(plain.items())))
    yield told(plain).replace(":", " : ").replace(",", " , ")
    for _ in range(3 * number):
        odd = {name: draw.choice((*TIMES, *NUMBERS, *ODD)) for name in draw.sample(sorted(plain), k=draw.randint(0, 3))}
        some = plain | dict.fromkeys(draw.sample(sorted(plain), k=draw.randint(0, 4)), "null") | odd
        absent = draw.sample(sorted(plain), k=draw.choice((0, 0, 1, 3)))
        yield told({name: value for name, value in some.items() if name not in absent})


def envelopes(spark: SparkSession, texts: list[str]) -> DataFrame:
    """Inserts, updates and deletes with these images; an update's is the image before of the next one."""
    rows = []
    for line, text in enumerate(texts):
        op = ("insert", "update", "delete")[line % 3]
        rows.append(
            {
                **SAME,
                "line": line,
                "schema_hash": SCHEMA_HASH if line % 5 == 0 else None,
                "op": op,
                "position": f"{line:08d}",
                "before_json": texts[line - 1] if op == "update" else text if op == "delete" else None,
                "after_json": None if op == "delete" else text,
            }
        )
    return local_frame(spark, rows, ENVELOPE_SCHEMA).localCheckpoint()


def known(keys: tuple[str, ...], time_zone: str) -> TableShape:
    """The columns that are read in one look where these are the keys."""
    table = shape(keys)
    return replace(
        table,
        columns=tuple(c for c in table.columns if any(plans_of(replace(table, columns=(c,)), time_zone).values())),
    )


def check_same(spark: SparkSession, table: TableShape, time_zone: str, number: int) -> None:
    changes = envelopes(spark, list(images(table, SEED, number)))
    looked_at = _images(changes, table, time_zone).agg(F.count("_look"), F.count("_image_json")).first()
    assert looked_at is not None
    assert 0.1 < looked_at[0] / looked_at[1] < 0.9  # there are both
    whole = [decode_rows(changes, table, spec(time_zone=time_zone), sooner) for sooner in (True, False)]
    one, steps = (frame.select("line", F.to_json(F.struct("*"), {"ignoreNullFields": "false"})) for frame in whole)
    assert one.exceptAll(steps).orderBy("line").head(3) == []
    assert one.count() == steps.count()


def test_one_look_gives_what_all_steps_give(spark: SparkSession) -> None:
    table = known(("c0",), "UTC")
    check_same(spark, replace(table, columns=table.columns[::4]), "UTC", 20)


def test_a_key_that_the_source_left_out_is_not_looked_for_elsewhere(spark: SparkSession) -> None:
    table = known(("c2",), "UTC")
    check_same(spark, replace(table, columns=table.columns[:6]), "UTC", 20)


def mixed(keys: tuple[str, ...]) -> TableShape:
    """Each column with the encoding of the next one of its type, too, for events with a schema of their own."""
    table, changed = shape(keys), []
    for at, column in enumerate(table.columns):
        alike = [c for c in (*table.columns[at + 1 :], *table.columns[:at]) if c.value_type == column.value_type]
        other = (alike or [column])[at % max(1, len(alike))].encodings[0][1]
        changed.append(replace(column, encodings=((SCHEMA_HASH, other), *column.encodings)))
    return replace(
        table, columns=tuple(c for c in changed if all(plans_of(replace(table, columns=(c,)), "UTC").values()))
    )


def test_events_of_several_schemas_are_read_as_each_says(spark: SparkSession) -> None:
    table = mixed(("c0",))
    check_same(spark, replace(table, columns=(*table.columns[:1], *table.columns[13:27:2])), "UTC", 20)


@pytest.mark.slow
def test_events_of_several_schemas_are_read_as_each_says_whatever_their_types(spark: SparkSession) -> None:
    check_same(spark, mixed(("c0",)), "UTC", 1_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "time_zone"), [(("c0",), "UTC"), (("c1", "c2"), "Europe/Berlin"), (("c20", "c16"), "UTC"), ((), "UTC")]
)
def test_one_look_gives_what_all_steps_give_whatever_the_key(
    spark: SparkSession, keys: tuple[str, ...], time_zone: str
) -> None:
    check_same(spark, known(keys, time_zone), time_zone, 1_000)


def test_plain_rows_are_read_in_one_look(spark: SparkSession) -> None:
    table = shape(("c0",))
    plain = told(plain_values(table))
    found = _images(envelopes(spark, [plain] * 3), table, "UTC")
    rows = found.orderBy("line").collect()
    assert [row["_look"] is not None for row in rows] == [True, True, True]
    assert [row["_look_before"] is not None for row in rows] == [False, True, False]
    assert [row["_look"]["fields"] for row in rows] == [None] * 3
    assert rows[0]["_look"]["row"]["c21"].isoformat() == "2023-11-14T22:13:20.123000"


def test_what_no_way_is_known_for_goes_through_all_steps() -> None:
    def planned(kind: T.DataType, *encodings: Encoding, **more: frozenset[str]) -> dict[int | None, str | None]:
        column = ColumnShape("a", kind, tuple((at or None, encoding) for at, encoding in enumerate(encodings)))
        return plans_of(TableShape((), (column,), **more), "UTC")  # type: ignore[arg-type]

    micros, millis = "\nclock\x1f1000000", "\nclock\x1f1000"
    assert planned(T.StringType(), Encoding("time_micros")) == {None: micros}
    assert planned(T.StringType(), Encoding("bits", 3)) == {None: None}
    assert planned(T.StringType(), Encoding("time_micros"), Encoding("time_millis")) == {None: micros, 1: millis}
    assert planned(T.StringType(), Encoding("time_micros"), Encoding("bits", 3)) == {None: micros, 1: None}
    assert planned(T.StringType(), Encoding("time_micros"), silent_nulls=frozenset("a")) == {None: None}
