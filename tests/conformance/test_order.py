"""Positions have the order that each source defines, which the pairs in the recordings' folder show."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.spec.model import SourceSpec
from tests import dts_records
from tests.decoding import envelopes
from tests.recordings import DATA

PAIRS = DATA / "ordering/pairs.jsonl"
pytestmark = pytest.mark.skipif(not PAIRS.is_file(), reason=f"the pairs are not there: {PAIRS}")
Place = dict[str, Any]


def datastream(method: str, owner: dict[str, str]) -> Callable[[Place], str]:
    def event(place: Place) -> str:
        at = datetime.fromtimestamp(place["ts"], UTC).isoformat()
        log = {"log_position" if k == "log_position" else k: v for k, v in place.items() if k != "ts"}
        meta = {"table": "t", "change_type": "INSERT", "is_deleted": False, "primary_keys": ["id"]} | owner | log
        record = {
            "uuid": "u",
            "read_timestamp": at,
            "source_timestamp": at,
            "read_method": method,
            "source_metadata": meta,
        }
        return json.dumps(record | {"payload": {"id": 1}})

    return event


def spanner(place: Place) -> str:
    types = [{"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1}]
    record = {"record_sequence": "0", "server_transaction_id": "t", "table_name": "t", "mod_type": "INSERT"}
    mods = [{"keys": {"id": "1"}, "new_values": {}, "old_values": {}}]
    return json.dumps(place | record | {"column_types": types, "mods": mods, "value_capture_type": "NEW_ROW"})


def mysql(place: str) -> str:
    file, _, pos = place.partition(".")
    source = {"connector": "mysql", "name": "n", "db": "d", "table": "t", "ts_ms": 1, "file": f"bin.{file}"}
    return json.dumps({"op": "c", "after": {"id": 1}, "source": source | {"pos": int(pos), "row": 0}, "ts_ms": 2})


def oracle(place: Place) -> str:
    source = {"version": "3.0.0.Final", "connector": "oracle", "name": "n", "schema": "s", "table": "t", "ts_ms": 1}
    record = {"rs_id": "0x000001.00000002.0010", "ssn": 0}
    return json.dumps({"op": "c", "after": {"id": 1}, "source": source | record | place, "ts_ms": 2})


def dts(place: str) -> str:
    return dts_records.line(dts_records.record("INSERT", {"id": 3}, None, [dts_records.integer(1)], position=place))


SOURCES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "datastream-mysql": ("datastream-json", datastream("mysql-cdc-binlog", {"database": "d"})),
    "datastream-postgresql": ("datastream-json", datastream("postgresql-cdc", {"schema": "s"})),
    "datastream-oracle": (
        "datastream-json",
        datastream("oracle-cdc-logminer", {"schema": "s", "database": "d", "tx_id": "1"}),
    ),
    "spanner": ("spanner-json", spanner),
    "debezium-mysql-seq": ("debezium-json", mysql),
    "debezium-oracle": ("debezium-json", oracle),
    "dts": ("dts-avro", dts),
}


def test_positions_have_the_order_of_the_collected_pairs(spark: SparkSession) -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    assert {pair["source"] for pair in pairs} == set(SOURCES)
    problems = []
    for form in {form for form, _ in SOURCES.values()}:
        mine = [pair for pair in pairs if SOURCES[pair["source"]][0] == form]
        texts = [SOURCES[pair["source"]][1](pair[side]) for pair in mine for side in "ab" if pair[side] is not None]
        rows = [(f"{form}.jsonl", number, text) for number, text in enumerate(texts)]
        lines = spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)
        found = envelopes(lines, SourceSpec(form, "x")).orderBy("line")
        places = iter(found.select("position", "origin", "kind", F.col("reason")).collect())
        for pair in mine:
            sides = [None if pair[side] is None else next(places) for side in "ab"]
            problems += [f"{pair}: {sides}"] if not holds(pair, sides[0], sides[1]) else []
    assert not problems, "\n".join(problems)


def holds(pair: Any, a: Any, b: Any) -> bool:
    """Whether the positions of a pair have the expected relation. A READ of a backfill has no position, so a change of
    its key inside its window wins."""
    if pair["b"] is None and pair["a"] and "invalid" in pair["why"]:
        return bool(a["kind"] == "reject")
    if pair["b"] is None:
        return True  # how an upsert treats nulls does not depend on positions
    if a["origin"] == "snapshot":
        return a["position"] is None and b["origin"] == "stream" and b["position"] is not None
    relation = {"<": a["position"] < b["position"], "=": a["position"] == b["position"]}
    return bool(relation[pair["relation"][0]])


def test_numbers_in_positions_are_compared_as_numbers(spark: SparkSession) -> None:
    """File numbers and offsets that grow by a digit: an order of texts would be wrong."""
    steps = ["999999.4", "999999.99", "999999.100", "1000000.4"]
    rows = [("f", number, mysql(step)) for number, step in enumerate(steps)]
    lines = spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)
    places = [r["position"] for r in envelopes(lines, SourceSpec("debezium-json", "x")).orderBy("line").collect()]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
