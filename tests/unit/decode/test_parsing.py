"""What siltstone's own reader gives of a text is what Spark's `from_json` gives, or nothing where it is not sure."""

import json
import random
from collections.abc import Iterator

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import fractions, parsing
from engine.frames import local_frame
from engine.json_text import from_json

FIELDS = (
    "a string, b bigint, c int, d double, e float, f boolean, g decimal(38,9), h binary, i struct<a: string, x: bigint>"
    ', j array<string>, k array<struct<a: string>>, l decimal(20,0), m decimal(5,2), `é"n` string'
)
OF_TEXTS = "a string, b string, c string, d string, i struct<a: string, x: string>, j array<string>"
NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", 'é"n', "x", "", "other")
ODD = (
    "0", "-0", "-0.0", "0.0", "1.10", "1e5", "1E-7", "2e23", "1.0", "01", "1.", ".5", "+1", "NaN", "Infinity",
    "-Infinity", "1e999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648",
    "123456789012345678901", "0.1", "100000000000000000000.5", "3.4028236e38", "0.30000000000000004", "1.17549435E-38",
    "[0.1234567890123456]", "[0.123456789012345]", '{"b":[1e20,-12345678901234567.5]}', "1e-15", "1e15", "1e16",
    "16777217.0", "9007199254740993", "123456789.123456789", "-1.5e-016", "1e99999", "999.995", "1e-10", "tru", "true",
    "12345678901234567",
    "false", "null", "nul", "nullx", '""', '"x', '"YWI="', '"YQ"', '"YQ=="', '"Y Q=="', '"12.5"', '" 7 "', '"1e3"',
    '"true"', "'x'", '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\/\\b\\f\\n\\r\\t\\\\\\""', '"\\x"', '"\\u12"',
    '"\\u0000"', '"\\u001f"', '"\\u0022"', '"\\u005c"', '"\\u007f"', '"\t"', '"\x7f"', '"é😀"', "{}", "[]", "[ ]",
    "{ }", '{"a" : 1.50 , "b":[ 1, "x" ]}', '{"a":{"b":{"c":[1.0,2e5,null,true,"\\/"]}}}', '["a", null, 1, {"b": 2}]',
    '[{"a": "1"}, {"a": 2}, null, {}]', "[1,]", '{"a":1,}', '{"a" 1}', '{a:1}', "[1 2]", '{"a":"x","a":"y"}',
    '{"x":1,"a":null}', "/*c*/1", "1 ", "\v1", " 1",
)  # fmt: skip
WHOLE = (
    "", " ", "{}", " {} ", "null", "[]", '[{"a":"x"}]', '{"a":"x"}{', '{"a":"x"} y', '{"a":"x"},"_end":1', '{"a":"x"',
    '{"a":"x"}}', "{,}", '{"a":"x"}\r', '\ufeff{"a":"x"}', '{"a":"x","a":null}', '{"\\u0061":"x"}', "{'a':'x'}", "x",
    '{"a":' + "[" * 150 + "]" * 150 + "}", '{"a":' + "[" * 300 + "]" * 300 + "}", '{"other":' + "9" * 70 + "}",
    '{"a":"' + "x" * 100_000 + '"}', '{"é\\"n":"x"}', '{"a":"x","a":"y"}', '{"_malformed":"x","a":"y"}', '{"_end":5}',
)  # fmt: skip
SEED = 7
LAST = "_malformed"


def texts(seed: int, number: int) -> Iterator[str]:
    """Objects with odd values in them, some of them damaged."""
    draw = random.Random(seed)
    for _ in range(number):
        names = draw.choices(NAMES, k=draw.randint(0, 8))
        blank = draw.choice(["", "", " ", "\n\t"])
        parts = [f"{json.dumps(name, ensure_ascii=draw.random() < 0.2)}:{blank}{draw.choice(ODD)}" for name in names]
        text = "{" + f"{blank},".join(parts) + "}"
        if draw.random() < 0.2:
            at = draw.randrange(len(text))
            text = (
                text[:at] + draw.choice(["", '"', ",", "}", "\\", " ", "0", "\x01"]) + text[at + draw.randint(0, 2) :]
            )
        yield text


def read(text: Column, function: str, kind: str) -> Column:
    """What siltstone's own reader gives; null where Spark is to read."""
    return F.call_function(function, text, F.lit(None).cast(kind), F.lit(None).cast("string"))


def pairs(text: Column) -> dict[str, tuple[Column, Column]]:
    """For each way to read: what the reader gives, and what Spark does."""
    with_last = f"{FIELDS}, {LAST} string"
    line, of_texts = (f"_line struct<{fields}>, {parsing.BEHIND}" for fields in (FIELDS, OF_TEXTS))
    exact = read(text, parsing.READ_JSON_EXACT_LINE, f"struct<{line}>")
    return {
        "plain": (read(text, parsing.READ_JSON, f"struct<{FIELDS}>"), F.from_json(text, FIELDS)),
        "or text": (
            read(text, parsing.READ_JSON_OR_TEXT, f"struct<{with_last}>"),
            F.from_json(text, with_last, {"columnNameOfCorruptRecord": LAST}),
        ),
        "line": (
            read(text, parsing.READ_JSON_LINE, f"struct<{line}>"),
            F.from_json(parsing.wrapped(text), line, parsing.CORRUPT),
        ),
        "text of a line": (
            read(text, parsing.READ_JSON_LINE, f"struct<_line string, {parsing.BEHIND}>"),
            F.from_json(parsing.wrapped(text), f"_line string, {parsing.BEHIND}", parsing.CORRUPT),
        ),
        "long fractions in quotes": (
            read(text, parsing.READ_JSON_QUOTED_LINE, f"struct<{of_texts}>"),
            F.from_json(parsing.wrapped(fractions.all_in_quotes(text)), of_texts, parsing.CORRUPT),
        ),
        "no fraction is long": (
            exact,
            F.when(text.rlike(fractions._CUT), exact).otherwise(
                F.from_json(parsing.wrapped(text), line, parsing.CORRUPT)
            ),
        ),
    }


def described(struct: Column) -> Column:
    """A struct as text in which every difference shows: null from absent, -0.0 from 0.0, bytes as they are."""
    return F.to_json(struct, {"ignoreNullFields": "false"})


def differing(spark: SparkSession, lines: list[str]) -> dict[str, list[str]]:
    """The texts of which the reader gives something else than Spark."""
    frame = local_frame(spark, [{"text": line} for line in lines], "text string").localCheckpoint()
    found = {}
    for name, (mine, theirs) in pairs(F.col("text")).items():
        both = frame.select("text", mine.alias("mine"), theirs.alias("theirs")).localCheckpoint()
        other = both.where(F.col("mine").isNotNull() & ~described(F.col("mine")).eqNullSafe(described(F.col("theirs"))))
        found[name] = [row["text"] for row in other.select("text").head(5)]
    return found


def test_what_the_reader_gives_is_what_spark_gives(spark: SparkSession) -> None:
    single = [f'{{"{name}":{value}}}' for name in "abcdefghijklm" for value in ODD]
    assert differing(spark, [*WHOLE, *ODD, *single, *texts(SEED, 5_000)]) == {name: [] for name in pairs(F.col("text"))}


def test_every_text_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    text, with_last = F.col("text"), T.StructType.fromDDL(f"{FIELDS}, {LAST} string")
    line = f"_line struct<{FIELDS}>, {parsing.BEHIND}"
    lists = "array<struct<a: string, x: bigint>>"
    told = {
        "struct": (parsing.struct_of(text, FIELDS), F.from_json(text, FIELDS, {"columnNameOfCorruptRecord": "none"})),
        "or text": (
            parsing.struct_or_text(text, with_last),
            F.from_json(text, with_last, {"columnNameOfCorruptRecord": LAST}),
        ),
        "line": (parsing.line_of(text, FIELDS), F.from_json(parsing.wrapped(text), line, parsing.CORRUPT)),
        "map": (from_json(text, "map<string,string>"), F.from_json(text, "map<string,string>")),
        "array": (from_json(text, lists), F.from_json(text, lists)),
        "options": (
            from_json(text, f"struct<{FIELDS}>", {"allowSingleQuotes": "false", "allowUnquotedFieldNames": "true"}),
            F.from_json(text, FIELDS, {"allowSingleQuotes": "false", "allowUnquotedFieldNames": "true"}),
        ),
    }
    single = [f'{{"{name}":{value}}}' for name in "abcdefghijklm" for value in ODD]
    lines = [*WHOLE, *ODD, *single, *texts(SEED + 2, 3_000)]
    whole = local_frame(spark, [{"text": line} for line in lines], "text string")
    no_text = F.concat(F.lit('{"other":"'), F.unhex(F.lit("E4FF")).cast("string"), F.lit('","a":"x"}'))
    frame = whole.unionByName(spark.range(1).select(no_text.alias("text"))).localCheckpoint()
    read_by = [
        described(by).alias(f"{name} {who}") for name, both in told.items() for who, by in zip("12", both, strict=True)
    ]
    found = frame.select("text", *read_by).localCheckpoint()
    other = {name: found.where(F.col(f"{name} 1") != F.col(f"{name} 2")).count() for name in told}
    other |= {f"{n}, null": found.where(F.isnull(f"{n} 1") != F.isnull(f"{n} 2")).count() for n in told}
    assert not any(other.values()), other
    assert found.where(F.col("map 1").isNotNull()).count() > 1_000


def test_bytes_that_are_no_utf8_are_left_to_spark(spark: SparkSession) -> None:
    odd = F.concat(F.lit('{"other":"'), F.unhex(F.lit("E4FF")).cast("string"), F.lit('","a":"x"}'))
    row = spark.range(1).select(*[mine.isNull() for mine, _ in pairs(odd).values()]).first()
    assert row is not None
    assert all(row)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"x","b":1,"c":-2,"d":1.5,"e":0.25,"f":true,"g":1.5,"h":"YWI=","i":{"a":"y","x":3},"j":["a",null]}',
        '{ "a" : "caf\\u00e9 \\n\\"é" , "other" : { "x" : [ 1.50 , "\\\\" ] } , "k" : [ { "a" : 1.10 } ] }',
        '{"d":7,"l":18446744073709551615,"m":"12.30","f":null,"a":{"b":[1,2.0,{"c":"\\u0041"}]}}',
    ],
)
def test_plain_texts_are_not_left_to_spark(spark: SparkSession, text: str) -> None:
    row = spark.range(1).select(*[mine.isNotNull() for mine, _ in pairs(F.lit(text)).values()]).first()
    assert row is not None
    assert all(row)


def test_long_fractions_stay_as_they_stand_or_are_put_into_quotes(spark: SparkSession) -> None:
    inside = '{"b": [0.30000000000000004, 1.50, -123456789012345678.5E-3, 1e16], "c": "0.30000000000000004"}'
    text = f'{{"a": {inside}, "x": 1e15}}'
    kinds = f"struct<_line struct<a: string, x: string>, {parsing.BEHIND}>"
    of = (parsing.READ_JSON_EXACT_LINE, parsing.READ_JSON_QUOTED_LINE)
    row = spark.range(1).select(*[read(F.lit(text), function, kinds)["_line"] for function in of]).head()
    assert row is not None
    rest = ',"c":"0.30000000000000004"}'
    assert [tuple(line) for line in row] == [
        ('{"b":[0.30000000000000004,1.5,-123456789012345678.5E-3,1e16]' + rest, "1.0E15"),
        ('{"b":["0.30000000000000004",1.5,"-123456789012345678.5E-3","1e16"]' + rest, "1.0E15"),
    ]
    alone = (
        spark.range(1).select(*[read(F.lit('{"a":0.30000000000000004}'), function, kinds) for function in of]).head()
    )
    assert alone is not None
    assert tuple(alone) == (None, None)


def test_a_reader_is_asked_first_and_spark_reads_the_rest(spark: SparkSession) -> None:
    kind = T.StructType([T.StructField("a", T.StringType()), T.StructField("n", T.IntegerType())])
    rows = spark.createDataFrame([('{"a":"x","n":1}',), ("{'a':'x','n':2}",), ('{"a":"x","n":"3"}',)], "text string")
    found = rows.select(
        parsing.struct_of(F.col("text"), kind)["n"].alias("n"),
        parsing.line_of(F.col("text"), kind)["_line"]["n"].alias("line"),
        parsing.struct_or_text(F.col("text"), kind.add(LAST, T.StringType()))[LAST].alias("last"),
    )
    assert [tuple(row) for row in found.collect()] == [(1, 1, None), (2, None, None), (None, None, '{"a":"x","n":"3"}')]


def test_a_word_may_be_in_a_text_in_any_case_or_as_an_escape(spark: SparkSession) -> None:
    texts = {
        "UPDATE Before": True, "before": True, "xBEFOREx": True, "b": False, "befor": False, "befxre before": True,
        "": False, "\\u0062efore": True, "\\n\\": False, "bbefore": True, "\u00e9 \U0001f600 bEfOrE": True,
        "\x02EFORE": False,
    }  # fmt: skip
    rows = local_frame(spark, [{"text": text} for text in texts], "text string")
    found = rows.select("text", parsing.may_have_word(F.col("text"), "before").alias("may")).collect()
    assert {row["text"]: row["may"] for row in found} == texts
    others = rows.select("text", parsing.may_have_word(F.col("text"), "xyz", "before").alias("may")).collect()
    assert {row["text"]: row["may"] for row in others} == texts
    either = rows.select("text", parsing.may_have_word(F.col("text"), "update", "befxre").alias("may")).collect()
    assert [row["text"] for row in either if row["may"]] == ["UPDATE Before", "befxre before", "\\u0062efore"]


def test_the_first_field_is_read_where_it_is_the_first(spark: SparkSession) -> None:
    texts = {
        '{"i":{"a":"x"},"other":1}': "x", ' { "i" : {"x":1, "a" : "x"}': "x", '{"i":{"a":"x"} whatever': "x",
        '{"a":"x","i":{"a":"x"}}': None, "{}": None, "": None, '{"i":null}': None, '{"i":{}}': None, '{"i":7}': None,
        '{"i":{"a":"x"': None, '{"\\u0069":{"a":"x"}}': None, "null": None, '[{"i":{"a":"x"}}]': None,
    }  # fmt: skip
    rows = local_frame(spark, [{"text": text} for text in texts], "text string")
    field = parsing.first_field(F.col("text"), "i struct<a string>")["i"]
    assert {row["text"]: row["a"] for row in rows.select("text", field["a"].alias("a")).collect()} == texts


PATHS = (("a",), ("i.a",), ("i.x", "a"), ("a.b.c", "a.b", "b"), ("other", "x", "i"))


@pytest.mark.parametrize("paths", PATHS, ids=" ".join)
@pytest.mark.parametrize("number", [5_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_the_first_value_is_what_spark_finds(spark: SparkSession, paths: tuple[str, ...], number: int) -> None:
    single = [f'{{"{name}":{value}}}' for name in "abix" for value in ODD]
    nested = [f'{{"a":{{"b":{{"c":{value}}}}},"i":{{"x":{value},"a":{value}}}}}' for value in ODD]
    told = [*WHOLE, *ODD, *single, *nested, *texts(SEED + 1, number)]
    frame = local_frame(spark, [{"text": text} for text in told], "text string").localCheckpoint()
    found = F.coalesce(*[F.get_json_object("text", f"$.{path}") for path in paths], "text")
    both = frame.select(
        "text",
        F.call_function(parsing.FIRST_AT, F.col("text"), F.lit("\n".join(paths))).alias("plainly"),
        parsing.first_at(F.col("text"), *paths).alias("mine"),
        found.alias("spark"),
    ).localCheckpoint()
    assert (
        both.where("mine is distinct from spark or plainly is not null and plainly is distinct from spark").head()
        is None
    )
    counted = both.agg(F.count("plainly"), F.count("*")).first()
    assert counted is not None
    assert 0.2 < counted[0] / counted[1] < 0.95
