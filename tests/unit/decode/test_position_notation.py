"""Positions in their notation. The rules of the source parse a notation to the numbers of the position."""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from siltstone.engine.decode.event import CHANGE, Event, Message
from siltstone.engine.decode.formats.debezium_positions import CONNECTORS
from siltstone.engine.decode.formats.dms import log_segment
from siltstone.engine.decode.formats.row_values import (
    bytes_segment,
    number_segment,
    plain_number,
    text_segment,
    time_segment,
)
from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.decode.position_text import joined, three_part_lsn, two_part_lsn
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.formats import SOURCES, kind_of
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, SourceSpec
from tests.conformance.formats import BY_NAME
from tests.conformance.workload import full_workload

LSNS = "00000002/7C0073F8.2.00000002/7C0073F8"
EXTRACTS = Path(__file__).parents[2] / "data"


def digits(pattern: str, *widths: int) -> Callable[[str], list[str] | None]:
    """A function that reads decimal numbers, and gives their hexadecimal digits in a position."""

    def read(text: str) -> list[str] | None:
        found = re.fullmatch(pattern, text)
        numbers = zip(found.groups(), widths, strict=True) if found else ()
        return [f"{int(number or 0):0{width}X}" for number, width in numbers] or None

    return read


def lsn(text: str) -> list[str] | None:
    found = two_part_lsn(text)
    return None if found is None else [found]


def three(text: str) -> list[str] | None:
    found = three_part_lsn(text.partition(" ")[0])
    return None if found is None else [found]


def place(text: str) -> list[str] | None:
    """A file and a line, or a partition and an offset."""
    topic = digits(r"partition (\d+) offset (\d+)(?: row (\d+))?", 8, 16, 8)(text)
    file = re.fullmatch(r"(.+):(\d+)(?: row (\d+))?", text)
    named = [file[1].encode().hex().upper(), f"{int(file[2]):016X}", f"{int(file[3] or 0):08X}"] if file else None
    return topic or named


def instant(text: str) -> list[str] | None:
    found = re.fullmatch(r"(.+)\.(\d{9})Z", text)
    return [f"{int(found[2]):08X}"] if found else None


def dts(text: str) -> list[str] | None:
    at_file = digits(r"(\d+)@(\d+)", 16, 16)("@".join(text.split("@")[::-1]))
    lsns = [two_part_lsn(part) for part in text.split("<->")]
    return at_file or digits(r"(\d+)", 16)(text) or (None if None in lsns else [str(one) for one in lsns])


BINLOG = digits(r"mysql-bin\.(\d{6,}):(\d+)(?: row (\d+))?", 8, 16, 8)
READERS: dict[str, Callable[[str], list[str] | None]] = {
    "postgresql:": lsn,
    "mysql:": BINLOG,
    "mariadb:": BINLOG,
    "oracle:": digits(r"SCN (\d+)(?: \(commit SCN \d+\))?", 16),
    "sqlserver:": three,
    "db2:": lambda text: [text.partition(" ")[0].replace(":", "").upper()],
    "vitess:": digits(r"transaction (?:\d+/)?(\d+)(?: change \d+)?", 16),
    "yugabytedb:": digits(r"(\d+):(\d+)(?:::\d+)?", 16, 16),
    "debezium-flat:": place,
    "dts-": dts,
    "canal": place,
    "ticdc": digits(r"(\d+)", 16),
    "maxwell": lambda text: (BINLOG(text) or place(text) or [])[:2] or None,
    "spanner": instant,
    "shareplex": digits(r"SCN (\d+) transaction .+ operation (\d+)", 16, 16),
    "dms": lambda text: digits(r".+\.(\d+):(\d+)", 1, 1)(text) or place(text),
    "goldengate": digits(r"(\d{10})(\d{10})", 16, 16),
    "datastream-postgresql:": lsn,
    "datastream-sqlserver:": three,
    "rows": lambda text: [segment] if (segment := number_segment(text.split(", ")[0])) else None,
}


def decoded(
    lines: Iterator[str] | list[str], source: SourceSpec, tables: dict[str, tuple[str, ...] | None]
) -> list[Event]:
    messages = [Message("events.jsonl", at, line.encode()) for at, line in enumerate(lines, 1)]
    events = [event for event in decode_messages(messages, source, tables) if event.kind == CHANGE]
    return [event for event in events if event.position is not None]


@pytest.mark.parametrize("name", list(BY_NAME))
def test_a_position_read_back_by_the_rules_of_its_source_is_the_same(
    name: str, tmp_path: Path, project: ProjectSpec
) -> None:
    encoder, workload = BY_NAME[name], full_workload()
    encoder.deliver(workload, tmp_path)
    files = [file for file in sorted(tmp_path.rglob("*")) if file.suffix in (".jsonl", ".json")]
    if not files:
        pytest.skip("its files are not lines of text; another format has the same positions")
    given = {"table": encoder.table_name(workload.tables[0]), "source": encoder.source(workload.tables[0], tmp_path)}
    spec = table_spec(given | {"keys": list(workload.tables[0].keys)}, project)
    tables = {encoder.table_name(table): table.keys for table in workload.tables}
    found = decoded([line for file in files for line in file.read_text().split("\n")[:-1]], spec.source, tables)
    assert found
    for event in found:
        assert event.position is not None
        text = Notation((str(event.source),)).shown(event.position)
        assert text is not None
        read = READERS[kind_of(event.source).begins](text)
        assert read is not None, (event.position, text)
        if kind_of(event.source).begins not in ("dms", "spanner"):
            segments = iter(event.position.split("-"))
            assert all(any(segment == one for one in segments) for segment in read), (event.position, text)


def recorded(name: str) -> Iterator[tuple[dict[str, object], Event]]:
    lines = (EXTRACTS / name).read_text(encoding="utf-8").split("\n")[:-1]
    source = SourceSpec("debezium-json", "x")
    for at, line in enumerate(lines, 1):
        for event in decode_messages([Message("x", at, line.encode())], source, {}):
            value = json.loads(line).get("value")
            value = value.get("payload", value) if isinstance(value, dict) else None
            if event.kind == CHANGE and event.position is not None and value is not None:
                yield value["source"], event


@pytest.mark.parametrize("name", ["postgresql.noschema.jsonl", "postgresql.schema.jsonl"])
def test_recorded_positions_of_postgresql_are_shown_as_its_lsns(name: str) -> None:
    found = list(recorded(name))
    assert found
    for source, event in found:
        if event.op != "read":
            number = int(str(source["lsn"]))
            assert Notation((str(event.source),)).shown(event.position) == f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


@pytest.mark.parametrize("name", ["mariadb.noschema.jsonl", "mariadb.schema.jsonl"])
def test_recorded_positions_of_a_binlog_are_shown_as_file_and_position(name: str) -> None:
    found = list(recorded(name))
    assert found
    files = [(str(event.source), str(event.position)[:13], event.log_file) for _, event in found]
    for source, event in found:
        place = f":{source['pos']}" + (f" row {source['row']}" if source["row"] else "")
        assert Notation.of([str(event.source)], files).shown(event.position) == f"{source['file']}{place}"
        usual = f"mysql-bin.{str(source['file']).rpartition('.')[2]}"
        assert Notation((str(event.source),)).shown(event.position) == f"{usual}{place}"


def test_a_log_file_has_its_own_name_if_all_sources_agree() -> None:
    position, begins = "0002-00000001-000000000001BD3A-00000001", "0002-00000001"
    files = [("mysql:a", begins, "mbin.000001"), ("mysql:b", begins, "bin.000001"), ("mysql:b", "0000-00000001", None)]
    assert Notation.of(["mysql:a"], files).shown(position) == "mbin.000001:113978 row 1 in epoch 2"
    assert Notation.of(["mysql:a"], files).shown(begins) == "mbin.000001 in epoch 2"
    assert Notation.of(["mysql:a", "mysql:b"], files).shown(position) == "mysql-bin.000001:113978 row 1 in epoch 2"
    assert Notation.of(["postgresql:p"], files).shown("0000-0000000017F3AF58") == "0/17F3AF58"


@pytest.mark.parametrize(
    ("source", "position", "text"),
    [
        ("postgresql:pg", "0000-0000000017F3AE00-0000000017F3AF58", "0/17F3AF58"),
        ("postgresql:pg", "0000-0000000117F3AF58", "1/17F3AF58"),
        ("mysql:shop", "0000-00000001-000000000001BD3A-00000000", "mysql-bin.000001:113978"),
        ("mysql:shop", "0000-00000001-000000000001BD3A-00000002", "mysql-bin.000001:113978 row 2"),
        ("mysql:shop", "0000-000F4240", "mysql-bin.1000000"),
        ("mysql:shop", "0002-00000001-000000000001BD3A-00000000", "mysql-bin.000001:113978 in epoch 2"),
        ("oracle:o", f"0000-{0:016X}-{77:016X}-{0:024X}-{0:08X}-0001", "SCN 77"),
        ("oracle:o", f"0000-{88:016X}-{77:016X}-{0:024X}-{0:08X}-0001", "SCN 77 (commit SCN 88)"),
        ("sqlserver:s", f"0000-0000002700000AC00004-{'F' * 20}-{'F' * 8}", "00000027:00000ac0:0004"),
        ("mongodb:m", f"0000-{1_700_000_000_000:016X}-00000003", "Timestamp(1700000000, 3)"),
        ("informix:i", f"0000-{5:016X}-{4:016X}", "4 (commit 5)"),
        ("TiCDC:t", f"0000-{429918007904436226:016X}-1", "429918007904436226"),
        ("dts-mysql", f"0000-{3:016X}-{154:016X}", "154@3"),
        ("dts-postgresql", "0000-0000000017F3AE00-0000000017F3AF58", "0/17F3AE00<->0/17F3AF58"),
        ("datastream-mysql:s", f"0000-00000003-{9:016X}-{5:016X}-1", "mysql-bin.000003:9"),
        ("datastream-oracle:s", f"0000-{9:016X}-{'F' * 24}-{'F' * 8}-1", "SCN 9"),
        ("spanner", f"0000-{1:016X}-{7:08X}-6162-{0:016X}-{0:08X}", "1970-01-01T00:00:01.000000007Z"),
        ("dms", f"0000-0-{1:016X}-{log_segment('mysql-bin.000024:373')}-{0:016X}", "mysql-bin.000024:373"),
        ("dms", f"0000-0-{1:016X}-{log_segment(LSNS)}-{0:016X}", LSNS),
        ("dms", f"0000-0-{1:016X}-{log_segment('1.0.7')}-{0:016X}", "1.0.7"),
        ("canal", "0000-612E6A736F6E6C-000000000000000C-00000001", "a.jsonl:12 row 1"),
        ("canal", f"0000-{5:012X}-{3:08X}-{1234:016X}-{0:08X}", "partition 3 offset 1234"),
        ("maxwell", "0001-612E6A736F6E6C-000000000000000C-00000000", "a.jsonl:12"),
    ],
)
def test_a_position_is_shown_as_its_source_writes_it(source: str, position: str, text: str) -> None:
    assert Notation((source,)).shown(position) == text


def test_a_text_that_is_not_a_position_is_shown_unchanged() -> None:
    random.seed(5)
    texts = [
        "",
        "-",
        "abc",
        "0000-",
        "0000-XYZ",
        "zzzz-00000001",
        "0000-B",
        "0000-B0",
        "0000-D4",
        "0000-C00",
        "0000-A1",
    ]
    texts += ["".join(random.choices("0123456789ABCDEF-", k=random.randint(0, 60))) for _ in range(2_000)]
    for text in texts:
        for kind in SOURCES:
            assert isinstance(Notation((f"{kind.begins}x",)).shown(text), str)
    assert Notation(("mysql:x",)).shown("0000-XYZ") == "0000-XYZ"
    assert Notation(("unknown",)).shown("0000-00000001") == "0000-00000001"
    assert Notation(("mysql:x",)).shown(None) is None


def test_every_source_has_a_notation() -> None:
    assert [kind.begins for kind in SOURCES if not kind.notation] == []


def test_a_position_is_shown_by_the_first_source_with_its_layout() -> None:
    position = "0000-00000001-000000000001BD3A-00000000"
    assert (
        Notation(
            (
                "postgresql:pg",
                "mysql:shop",
            )
        ).shown(position)
        == "mysql-bin.000001:113978"
    )


@pytest.mark.parametrize("text", ["0", "7", "-7", "12.5", "-0.5", "0.001", "-1234567890123", "Infinity", "-Infinity"])
def test_numbers_of_rows_are_shown_with_their_digits(text: str) -> None:
    number = plain_number(text)
    assert number is not None
    assert Notation(("rows",)).shown(joined(number_segment(number))) == text


def test_values_of_rows_are_shown_one_after_the_other() -> None:
    at = 1_700_000_000_123_456_789
    position = joined(
        time_segment(at), text_segment("a, b"), bytes_segment(b"\xff\x00"), number_segment("9" * 300), "1"
    )
    assert Notation(("rows",)).shown(position) == f"2023-11-14T22:13:20.123456789Z, a, b, 0xff00, {'9' * 300}"


def test_connectors_have_a_notation_for_streamed_positions() -> None:
    assert {f"{name}:" for name in CONNECTORS} <= {kind.begins for kind in SOURCES}
