"""Events inside of other records: the field that holds them, and the `jq` command that extracts them.

{"event": {"op": "c", ...}}                       jq -c '.event'
{"value": "{\\"op\\": \\"c\\", ...}"}                 jq -c '.value|fromjson'
{"key": "{\\"id\\": 1}", "value": "{...}"}          jq -c '.key = (.key|fromjson? // .) | ...'
{"message": {"data": "eyJvcCI6ICJjIiwg..."}}      jq -c '.message.data|@base64d|fromjson'
{"Records": [{"data": {"op": "c", ...}}, ...]}    jq -c '.Records[].data'
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, text_of
from siltstone.engine.formats import Format
from siltstone.engine.init.file_sample import Sample
from siltstone.engine.init.recognition import CANDIDATES, best_of, outcome_of

LOOKED_AT: Final = 100
MOST_STEPS: Final = 3
MOST_PATHS: Final = 20
_OF_RECORDS: Final = ("value", "payload")
"""The fields in which a decoder of topics reads an event, unless it is text."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Envelope:
    """The place of events of a format, or of JSON without a known format. `place`, `command`: in jq's notation."""

    format: Format | None
    place: str
    command: str

    @property
    def shown(self) -> str:
        """A description of the content of the file."""
        return f"{'JSON' if self.format is None else f'{self.format.name} events'} inside of {self.place}"


@dataclass(frozen=True)
class _Found:
    """A value inside of records: its path, with arrays in it, and how the value is written."""

    path: str
    way: str
    value: Any

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.way


def envelope_of(sample: Sample) -> Envelope | None:
    """The place of events of a known format in the records of a file; for records of a topic, the place of any JSON."""
    records = [value for message in sample.rows()[:LOOKED_AT] if isinstance(value := _parsed(message.text), dict)]
    inside: dict[tuple[str, str], list[Any]] = {}
    for record in records:
        for found in _inside(record, "", MOST_STEPS):
            if found.key in inside or len(inside) < MOST_PATHS:
                inside.setdefault(found.key, []).append(found.value)
    for (path, way), values in inside.items():
        form = _format_of(values) if len(values) * 2 >= len(records) else None
        is_of_topic = (
            path.removeprefix(".") in _OF_RECORDS and way != "" and any("topic" in record for record in records)
        )
        if form is not None or is_of_topic:
            return Envelope(form, path, _command(path, way, records, sample))
    return None


def _format_of(values: Sequence[Any]) -> Format | None:
    messages = [Message("lines", number, text_of(value)) for number, value in enumerate(values, 1)]
    of_lines = (each for each in CANDIDATES if each.holds == "events" and "json" in each.containers)
    marked = [each for each in of_lines if any(each.marks.search(message.text) for message in messages)]
    found = best_of((each, messages) for each in marked)
    return found if found is not None and outcome_of(messages, found).changes else None


def _inside(value: Any, path: str, steps: int) -> Iterator[_Found]:
    """The objects in a value in any notation, the nearest first."""
    if not isinstance(value, dict) or not steps:
        return
    nested = []
    for name, field in value.items():
        place = f"{path}.{name}" if _NAME.fullmatch(name) else f"{path}.{text_of([name]).decode()}"
        if isinstance(field, dict):
            nested.append((field, place))
        elif isinstance(field, list) and field and isinstance(field[0], dict):
            nested.append((field[0], f"{place}[]"))
        elif isinstance(field, str):
            yield from _of_text(field, place)
    for field, place in nested:
        yield _Found(place, "", field)
    for field, place in nested:
        yield from _inside(field, place, steps - 1)


def _of_text(text: str, place: str) -> Iterator[_Found]:
    if text.lstrip()[:1] == "{":
        inside, way = _parsed(text.encode("utf-8", "replace")), "|fromjson"
    else:
        inside, way = _of_base64(text), "|@base64d|fromjson"
    if isinstance(inside, dict):
        yield _Found(place, way, inside)


def _of_base64(text: str) -> Any:
    if not text.startswith("e"):  # base64 of an opening brace begins with e
        return None
    try:
        return _parsed(a2b_base64(text, strict_mode=True))
    except (Error, ValueError):
        return None


def _parsed(text: bytes) -> Any:
    try:
        return parse(text)
    except PARSE_ERRORS:
        return None


def _command(path: str, way: str, records: Sequence[dict[str, Any]], sample: Sample) -> str:
    if sample.container != "json":
        return f"write that column as lines of JSON: of records that are JSON, jq -c '{path}{way}' takes it"
    name = path.removeprefix(".")
    has_others = any(len(record) > 1 for record in records)
    if name in _OF_RECORDS and way and has_others:
        return f"write it as JSON: jq -c '.key = (.key|fromjson? // .) | {path} = ({path}|({way[1:]})? // .)'"
    return f"take the events out: jq -c '{path}{way}'"
