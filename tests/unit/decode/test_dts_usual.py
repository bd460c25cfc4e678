"""Records of DTS as most of them come, read in one look, give what they give when they are read step by step."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.decode import dts_avro, envelopes
from tests import dts_records as dts
from tests.unit.decode.given import lines
from tests.unit.decode.test_dts import SOURCE

SEED = 31
DECLARED = {"shop.items": ("id", "kind"), "shop.others": None}
NAMES = ("id", "kind", "amount", "Ünïcode 😀", 'quo"ted', "a\\b")
NUMBERS = (0, 2, 3, 8, 12, 246, 252, 253, 1700, 3802, 17)
TEXTS = ("", "a", "Zoë 😀", 'say "x"\n\t\\ \u0001 \x7f', "\u2028", "null", "1", "x" * 300, "\x00bytes:YQ==", "/")
CHARSETS = ("utf8mb4", "utf8", "UTF-8", "utf-8", "latin1", "gbk", "binary", "", "BINARY", "ascii", "klingon", "utf16")
ZONES = (
    "+08:00",
    "-03:30",
    "+00:00",
    "UTC",
    "Z",
    "GMT",
    "Europe/Berlin",
    "+8",
    "",
    "+19:00",
    "+0800",
    "GMT+8",
    "nowhere",
)
PLACES = (
    "100@7", "0@0", "4@1", "0@3", "5<->7", "0/1A<->0/FF", "16/B374D848", "FFFFFFFF/1", "7FFFFFFF/FFFFFFFF",
    "1/123456789", "", "x", "12", "1@2@3", "1<->2<->3", "9" * 18 + "@1", "9" * 19 + "@1", "-1@2", "0<->0", "a/b", "@",
    "1@", " 1@2",
)  # fmt: skip
TABLES = (
    "shop.items", "a.shop.items", "shop.others", "nodot", "", ".", "a.", "shop.it\\u002eems", "Ünï.cödé", "a\\b.c.d",
    None,
)  # fmt: skip
KEYS = (
    '{"PRIMARY":["id"]}', '{"primary":["id","kind"]}', '{"u1":["kind"]}', '{"u1":["kind"],"u2":["id"]}', "{}", "", "x",
    '{"PRIMARY":[]}', '{"PRIMARY":[],"u":["id"]}', ' { "PRIMARY" : [ "id" , "amount" ] } ', '{"PRIMARY":["gone"]}',
    '{"PRIMARY":null}', '{"PRIMARY":[1]}', '["id"]', '{"PRIMARY":["id"]} x', '{"Primary":["id"],"PRIMARY":["kind"]}',
    None,
)  # fmt: skip
TAGS = (("GTID", "g:1"), ("l_db_name", ""), ("l_tb_name", "logical"), ("readerThroughoutTime", "x"), ("z", "é"))
SECONDS = (dts.SECOND, 0, -1, 253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801, 2**62)


class Drawing:
    """Messages with something odd in some of them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def lines(self, number: int) -> Iterator[str]:
        for _ in range(number):
            yield dts.line(self.record(), born=self.chance(0.5))

    def chance(self, of: float) -> bool:
        return self.draw.random() < of

    def odd(self, values: tuple[Any, ...], of: float = 0.05) -> Any:
        """The first of the values, most often."""
        return self.draw.choice(values) if self.chance(of) else values[0]

    def record(self) -> dict[str, Any]:
        names = self.draw.sample(NAMES, k=self.draw.randint(1, len(NAMES)))
        types = {name: self.draw.choice(NUMBERS) for name in names}
        operation = self.draw.choice(("INSERT", "UPDATE", "UPDATE", "DELETE", "INIT"))
        old = self.image(types) if operation in ("UPDATE", "DELETE") or self.chance(0.03) else None
        new = self.image(types) if operation != "DELETE" or self.chance(0.03) else None
        if old and new and self.chance(0.5):
            new = [after if self.chance(0.3) else before for before, after in zip(old, new, strict=False)]
        if self.chance(0.03):
            old, new = self.draw.choice(((None, new), (old, None), ((old or [])[1:], new), (old, "text"), (old, [])))
        more: dict[str, Any] = {"objectName": self.odd(TABLES, 0.2), "sourceTimestamp": self.odd(SECONDS)}
        more |= {"id": self.draw.choice((1, 2**62, -5)), "sourceTxid": self.odd(("0", "", "7", "x:1"), 0.3)}
        more["source"] = self.odd(("MySQL", "PostgreSQL", "Oracle", "DRDS", "OTHER"), 0.4)
        more["processTimestamps"] = self.odd((None, [], [1, 2**40]), 0.2)
        if self.chance(0.2):
            more["tags"] = dict(self.draw.sample(TAGS, k=2))
        if self.chance(0.03):
            operation, types = self.draw.choice(
                (("BEGIN", types), ("DDL", types), (operation, None), ("HEARTBEAT", {}))
            )
        return dts.record(operation, types, old, new, position=self.odd(PLACES), keys=self.odd(KEYS, 0.3), **more)

    def image(self, types: dict[str, int]) -> list[Any]:
        return [self.value() for _ in types]

    def value(self) -> Any:
        text = self.draw.choice(TEXTS)
        if self.chance(0.06):
            return self.draw.choice(
                ("NONE", dts.blob(text.encode()), self.zoned(), dts.text(b"\xff\xfe"), dts.decimal("~"))
            )
        whole = self.draw.choice((0, 1, -7, 10**30, 42))
        return self.draw.choice((
            None, "NULL", dts.integer(whole), dts.text(text), dts.text(text, self.odd(CHARSETS, 0.1)),
            dts.decimal(f"{whole}.50", self.draw.choice((1, 12, 40)), self.draw.choice((0, 2, 14))), dts.decimal("-~x"),
            dts.number(self.draw.choice((0.1, -0.0, 1e300, float("nan"), float("inf"), 3.0))),
            dts.timestamp(self.draw.choice((dts.SECOND, 0, -1, 10**9)), self.draw.choice((0, 1, 120_000, 999_999, -1))),
            self.moment(), self.moment(), dts.of_type(text), dts.shape("POINT(1 1)"), dts.shape(b"\x01\x02"),
        ))  # fmt: skip

    def moment(self) -> Any:
        parts: list[int | None] = [
            self.draw.choice((2023, 1, 9999, 0)), self.draw.choice((1, 12, 0)), self.draw.choice((1, 31, 0)),
            self.draw.choice((0, 23, 5)), self.draw.choice((0, 59)), self.draw.choice((0, 59)),
            self.draw.choice((None, 0, 5, 123_456, 999_999, 123_456_789)),
        ]  # fmt: skip
        if self.chance(0.4):
            parts = self.draw.choice(
                ([None] * 3 + parts[3:], parts[:3], [2023], [None] * 7, parts[:4], [-1, *parts[1:]])
            )
        if self.chance(0.1):
            parts[self.draw.randrange(len(parts))] = self.draw.choice((None, -1, 100, 61, 838))
        return dts.moment(*parts)

    def zoned(self) -> Any:
        name, parts = self.moment()
        assert name == "DateTime"
        return dts.zoned(self.draw.choice(ZONES), *parts.values())


@pytest.mark.parametrize("number", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_record_read_in_one_look_gives_what_it_gives_step_by_step(
    spark: SparkSession, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list(Drawing(SEED).lines(number))
    given = lines(spark, told).localCheckpoint()
    look = dts_avro.usual_row(F.unbase64("text"), DECLARED)
    shares = given.agg(F.count(look), F.count("*")).first()
    assert shares is not None
    assert 0.3 < shares[0] / shares[1] < 0.8
    one = envelopes(given, SOURCE, DECLARED).withColumn("announced", F.to_json("announced")).localCheckpoint()
    kind = given.select(look.alias("look")).schema["look"].dataType

    def nothing(value: Column, declared: Any) -> Column:
        return F.lit(None).cast(kind)

    monkeypatch.setattr(dts_avro, "usual_row", nothing)
    other = envelopes(given, SOURCE, DECLARED).withColumn("announced", F.to_json("announced")).localCheckpoint()
    differing = one.exceptAll(other).unionAll(other.exceptAll(one)).orderBy("line").head(4)
    assert [row.asDict() for row in differing] == []
    looked = given.select("line", look.isNotNull().alias("looked")).where("looked")
    assert one.join(looked, "line").where("kind <> 'change'").count() == 0
