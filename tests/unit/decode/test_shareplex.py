"""SharePlex's operations: partial updates, pairs of lines, key changes, and the two orders."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from engine.decode import discover, envelopes
from engine.decode.declared import schemaless_encoding
from engine.decode.rows import decode_rows
from engine.spec.columns import parse_column_type
from engine.spec.model import SourceSpec
from tests.recordings import DATA
from tests.unit.decode.given import changes_of, lines, spec

SOURCE = SourceSpec("shareplex-json", "/data/shareplex")
TABLE = "own.t"
NO_TIMES = ("", "2017-06-16", "16-JUN-17", "2017-06-16T24:00:00", "2017-02-30T00:00:00")


def operation(op: str | None, data: Any = None, key: Any = None, **meta: Any) -> str:
    told = {"time": "2017-06-16T14:24:34", "op": op, "scn": "9", "trans": "1.2", "seq": 1, "size": 2, "table": TABLE}
    return json.dumps({"meta": told | meta, "data": data} | ({} if key is None else {"key": key}))


def read(spark: SparkSession, texts: list[str], source: SourceSpec = SOURCE) -> list[Row]:
    return envelopes(lines(spark, texts), source, {TABLE: ("id",)}).orderBy("line", "op").collect()


def test_every_operation_is_a_change_a_control_event_or_a_reject_with_its_reason(spark: SparkSession) -> None:
    row, no_time = {"id": "1"}, "meta.time is no time such as 2017-06-16T14:24:34"
    misfit = "a field of the operation has a type that SharePlex does not give it"
    cases = [
        (operation("ins", row), "insert"),
        (operation("INSERT", row, table=None), "insert"),
        (operation("del", row), "delete"),
        (operation("del", {}, row), "delete"),
        (operation("del", {}), 'op "del" without data'),
        (operation("UPDATE", {"a": "1"}, row), "update"),
        (operation("TRUNCATE"), "truncate"),
        (operation("DROP COLUMN"), "ddl"),
        (json.dumps({"value": None}), "null_message"),
        (operation("merge", row), 'unknown op "merge"'),
        (operation(None, row), "meta.op is missing"),
        (operation("ins"), 'op "ins" without data'),
        (operation("ins", row, time=None), "meta.time is missing"),
        *[(operation("ins", row, time=time), no_time) for time in NO_TIMES],
        (operation("TRUNCATE", time="yesterday"), no_time),
        (json.dumps({"data": row}), "meta is missing"),
        ("{", "not JSON"),
        *[(operation("ins", row, scn=scn), f'meta.scn "{scn}" is no whole number') for scn in ("abc", "-1", "1.5")],
        *[(operation("ins", row, **{name: count}), misfit) for name in ("seq", "size") for count in ("one", "", 1.5)],
    ]
    found = read(spark, [text for text, _ in cases])
    assert [e.op or e.control_kind or e.reason for e in found] == [told for _, told in cases]
    assert {e.table for e in found if e.kind == "change"} == {TABLE}


def test_updates_are_partial_and_pairs_of_lines_one_change(spark: SparkSession) -> None:
    texts = [
        operation("upd", {"a": None}, {"id": "1", "a": "x", "b": "y"}),
        operation("upd", {"id": "2"}, {"id": "1", "a": "x"}),
        operation("UPDATE BEFORE", {"id": "2", "a": "x"}),
        operation("UPDATE AFTER", {"id": "3", "a": "z"}),
        operation("upd", {"b": "n"}, {"id": "3"}),
        operation("update_after", {"id": "3", "b": "m"}),
    ]
    found = [e for e in read(spark, texts) if e.kind == "change"]
    assert [(e.line, e.op, loaded(e.before_json), loaded(e.after_json)) for e in found] == [
        (1, "update", {"id": "1", "a": "x", "b": "y"}, {"id": "1", "a": None, "b": "y"}),
        (2, "delete", {"id": "1", "a": "x"}, None),
        (2, "insert", None, {"id": "2", "a": "x"}),
        (4, "delete", {"id": "2", "a": "x"}, None),
        (4, "insert", None, {"id": "3", "a": "z"}),
        (5, "update", None, {"id": "3", "b": "n"}),
        (6, "update", None, {"id": "3", "b": "m"}),
    ]
    assert loaded(found[1].new_key_json) == {"id": "2", "a": "x"}
    assert loaded(found[2].old_key_json) == {"id": "1", "a": "x"}


def test_pairs_are_found_by_their_place_where_something_stands_between(spark: SparkSession) -> None:
    other = operation("ins", {"id": "9"}, trans="1.3")
    two = [
        operation("UPDATE BEFORE", {"id": "1", "a": "x"}, seq=1),
        operation("UPDATE BEFORE", {"id": "5", "a": "y"}, seq=3),
        other,
        operation("UPDATE AFTER", {"id": "6"}, seq=4),
        operation("UPDATE AFTER", {"id": "2"}, seq=2),
    ]
    one = [
        operation("UPDATE AFTER", {"id": "2"}, seq=1, scn="11"),
        operation("UPDATE BEFORE", {"id": "1", "a": "x"}, seq=1, scn="11"),
        other,
        operation("UPDATE BEFORE", {"id": "5", "a": "y"}, seq=2, scn="11"),
        operation("UPDATE AFTER", {"id": "7"}, seq=3, scn="12"),
        operation("UPDATE AFTER", {"id": "6"}, seq=2, scn="11"),
    ]
    for texts, alone in ((two, []), (one, [("update", None, {"id": "7"})])):
        found = [e for e in read(spark, texts) if e.kind == "change" and loaded(e.after_json) != {"id": "9"}]
        told = [(e.op, loaded(e.before_json), loaded(e.after_json)) for e in found]
        moves = [
            ("delete", {"id": "1", "a": "x"}, None), ("insert", None, {"id": "2", "a": "x"}),
            ("delete", {"id": "5", "a": "y"}, None), ("insert", None, {"id": "6", "a": "y"}),
        ]  # fmt: skip
        assert sorted(told, key=repr) == sorted([*moves, *alone], key=repr)


def loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def test_scns_are_numbers_and_one_change_without_lets_coordinates_order_all(spark: SparkSession) -> None:
    texts = [
        operation("ins", {"id": str(n)}, scn=scn, seq=seq)
        for n, (scn, seq) in enumerate([(10, "2"), ("9", 1), (10, "10")])
    ]
    found = read(spark, [text.replace('"size": 2', '"size": "2"') for text in texts])
    assert [(e.tx_order, e.announced.size) for e in found] == [(2, 2), (1, 2), (10, 2)]
    by_scn = [e.position for e in found]
    assert by_scn[1] < by_scn[0] < by_scn[2]
    lacking = [*texts, operation("del", {"id": "1"}, scn=None)]
    by_line = [e.position for e in read(spark, lacking)]
    assert by_scn[2] < by_line[0] < by_line[1] < by_line[2] < by_line[3]
    nobodys = operation("del", {"id": "1"}, scn=None, table="own.other")
    refused = [operation("del", {"id": "1"}, scn=scn, time=time) for scn, time in ((None, None), ("abc", "2017-06-16"))]
    assert [e.position for e in read(spark, [*texts, nobodys, *refused])][:3] == by_scn
    turned = json.dumps(dict(reversed(json.loads(lacking[-1]).items())))  # what it lacks it lacks wherever meta stands
    for told in (turned, json.dumps({"value": lacking[-1]}), json.dumps({"value": turned})):
        assert [e.position for e in read(spark, [*texts, told])] == by_line
    strict = read(spark, lacking, replace(SOURCE, order="scn"))
    assert [e.position for e in strict] == [*by_scn, None]
    assert strict[3].reason.startswith("a change without scn")
    assert [e.position for e in read(spark, texts, replace(SOURCE, order="coordinates"))] == by_line[:3]


def test_numbers_keep_all_their_digits(spark: SparkSession) -> None:
    odd = 'a "7": 1.00000000000000000001, {'  # no number of the row
    numbers = ["12345678901234567.89", "-0.12345678901234567891", "2e23", "1234567890123456789012345", "1.10", "1e3"]
    texts = [
        operation("ins", {"id": "N"}),
        operation("upd", {"a": "N"}, {"id": "N", "b": odd}),
        operation("UPDATE BEFORE", {"id": "N", "b": odd}),
        operation("UPDATE AFTER", {"id": "N", "a": "N"}),
        json.dumps({"value": operation("del", {"id": "N"}), "partition": 0, "offset": 12345678901234567}),
        '{"value": ' + operation("del", {"id": "N"}) + "}",
    ]
    written = [text.replace('\\"N\\"', number).replace('"N"', number) for number in numbers for text in texts]
    found = [loaded(e.after_json or e.before_json) for e in read(spark, written) if e.kind == "change"]
    for number in numbers:
        told = number.replace("1.10", "1.1").replace("1e3", "1000.0")  # what a double does not change is told as ever
        whole = {"id": told, "b": odd, "a": told}
        rows, found = found[:5], found[5:]
        assert [{k: str(v) for k, v in row.items()} for row in rows] == [
            {"id": told},
            whole,
            whole,
            *[{"id": told}] * 2,
        ]


@pytest.mark.parametrize(("said", "kind"), [("bytes", "base64"), ("hex", "hex"), ("base64-url-safe", "base64_url")])
def test_bytes_are_written_as_the_spec_says(said: Any, kind: str) -> None:
    assert schemaless_encoding(parse_column_type("binary"), replace(SOURCE, binaries=said)).kind == kind


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
def test_the_documented_samples(spark: SparkSession) -> None:
    table = replace(spec(keys=("MIO_LOG_ID",)), table="CL_BIZ1.MIO_LOG", source=SOURCE)
    texts = (DATA / "dts/shareplex/doc_samples.jsonl").read_text().splitlines()
    read_lines = envelopes(lines(spark, texts), SOURCE, {table.table: table.keys}).localCheckpoint()
    changes = changes_of(read_lines, table.table)
    inserted, updated, deleted = decode_rows(changes, discover(changes, table), table).orderBy("line").collect()
    assert [c.reason for c in (inserted, updated, deleted)] == [None] * 3
    assert (inserted.op, inserted.row.MIO_LOG_ID) == ("insert", "32539737")
    assert (updated.op, updated.row.asDict()["CNTR_NO"], updated.before.CNTR_NO) == (
        "update",
        "1171201606",
        "1171201606syui26",
    )
    assert (updated.row.PLNMIO_REC_ID, updated.row.POL_CODE) == ("31557806", None)
    assert (deleted.op, deleted.key.MIO_LOG_ID) == ("delete", "32539739")
