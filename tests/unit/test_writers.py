"""Texts of JSON and bytes as siltstone's own functions make them: what Spark's give, or nothing."""

import io
import itertools
import random
from typing import Any

import fastavro
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.avro import DECIMAL_TEXT, MOMENT_TEXT
from engine.decode.connect import decimal
from engine.decode.messages import BASE64_BYTES
from engine.decode.parsing import struct_of
from engine.decode.records import WRITE_JSON, whole_json
from engine.decode.values import (
    A_SECOND,
    FIRST_DAY,
    LAST_DAY,
    SECONDS_A_DAY,
    decimal_digits,
    decimal_hex,
    moment,
)
from engine.decode.wire import from_avro, record_json, record_struct
from engine.json_text import KEEP_NULLS

SEED = 37
SIGNS = [chr(code) for code in range(0x250)] + ["\u2028", "\ufeff", "\uffff", "😀", "𝄞", '"', "\\", "/"]
NUMBERS = [0, 1, -1, 127, -128, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
FRACTIONS = [0.0, -0.0, 0.1, 1e-7, 1e21, 1.5e300, 5e-324, float("nan"), float("inf"), float("-inf"), 16777217.0]


def texts(draw: random.Random) -> str:
    return "".join(draw.choices(SIGNS, k=draw.choice([0, 1, 5, 40])))


def test_a_struct_is_written_as_to_json_writes_it(spark: SparkSession) -> None:
    draw = random.Random(SEED)
    inner = T.StructType([T.StructField("b", T.BinaryType()), T.StructField('say "x"\\', T.StringType())])
    flat = "flag boolean, n int, m bigint, f float, d double, `é😀` string, day date"
    kind = T.StructType.fromDDL(flat)
    kind.add("inner", inner).add("list", T.ArrayType(T.DoubleType())).add("structs", T.ArrayType(inner))

    def some(make: Any) -> Any:
        return None if draw.random() < 0.2 else make()

    def part() -> tuple[Any, ...]:
        return some(lambda: bytearray(draw.randbytes(draw.choice([0, 1, 2, 3, 90])))), some(lambda: texts(draw))

    def row() -> tuple[Any, ...]:
        days = some(lambda: draw.choice([0, -719162, 2932896, 18321]))
        return (
            some(lambda: draw.random() < 0.5), some(lambda: draw.choice(NUMBERS[:7])),
            some(lambda: draw.choice(NUMBERS)),
            some(lambda: draw.choice(FRACTIONS)), some(lambda: draw.choice(FRACTIONS)), some(lambda: texts(draw)),
            None if days is None else T.DateType().fromInternal(days), some(part),
            some(lambda: [some(lambda: draw.choice(FRACTIONS)) for _ in range(draw.randint(0, 3))]),
            some(lambda: [some(part) for _ in range(draw.randint(0, 3))]),
        )  # fmt: skip

    frame = spark.createDataFrame([row() for _ in range(2_000)], kind).select(F.struct("*").alias("row"))
    mine, theirs = F.call_function(WRITE_JSON, "row"), F.to_json("row", KEEP_NULLS)
    assert frame.where(~mine.eqNullSafe(theirs)).count() == 0


@pytest.mark.parametrize(
    ("made", "written"),
    [
        ("named_struct('t', timestamp'2020-01-01 00:00:00Z')", '{"t":"2020-01-01T00:00:00.000Z"}'),
        ("named_struct('n', 1.50)", '{"n":1.50}'),
        ("named_struct('m', map('a', 1))", '{"m":{"a":1}}'),
        ("named_struct('d', date'2020-01-01' + 3000000)", '{"d":"+10233-09-21"}'),
        ("named_struct('s', cast(X'ff41' as string))", '{"s":"\ufffdA"}'),
        ("named_struct()", "{}"),
        ("cast(null as struct<a int>)", None),
    ],
)
def test_what_the_writer_does_not_know_is_left_to_to_json(spark: SparkSession, made: str, written: str | None) -> None:
    rows = spark.range(1).selectExpr(f"{made} AS row")
    row = rows.select(whole_json(rows, "row"), F.to_json("row", KEEP_NULLS)).first()
    assert row is not None
    assert row[0] == row[1] == written


def test_texts_that_are_not_utf8_are_written_as_to_json_writes_them(spark: SparkSession) -> None:
    draw = random.Random(SEED)
    signs = [bytes([code]) for code in range(256)] + [
        text.encode() for text in ("é", "😀", "\uffff", "plain", '"', "\\")
    ]
    bodies = [(bytearray(b"".join(draw.choices(signs, k=draw.choice([1, 2, 5, 40])))),) for _ in range(2_000)]
    rows = spark.createDataFrame(bodies, "body binary").selectExpr("named_struct('s', cast(body AS string)) AS row")
    assert rows.where("NOT is_valid_utf8(row.s)").count() > 1_000
    mine, theirs = F.call_function(WRITE_JSON, "row"), F.to_json("row", KEEP_NULLS)
    assert rows.where(mine.isNull() | (mine != theirs)).count() == 0


def test_counts_of_time_are_written_as_spark_writes_moments(spark: SparkSession) -> None:
    draw = random.Random(SEED)
    for unit, size in A_SECOND.items():
        first, after = FIRST_DAY * SECONDS_A_DAY * size, (LAST_DAY + 1) * SECONDS_A_DAY * size
        ends = [end + by for end in (first, after) for by in (-1, 0, 1)] if unit != "nanos" else []
        drawn = [draw.randrange(first, after) for _ in range(1_000)] + [
            draw.randrange(-(2**63), 2**63) for _ in range(500)
        ]
        whole = [draw.randrange(FIRST_DAY, LAST_DAY) * SECONDS_A_DAY * size for _ in range(300)]
        tenths = [number + size // 10 * draw.randrange(-10, 10) for number in whole]
        counts = [*NUMBERS, *ends, *drawn, *whole, *tenths]
        frame = spark.createDataFrame([(n,) for n in counts if abs(n) < 2**63], "n bigint")
        mine = F.call_function(MOMENT_TEXT, "n", F.lit(size).cast("bigint"))
        theirs = moment(F.col("n"), unit).cast("timestamp_ntz").cast("string")
        assert frame.where(~mine.eqNullSafe(theirs)).head(3) == []
        assert frame.where(mine.isNotNull()).count() > 1_000 or unit == "nanos"


@pytest.mark.parametrize(
    ("scale", "precision"), [(0, 38), (2, 10), (10, 38), (38, 38), (0, 5), (7, 7), (-3, 9), (3, 60)]
)
def test_unscaled_values_are_written_as_the_digits_of_their_numbers(
    spark: SparkSession, scale: int, precision: int
) -> None:
    draw = random.Random(SEED)
    sizes = [1, 1, 2, 4, 8, 8, 9, 15, 16, 16, 17, 30]
    bodies = [b"\x00", b"\xff", b"\x80", b"\x7f", b"\x00\x00", b"\xff\xff\xff", *map(draw.randbytes, sizes * 50)]
    frame = spark.createDataFrame([(bytearray(body),) for body in bodies], "b binary")
    mine, digits = F.call_function(DECIMAL_TEXT, "b", F.lit(scale)), F.hex("b")
    theirs = decimal_digits(digits, F.lit(scale))
    kind, _ = decimal(scale, precision)
    if isinstance(kind, T.DecimalType):
        theirs = F.coalesce(decimal_hex(digits, scale, kind).cast("string"), theirs)
    assert frame.where(mine.isNull() | (mine != theirs)).select("b", mine, theirs).head(3) == []
    nothing = spark.createDataFrame([(bytearray(),), (None,)], "b binary")
    assert nothing.where(mine.isNotNull()).count() == 0


PART = {"type": "record", "name": "Part", "namespace": "n", "fields": [{"name": "a", "type": ["null", "string"]}]}
FIELDS: dict[str, Any] = {
    "flag": "boolean", "n": "int", "m": ["null", "long"], "f": ["float", "null"], "d": "double",
    "s": ["null", "string"], "b": "bytes", "x": {"type": "fixed", "name": "Four", "size": 4},
    "e": {"type": "enum", "name": "Word", "symbols": ["A", "B_1"]}, "part": ["null", PART], "again": "n.Part",
    "list": {"type": "array", "items": ["null", "long"]}, "parts": {"type": "array", "items": "n.Part"},
    "one": {"type": "map", "values": "int"}, "either": ["null", "string", "n.Part"], "alone": ["string"],
}  # fmt: skip
SCHEMA = {"type": "record", "name": "Row", "fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()]}


def encoded(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def avro_row(draw: random.Random) -> dict[str, Any]:
    def some(make: Any) -> Any:
        return None if draw.random() < 0.3 else make()

    def part() -> dict[str, Any]:
        return {"a": some(lambda: texts(draw))}

    return {
        "flag": draw.random() < 0.5, "n": draw.choice(NUMBERS[:7]), "m": some(lambda: draw.choice(NUMBERS)),
        "f": some(lambda: draw.choice(FRACTIONS)), "d": draw.choice(FRACTIONS), "s": some(lambda: texts(draw)),
        "b": draw.randbytes(draw.choice([0, 1, 2, 3, 90])), "x": draw.randbytes(4), "e": draw.choice(["A", "B_1"]),
        "part": some(part), "again": part(),
        "list": [some(lambda: draw.choice(NUMBERS)) for _ in range(draw.randint(0, 3))],
        "parts": [part() for _ in range(draw.randint(0, 3))], "one": {texts(draw): 1} if draw.random() < 0.5 else {},
        "either": draw.choice((None, texts(draw), part())), "alone": texts(draw),
    }  # fmt: skip


def written_of(schema: Any, body: Column | None = None) -> Column:
    """The text of a body by its schema, which is one of several."""
    others = {7: "string", 9: {"type": "record", "name": "R", "fields": []}}
    return record_json(F.col("body") if body is None else body, F.lit(8).cast("bigint"), others | {8: schema})


def test_a_record_of_avro_is_written_as_spark_reads_it(spark: SparkSession) -> None:
    draw = random.Random(SEED)
    whole = [encoded(SCHEMA, avro_row(draw)) for _ in range(2_000)]
    frame = spark.createDataFrame([(bytearray(body),) for body in whole], "body binary")
    mine, theirs = written_of(SCHEMA), F.to_json(from_avro(F.col("body"), SCHEMA), KEEP_NULLS)
    assert frame.where(~mine.eqNullSafe(theirs)).count() == 0
    cut = [body[: draw.randrange(len(body))] for body in whole[:300]] + [body + b"\0" for body in whole[:300]]
    damaged = spark.createDataFrame([(bytearray(body),) for body in cut], "body binary")
    assert damaged.where(written_of(SCHEMA).isNotNull()).count() == 0


class Schemas:
    """Schemas of records drawn at random, and values of them."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.names = draw, itertools.count()

    def record(self, depth: int = 0) -> dict[str, Any]:
        fields = [{"name": f"f{i}", "type": self.kind(depth + 1)} for i in range(self.draw.randint(1, 5))]
        return {"type": "record", "name": f"R{next(self.names)}", "fields": fields}

    def kind(self, depth: int) -> Any:
        plain = ["boolean", "int", "long", "float", "double", "string", "bytes"]
        made = self.draw.choice([*plain, *plain, "fixed", "enum", "array", "record", "union", "union", "map"])
        if depth > 4 or made in plain:
            return made if made in plain else "string"
        if made == "fixed":
            return {"type": "fixed", "name": f"X{next(self.names)}", "size": self.draw.randint(1, 9)}
        if made == "enum":
            return {"type": "enum", "name": f"E{next(self.names)}", "symbols": ["A", "B_2", "c"]}
        if made == "array":
            return {"type": "array", "items": self.kind(depth + 1)}
        if made == "map":
            return {"type": "map", "values": self.kind(depth + 1)}
        if made == "record":
            return self.record(depth)
        parts: list[Any] = ["null", self.draw.choice(["int", "boolean", "string", "bytes"])]
        if self.draw.random() < 0.4:
            parts.append(self.record(depth))
        return parts[:: self.draw.choice([1, -1])]

    def value(self, kind: Any) -> Any:
        draw = self.draw
        if isinstance(kind, list):
            return self.value(draw.choice(kind))
        name = kind if isinstance(kind, str) else kind["type"]
        if name == "record":
            return {field["name"]: self.value(field["type"]) for field in kind["fields"]}
        if name == "array":
            return [self.value(kind["items"]) for _ in range(draw.choice([0, 1, 3]))]
        if name == "map":
            return {texts(draw): self.value(kind["values"]) for _ in range(draw.choice([0, 1]))}
        made: dict[str, Any] = {
            "null": None, "boolean": draw.random() < 0.5, "int": draw.choice(NUMBERS[:7]), "long": draw.choice(NUMBERS),
            "float": draw.choice(FRACTIONS), "double": draw.choice(FRACTIONS), "string": texts(draw),
            "bytes": draw.randbytes(draw.choice([0, 1, 70])), "enum": draw.choice(["A", "B_2", "c"]),
        }  # fmt: skip
        return draw.randbytes(kind["size"]) if name == "fixed" else made[name]

    def wanted(self, record: dict[str, Any]) -> str:
        """A struct of some of the fields of a record, of others, and of types that not all of them can be read as."""
        fields = ["nowhere string", "never bigint"]
        for field in record["fields"]:
            parts = field["type"] if isinstance(field["type"], list) else [field["type"]]
            records = [part for part in parts if isinstance(part, dict) and part["type"] == "record"]
            whole = not {"int", "long"}.isdisjoint(part for part in parts if isinstance(part, str))
            kinds = [
                "string",
                "string",
                *(["bigint"] if whole else []),
                *[f"struct<{self.wanted(r)}>" for r in records],
            ]
            if self.draw.random() < 0.8:
                fields.append(f"{field['name']} {self.draw.choice(kinds)}")
        return ", ".join(self.draw.sample(fields, k=len(fields)))


@pytest.mark.parametrize("number", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_records_of_any_schema_are_written_as_spark_reads_them(spark: SparkSession, number: int) -> None:
    schemas = Schemas(random.Random(SEED))
    sure = 0
    for _ in range(number):
        schema = schemas.record()
        bodies = [(bytearray(encoded(schema, schemas.value(schema))),) for _ in range(60)]
        frame = spark.createDataFrame(bodies, "body binary")
        mine, theirs = written_of(schema), F.to_json(from_avro(F.col("body"), schema), KEEP_NULLS)
        told = frame.select(mine.alias("mine"), theirs.alias("theirs")).collect()
        assert [(row.mine, row.theirs, schema) for row in told if row.mine not in (None, row.theirs)] == []
        sure += sum(row.mine is not None for row in told)
    assert sure > 50 * number


@pytest.mark.parametrize("number", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_of_a_record_is_picked_what_is_read_of_its_text(spark: SparkSession, number: int) -> None:
    schemas, sure = Schemas(random.Random(SEED)), 0
    for _ in range(number):
        schema = schemas.record()
        wanted = f"struct<{schemas.wanted(schema)}>"
        whole = [encoded(schema, schemas.value(schema)) for _ in range(60)]
        cut = [body[: schemas.draw.randrange(len(body) or 1)] for body in whole[:10]] + [
            body + b"\0" for body in whole[:10]
        ]
        frame = spark.createDataFrame([(bytearray(body),) for body in whole + cut], "body binary")
        one = F.lit(1).cast("bigint")
        picked = record_struct(F.col("body"), one, {1: schema}, wanted)
        read = struct_of(record_json(F.col("body"), one, {1: schema}), wanted.removeprefix("struct<")[:-1])
        told = frame.select(picked.alias("picked"), read.alias("read")).collect()
        assert [(row.picked, row.read, schema) for row in told if row.picked not in (None, row.read)] == []
        sure += sum(row.picked is not None for row in told)
    assert sure > 10 * number


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ({"type": "map", "values": "int"}, {"b": 1, "a": 2}),  # in Spark's order
        (["int", "long"], 1),  # one type to Spark
        ("null", None),  # left out by Spark
        ("string", "\ufffd"),
    ],
)
def test_a_record_that_spark_may_read_in_its_own_way_is_left_to_it(spark: SparkSession, kind: Any, value: Any) -> None:
    schema = {"type": "record", "name": "Row", "fields": [{"name": "x", "type": kind}]}
    body = encoded(schema, {"x": value}).replace("\ufffd".encode(), b"\xff\xff\xff")
    row = spark.range(1).select(written_of(schema, F.lit(bytearray(body)))).first()
    assert row is not None
    assert row[0] is None


def test_bytes_out_of_base64_are_those_of_spark(spark: SparkSession) -> None:
    draw = random.Random(SEED)
    signs = "ABCxyz019+/" * 3 + "=\r\n -_é"
    given = ["".join(draw.choices(signs, k=draw.choice([0, 3, 4, 8, 12]))) for _ in range(3_000)]
    given += ["YQ==", "YWI=", "YWJj", "null", "YQ", "YR==", "YQ= =", "===="]
    frame = spark.createDataFrame([(text,) for text in given], "text string")
    mine, theirs = F.call_function(BASE64_BYTES, "text"), F.try_to_binary("text", F.lit("base64"))
    assert frame.where(mine.isNotNull() & ~mine.eqNullSafe(theirs)).count() == 0
    assert frame.where(mine.isNotNull()).count() > 300
