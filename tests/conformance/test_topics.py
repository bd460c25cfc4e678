"""Records of topics, for every format that topics can carry. These tests need no Spark."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.topic_records import around_of, texts
from siltstone.engine.formats import format_of
from siltstone.engine.spec.model import ProjectSpec, SourceSpec
from tests.conformance.decoded import spec_of
from tests.conformance.formats import BY_NAME
from tests.conformance.workload import full_workload
from tests.unit.decode.test_topic_records import Given

WORKLOAD = full_workload()
OF_FILES = ("rows_csv", "rows_parquet", "rows_avro")
CARRIED = [
    name for name, encoder in BY_NAME.items() if name not in OF_FILES and "json" in format_of(encoder.format).containers
]
JSON = ("key", "before", "after", "old_key", "new_key", "row_schema", "key_schema")
PLAIN = (
    "kind",
    "reason",
    "connector",
    "source",
    "table",
    "op",
    "origin",
    "commit_us",
    "tx_id",
    "tx_order",
    "event_id",
    "control_kind",
)
SHOWN = 60


def record_of(line: bytes, source: SourceSpec) -> Given:
    """The topic record of a line: the key, the value and the headers inside the line, or the line as the value."""
    form = format_of(source.format)
    found = json.loads(line) if line.startswith((b"{", b"[")) else None
    if not (form.of_topics and isinstance(found, dict) and "value" in found):
        return Given(base64.b64decode(line) if form.holds == "messages" else line)
    make = as_bytes if form.holds == "messages" else as_json
    headers = found.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else [(one["key"], one["value"]) for one in headers]
    return Given(make(found["value"]), make(found.get("key")), [(name, as_json(value)) for name, value in pairs])


def as_bytes(part: str | None) -> bytes | None:
    return None if part is None else base64.b64decode(part)


def as_json(part: Any) -> bytes | None:
    if part is None:
        return None
    return part.encode() if isinstance(part, str) else json.dumps(part, ensure_ascii=False).encode()


def seen(event: Event, by_place: bool) -> dict[str, Any]:
    """The compared fields of an event. They include its position, unless the position is the place of delivery."""
    found = {name: getattr(event, name) for name in PLAIN}
    for name in JSON:
        part = getattr(event, name)
        found[name] = None if part is None else json.loads(part)
    return found if by_place else found | {"position": event.position}


@pytest.mark.parametrize("name", CARRIED)
def test_a_topic_record_gives_the_same_events_as_its_line(name: str, tmp_path: Path, project: ProjectSpec) -> None:
    encoder, folder = BY_NAME[name], tmp_path / "lines"
    folder.mkdir()
    encoder.deliver(WORKLOAD, folder)
    specs = [spec_of(project, encoder, table, folder) for table in WORKLOAD.tables]
    for spec in {spec.source: spec for spec in specs}.values():
        declared = {each.table: each.keys for each in specs if each.source == spec.source}
        files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".jsonl", ".json", ".txt")]
        lines = [line for file in files for line in file.read_bytes().splitlines() if line.strip()][:SHOWN]
        make = texts("t", 0, around_of(format_of(spec.source.format)))
        messages = [Message("kafka://t/0", 8, make(record_of(line, spec.source))) for line in lines]
        by_line = decode_messages([Message("kafka://t/0", 8, line) for line in lines], spec.source, declared)
        by_record = decode_messages(messages, spec.source, declared)
        by_place = not encoder.can.positions
        assert [seen(each, by_place) for each in by_record] == [seen(each, by_place) for each in by_line]
        assert lines
