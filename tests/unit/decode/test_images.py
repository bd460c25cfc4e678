"""Images put together and compared: what the functions in Java give is what Spark's own would."""

import json
import random
from collections.abc import Callable, Iterator

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


def fields(image: Column) -> Column:
    return F.from_json(image, "map<string,string>")  # type: ignore[arg-type]  # a map, too


def laid_over_by_spark(keys: Column, under: Column, over: Column) -> Column:
    names = F.json_object_keys(over)
    covers = F.size(F.array_except(names, F.json_object_keys(under))) == 0

    def differs(key: Column) -> Column:
        other = ~F.try_element_at(fields(over), key).eqNullSafe(F.try_element_at(fields(under), key))
        return F.array_contains(F.map_keys(fields(over)), key) & other

    changes = F.coalesce(F.arrays_overlap(keys, names) & F.exists(keys, differs), F.lit(False))
    image = F.to_json(F.map_concat(fields(under), fields(over)))
    whole = F.struct(image.alias("image"), changes.alias("changes_key"), covers.alias("covers"))
    return F.when(under.isNotNull() & over.isNotNull(), whole)


def joined_by_spark(keys: Column, under: Column, over: Column) -> Column:
    first = F.rtrim(F.substring(under, F.lit(1), F.length(under) - 1))
    both = F.concat(first, F.lit(","), F.substring(over, 2, 2**31 - 1))
    empty_over, empty_under = (image.rlike(r"^\{\s*\}$") for image in (over, under))
    return F.when(empty_over, under).when(empty_under, over).otherwise(both)


CASES: dict[str, tuple[Callable[..., Column], Callable[..., Column]]] = {
    "laid over": (images.laid_over, laid_over_by_spark),
    "joined": (lambda keys, under, over: images.joined(under, over), joined_by_spark),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("number", [4_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_functions_give_what_spark_gives(spark: SparkSession, name: str, number: int) -> None:
    told = [F.col(column) for column in ("keys", "under", "over")]
    rows = local_frame(
        spark, pairs(number), "at bigint, under string, over string, keys array<string>"
    ).localCheckpoint()
    own, by_spark = (give(*told) for give in CASES[name])
    looked = rows.select("*", own.alias("own"), by_spark.alias("spark")).localCheckpoint()
    assert looked.where("own is not null").count() > number / 2
    assert looked.where("own is distinct from spark").orderBy("at").head(3) == []


def test_what_is_laid_over_counts(spark: SparkSession) -> None:
    row = {"at": 1, "under": '{"id":1,"a":"x","b":null}', "over": '{"a":2,"c":"\\"y"}', "keys": ["id", "a"]}
    rows = local_frame(spark, [row], "at bigint, under string, over string, keys array<string>")
    under, over = F.col("under"), F.col("over")
    of_both, of_one = (images.laid_over(keys, under, over) for keys in (F.col("keys"), F.array(F.lit("id"))))
    found = rows.select(of_both["image"], of_both["covers"], of_both["changes_key"], of_one["changes_key"]).head()
    assert found is not None
    assert tuple(found) == ('{"id":"1","a":"2","b":null,"c":"\\"y"}', False, True, False)


NOTHING = ("[]", "[null]", "", "null", "{}", '["id"', '["id"]x', "id", None)


def names_of(draw: random.Random) -> str | None:
    """A list of names as the text of JSON, or what is none."""
    listed: list[str | None] = [*draw.choices(NAMES, k=draw.randint(0, 3)), *draw.choices([None], k=draw.randint(0, 1))]
    text = json.dumps(listed, ensure_ascii=draw.random() < 0.1)
    return draw.choice(NOTHING) if draw.random() < 0.2 else text


def key_names_by_spark(listed: Column, others: Column, row: Column) -> Column:
    def names(text: Column) -> Column:
        found = F.array_compact(F.from_json(text, "array<string>"))  # type: ignore[arg-type]  # an array, too
        return F.when(F.size(found) > 0, found)

    fields = F.coalesce(F.json_object_keys(row), F.array().cast("array<string>"))

    def spelt(name: Column) -> Column:
        same = F.filter(fields, lambda field: F.lower(field) == F.lower(name))
        return F.when(F.array_contains(fields, name), name).otherwise(F.coalesce(F.get(same, F.lit(0)), name))

    nothing = F.lit(None).cast("string")
    entries = F.transform(
        F.coalesce(names(listed), names(others)), lambda n: F.struct(spelt(n).alias("key"), nothing.alias("value"))
    )
    return F.to_json(F.map_from_entries(F.array_distinct(entries)), {"ignoreNullFields": "false"})


def test_keys_are_spelt_as_the_payload_has_them(spark: SparkSession) -> None:
    told = {
        ('["id"]', None, '{"id":1,"a":"x"}'): '{"id":null}',
        (' [ "b" , "a" , "b" ] ', None, '{"a":null,"b":"[]"}'): '{"b":null,"a":null}',
        ('["ID"]', None, '{"id":1}'): '{"id":null}',
        ("[]", '["ID"]', '{"id":1}'): '{"id":null}',
        ('["id",null]', '["a"]', '{"id":1}'): '{"id":null}',
        ('["id"]', None, '{"a":{"id":2}}'): '{"id":null}',
        # Of an object that is none, too: the name is spelled as it is listed.
        ('["id"]', None, '{"id":1,"a":'): '{"id":null}',
        ('["caf\u00c9"]', None, '{"caf\u00e9":1,"CAF\u00c9":2}'): '{"caf\u00e9":null}',
        ("[]", None, '{"id":1}'): None,
    }
    draw = random.Random(SEED)
    drawn = [(names_of(draw), names_of(draw), row) for row in objects(draw, 4_000)]
    rows = local_frame(
        spark,
        [{"names": n, "others": o, "row": r} for n, o, r in [*told, *drawn]],
        "names string, others string, row string",
    ).localCheckpoint()
    given = [F.col(name) for name in ("names", "others", "row")]
    found = rows.select(
        "*",
        F.call_function(f"{CATALOG}.key_names", *given).alias("own"),
        key_names_by_spark(*given).alias("spark"),
    ).collect()
    assert [row for row in found if row["own"] != row["spark"]] == []
    assert {tuple(row)[:3]: row["own"] for row in found[: len(told)]} == told
    assert sum(row["own"] is not None for row in found) > 2_000
