"""TiCDC's messages: those of Canal, with the position and the time in `_tidb`."""

import json
from typing import Any

import pytest

from siltstone.engine.decode.event import Event
from siltstone.engine.decode.formats.canal import OF_TICDC
from siltstone.engine.decode.formats.ticdc import IN_STORAGE, NO_COMMIT, NO_EXTENSION, NO_TSO, ONLY_KEY
from siltstone.engine.decode.formats.tso import position_of
from siltstone.engine.spec.model import SourceSpec
from tests.unit.decode.formats.test_canal import MISFIT, framed, loaded, message
from tests.unit.decode.formats.test_canal import read as read_as

SOURCE = SourceSpec("ticdc-json", "/data/canal/*")
TSO = 429_918_007_904_436_226
MILLIS = 1_640_007_049_196  # of the TSO
PLACE = f"0000-{TSO:016X}"
OTHER = {"c_bigint": "9223372036854775807", "c_mediumint": "8388607", "c_smallint": "32767", "id": "2"}
BEFORE = OTHER | {"c_int": "2147483647", "c_tinyint": "127"}
AFTER = OTHER | {"c_int": "0", "c_tinyint": "0"}
TYPES = {name: name.removeprefix("c_") for name in BEFORE} | {"id": "int"}
DOCUMENTED = {
    "id": 0, "database": "test", "table": "tp_int", "pkNames": ["id"], "isDdl": False, "type": "INSERT",
    "es": MILLIS, "ts": 1_639_633_142_960, "sql": "", "mysqlType": TYPES, "data": [BEFORE], "old": None,
    "_tidb": {"commitTs": TSO},
}  # fmt: skip
DDL = {"table": "", "pkNames": None, "isDdl": True, "type": "QUERY", "sql": "drop database if exists test"}
EMPTY = {"mysqlType": None, "data": None, "old": None}
MARK = {"database": "", "table": "", "pkNames": None, "type": "TIDB_WATERMARK", "_tidb": {"watermarkTs": TSO}}


def documented(**fields: Any) -> str:
    """The message of the documentation, with some other fields."""
    return json.dumps(DOCUMENTED | fields)


def read(*texts: str, source: SourceSpec = SOURCE, **keys: tuple[str, ...]) -> list[Event]:
    return read_as(*texts, source=source, **keys)


def test_a_change_is_at_its_tso() -> None:
    (event,) = read(documented())
    assert (event.op, event.table, event.position) == ("insert", "test.tp_int", f"{PLACE}-1")
    assert (event.commit_us, event.ingest_us) == (MILLIS * 1_000, 1_639_633_142_960_000)
    assert (event.connector, event.source, event.tx_id) == ("ticdc", "ticdc", str(TSO))
    assert (event.event_id, event.tx_order) == (None, None)
    assert (loaded(event.after), event.key_schema) == (BEFORE, '{"keys":["id"]}')


def test_old_is_the_complete_row_or_the_changed_columns() -> None:
    old = {name: value for name, value in BEFORE.items() if AFTER[name] != value}
    (whole, partial) = read(*[documented(type="UPDATE", data=[AFTER], old=[one]) for one in (BEFORE, old)])
    assert loaded(whole.before) == loaded(partial.before) == BEFORE
    assert loaded(whole.after) == loaded(partial.after) == AFTER
    assert whole.position == partial.position == f"{PLACE}-1"


def test_a_delete_comes_before_an_insert_at_the_same_tso() -> None:
    (delete, insert) = read(documented(type="DELETE"), documented(data=[AFTER]))
    assert (delete.op, delete.position) == ("delete", f"{PLACE}-0")
    assert (insert.op, insert.position) == ("insert", f"{PLACE}-1")
    earlier, later = position_of(TSO - 1, is_delete=False), position_of(TSO, is_delete=True)
    assert earlier is not None
    assert later is not None
    assert earlier < later


def test_a_changed_key_in_an_update_is_a_delete_and_an_insert() -> None:
    (delete, insert) = read(documented(type="UPDATE", data=[AFTER], old=[BEFORE | {"id": "1"}]))
    assert [(event.op, event.position) for event in (delete, insert)] == [
        ("delete", f"{PLACE}-0"),
        ("insert", f"{PLACE}-1"),
    ]
    assert (loaded(delete.new_key), loaded(insert.old_key)) == (AFTER, BEFORE | {"id": "1"})
    assert (delete.text is None, insert.text is None) == (False, True)


def test_the_place_and_the_time_of_delivery_do_not_matter() -> None:
    (first, second) = read(framed(documented()), framed(documented(ts=1), offset=99, partition=3))
    assert first.position == second.position
    assert (second.channel, second.kafka_partition, second.kafka_offset) == ("t", 3, 99)


def test_a_watermark_is_a_heartbeat_of_its_partition() -> None:
    (known, unknown, named) = read(
        framed(documented(**EMPTY, **MARK)), documented(**EMPTY, **MARK), framed(documented(**EMPTY, **MARK), topic="u")
    )
    assert [(event.kind, event.control_kind) for event in (known, unknown)] == [("control", "heartbeat")] * 2
    assert known.commit_us == unknown.commit_us == MILLIS * 1_000 - 1
    assert [event.announced and event.announced.partition for event in (known, unknown, named)] == ["t/2", None, "u/2"]
    assert (known.connector, known.source, known.position) == ("ticdc", "ticdc", None)
    assert loaded(known.control)["_tidb"] == {"watermarkTs": TSO}


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        (documented(**EMPTY | DDL), "control", "ddl"),
        (documented(**EMPTY | DDL | {"type": "TRUNCATE", "table": "tp_int"}), "change", "truncate"),
        (framed(None), "control", "null_message"),
        (message("INSERT", [BEFORE]), "reject", NO_EXTENSION),
        (documented(_tidb=None), "reject", NO_EXTENSION),
        (documented(_tidb={}), "reject", NO_COMMIT),
        (documented(_tidb={"commitTs": 5}), "reject", NO_TSO),
        (documented(_tidb={"commitTs": -TSO}), "reject", NO_TSO),
        (documented(_tidb={"commitTs": "x"}), "reject", MISFIT),
        (documented(_tidb={"commitTs": 2**64}), "reject", MISFIT),
        (documented(type="UPSERT"), "reject", 'unknown type "UPSERT"'),
        (documented(data=None), "reject", "INSERT without rows in data"),
        ("{", "reject", "not JSON"),
    ],
)
def test_a_message_is_a_change_a_control_event_or_a_reject_with_a_reason(text: str, kind: str, why: str) -> None:
    (event,) = read(text)
    assert (event.kind, event.control_kind or event.reason or event.op) == (kind, why)
    assert event.text is not None


@pytest.mark.parametrize(
    ("extension", "reason"),
    [({"onlyHandleKey": True}, ONLY_KEY), ({"claimCheckLocation": "s3://b/x.json"}, IN_STORAGE)],
)
def test_a_large_message_with_only_the_key_is_a_delete_or_a_reject(extension: Any, reason: str) -> None:
    key = {"mysqlType": {"id": "int"}, "data": [{"id": "2"}], "_tidb": {"commitTs": TSO} | extension}
    (delete, insert, update) = read(
        documented(**key, type="DELETE"), documented(**key), documented(**key, type="UPDATE", old=[{"id": "2"}])
    )
    assert (delete.kind, loaded(delete.before)) == ("change", {"id": "2"})
    assert (insert.kind, insert.reason, insert.table) == ("reject", reason, "test.tp_int")
    assert (update.kind, update.reason) == ("reject", reason)


def test_the_canal_decoder_rejects_messages_with_a_tso() -> None:
    canal = SourceSpec("canal-json", "/data/canal/*")
    events = read(documented(**EMPTY, **MARK), documented(), source=canal)
    assert [(event.kind, event.reason) for event in events] == [("reject", OF_TICDC)] * 2
    assert events[1].table == "test.tp_int"
