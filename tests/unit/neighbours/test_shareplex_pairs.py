"""Halves of updates on two lines, and the one order of a SharePlex source."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from siltstone.engine.decode.event import UPDATE_AFTER, Event, Message
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import EpochSpec
from tests.unit.decode.formats.test_shareplex import DECLARED, SOURCE, loaded, operation
from tests.unit.neighbours.shareplex_rule import resolve

BEFORE, AFTER = "UPDATE BEFORE", "UPDATE AFTER"


def resolved(*texts: str, source: Any = SOURCE, file: str = "/data/shareplex/a.jsonl") -> list[Event]:
    messages = [Message(file, line, text.encode()) for line, text in enumerate(texts, 1)]
    return resolve(decode_messages(messages, source, DECLARED), source)


def changes(events: list[Event]) -> list[tuple[Any, ...]]:
    return [(e.line, e.op, loaded(e.before), loaded(e.after)) for e in events if e.kind == "change"]


def test_two_lines_one_after_the_other_are_one_update() -> None:
    found = resolved(
        operation(BEFORE, {"id": "2", "a": "x"}),
        operation(AFTER, {"id": "2", "a": "z"}),
        operation(BEFORE, {"id": "2", "a": "z", "b": "y"}, seq=2),
        operation(AFTER, {"id": "3", "a": "z"}, seq=2),
        operation("upd", {"b": "n"}, {"id": "3"}, seq=3),
        operation("update_after", {"id": "3", "b": "m"}, seq=4),
    )
    assert changes(found) == [
        (2, "update", {"id": "2", "a": "x"}, {"id": "2", "a": "z"}),
        (4, "delete", {"id": "2", "a": "z", "b": "y"}, None),
        (4, "insert", None, {"id": "3", "a": "z", "b": "y"}),
        (5, "update", None, {"id": "3", "b": "n"}),
        (6, "update", None, {"id": "3", "b": "m"}),
    ]
    assert loaded(found[3].new_key) == {"id": "3", "a": "z", "b": "y"}
    assert loaded(found[4].old_key) == {"id": "2", "a": "z", "b": "y"}
    assert [e.control_kind for e in found] == ["update_before", None, "update_before", None, None, None, None]
    # The fields that the decoder set for this are removed.
    assert {(e.event_id, e.key) for e in found} == {(None, None)}
    assert [e.before for e in found if e.kind == "control"] == [None, None]


OTHER = operation("ins", {"id": "9"}, trans="1.3")
ROW = {"id": "1", "a": "x"}
PAIRED = (2, "update", ROW, {"id": "1", "a": "z"})
ALONE = (2, "update", None, {"id": "1", "a": "z"})


@pytest.mark.parametrize(
    ("before", "after", "is_one"),
    [
        ({}, {}, True),
        ({"seq": 1}, {"seq": 2}, True),
        ({"scn": None}, {}, True),
        ({"trans": None, "seq": None}, {"trans": None}, True),
        ({"seq": 1}, {"seq": 3}, False),
        ({"seq": 2}, {"seq": 1}, False),
        ({"scn": "8"}, {}, False),
        ({"trans": "1.1"}, {}, False),
        ({"table": "own.u"}, {}, False),
        ({"trans": None, "seq": None, "scn": "8"}, {"trans": None, "seq": None}, False),
    ],
)
def test_lines_are_one_update_if_no_field_contradicts_it(before: Any, after: Any, is_one: bool) -> None:
    found = resolved(operation(BEFORE, ROW, **before), operation(AFTER, {"id": "1", "a": "z"}, **after))
    assert changes(found) == [PAIRED if is_one else ALONE]


def test_pairs_are_found_by_their_place_where_something_is_between() -> None:
    two = [
        operation(BEFORE, {"id": "1", "a": "x"}, seq=1),
        operation(BEFORE, {"id": "5", "a": "y"}, seq=3),
        OTHER,
        operation(AFTER, {"id": "6"}, seq=4),
        operation(AFTER, {"id": "2"}, seq=2),
    ]
    one = [
        operation(AFTER, {"id": "2"}, seq=1, scn="11"),
        operation(BEFORE, {"id": "1", "a": "x"}, seq=1, scn="11"),
        OTHER,
        operation(BEFORE, {"id": "5", "a": "y"}, seq=2, scn="11"),
        operation(AFTER, {"id": "7"}, seq=3, scn="12"),
        operation(AFTER, {"id": "6"}, seq=2, scn="11"),
    ]
    for texts, alone in ((two, []), (one, [("update", None, {"id": "7"})])):
        found = [change[1:] for change in changes(resolved(*texts)) if change[3] != {"id": "9"}]
        moves = [
            ("delete", {"id": "1", "a": "x"}, None), ("insert", None, {"id": "2", "a": "x"}),
            ("delete", {"id": "5", "a": "y"}, None), ("insert", None, {"id": "6", "a": "y"}),
        ]  # fmt: skip
        assert sorted(found, key=repr) == sorted([*moves, *alone], key=repr)


def test_one_change_without_an_scn_lets_coordinates_order_all() -> None:
    texts = [operation("ins", {"id": str(scn)}, scn=scn) for scn in (10, 9, 11)]
    by_scn = [str(e.position) for e in resolved(*texts)]
    assert sorted(range(3), key=by_scn.__getitem__) == [1, 0, 2]
    lacking = [*texts, operation("del", {"id": "1"}, scn=None)]
    by_line = [str(e.position) for e in resolved(*lacking)]
    assert by_line == sorted({*by_line})
    assert max(by_scn) < min(by_line)
    assert [e.position for e in resolved(*texts, source=replace(SOURCE, order="coordinates"))] == by_line[:3]
    strict = resolved(*lacking, source=replace(SOURCE, order="scn"))
    assert [e.position for e in strict] == [*by_scn, None]
    assert strict[3].reason is not None


@pytest.mark.parametrize(
    "other",
    [
        operation("del", {"id": "1"}, scn=None, table="own.other"),
        operation("del", {"id": "1"}, scn=None, time=None),
        operation("del", {"id": "1"}, scn="abc"),
        operation("del", None, scn=None),
        operation(BEFORE, {"id": "1"}, scn=None),
        operation("DROP COLUMN", scn=None),
    ],
)
def test_only_changes_of_declared_tables_determine_the_order(other: str) -> None:
    assert resolved(operation("ins", {"id": "1"}), other)[0].position == "0000-0000000000000009-312E32-0000000000000001"


def test_the_second_epoch_is_inside_every_declared_one() -> None:
    epochs = (EpochSpec(until=datetime(2017, 1, 1, tzinfo=UTC)),)
    texts = [operation("ins", {"id": "1"}, time="2016-01-01T00:00:00"), operation("ins", {"id": "1"}, scn=None)]
    found = resolved(*texts, source=replace(SOURCE, epochs=epochs))
    assert [str(e.position)[:5] for e in found] == ["0001-", "0003-"]
    with_scns = resolved(texts[0], operation("ins", {"id": "1"}), source=replace(SOURCE, epochs=epochs))
    assert [str(e.position)[:5] for e in with_scns] == ["0000-", "0002-"]


def test_moving_the_folder_changes_no_order() -> None:
    text = operation("ins", {"id": "1"}, scn=None)
    places = {
        resolved(text, source=replace(SOURCE, path=f"{folder}/*.jsonl"), file=f"file:{folder}/b/c.jsonl")[0].position
        for folder in ("/data/shareplex", "/tmp/copy")
    }
    assert places == {f"0001-{b'b/c.jsonl'.hex().upper()}-0000000000000001-00000000"}


def test_a_half_without_the_other_is_a_partial_update() -> None:
    (event,) = decode_messages([Message("f", 1, operation(AFTER, {"id": "1"}).encode())], SOURCE, DECLARED)
    assert event.control_kind == UPDATE_AFTER
    (alone,) = resolve([event], SOURCE)
    assert (alone.control_kind, alone.op, json.loads(alone.after or b"")) == (None, "update", {"id": "1"})
