"""Samples of topics for `init`: the first and last records, written to files of lines and read like all files."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse
from siltstone.engine.decode.topic_records import Around, texts
from siltstone.engine.errors import SiltstoneError, SourceError, SpecError
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.schema_place import SchemaPlace
from siltstone.engine.init.spec_text import EventPlace
from siltstone.engine.init.table_search import Remark, find_tables
from siltstone.engine.inputs.kafka import Reader, cluster_of
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.names import TOPICS
from siltstone.engine.spec.interpolation import as_written
from siltstone.engine.spec.model import KafkaSpec

SAMPLE_RECORDS: Final = 4_000
"""Records per topic: half of them are the first ones, half the last ones."""
READ_AT_ONCE: Final = 500
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
ADDRESS: Final = "write it like kafka://broker:9092/topic, several topics with commas"


@dataclass(frozen=True)
class FoundTopics:
    """Topics and their tables. `compacted`: the topics that keep only the last record of each key."""

    kafka: KafkaSpec
    tables: Sequence[FoundTable]
    of_files: dict[Path, str]
    compacted: frozenset[str]

    def place(self, table: FoundTable) -> EventPlace:
        """The place of the events of a table. Rows do not name their table: for rows, only its topics."""
        own = [self.of_files[file] for file in table.files]
        topics = own if table.format == ROWS else self.kafka.topics
        named = topics[0] if len(topics) == 1 else f"[{', '.join(topics)}]"
        lines = ["  kafka:", f"    bootstrap: {self.kafka.bootstrap}", f"    topics: {named}"]
        if self.kafka.options:
            lines.append("    options:")
            lines += [f"      {name}: {_written(value)}" for name, value in self.kafka.options]
        kept = [topic for topic in own if topic in self.compacted]
        end = [f"compacted: true # the topic {kept[0]} keeps only the last record of each key"] if kept else []
        return EventPlace(lines, end, "topic")


def topics_at(address: str, options: Iterable[tuple[str, str]] = ()) -> KafkaSpec:
    """The topics that an address such as kafka://broker:9092/topic names.

    Raises: SpecError: it names no broker or no topic.
    """
    bootstrap, _, names = address.removeprefix(TOPICS).partition("/")
    topics = tuple(name for name in names.split(",") if name)
    if not bootstrap or not topics:
        raise SpecError(f"Cannot read {address}: it names no broker or no topic.", ADDRESS)
    return KafkaSpec(bootstrap, topics, options=tuple(sorted(options)))


def find_in_topics(kafka: KafkaSpec, remark: Remark, schemas: SchemaPlace | None = None) -> FoundTopics:
    """The tables in topics.

    Raises: SourceError: a topic does not exist, or has no records of a known format. SpecError: the brokers refuse the
        connection, or necessary schemas are not named.
    """
    cluster = cluster_of(kafka, f"{TOPICS}{','.join(kafka.topics)}")
    partitions = cluster.partitions()
    records = {topic: sampled(kafka, [one for one in partitions if one.topic == topic]) for topic in kafka.topics}
    compacted = frozenset(topic for topic in kafka.topics if cluster.is_compacted(topic))
    with tempfile.TemporaryDirectory(prefix="siltstone-init-") as folder:
        files = {_file(Path(folder), number, topic): topic for number, topic in enumerate(kafka.topics)}
        with _named(files, remark) as named_remark:
            tables = _tables(files, records, named_remark, schemas)
    for table in tables:
        table.whole = table.whole and all(len(records[files[file]]) < SAMPLE_RECORDS for file in table.files)
    return FoundTopics(kafka, tables, files, compacted)


def sampled(kafka: KafkaSpec, partitions: Sequence[Partition]) -> list[tuple[Partition, Any]]:
    """The first and the last records of a topic, with their partitions."""
    most = max(SAMPLE_RECORDS // (2 * max(len(partitions), 1)), 1)
    reader, found = Reader(kafka, TOPICS), []
    try:
        for one in partitions:
            middle = max(one.end - most, one.start)
            for begin, end in ((one.start, min(one.start + most, middle)), (middle, one.end)):
                read = reader.read(one.topic, one.number, begin, end, READ_AT_ONCE) if begin < end else ()
                found += [(one, record) for records in read for record in records]
    finally:
        reader.close()
    return found


def _tables(
    files: dict[Path, str], records: dict[str, list[tuple[Partition, Any]]], remark: Remark, schemas: SchemaPlace | None
) -> list[FoundTable]:
    """The tables in samples. Events are written with their records around them, plain rows without."""
    for file, topic in files.items():
        _write(file, records[topic], "json" if _hold_json(records[topic]) else "base64")
    held: list[str] = []
    try:
        tables = find_tables([*files], held.append, schemas)
    except SourceError:
        tables = []
    if not tables or any(table.format == ROWS or not format_of(table.format).of_topics for table in tables):
        for file, topic in files.items():
            _write(file, records[topic], "nothing")
        return find_tables([*files], remark, schemas)
    for text in held:
        remark(text)
    return tables


def _hold_json(records: Iterable[tuple[Partition, Any]]) -> bool:
    """Whether at least half of the values are JSON."""
    values = [record.value() for _, record in records if record.value() is not None]
    broken = 0
    for value in values:
        try:
            parse(value)
        except PARSE_ERRORS:
            broken += 1
    return broken * 2 <= len(values)


def _write(file: Path, records: Iterable[tuple[Partition, Any]], around: Around) -> None:
    lines = (texts(one.topic, one.number, around)(record).replace(b"\n", b" ") for one, record in records)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(line + b"\n" for line in lines))


def _file(folder: Path, number: int, topic: str) -> Path:
    """The file of a topic. Rows name no table, so the last parts of the topic's name become folder and file."""
    *_, schema, table = ["topics", *topic.split(".")]
    return folder / str(number) / (schema or "topics") / f"{table or 'rows'}.jsonl"


@contextmanager
def _named(files: dict[Path, str], remark: Remark) -> Iterator[Remark]:
    """Replaces the files with their topics in remarks and errors."""

    def named(text: str) -> str:
        for file, topic in files.items():
            text = text.replace(str(file), f"the topic {topic}")
        return text

    def remark_on_topics(text: str) -> None:
        remark(named(text))

    try:
        yield remark_on_topics
    except SiltstoneError as error:
        raise type(error)(named(error.message), error.hint) from None


def _written(value: str) -> str:
    shown = as_written(value)
    return shown if _WORD.fullmatch(shown) else json.dumps(shown)
