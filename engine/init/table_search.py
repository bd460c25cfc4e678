"""Finds the tables in files, with their keys and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from siltstone.engine.errors import SourceError, SpecError
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.dms_files import table_folder
from siltstone.engine.init.event_tables import EventTables
from siltstone.engine.init.file_sample import Sample, read_sample
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.other_tools import tool_of
from siltstone.engine.init.recognition import (
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
from siltstone.engine.init.row_tables import are_rows, rows_name, rows_table
from siltstone.engine.init.schema_place import SchemaPlace, are_frames
from siltstone.engine.init.stored_paths import missing, normal
from siltstone.engine.init.unread_files import SHOWN, Unread, described, none_read, unread_events

Remark = Callable[[str], None]

_BINARY: Final = (".avro", ".parquet")


def find_tables(
    paths: Sequence[Path], remark: Remark | None = None, schemas: SchemaPlace | None = None
) -> list[FoundTable]:
    """The tables in files and folders, ordered by format and name.

    `remark` is called for each skipped file. `schemas`: the place of the schemas of messages in Confluent's frames.

    Raises: SourceError: a place does not exist; a named file, or every file of the folders, has an unknown format.
        SpecError: a file needs schemas that are not named.
    """
    search = _Search(schemas, remark or (lambda _: None))
    schema_file = None if schemas is None or schemas.file is None else normal(schemas.file)
    files, hidden = _files(paths, schema_file)
    if hidden:
        search.remark(f"{_hidden(hidden)} skipped")
    for file in files:
        search.add(file)
    search.finish({normal(path) for path in paths})
    if not search.tables:
        raise _no_change(paths, search.reasons)
    for table in search.tables:
        table.controls += [file.path for file in search.silent if file.format == table.format]
        table.blank += [file.path for file in search.silent if file.is_blank_for(table)]
    return sorted(search.tables, key=lambda table: (table.format, table.name or ""))


class _Search:
    """Searches files for tables, one file after the other."""

    def __init__(self, schemas: SchemaPlace | None, remark: Remark) -> None:
        self._schemas, self.remark = schemas, remark
        self._formats: dict[str, EventTables] = {}
        self._rows: dict[tuple[str, str, Path], FoundTable] = {}
        self._unread: dict[Path, Unread] = {}
        self._frames: dict[Path, str] = {}
        self.silent: list[SilentFile] = []
        self.reasons: Counter[str] = Counter()
        self.tables: list[FoundTable] = []

    def add(self, file: Path) -> None:
        """Search one file."""
        sample = read_sample(file)
        form = self._format_of(sample)
        if form is not None:
            self._add_events(sample, form)
        elif (silent := _silent_file(sample)) is not None:
            self.silent.append(silent)
        elif file in self._frames:
            what = f"messages in Confluent's frames without a Debezium event: {self._frames[file]}"
            self._unread[file] = Unread(what)
        elif (unread := unread_events(sample)) is not None:
            self._unread[file] = unread
        elif are_rows(sample) and resembled(sample) is None:
            self._add_rows(sample)
        else:
            self._unread[file] = Unread(described(sample))

    def finish(self, named: set[Path]) -> None:
        """Finish the tables of all files. `named`: the files that the user named.

        Raises: SourceError: a named file has an unknown format, or all files have.
        """
        self.tables = [*self._rows.values(), *(table for each in self._formats.values() for table in each.finished())]
        if named & self._unread.keys() or (self._unread and not self.tables):
            raise none_read(self._unread)
        for file, found in self._unread.items():
            self.remark(f"{file} is skipped: {found.what}{f' ({found.way_out})' if found.way_out else ''}")

    def _format_of(self, sample: Sample) -> str | None:
        """The format of a file's events. Frames are checked first if their schemas are named for these files.

        Raises: SpecError: the file needs schemas that are not named.
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
        """The format of frames; None if none of them holds an event.

        Raises: SpecError: their schemas are not named. SpecError, SourceError: the schemas cannot be loaded.
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
            self._frames[sample.path] = rejects_in_words(outcome.reasons)
            return None
        return FRAMES.name

    def _add_events(self, sample: Sample, form: str) -> None:
        decoded = self._tables_of(form).add(sample)
        self.reasons += decoded.reasons
        if decoded.reasons:
            self.remark(f"{sample.path}: {rejects_in_words(decoded.reasons)}")
        if not decoded.has_changes:
            self.silent.append(SilentFile(sample.path, sample.container, form))

    def _tables_of(self, form: str) -> EventTables:
        if form not in self._formats:
            self._formats[form] = EventTables(form, self._schemas)
        return self._formats[form]

    def _add_rows(self, sample: Sample) -> None:
        table = rows_table(sample)
        if (tool := tool_of(sample)) is not None:
            table.tool = tool.name
            self.remark(
                f"{sample.path}: these are {tool.name}. siltstone has no decoder for them and reads them as plain rows"
            )
        place = (table.name or "", sample.container, table_folder(sample.path))
        if place in self._rows:
            self._rows[place].merge(table)
        else:
            self._rows[place] = table


# --- files ----------------------------------------------------------------------------------------------------------


def _files(paths: Iterable[Path], schema_file: Path | None) -> tuple[list[Path], list[Path]]:
    """The visible files at the places, with those of subfolders, without the file of schemas; and the hidden files.

    Hidden files are skipped by their names, as Hadoop does.

    Raises: SourceError: there are no visible files.
    """
    found: dict[Path, None] = {}
    hidden: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise SourceError(f"Cannot read {path}: it {missing(path)}.", "check the path")
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in inside:
            below = file.relative_to(path).parts if path.is_dir() else (path.name,)
            if path.is_dir() and normal(file) == schema_file:
                continue
            is_hidden = any(part.startswith((".", "_")) for part in below)
            (hidden if is_hidden else found)[normal(file)] = None
    if found:
        return list(found), list(hidden)
    places = ", ".join(map(str, paths))
    if hidden:
        raise SourceError(
            f"Cannot find files in {places}: {_hidden(list(hidden))} skipped.",
            "rename them; a run skips them, too",
        )
    raise SourceError(f"Cannot find files in {places}.", "name files or folders with events")


def _hidden(files: Sequence[Path]) -> str:
    """The number of hidden files, and the names of the first ones."""
    listed = ", ".join(file.name for file in files[:SHOWN])
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    is_one = len(files) == 1
    number = "1 file whose name or folder begins" if is_one else f"{len(files)} files whose names or folders begin"
    return f"{number} with _ or . ({listed}{more}) {'is' if is_one else 'are'}"


@dataclass(frozen=True)
class SilentFile:
    """A file without changes. `format`: the format of its control events; None if it has none."""

    path: Path
    container: str
    format: str | None

    def is_blank_for(self, table: FoundTable) -> bool:
        """Whether a run that reads the table finds nothing in the file.

        For plain rows, the file must belong to the table by its name: future files have such names, too.
        """
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
    """A file without records, or with only null messages and fillers; None for other files."""
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


def _no_change(paths: Sequence[Path], reasons: Counter[str]) -> SourceError:
    where = ", ".join(map(str, paths))
    if reasons:
        return SourceError(f"Cannot find a change of a table in {where}: {rejects_in_words(reasons)}.", _WITH_CHANGES)
    return SourceError(
        f"Cannot find a change of a table in {where}: the files are empty, or hold only control events, null"
        " messages or fillers.",
        _WITH_CHANGES,
    )


_WITH_CHANGES: Final = "name files with changes"
