"""Images put together and compared: what the functions in Java give is what Spark's own would."""

import json
import random
from collections.abc import Iterator

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.decode import images
from engine.frames import local_frame
from engine.jvm import CATALOG
from tests.unit.decode.test_parsing import ODD

SEED = 4
NAMES = ("a", "b", "c", "id", "café", "a b", "A", "\x7f", 'q"uote', "")
PLAIN = (
    "1",
    "-7",
    '"x"',
    "null",
    "true",
    '"1"',
    '"true"',
    "1.5",
    "1.50",
    '"a\\nb"',
    '"\\""',
    '"caf\\u00e9"',
    '"😀"',
    "-0.0",
)
KEYS = (["id"], ["id", "a"], [], ["missing"], ["b", "a", "id"], None)


def objects(draw: random.Random, number: int) -> Iterator[str | None]:
    for _ in range(number):
        names = draw.sample(NAMES, k=draw.randint(0, 5))
        if draw.random() < 0.05:
            names += names[:1]
        values = [draw.choice(PLAIN if draw.random() < 0.9 else ODD) for _ in names]
        blank = draw.choice(("", "", " ", "\n"))
        fields = [
            f"{json.dumps(n, ensure_ascii=draw.random() < 0.1)}:{blank}{v}" for n, v in zip(names, values, strict=True)
        ]
        whole = f"{blank}{{{(',' + blank).join(fields)}{blank}}}{blank}"
        yield draw.choice((None, "", "[]", "null", whole[:-1], whole + "x")) if draw.random() < 0.05 else whole


def pairs(number: int) -> list[dict[str, object]]:
    draw = random.Random(SEED)
    under, over = list(objects(draw, number)), list(objects(draw, number))
    rows = zip(range(number), under, over, strict=True)
    return [
        {"at": at, "under": one, "over": one if at % 7 == 0 else other, "keys": KEYS[at % 6]} for at, one, other in rows
    ]


CASES = {
    "overlaid": (images._overlaid, ("under", "over")),
    "laid_over": (images._laid_over, ("keys", "under", "over")),
    "changes_key": (images._changes_key, ("keys", "under", "over")),
    "joined": (images._joined, ("under", "over")),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("number", [4_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_functions_give_what_spark_gives(spark: SparkSession, name: str, number: int) -> None:
    by_spark, of = CASES[name]
    told: list[Column] = [F.col(column) for column in of]
    rows = local_frame(
        spark, pairs(number), "at bigint, under string, over string, keys array<string>"
    ).localCheckpoint()
    looked = rows.select(
        "*", F.call_function(f"{CATALOG}.{name}", *told).alias("plainly"), by_spark(*told).alias("spark")
    )
    counted = looked.agg(F.count("plainly"), F.count("*")).first()
    assert counted is not None
    assert 0.2 < counted[0] / counted[1] < 0.95
    assert looked.where("plainly is not null and plainly is distinct from spark").orderBy("at").head(3) == []


def test_what_is_laid_over_counts(spark: SparkSession) -> None:
    row = {"at": 1, "under": '{"id":1,"a":"x","b":null}', "over": '{"a":2,"c":"\\"y"}', "keys": ["id", "a"]}
    rows = local_frame(spark, [row], "at bigint, under string, over string, keys array<string>")
    found = rows.select(
        images.overlaid(F.col("under"), F.col("over")),
        images.laid_over(F.col("keys"), F.col("under"), F.col("over"))["covers"],
        images.changes_key(F.col("keys"), F.col("under"), F.col("over")),
        images.changes_key(F.array(F.lit("id")), F.col("under"), F.col("over")),
    ).head()
    assert found is not None
    assert tuple(found) == ('{"id":"1","a":"2","b":null,"c":"\\"y"}', False, True, False)


def test_keys_are_named_where_the_payload_has_them(spark: SparkSession) -> None:
    told = {
        ('["id"]', '{"id":1,"a":"x"}'): '{"id":null}',
        (' [ "b" , "a" , "b" ] ', '{"a":null,"b":"[]"}'): '{"b":null,"a":null}',
        ('["ID"]', '{"id":1}'): None,
        ("[]", '{"id":1}'): None,
        ('["id",null]', '{"id":1}'): None,
        ('["id"', '{"id":1}'): None,
        ('["id"]x', '{"id":1}'): None,
        ('["id"]', '{"id":1,"a":{}}'): '{"id":null}',
        ('["id"]', '{"a":{"b":[1,{"id":2}]},"id":1}'): '{"id":null}',
        ('["id"]', '{"a":{"id":2}}'): None,
        (
            '["id"]',
            '{"id":1,"a":',
        ): '{"id":null}',  # of an object that is none, too: the name is spelled as it is listed
        ('["id"]', '{"a":tru,"id":1}'): None,
        ('["id","a"]', '{"id":1,"id":2}'): None,
        ('["café"]', '{"café":1}'): '{"café":null}',
    }
    rows = local_frame(spark, [{"names": n, "row": r} for n, r in told], "names string, row string")
    found = rows.select("*", F.call_function(f"{CATALOG}.nulls_of_names", "names", "row").alias("key")).collect()
    assert {(row["names"], row["row"]): row["key"] for row in found} == told
