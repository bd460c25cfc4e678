"""The tables in files: which they are, their keys and columns, and what a person has to decide."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.decode.json_value import MISFIT, parse
from engine.errors import SourceError, SpecError
from engine.formats import format_of
from engine.formats.rows import ROWS
from engine.init.dms_files import table_folder
from engine.init.event_tables import EventTables
from engine.init.file_sample import Sample, read_sample
from engine.init.found_table import FoundTable
from engine.init.recognition import (
    CANDIDATES,
    FRAMES,
    MOST_LOOKED_AT,
    OF_BYTES,
    best_format,
    best_of_bytes,
    outcome_of,
    rejects_in_words,
    resembled,
)
from engine.init.row_tables import are_rows, rows_name, rows_table
from engine.init.schema_place import SchemaPlace, are_frames

Remark = Callable[[str], None]

_BINARY: Final = (".avro", ".parquet")


def find_tables(
    paths: Sequence[Path], remark: Remark | None = None, schemas: SchemaPlace | None = None
) -> list[FoundTable]:
    """The tables in files and folders, in the order of format and name. `remark` gets the files that are passed over;
    `schemas`: where those of messages in Confluent's frames are.

    Raises: SourceError: a place is not there; a file that is named, or every file of the folders, is of no known kind.
        SpecError: a file needs schemas, and they are not named.
    """
    search = _Search(schemas, remark or (lambda _: None))
    schema_file = None if schemas is None or schemas.file is None else _absolute(schemas.file)
    for file in _files(paths, schema_file):
        search.add(file)
    search.finish({_absolute(path) for path in paths})
    if not search.tables:
        raise _no_change(paths, search.folded)
    for table in search.tables:
        table.controls += [file.path for file in search.silent if file.format == table.format]
        table.blank += [file.path for file in search.silent if file.is_blank_for(table)]
    return sorted(search.tables, key=lambda table: (table.format, table.name or ""))


class _Search:
    """Looks into files, one after the other."""

    def __init__(self, schemas: SchemaPlace | None, remark: Remark) -> None:
        self._schemas, self._remark = schemas, remark
        self._formats: dict[str, EventTables] = {}
        self._rows: dict[tuple[str, str, Path], FoundTable] = {}
        self._unknown: dict[Path, str] = {}
        self._unread: dict[Path, str] = {}
        self.silent: list[SilentFile] = []
        self.folded: list[Path] = []
        self.tables: list[FoundTable] = []

    def add(self, file: Path) -> None:
        """Look into one file."""
        sample = read_sample(file)
        form = self._format_of(sample)
        if form is not None:
            self._add_events(sample, form)
        elif (silent := _silent_file(sample)) is not None:
            self.silent.append(silent)
        elif file in self._unread:
            self._unknown[file] = f"messages in Confluent's frames without a Debezium event: {self._unread[file]}"
        elif _has_folded_events(sample):
            self.folded.append(file)
        elif are_rows(sample) and resembled(sample) is None:
            self._add_rows(sample)
        else:
            self._unknown[file] = _describe(sample)

    def finish(self, named: set[Path]) -> None:
        """Finish the tables of all files. `named`: the files that were named themselves.

        Raises: SourceError: a file that is named is of no known kind, or no file is of a known one.
        """
        self.tables = [*self._rows.values(), *(table for each in self._formats.values() for table in each.finished())]
        if named & self._unknown.keys() or (self._unknown and not self.tables):
            raise _not_known(self._unknown)
        for file, what in self._unknown.items():
            self._remark(f"{file} is passed over: {what}")

    def _format_of(self, sample: Sample) -> str | None:
        """The format of a file's events. Frames come first where their schemas are named for these files.

        Raises: SpecError: it needs schemas, and they are not named.
        """
        is_named = self._schemas is not None and not self._schemas.of_project
        if not is_named and (found := best_format(sample)) is not None:
            return found.name
        messages = sample.topic_messages()[:MOST_LOOKED_AT]
        if is_named and (found := best_of_bytes(messages)) is not None:
            return found.name
        if are_frames(messages, self._schemas):
            return self._checked_frames(sample)
        found = best_format(sample) if is_named else None
        return None if found is None else found.name

    def _checked_frames(self, sample: Sample) -> str | None:
        """The format of frames; None where none of them holds an event.

        Raises: SpecError: their schemas are not named. SpecError, SourceError: they cannot be had.
        """
        if self._schemas is None:
            raise SpecError(
                f"Cannot read {sample.path}: it looks like {FRAMES.name} (messages in Confluent's frames), which needs"
                " the schemas that wrote it. Nothing was written.",
                "name them: --schemas FILE (JSON, schemas by their numbers), --registry URL, or registry in"
                " siltstone.yaml",
            )
        outcome = outcome_of(sample.topic_messages(), FRAMES, self._tables_of(FRAMES.name).decoder)
        if not outcome.taken and outcome.reasons:
            self._unread[sample.path] = rejects_in_words(outcome.reasons)
            return None
        return FRAMES.name

    def _add_events(self, sample: Sample, form: str) -> None:
        decoded = self._tables_of(form).add(sample)
        if decoded.reasons:
            self._remark(f"{sample.path}: {rejects_in_words(decoded.reasons)}")
        if not decoded.has_changes:
            self.silent.append(SilentFile(sample.path, sample.container, form))

    def _tables_of(self, form: str) -> EventTables:
        if form not in self._formats:
            self._formats[form] = EventTables(form, self._schemas)
        return self._formats[form]

    def _add_rows(self, sample: Sample) -> None:
        table = rows_table(sample)
        place = (table.name or "", sample.container, table_folder(sample.path))
        if place in self._rows:
            self._rows[place].merge(table)
        else:
            self._rows[place] = table


# --- files ----------------------------------------------------------------------------------------------------------


def _files(paths: Iterable[Path], schema_file: Path | None) -> list[Path]:
    """The visible files at the places, folders searched to the bottom, without the file of schemas among them."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise SourceError(f"Cannot read {path}: it does not exist.", "check the path")
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in inside:
            below = file.relative_to(path).parts if path.is_dir() else ()
            is_of_schemas = below and _absolute(file) == schema_file
            if not is_of_schemas and not any(part.startswith((".", "_")) for part in below):
                found[_absolute(file)] = None
    if not found:
        raise SourceError(f"Cannot find files in {', '.join(map(str, paths))}.", "name files or folders with events")
    return list(found)


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


@dataclass(frozen=True)
class SilentFile:
    """A file without changes. `format`: that of its control events, None where it has none."""

    path: Path
    container: str
    format: str | None

    def is_blank_for(self, table: FoundTable) -> bool:
        """Whether a run that reads the table finds nothing in the file. Of rows, tomorrow's files are those of its
        name."""
        if self.format is not None:
            return False
        is_readable = self.path.suffix not in _BINARY and table.container not in ("avro", "parquet")
        if table.format == ROWS:
            is_own = table_folder(self.path) == table_folder(table.files[0]) and rows_name(self.path) == table.name
            return is_own and (
                is_readable if self.container == "empty" else self.container == table.container != "json"
            )
        return (
            is_readable if self.container == "empty" else self.container == "json" and format_of(table.format).of_topics
        )


def _silent_file(sample: Sample) -> SilentFile | None:
    """A file without records, or with null messages and fillers only; None of another one."""
    if sample.container == "empty" or (sample.container in ("avro", "parquet") and not sample.has_records):
        return SilentFile(sample.path, sample.container, None)
    for each in OF_BYTES:
        outcome = outcome_of(sample.topic_messages(), each)
        if outcome.is_silent:
            return SilentFile(sample.path, sample.container, each.name if outcome.has_filler else None)
    of_lines = (each for each in CANDIDATES if each.of_topics and each.holds == "events")
    if sample.container == "json" and any(outcome_of(sample.lines, each).is_silent for each in of_lines):
        return SilentFile(sample.path, sample.container, None)
    return None


def _has_folded_events(sample: Sample) -> bool:
    """Whether the payloads of a topic's records are texts of JSON, as `kcat -J` writes them."""
    records = [value for line in sample.lines[:MOST_LOOKED_AT] if isinstance(value := _value(line.text), dict)]
    payloads = [record.get("payload") for record in records if "topic" in record]
    return any(isinstance(payload, str) and payload.lstrip().startswith("{") for payload in payloads)


def _value(text: bytes) -> object:
    try:
        return parse(text)
    except MISFIT:
        return None


# --- what is not known ----------------------------------------------------------------------------------------------


def _no_change(paths: Sequence[Path], folded: Sequence[Path]) -> SourceError:
    if folded:
        return SourceError(
            f"Cannot find a change of a table in {', '.join(map(str, folded))}: payload is a text that holds JSON.",
            "write it as JSON: jq -c '.key = (.key | fromjson? // .) | .payload = (.payload | fromjson? // .)'",
        )
    return SourceError(
        f"Cannot find a change of a table in {', '.join(map(str, paths))}: the files are empty, or hold control"
        " events, null messages or fillers only.",
        "name files with changes",
    )


def _not_known(unknown: Mapping[Path, str]) -> SourceError:
    looked_for = "; ".join(f"{each.name}: {each.looks_for}" for each in CANDIDATES)
    listed = ", ".join(f"{file} ({what})" for file, what in list(unknown.items())[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return SourceError(
        f"Cannot recognise what is in {listed}{more}. Looked for {looked_for}; rows: JSON objects, CSV with a header,"
        " or Parquet or Avro records. Nothing was written.",
        "name only files with events, or write the spec by hand (specs/README.md)",
    )


def _describe(sample: Sample) -> str:
    if sample.container == "document":
        return "one JSON document; siltstone reads one record a line: jq -c '.[]' for an array of them, else jq -c ."
    if sample.container == "text":
        return "neither lines of JSON nor CSV, Avro or Parquet"
    if sample.container == "json" and all(line.text.lstrip()[:1] == b"[" for line in sample.lines):
        return "lines that are JSON arrays; siltstone reads one record a line: jq -c '.[]'"
    alike = resembled(sample)
    if alike is not None:
        candidate, outcome = alike
        return f"it looks like {candidate.name}, but {rejects_in_words(outcome.reasons)}"
    first = _value(sample.rows()[0].text) if sample.has_records else None
    fields = f" with {', '.join(list(first)[:6])}" if isinstance(first, dict) and first else ""
    return f"{sample.container} records{fields} of no known format"
