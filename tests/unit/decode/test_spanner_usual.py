"""Lines as Spanner writes them, which are read in one look, give what they give when they are read piece by piece."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from engine.decode import envelopes
from engine.decode.spanner_json import _usual
from tests.unit.decode.given import lines
from tests.unit.decode.test_spanner import SOURCE, record

SEED = 29
MOMENT = "2023-02-24T17:17:00.678847001Z"
ABSENT = object()
ODD: dict[str, tuple[Any, ...]] = {
    "commit_timestamp": (
        "2023-02-24T17:17:00Z", "2023-02-24T17:17:00.1Z", "2023-02-24T17:17:00.123456789+05:30", "2023-02-24 17:17:00",
        "2023-02-30T00:00:00Z", "1583-01-01T00:00:00.000000001Z", "9999-12-31T23:59:59.999999999Z", "soon", "", 7, None,
        {"seconds": 1677287820, "nanos": 678847001}, "2023-02-24T17:17:00.1234567890Z", " 2023-02-24T17:17:00Z ",
        "12023-02-24T17:17:00Z", "2023-02-24T24:00:00Z", "2023-02-24", ABSENT,
    ),
    "record_sequence": ("0", "00000007", 7, "-1", "1.5", " 7", "+7", "", "x", "9" * 19, 1.0, 1e3, True, None, ABSENT),
    "server_transaction_id": ("", "NTQ5MTAx", 1, None, ABSENT),
    "table_name": ("", "t", "Ünïcode 😀", "a.b", 5, None, ABSENT),
    "column_types": ([], "[]", " [ ]", "x", {}, None, ABSENT),
    "mod_type": ("INSERT", "DELETE", "insert", "Upsert", "", 1, None, ABSENT),
    "value_capture_type": ("NEW_ROW", "NEW_ROW_AND_OLD_VALUES", "NEW_VALUES", "", None, ABSENT),
    "mods": ([], "[]", "x", {}, [None], None, [[]], [{}], ABSENT),
    "partition_token": ("", "p", "__8BAYEG0l", 1, None, ABSENT),
    "number_of_records_in_transaction": (1, "2", "x", 1.5, None, ABSENT),
    "is_last_record_in_transaction_in_partition": (True, "false", "x", None, ABSENT),
    "transaction_tag": ("app=x", None),
    "commitTimestamp": ("2023-02-24T17:17:00Z",),
    "timestamp": ("2023-02-24T17:17:00Z",),
}  # fmt: skip
PARTS = (
    {}, {"id": "1"}, {"id": None, "v": [1, "x", None]}, {"v": "a\u0000b 😀 \\ \""}, {"v": {"n": 1.5}}, "", "{}", " {} ",
    '{"id":"1"}', ' {"id" : "1"}\n', "x", '{"a":1} {', '{"a":1}}', "null", 3, [], [1], None, "\u00a0{}", ABSENT,
)  # fmt: skip
BEATS = (
    {"timestamp": "2023-02-24T17:17:00Z"}, {"timestamp": None}, {"timestamp": "soon"}, {}, [], None, "", 1, [None],
    [{"timestamp": "2023-02-24T17:17:00.5Z"}, {"timestamp": "2023-02-24T17:17:01Z"}], [{"timestamp": 5}],
    [{"timestamp": "2023-02-24T17:17:00Z", "more": 1}], "2023-02-24T17:17:00Z",
)  # fmt: skip
OTHERS = ("child_partitions_record", "partition_start_record", "partition_end_record", "partition_event_record")


class Drawing:
    """Lines with something odd in some of them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def lines(self, number: int) -> Iterator[str]:
        for _ in range(number):
            text = json.dumps(
                self.line(),
                ensure_ascii=self.chance(0.5),
                separators=self.draw.choice([(",", ":"), (", ", ": ")]),
                indent=self.draw.choice([None, None, None, "\t"]),
            )
            if self.chance(0.03):
                at = self.draw.randrange(len(text))
                text = text[:at] + self.draw.choice(["", '"', ",", "}", "]", "\\", "0"]) + text[at + 1 :]
            yield text.replace("\n", " ")

    def chance(self, of: float) -> bool:
        return self.draw.random() < of

    def line(self) -> Any:
        shape = self.draw.randrange(5)
        if shape == 0:
            return self.record()
        if shape == 1:
            return self.beside({"data_change_record": self.record()})
        if shape == 2:
            return [self.change() for _ in range(self.draw.randint(0, 2))]
        if shape == 3:
            return self.beside({"heartbeat_record": self.draw.choice(BEATS)})
        return self.beside({"change_record": [self.change() for _ in range(self.draw.randint(1, 3))]})

    def change(self) -> Any:
        if self.chance(0.03):
            return None
        records = [self.record() for _ in range(self.draw.choice([0, 1, 1, 1, 2]))]
        return self.beside({"data_change_record": records})

    def beside(self, given: dict[str, Any]) -> dict[str, Any]:
        """The object with what may stand beside."""
        if self.chance(0.4):
            given.setdefault("heartbeat_record", self.draw.choice(BEATS) if self.chance(0.3) else [])
            given |= {name: [] for name in OTHERS if self.chance(0.8)}
        if self.chance(0.04):
            given[self.draw.choice(OTHERS)] = self.draw.choice(
                ([{"start_timestamp": "2023-02-24T17:17:00Z", "partition_token": "q"}], {}, None, [None], "x")
            )
        if self.chance(0.1):
            given["partition_token"] = self.draw.choice(("", "p", None, 1))
        return given

    def record(self) -> Any:
        if self.chance(0.02):
            return self.draw.choice((None, "x", [], {}))
        mods = [self.mod() for _ in range(self.draw.choice([1, 1, 1, 2, 3]))]
        types = ("INSERT", "UPDATE", "DELETE")
        made = record(mods=mods, mod_type=self.draw.choice(types), partition_token="p", commit_timestamp=MOMENT)
        for name in self.draw.sample(list(ODD), k=self.draw.choice([0, 0, 0, 1, 1, 2])):
            made[name] = self.draw.choice(ODD[name])
        kept = {name: value for name, value in made.items() if value is not ABSENT}
        names = self.draw.sample(list(kept), k=len(kept)) if self.chance(0.2) else list(kept)
        return {name: kept[name] for name in names}

    def mod(self) -> Any:
        parts = {"keys": {"a": "1", "b": "x"}, "new_values": {"v": "new"}, "old_values": {"v": "old"}}
        if self.chance(0.3):
            parts[self.draw.choice(list(parts))] = self.draw.choice(PARTS)
        if self.chance(0.02):
            parts["more"] = {"x": 1}
        return {name: part for name, part in parts.items() if part is not ABSENT}


def apart(text: str) -> str:
    """The same line where it is not read in one look."""
    return f'{{"value":{text}}}'


@pytest.mark.parametrize("number", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_line_read_in_one_look_gives_what_it_gives_piece_by_piece(spark: SparkSession, number: int) -> None:
    told = list(Drawing(SEED).lines(number))
    at_once, piecewise = lines(spark, told).localCheckpoint(), lines(spark, map(apart, told))
    shares = at_once.transform(_usual).agg(F.count("_usual"), F.count("*")).first()
    assert shares is not None
    assert 0.2 < shares[0] / shares[1] < 0.8
    assert piecewise.transform(_usual).where("_usual is not null").count() == 0
    usual = at_once.transform(_usual).where("_usual is not null").select("line")

    def read(texts: Any) -> Any:
        given = envelopes(texts, SOURCE).drop("text", "record")
        known = given.withColumns({"announced": F.to_json("announced")}).join(usual, "line", "left_semi")
        return known.localCheckpoint()

    one, other = read(at_once), read(piecewise)
    differing = one.exceptAll(other).unionAll(other.exceptAll(one)).orderBy("line").head(4)
    assert [(told[row["line"] - 1], row.asDict()) for row in differing] == []
    assert one.count() >= shares[0]
    assert one.where("kind = 'reject'").count() == 0
