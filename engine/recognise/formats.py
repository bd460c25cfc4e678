"""How each format is recognised, and what its records say of tables. A new format is one more entry of RECOGNISERS.

A recogniser looks at one record, as JSON has it, and gives the changes of tables that the record tells of; an empty
list for a record of the format that tells of none, such as a heartbeat; None for what is not of the format.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.decode.schemas import MISSHAPEN
from engine.inputs.magic import CALLED
from engine.recognise import canal, datastream, debezium, dts, shareplex, spanner
from engine.recognise.fact import Fact
from engine.recognise.messages import are_fillers
from engine.recognise.opening import carried
from engine.recognise.sample import Container, Fraction, Sample, delimiter_of, opened, parsed
from engine.spec.model import SourceSpec

MOST_LOOKED_AT: Final = 1_000
ENOUGH: Final = 0.5


@dataclass(frozen=True)
class Recogniser:
    """One format. `looks_for` says to a person by what it is known; `container`: what its files are written in."""

    format: str
    container: Container
    looks_for: str
    facts: Callable[[Any], Sequence[Fact] | None]
    order: str

    def told(self, record: Any) -> Sequence[Fact] | None:
        """What a record tells of tables; None also for one whose values have other shapes than the format's."""
        try:
            found = self.facts(record)
        except MISSHAPEN:
            return None
        return found if all(map(_is_sound, found or ())) else None


RECOGNISERS: Final = (
    Recogniser(
        "debezium-json", "json", "op and a source block around before and after", debezium.facts, debezium.ORDER
    ),
    Recogniser("canal-json", "json", "database, table, type and isDdl or mysqlType", canal.facts, canal.ORDER),
    Recogniser("spanner-json", "json", "data_change_record, or mods with a table_name", spanner.facts, spanner.ORDER),
    Recogniser("shareplex-json", "json", "meta with an op beside data", shareplex.facts, shareplex.ORDER),
    Recogniser("datastream-json", "json", "source_metadata beside a payload", datastream.facts, datastream.ORDER),
    Recogniser("datastream-avro", "avro", "source_metadata beside a payload", datastream.facts, datastream.ORDER),
    Recogniser(
        "debezium-avro", "frames", "messages in base64 or bytes, in Confluent's frames", debezium.facts, debezium.ORDER
    ),
    Recogniser("dts-avro", "dts", "messages in base64 or bytes, each a record of DTS", dts.facts, dts.ORDER),
)
ROWS: Final = "rows"
PLAIN_ROWS: Final = "plain rows (format rows)"
CSV_ROWS: Final = "plain rows in CSV (format rows)"
_SAME_TEXT: Final = {ROWS: (PLAIN_ROWS, CSV_ROWS), "datastream-avro": ("datastream-json",)}
"""What else the records of a format look like as text."""
OF_TOPICS: Final = ("debezium-json", "debezium-avro", "canal-json", "dts-avro", "shareplex-json")
"""Formats of messages, of which some may be null."""
_OF_MESSAGES: Final = {each.container: each.format for each in RECOGNISERS if each.container in ("frames", "dts")}


def recognise(found: Sample) -> Recogniser | None:
    """The format of a file's records: one that at least half of them are of; None where there is none."""
    best, most = None, (False, 0)
    for recogniser in (each for each in RECOGNISERS if each.container == found.container):
        told = [recogniser.told(record) for record in found.records[:MOST_LOOKED_AT] if _says_something(record)]
        of_it = sum(facts is not None for facts in told)
        rank = (any(told), of_it)  # control events alone can be those of several formats
        if of_it and of_it >= ENOUGH * len(told) and rank > most:
            best, most = recogniser, rank
    return best


def _is_sound(fact: Fact) -> bool:
    """Whether names are texts."""
    names: list[Any] = [*fact.keys, *(fact.row or {}), *([] if fact.table is None else [fact.table])]
    return all(isinstance(name, str) and not isinstance(name, Fraction) for name in names)


def is_blank(found: Sample) -> bool:
    """Whether a file has no records, or null messages only."""
    if found.container in ("empty", "json"):
        return not any(map(_says_something, found.records))
    return found.container in ("avro", "parquet") and not found.records


def _says_something(record: Any) -> bool:
    """Whether a record is more than a null message, which every format of a topic has."""
    return record is not None and not (isinstance(record, Mapping) and record.get("value", record) is None)


def looks_like(lines: Sequence[str], container: Container = "json") -> str | None:
    """The format that lines of text are in, for somebody who took them for another; None where nothing is known.
    `container`: what held records that were made such lines."""
    from pathlib import Path

    first = next(iter(lines), "")
    for magic, name in CALLED.items():
        if first.startswith(magic.decode("utf-8", "replace")):
            return name
    records = []
    for line in lines:
        try:
            records.append(parsed(line))
        except ValueError:
            continue
    as_json = Sample(Path(), "json", tuple(records))
    found = recognise(replace(as_json, container=container))
    # Records inside the rows of an Avro file are texts of JSON.
    found = found or recognise(Sample(Path(), "avro", tuple(map(_unfolded, records))))
    if found is not None:
        return found.format
    kind = carried(Sample(Path(), "text", tuple(lines))) or carried(as_json)
    if kind is not None:
        return _OF_MESSAGES[kind]
    if records and all(isinstance(record, Mapping) for record in records):
        return None if are_fillers(as_json) else PLAIN_ROWS
    no_json = [line for line in lines if line.lstrip()[:1] not in ("{", "[")]
    return CSV_ROWS if no_json and delimiter_of([f"{line}\n" for line in no_json]) else None


def _unfolded(record: Any) -> Any:
    """A record with what its texts hold in their place."""
    return {name: opened(value) for name, value in record.items()} if isinstance(record, Mapping) else record


def other_than(source: SourceSpec, lines: Sequence[str], container: Container = "json") -> str | None:
    """The format that a source's records look like, as text, where it is another one than the spec says. `container`:
    as `looks_like` has it."""
    form = looks_like(lines, container)
    own = {source.format, *_SAME_TEXT.get(source.format, ())}
    return None if form in own else form
