"""DTS's Avro records: their kinds, both generations, all kinds of values, key changes, invalid bytes."""

import base64
import json
import math
import random
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.charsets import decoded as decoded_text
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from tests.dts_records import (
    MYSQL,
    SECOND,
    blob,
    decimal,
    encoded,
    integer,
    line,
    moment,
    number,
    of_type,
    record,
    shape,
    text,
    timestamp,
    zoned,
)

ONE = [integer(1), text("a")]
NO_RECORD = "the bytes are not a record of DTS"


def decoded(texts: list[str], **keys: tuple[str, ...]) -> list[Event]:
    declared = {f"shop.{table}": columns for table, columns in keys.items()}
    messages = [Message("a.jsonl", number, given.encode()) for number, given in enumerate(texts, 1)]
    return decode_messages(messages, SourceSpec("dts-avro", "x"), declared)


def row(*values: tuple[int, Any], **more: Any) -> dict[str, Any]:
    """The image after an INSERT of values, by column number. Each value has the number of its column's type."""
    types = {str(at): kind for at, (kind, _) in enumerate(values)}
    (event,) = decoded([line(record("INSERT", types, None, [value for _, value in values], **more))])
    assert event.reason is None
    return json.loads(event.after or b"")  # type: ignore[no-any-return]


def ddl(statement: str, name: str = "shop") -> str:
    return line(record("DDL", after=statement, objectName=name))


CASES: list[tuple[str, tuple[str, str | None, str | None]]] = [
    (line(record("INSERT", MYSQL, None, ONE)), ("change", "insert", "shop.items")),
    (line(record("INSERT", MYSQL, None, ONE), born=False), ("change", "insert", "shop.items")),
    (line(record("UPDATE", MYSQL, ONE, ONE)), ("change", "update", "shop.items")),
    (line(record("DELETE", MYSQL, ONE, None)), ("change", "delete", "shop.items")),
    (line(record("INIT", MYSQL, None, ONE, position="0@0")), ("change", "read", "shop.items")),
    (ddl("/* now */ truncate table `items` ;"), ("change", "truncate", "shop.items")),
    (ddl('TRUNCATE "other"."items" CASCADE'), ("change", "truncate", "other.items")),
    (ddl("TRUNCATE TABLE `my.tab`"), ("change", "truncate", "shop.my.tab")),
    (ddl("truncate items", "shop.items"), ("change", "truncate", "shop.items")),
    (ddl("truncate items, others"), ("reject", "a TRUNCATE that does not name its table", None)),
    (ddl("create table truncated (id int)"), ("control", "ddl", None)),
    (line(record("BEGIN", position="0@0", objectName=None)), ("control", "transaction_begin", None)),
    (line(record("COMMIT")), ("control", "transaction_end", "shop.items")),
    (line(record("HEARTBEAT", objectName=None)), ("control", "heartbeat", None)),
    (line(record("NOOP")), ("control", "filler", "shop.items")),
    (base64.b64encode(bytes(48)).decode(), ("control", "filler", None)),
    ('{"topic": "t", "value": null}', ("control", "null_message", None)),
    ("null", ("control", "null_message", None)),
    (line(record("INSERT", MYSQL, None, ONE, objectName=r"my\u002Edb.a\u002eb")), ("change", "insert", "my.db.a.b")),
    (line(record("INSERT", MYSQL, None, ONE, objectName="db.public.items")), ("change", "insert", "public.items")),
    (
        line(record("INSERT", MYSQL, None, ONE, tags={"l_db_name": "logical", "l_tb_name": "things"})),
        ("change", "insert", "logical.things"),
    ),
    (line(record("INSERT", MYSQL, None, ONE, tags={"l_tb_name": ""})), ("change", "insert", "shop.items")),
    (json.dumps({"value": line(record("INSERT", MYSQL, None, ONE)), "offset": 7}), ("change", "insert", "shop.items")),
    (line(record("INSERT", MYSQL, None, ONE[:1])), ("reject", "the numbers of values and fields differ", "shop.items")),
    (line(record("INSERT", MYSQL, ONE, None)), ("reject", "INSERT without afterImages", "shop.items")),
    (line(record("INSERT", MYSQL, None, "text")), ("reject", "INSERT without afterImages", "shop.items")),
    (line(record("DELETE", MYSQL, None, ONE)), ("reject", "DELETE without beforeImages", "shop.items")),
    (line(record("UPDATE", None, ONE, ONE)), ("reject", "UPDATE without fields", "shop.items")),
    (
        line(record("INSERT", MYSQL, None, ONE, objectName="items")),
        ("reject", "objectName does not name a table", None),
    ),
    (
        line(record("INSERT", MYSQL, None, ONE, position="0@0")),
        ("reject", 'a streamed change without a position (sourcePosition "0@0")', "shop.items"),
    ),
    (
        line(record("INSERT", MYSQL, None, ONE, sourceTimestamp=10**15)),
        ("reject", "sourceTimestamp is not a time in seconds", "shop.items"),
    ),
    (
        line(record("UPDATE", MYSQL, ONE, [integer(1), text(b"\xff\xfe")])),
        ("reject", 'a value cannot be read: column "name"', "shop.items"),
    ),
    (
        line(record("INSERT", MYSQL, None, [integer(1), text("a", "klingon")])),
        ("reject", 'a value cannot be read: column "name"', "shop.items"),
    ),
    (line(record("INSERT", MYSQL, None, ONE))[:-16], ("reject", NO_RECORD, None)),
    (base64.b64encode(encoded(record("COMMIT")) + b"more").decode(), ("reject", NO_RECORD, None)),
    (
        base64.b64encode(bytes(60)).decode(),
        ("reject", f"{NO_RECORD}; if they are Confluent frames, the format is debezium-avro", None),
    ),
    ("no base64!", ("reject", "the value is not base64", None)),
    (
        json.dumps({"key": "no base64!", "value": line(record("INSERT", MYSQL, None, ONE))}),
        ("reject", "the key is not base64", "shop.items"),
    ),
    ('{"value": ', ("reject", "not JSON", None)),
    ('{"op": "c", "source": {}, "after": {}}', ("reject", "a JSON object without a value in base64", None)),
    (
        base64.b64encode(b"Obj\x01" + bytes(60)).decode(),
        ("reject", "a whole Avro file instead of one record", None),
    ),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_a_record_is_a_change_a_control_event_or_a_reject_with_a_reason(
    given: str, expected: tuple[str, str | None, str | None]
) -> None:
    (found,) = decoded([given])
    outcome = {"change": found.op, "control": found.control_kind, "reject": found.reason}[found.kind]
    assert (found.kind, outcome, found.table) == expected


def test_the_fields_around_the_row_are_kept_in_both_generations() -> None:
    made = record("INSERT", MYSQL, None, ONE, sourceTxid="0", tags={"GTID": "g:1"})
    insert, short = decoded([line(made), line(made, born=False)])
    assert (insert.position, insert.commit_us) == (f"0000-{7:016X}-{100:016X}", SECOND * 1_000_000)
    assert (insert.ingest_us, insert.event_id, insert.tx_id) == (SECOND * 1_000_000 + 500_000, "1", "g:1")
    assert (insert.tx_order, insert.connector, insert.origin) == (1, "dts-mysql", "stream")
    fields = '[{"name":"id","dataTypeNumber":3},{"name":"name","dataTypeNumber":253}]'
    assert insert.row_schema == f'{{"dts":"MySQL","fields":{fields},"facts":";"}}'
    assert insert.key_schema == '{"pk_uk_info":{"PRIMARY":["id"]}}'
    assert (insert.after, insert.row_schema) == (short.after, short.row_schema)


def test_a_read_has_a_time_and_no_position() -> None:
    (found,) = decoded([line(record("INIT", MYSQL, None, ONE, position="100@7"))])
    assert (found.position, found.origin, found.commit_us) == (None, "snapshot", SECOND * 1_000_000)


def test_control_events_keep_the_content_of_the_record() -> None:
    statement, filler = decoded([ddl("create table a (id int)"), base64.b64encode(bytes(48)).decode()])
    written = json.loads(statement.control or b"")
    assert (written["operation"], written["statement"], written["objectName"]) == (
        "DDL",
        "create table a (id int)",
        "shop",
    )
    assert set(json.loads(filler.control or b"").values()) == {None}


# In pairs: the first one is before the second.
ORDERED = [("999@9", "4@10"), ("9@78", "10@78"), ("7", "10"), ("0/9<->1", "0/A<->0"), ("16/0<->5", "16/1<->4")]
NOWHERE = ["0@0", "0<->0", "", "x", "1@", "@", " 1@2", "1@2@3", "1<->2<->3", "-1@2", "9" * 19 + "@1", "FFFFFFFF/1"]


def test_positions_are_ordered_by_file_number_then_offset() -> None:
    texts = [line(record("INSERT", MYSQL, None, ONE, position=place)) for pair in ORDERED for place in pair]
    places = [event.position or "" for event in decoded(texts)]
    assert [pair for pair, n in zip(ORDERED, range(0, 10, 2), strict=True) if not "" < places[n] < places[n + 1]] == []


def test_a_change_with_an_invalid_position_is_rejected() -> None:
    found = decoded([line(record("INSERT", MYSQL, None, ONE, position=place)) for place in NOWHERE])
    assert [event.reason for event in found] == [
        f'a streamed change without a position (sourcePosition "{place}")' for place in NOWHERE
    ]


# --- keys -----------------------------------------------------------------------------------------------------------

TWO = [integer(2), text("a")]
UPDATES: list[tuple[list[Any], str, list[str]]] = [
    (TWO, '{"PRIMARY":["id"]}', ["delete", "insert"]),
    ([integer(1), text("b")], '{"PRIMARY":["id"]}', ["update"]),
    (TWO, '{"a":["name"],"b":["id"]}', ["update"]),  # several keys: none is the key of the table
    (["NONE", text("b")], '{"PRIMARY":["id"]}', ["update"]),
    (TWO, '{"Primary":["id"],"a":["name"]}', ["delete", "insert"]),
    (TWO, '{"PRIMARY":[],"a":["id"]}', ["delete", "insert"]),
    (TWO, '{"PRIMARY":["gone"]}', ["update"]),
    (TWO, "x", ["update"]),
]


@pytest.mark.parametrize(("after", "keys", "ops"), UPDATES)
def test_an_update_of_the_key_is_a_delete_and_an_insert(after: list[Any], keys: str, ops: list[str]) -> None:
    events = decoded([line(record("UPDATE", MYSQL, ONE, after, keys=keys))])
    assert [event.op for event in events] == ops
    assert [event.text is not None for event in events] == [True, False][: len(ops)]
    if len(ops) > 1:
        delete, insert = events
        one, two = b'{"id":"1","name":"a"}', b'{"id":"2","name":"a"}'
        assert (delete.before, delete.new_key, delete.after) == (one, two, None)
        assert (insert.after, insert.old_key, insert.before) == (two, one, None)
        assert delete.position == insert.position


def test_declared_keys_override_the_keys_of_the_record() -> None:
    texts = [line(record("UPDATE", MYSQL, ONE, TWO, keys='{"PRIMARY":["name"]}'))]
    assert [event.op for event in decoded(texts)] == ["update"]
    assert [event.op for event in decoded(texts, items=("id",))] == ["delete", "insert"]


def test_an_absent_value_is_not_null() -> None:
    texts = [
        line(record("UPDATE", MYSQL, [integer(1), "NONE"], [integer(1), text("b")])),
        line(record("UPDATE", MYSQL | {"n": 3}, [integer(1), text("b"), None], [integer(1), "NONE", "NULL"])),
    ]
    whole, partial = decoded(texts)
    assert (whole.before, whole.after) == (None, b'{"id":"1","name":"b"}')  # the image before has all columns
    assert (partial.before, partial.after) == (b'{"id":"1","name":"b","n":null}', b'{"id":"1","n":null}')


def test_keys_absent_from_the_after_image_come_from_the_before_image() -> None:
    two, none = {"a": 3, "b": 3, "v": 253}, "NONE"
    old, keys = [integer(1), integer(2), text("x")], '{"PRIMARY":["a","b"]}'
    moved, kept = [none, integer(3), none], [none, none, text("y")]
    texts = [line(record("UPDATE", two, old, after, keys=keys)) for after in (moved, kept)]
    texts.append(line(record("UPDATE", two, None, kept, keys=keys)))
    delete, insert, update, lacking = decoded(texts)
    assert (delete.op, insert.op, insert.after) == ("delete", "insert", b'{"a":"1","b":"3"}')
    assert (update.op, update.after) == ("update", b'{"a":"1","b":"2","v":"y"}')
    assert lacking.after == b'{"v":"y"}'


# --- values ---------------------------------------------------------------------------------------------------------

BLOB = b"x" * 100  # more than MIME's line of base64
EMOJI = "a\U0001f600\x00\"\\\n'"
VALUES: list[tuple[int, Any, str | None]] = [
    (8, integer(-(2**63)), "-9223372036854775808"),
    (8, None, None),
    (8, "NULL", None),
    (5, number(5e-324), "5.0E-324"),
    (5, number(3.4028234663852886e38), "3.4028234663852886E38"),
    (5, number(math.inf), "Infinity"),
    (5, number(-math.inf), "-Infinity"),
    (5, number(math.nan), "NaN"),
    (5, number(-0.0), "-0.0"),
    (5, number(0.001), "0.001"),
    (5, number(0.00099), "9.9E-4"),
    (5, number(9999999.0), "9999999.0"),
    (5, number(-12345678.5), "-1.23456785E7"),
    (246, decimal("0.01", 38, 2), "0.01"),
    (2, decimal("~"), "Infinity"),
    (2, decimal("-~"), "-Infinity"),
    (10, moment(1, 1, 1), "0001-01-01"),
    (10, moment(0, 0, 0), "0000-00-00"),
    (10, moment(-44, 3, 15), "-0044-03-15"),
    (11, moment(None, None, None, -838, -59, -59), "-838:59:59.000000"),
    (11, moment(None, None, None, 12, 0, 0, 5), "12:00:00.000005"),
    (11, moment(None, None, None, 0, 0, 0, -1), "-00:00:00.000001"),
    (12, moment(10000, 1, 1, 0, 0, 0), "10000-01-01 00:00:00.000000"),
    (12, moment(1582, 10, 10, 23, 59, 59, 999999), "1582-10-10 23:59:59.999999"),
    (13, moment(1901), "1901"),
    (7, timestamp(0, 999999), "1970-01-01 00:00:00.999999Z"),
    (7, timestamp(-1), "1969-12-31 23:59:59Z"),
    (7, timestamp(253402300800), "+10000-01-01 00:00:00Z"),
    (7, timestamp(2**62), str(2**62)),
    (7, zoned("+08:00", 2020, 1, 1, 8, 0, 0, 500000), "2020-01-01 00:00:00.5Z"),
    (7, zoned("Asia/Shanghai", 2020, 1, 1, 8, 0, 0), "2020-01-01 00:00:00Z"),
    (7, zoned("+08:00", -44, 3, 15, 0, 0, 0, 0), "-0044-03-14 16:00:00Z"),
    (7, zoned("+19:00", 2020, 1, 1, 8, 0, 0), "2020-01-01 08:00:00.000000+19:00"),
    (7, zoned("nowhere", 2020, 1, 1, 8, 0, 0), "2020-01-01 08:00:00.000000 nowhere"),
    (7, zoned("+08:00", None, None, None, 12, 0, 0, 0), "12:00:00.000000+08:00"),
    (245, of_type('{"a": [1, null]}'), '{"a": [1, null]}'),
    (252, text(EMOJI), EMOJI),
    (252, text("日本".encode("gbk"), "gbk"), "日本"),
    (252, blob(BLOB), "\x00bytes:" + base64.b64encode(BLOB).decode()),
    (254, text(b"\xff\x00", ""), "\x00bytes:/wA="),
    (254, text(b"", "binary"), "\x00bytes:"),
    (255, shape(b"\x01\x02"), "\x00bytes:AQI="),
    (255, shape("POINT(1 1)"), "POINT(1 1)"),
    (3802, blob(b'\x01{"a": 1}', "JSONB"), '{"a": 1}'),
]


def test_every_kind_of_value_is_text() -> None:
    found = row(*[(kind, value) for kind, value, _ in VALUES])
    assert [(given, got) for given, got in zip(VALUES, found.values(), strict=True) if got != given[2]] == []


@pytest.mark.parametrize(
    "parts", [(2020, 1), (2020, None, None, 5, 0, 0), (2020, 1, 1, -1, 0, 0), (2020, 1, 1, 5), (2020, 100, 1), ()]
)
def test_parts_that_are_not_a_time_are_rejected(parts: tuple[int | None, ...]) -> None:
    (found,) = decoded([line(record("INSERT", MYSQL, None, [integer(1), moment(*parts)]))])
    assert found.reason == 'a value cannot be read: column "name"'


def test_fractions_of_other_sources_are_nanoseconds() -> None:
    at = (180, moment(2020, 1, 1, 0, 0, 0, 123456789)), (180, zoned("Z", 2020, 1, 1, 0, 0, 0, 123456789))
    written = {"0": "2020-01-01 00:00:00.123456", "1": "2020-01-01 00:00:00.123456Z"}
    assert row(*at, source="Oracle") == written
    assert row(*at, source="PostgreSQL", position="5<->6") == written
    micros = (1184, moment(2020, 1, 1, 0, 0, 0, 5000))
    assert row(micros, source="PostgreSQL", position="5") == {"0": "2020-01-01 00:00:00.005000"}


FACTS: list[tuple[Any, Any, str]] = [
    (None, decimal("1.50", 5, 2), "5,2"),
    (decimal("1234.5", 5, 1), decimal("7.25", 3, 2), "6,2"),  # room for both
    (decimal("1.5", 0, 1), decimal("7.25", 3, 2), "0,1/3,2"),
    (decimal("0.5", 1, 1), integer(7), "1,1/i"),
    (None, text("7"), "t"),
    (text(b"\xff", ""), None, "b"),
    (None, None, ""),
    ("NONE", "NULL", ""),
]


@pytest.mark.parametrize(("before", "after", "fact"), FACTS)
def test_values_give_the_facts_that_a_type_number_lacks(before: Any, after: Any, fact: str) -> None:
    types = {"id": 3, "n": 246, "blob": 252}
    old, new = [integer(1), before, blob(b"")], [integer(1), after, None]
    update, insert = decoded([line(record("UPDATE", types, old, new)), line(record("INSERT", types, None, new))])
    assert json.loads(update.row_schema or "")["facts"] == f";{fact};b"
    assert update.schema_hash == insert.schema_hash  # the schemas have the same columns, whatever the values are


# --- bytes ----------------------------------------------------------------------------------------------------------


def test_records_of_one_table_can_have_different_columns() -> None:
    others = {"id": 3, "title": 253}
    texts = [line(record("INSERT", types, None, ONE)) for types in (MYSQL, others, MYSQL, MYSQL)]
    found = [list(json.loads(event.after or b"")) for event in decoded(texts)]
    assert found == [["id", "name"], ["id", "title"], ["id", "name"], ["id", "name"]]


def test_damaged_bytes_are_rejected_and_never_end_a_batch() -> None:
    draw = random.Random(5)
    good = encoded(record("UPDATE", MYSQL, ONE, [integer(1), text("b" * 40)]))
    texts, kinds = [], []
    for _ in range(400):
        data = bytearray(good)
        at = draw.randrange(len(data))
        kinds.append(draw.choice(["cut", "more", "long"]))
        match kinds[-1]:
            case "cut":
                data = data[: 49 + at % (len(data) - 60)]
            case "more":
                data += bytes([draw.randrange(1, 256) for _ in range(11)])
            case "long":
                data[at : at + 5] = b"\xfe\xff\xff\xff\x0f"
        texts.append(base64.b64encode(data).decode())
    events = decoded(texts)
    assert [event.line for event in events] == list(range(1, len(texts) + 1))
    # A changed length inside a text stays text. Everywhere else the reader needs more bytes than there are.
    assert {event.reason for event, kind in zip(events, kinds, strict=True) if kind != "long"} == {NO_RECORD}
    assert sum(event.kind == "reject" for event, kind in zip(events, kinds, strict=True) if kind == "long") > 20


# --- character sets -------------------------------------------------------------------------------------------------

CHARSETS = [
    ("latin1", b"caf\xe9 \x80\x81", "café €\x81"),
    ("gb18030", "你好😀".encode("gb18030"), "你好😀"),
    ("sjis", "日本".encode("shift_jis"), "日本"),
    ("ucs2", "é".encode("utf-16-be"), "é"),
    ("utf16le", "😀".encode("utf-16-le"), "😀"),
    ("UTF-16", "é".encode("utf-16-be"), "é"),
    ("UTF-16", b"\xff\xfe" + "é".encode("utf-16-le"), "é"),
    ("cp1251", "Привет".encode("cp1251"), "Привет"),
    ("big5", "中文".encode("big5"), "中文"),
    ("AL32UTF8", "é".encode(), "é"),
    *[
        (name, word.encode(codec), word)
        for name, codec, word in (
            ("ISO8859_2", "iso8859-2", "łódź"), ("ISO8859_5", "iso8859-5", "я"), ("ISO8859_7", "iso8859-7", "ώ"),
            ("ISO8859_9", "iso8859-9", "ış"), ("ISO-8859-13", "iso8859-13", "ž"), ("ISO8859_15", "iso8859-15", "€"),
            ("Cp1252", "cp1252", "€é"), ("Cp1253", "cp1253", "ώ"), ("Cp437", "cp437", "é"), ("Cp037", "cp037", "aé"),
            ("EUC_KR", "euc-kr", "한"), ("EUC_JP", "euc-jp", "日"), ("EUC_CN", "gb2312", "中"), ("MS932", "cp932", "①"),
            ("ISO2022JP", "iso2022-jp", "日本"), ("MacCyrillic", "mac-cyrillic", "Я"), ("TIS620", "tis-620", "ก"),
            ("UnicodeLittleUnmarked", "utf-16-le", "é"), ("ASCII", "ascii", "a"), ("ibm-850", "cp850", "é"),
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("charset", "data", "expected"), CHARSETS)
def test_a_value_is_decoded_with_its_own_character_set(charset: str, data: bytes, expected: str) -> None:
    assert row((253, text(data, charset))) == {"0": expected}


@pytest.mark.parametrize("charset", ["klingon", "hex", "unicode_escape", "idna", "undefined", "a\x00b", "é"])
def test_an_unknown_character_set_decodes_nothing(charset: str) -> None:
    assert decoded_text(b"a", charset) is None
