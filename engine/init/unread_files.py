"""Describes files that siltstone does not read, and what the user can do about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse
from siltstone.engine.errors import SourceError
from siltstone.engine.formats import FORMATS
from siltstone.engine.init.envelopes import envelope_of
from siltstone.engine.init.file_sample import Sample
from siltstone.engine.init.other_tools import tool_of
from siltstone.engine.init.recognition import CANDIDATES, rejects_in_words, resembled

NOT_READ: Final = "which siltstone does not read yet"
SHOWN: Final = 5
_OTHER_FORMATS: Final = f"siltstone reads {', '.join(FORMATS)}"


@dataclass(frozen=True)
class Unread:
    """The content of a file that is not read. `way_out`: what the user can do, if the content is known."""

    what: str
    way_out: str | None = None


def unread_events(sample: Sample) -> Unread | None:
    """The content of a file whose records look like plain rows but are not; None for other files.

    They are records of a known tool, or have events inside of them.
    """
    tool, envelope = tool_of(sample), envelope_of(sample)
    if tool is not None and not tool.is_rows:
        what = f"these are {tool.name}, {NOT_READ}"
        return Unread(what, _OTHER_FORMATS if envelope is None else envelope.command)
    return None if envelope is None else Unread(envelope.shown, envelope.command)


def none_read(unread: Mapping[Path, Unread]) -> SourceError:
    """The error if no file is read."""
    listed = ", ".join(f"{file} ({found.what})" for file, found in list(unread.items())[:SHOWN])
    more = f" and {len(unread) - SHOWN} more" if len(unread) > SHOWN else ""
    ways = list(dict.fromkeys(found.way_out for found in unread.values()))
    if None not in ways:
        return SourceError(f"Cannot read {listed}{more}. Nothing was written.", "; ".join(map(str, ways)))
    looked_for = "; ".join(f"{each.name}: {each.looks_for}" for each in CANDIDATES)
    return SourceError(
        f"Cannot recognise what is in {listed}{more}. Looked for {looked_for}; rows: JSON objects, CSV with a header,"
        " or Parquet or Avro records. Nothing was written.",
        "name only files with events, or write the spec by hand (docs/reference/spec.md)",
    )


def described(sample: Sample) -> str:
    """The content of a file of unknown format."""
    if sample.container == "document":
        return "one JSON document; siltstone reads one record per line: jq -c '.[]' for an array, else jq -c ."
    if sample.container == "text":
        return "neither lines of JSON nor CSV, Avro or Parquet"
    if sample.container == "json" and all(line.text.lstrip()[:1] == b"[" for line in sample.lines):
        return "lines that are JSON arrays; siltstone reads one record per line: jq -c '.[]'"
    alike = resembled(sample)
    if alike is not None:
        candidate, outcome = alike
        return f"it looks like {candidate.name}, but {rejects_in_words(outcome.reasons)}"
    first = _value(sample.rows()[0].text) if sample.has_records else None
    fields = f" with {', '.join(list(first)[:6])}" if isinstance(first, dict) and first else ""
    return f"{sample.container} records{fields} of no known format"


def _value(text: bytes) -> object:
    try:
        return parse(text)
    except PARSE_ERRORS:
        return None
