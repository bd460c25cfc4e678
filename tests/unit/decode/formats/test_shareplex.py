"""SharePlex's operations: their kinds, partial updates, key changes, and positions."""

import json
import pickle
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from siltstone.engine.decode.event import UPDATE_AFTER, Event, Message
from siltstone.engine.decode.formats.shareplex import NO_PLACE, WRONG_TYPE, SharePlexDecoder
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from tests.recordings import DATA

SOURCE = SourceSpec("shareplex-json", "/data/shareplex/*.jsonl")
TABLE = "own.t"
DECLARED = {TABLE: ("id",)}
ROW = {"id": "1"}
WRONG_TIME = "meta.time is not a time such as 2017-06-16T14:24:34"
NO_TIMES = ("", "2017-06-16", "16-JUN-17", "2017-06-16T24:00:00", "2017-02-30T00:00:00")


def operation(op: str | None, data: Any = None, key: Any = None, **meta: Any) -> str:
    whole = {"time": "2017-06-16T14:24:34", "op": op, "scn": "9", "trans": "1.2", "seq": 1, "size": 2, "table": TABLE}
    return json.dumps({"meta": whole | meta, "data": data} | ({} if key is None else {"key": key}))


def decoded(*texts: str | bytes, source: SourceSpec = SOURCE, declared: Any = DECLARED) -> list[Event]:
    lines = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
    messages = [Message("/data/shareplex/a.jsonl", line, text) for line, text in enumerate(lines, 1)]
    return decode_messages(messages, source, declared)


def loaded(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


KINDS = [
    (operation("ins", ROW), "insert"),
    (operation("INSERT", ROW, table=None), "insert"),
    (operation("del", ROW), "delete"),
    (operation("del", {}, ROW), "delete"),
    (operation("del", {}), 'op "del" without data'),
    (operation("UPDATE", {"a": "1"}, ROW), "update"),
    (operation("upd", {"a": "1"}), "update"),
    (operation("upd", None, ROW), 'op "upd" without data'),
    (operation("TRUNCATE"), "truncate"),
    (operation("drop_column"), "ddl"),
    (operation("UPDATE BEFORE", ROW, time=None), "update_before"),
    (json.dumps({"value": None}), "null_message"),
    ("null", "null_message"),
    (operation("merge", ROW), 'unknown op "merge"'),
    (operation(None, ROW), "meta.op is missing"),
    (operation("ins"), 'op "ins" without data'),
    (operation("ins", "text"), 'op "ins" without data'),
    (operation("ins", "{x"), 'op "ins" without data'),
    (operation("ins", json.dumps(ROW)), "insert"),
    (operation("ins", ROW, time=None), "meta.time is missing"),
    *[(operation("ins", ROW, time=time), WRONG_TIME) for time in NO_TIMES],
    (operation("TRUNCATE", time="yesterday"), WRONG_TIME),
    (json.dumps({"data": ROW}), "meta is missing"),
    (json.dumps({"meta": "x", "data": ROW}), WRONG_TYPE),
    (json.dumps({"value": "x"}), WRONG_TYPE),
    (json.dumps({"value": operation("ins", ROW), "offset": "x"}), WRONG_TYPE),
    ("[]", "not a JSON object"),
    ("{", "not JSON"),
    (" ", "empty line"),
    (b'{"meta": "\xff"}', "not UTF-8 text"),
    (operation("ins", {"id": "\ud800"}), "not JSON"),
    (json.dumps({"value": operation("ins", {"id": "\ud800"})}), WRONG_TYPE),
    *[(operation("ins", ROW, scn=scn), f'meta.scn "{scn}" is not a whole number') for scn in ("abc", "-1", "1.5", 1.5)],
    *[(operation("ins", ROW, **{name: count}), WRONG_TYPE) for name in ("seq", "size") for count in ("one", "", 1.5)],
]


@pytest.mark.parametrize(("text", "what"), KINDS)
def test_every_operation_is_a_change_a_control_event_or_a_reject_with_a_reason(text: str, what: str) -> None:
    (event,) = decoded(text)
    assert (event.op or event.control_kind or event.reason) == what
    assert event.table == TABLE


def test_operations_without_a_table_belong_to_the_only_spec() -> None:
    nameless = operation("ins", ROW, table=None)
    (of_two,) = decoded(nameless, declared=DECLARED | {"own.u": ("id",)})
    assert of_two.reason == "meta.table is missing, and more than one spec reads these files"
    assert decoded(nameless)[0].table == TABLE


@pytest.mark.parametrize(
    ("data", "key", "changes"),
    [
        (
            {"a": None},
            {"id": "1", "a": "x", "b": "y"},
            [("update", {"id": "1", "a": "x", "b": "y"}, {"id": "1", "a": None, "b": "y"})],
        ),
        ({"a": "z"}, ROW, [("update", None, {"id": "1", "a": "z"})]),
        ({"a": "z"}, None, [("update", None, {"a": "z"})]),
        ({"id": 1, "a": "z"}, {"id": "1", "a": "x"}, [("update", {"id": "1", "a": "x"}, {"id": 1, "a": "z"})]),
        (
            {"id": "2"},
            {"id": "1", "a": "x"},
            [("delete", {"id": "1", "a": "x"}, None), ("insert", None, {"id": "2", "a": "x"})],
        ),
    ],
)
def test_an_update_is_merged_with_the_row_before(data: Any, key: Any, changes: list[Any]) -> None:
    found = decoded(operation("upd", data, key))
    assert [(e.op, loaded(e.before), loaded(e.after)) for e in found] == changes
    if len(found) == 2:
        assert loaded(found[0].new_key) == loaded(found[1].after)
        assert loaded(found[1].old_key) == loaded(found[0].before)
        assert [e.text is not None for e in found] == [True, False]


def test_halves_of_an_update_have_the_fields_that_the_next_step_needs() -> None:
    before, after = decoded(operation("UPDATE BEFORE", ROW), operation("update_after", {"id": "2", "a": "z"}))
    assert (before.kind, before.before, before.event_id, before.tx_id, before.tx_order) == (
        "control", b'{"id": "1"}', "9", "1.2", 1,
    )  # fmt: skip
    assert (after.kind, after.op, after.control_kind, after.event_id) == ("change", "update", UPDATE_AFTER, "9")
    assert (loaded(after.key), after.before) == ({"id": "2"}, None)


def test_scns_and_places_are_numbers_in_every_spelling() -> None:
    texts = [operation("ins", ROW, scn=scn, seq=seq, size="2") for scn, seq in ((10, "2"), ("9", 1), (10, "10"))]
    found = decoded(*texts, operation("ins", ROW, seq=None, size=None, idx="3/7"))
    assert [(e.tx_order, e.announced and e.announced.size) for e in found] == [(2, 2), (1, 2), (10, 2), (3, 7)]
    assert found[0].position == "0000-000000000000000A-312E32-0000000000000002"
    assert sorted(range(4), key=lambda at: str(found[at].position)) == [1, 3, 0, 2]


LACKING = [{"scn": None}, {"scn": " "}, {"trans": None}, {"seq": None}]


@pytest.mark.parametrize("lacking", LACKING)
def test_a_change_without_an_scn_or_a_place_gets_its_coordinates(lacking: dict[str, Any]) -> None:
    text = operation("del", ROW, **lacking)
    (event,) = decoded(text)
    assert event.position == f"0001-{b'a.jsonl'.hex().upper()}-0000000000000001-00000000"
    (in_topic,) = decoded(json.dumps({"value": text, "partition": 1, "offset": 2}))
    assert in_topic.position == "0001-000000000000-00000001-0000000000000002-00000000"
    (strict,) = decoded(text, source=replace(SOURCE, order="scn"))
    assert (strict.position, strict.reason) == (None, NO_PLACE)


def test_the_spec_can_set_the_order() -> None:
    (event,) = decoded(operation("ins", ROW), source=replace(SOURCE, order="coordinates"))
    assert event.position is not None
    assert event.position.startswith("0001-")


def test_an_invalid_place_and_an_undeclared_table_do_not_change_the_order() -> None:
    assert decoded(operation("ins", ROW, seq=None, idx="x"))[0].reason == NO_PLACE
    (other,) = decoded(operation("del", ROW, scn=None, table="own.other"))
    assert (other.kind, other.position) == ("change", None)


def test_an_operation_is_the_same_in_a_topic_and_with_its_fields_in_any_order() -> None:
    text = operation("upd", {"a": "z"}, {"id": "1", "a": "x"})
    turned = json.dumps(dict(reversed(json.loads(text).items())))
    spread = json.dumps(json.loads(text), indent=1).replace("\n", " ")
    odd = operation("upd", {"a": "z"}, {"id": "1", "a": "x"}, userid=[1], time="2017-06-16 14:24:34.0Z", scn=9, seq="1")
    found = decoded(text, turned, spread, odd, json.dumps({"value": text}), f'{{"value": {turned}, "topic": "t"}}')
    assert len({(e.op, e.table, e.position, e.commit_us, e.tx_id, e.tx_order) for e in found}) == 1
    assert [(loaded(e.before), e.after) for e in found] == [({"id": "1", "a": "x"}, b'{"id":"1","a":"z"}')] * 6
    assert [e.channel for e in found] == [None] * 5 + ["t"]


@pytest.mark.parametrize("number", ["12345678901234567.89", "2e23", "1234567890123456789012345", "1.10", "1e3"])
def test_numbers_keep_all_digits(number: str) -> None:
    texts = [operation("ins", {"id": "N"}), operation("upd", {"a": "N"}, {"id": "N"}), operation("del", {"id": "N"})]
    found = decoded(*[text.replace('"N"', number) for text in texts])
    written = [(e.after or e.before or b"").decode() for e in found]
    assert written == [f'{{"id": {number}}}', f'{{"id":{number},"a":{number}}}', f'{{"id": {number}}}']


def test_damaged_lines_neither_raise_nor_are_lost() -> None:
    draw = random.Random(4)
    whole = [text for text, _ in KINDS if isinstance(text, str)]
    whole += [operation("upd", {"a": None}, {"id": "1", "a": "x"}), json.dumps({"value": operation("ins", ROW)})]
    texts = []
    for _ in range(4_000):
        text = draw.choice(whole)
        at = draw.randrange(len(text))
        texts.append(text[:at] + draw.choice(["", '"', ",", "}", "]", "\\", "0", "null", "\ud800"]) + text[at + 1 :])
    found = decoded(*texts)
    assert {e.line for e in found} == set(range(1, len(texts) + 1))
    assert Counter(e.kind for e in found).keys() == {"change", "control", "reject"}


def test_a_decoder_can_be_pickled() -> None:
    decoder = pickle.loads(pickle.dumps(SharePlexDecoder(SOURCE, DECLARED)))
    assert len(decoder.events(Message("f", 1, operation("ins", ROW).encode()))) == 1


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
def test_the_documented_samples_are_decoded() -> None:
    table = "CL_BIZ1.MIO_LOG"
    texts = (DATA / "dts/shareplex/doc_samples.jsonl").read_bytes().splitlines()
    inserted, updated, deleted = decoded(*texts, declared={table: ("MIO_LOG_ID",)})
    assert (inserted.op, loaded(inserted.after)) == ("insert", {"MIO_LOG_ID": "32539737"})
    assert (updated.op, loaded(updated.after)["CNTR_NO"], loaded(updated.before)["CNTR_NO"]) == (
        "update", "1171201606", "1171201606syui26",
    )  # fmt: skip
    assert (deleted.op, deleted.table, loaded(deleted.before)["MIO_LOG_ID"]) == ("delete", table, "32539739")
