"""The tables in the files of one format of events."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import CHANGE, Event
from siltstone.engine.decode.formats.debezium_oracle import LOWER_COMMIT
from siltstone.engine.decode.source_decoder import SourceDecoder
from siltstone.engine.formats import format_of, loaded
from siltstone.engine.init.file_sample import Sample, read_sample
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.recognition import UNNAMED, UnknownTables, messages_of
from siltstone.engine.init.schema_place import SchemaPlace
from siltstone.engine.spec.model import SourceSpec

_BATCH: Final = 4_000


@dataclass(frozen=True)
class Decoded:
    """The result of decoding a file. `reasons`: the reasons of rejects."""

    has_changes: bool
    reasons: Counter[str]


class EventTables:
    """The tables in the files of one format, which are one source."""

    def __init__(self, form: str, schemas: SchemaPlace | None) -> None:
        source = SourceSpec(form, "")
        self._format = format_of(form)
        self._source = schemas.source(source) if self._format.needs_schemas and schemas is not None else source
        self._shows_no_key = None if self._format.no_key is None else loaded(self._format.no_key)
        self._names = UnknownTables()
        self._files: list[Path] = []
        self._tables: dict[str, FoundTable] = {}
        self._is_by_scn = False
        self._start(self._source, self._names)

    def _start(self, source: SourceSpec, declared: Declared) -> None:
        self.decoder = SourceDecoder(source, declared)
        self._tables.clear()

    def add(self, sample: Sample) -> Decoded:
        """Add the changes of a file."""
        self._files.append(sample.path)
        return self._decode(sample)

    def finished(self) -> list[FoundTable]:
        """The tables of all files. They are decoded a second time if only all of them together show how."""
        databases = self._databases()
        if self._is_by_scn or len(databases) > 1:
            declared = dict.fromkeys(self._long_names()) if len(databases) > 1 else self._names
            self._start(replace(self._source, order="scn") if self._is_by_scn else self._source, declared)
            for file in self._files:
                self._decode(read_sample(file))
        unnamed = self._tables.get(UNNAMED)
        if unnamed is not None and len(self._tables) == 2:  # the spec of the other table also gets these changes
            del self._tables[UNNAMED]
            next(iter(self._tables.values())).merge(unnamed)
        for table in self._tables.values():
            table.by_scn = self._is_by_scn
        return list(self._tables.values())

    def _long_names(self) -> list[str]:
        return sorted(name for name in self._names.found if name.partition(".")[2] in self._tables)

    def _databases(self) -> set[str]:
        return {name.partition(".")[0] for name in self._long_names()}

    def _decode(self, sample: Sample) -> Decoded:
        messages = messages_of(sample, self._format)
        has_changes = False
        reasons: Counter[str] = Counter()
        for start in range(0, len(messages), _BATCH):
            batch = messages[start : start + _BATCH]
            texts = {message.line: message.text for message in batch}
            for event in self.decoder.decode(batch):
                if event.kind == CHANGE:
                    has_changes = True
                    self._add(sample, event, texts[event.line])
                elif event.reason is not None and event.reason.startswith(LOWER_COMMIT):
                    has_changes = self._is_by_scn = True
                elif event.reason is not None:
                    reasons[event.reason] += 1
        return Decoded(has_changes, reasons)

    def _add(self, sample: Sample, change: Event, text: bytes) -> None:
        table = self._tables.get(change.table or UNNAMED)
        if table is None:
            name = None if change.table in (None, UNNAMED) else change.table
            table = FoundTable(name, self._format.name, self._format.order, sample.container)
            self._tables[change.table or UNNAMED] = table
        if sample.path not in table.files[-1:]:
            table.files.append(sample.path)
            table.whole = table.whole and sample.is_whole
        table.add(change, False if self._shows_no_key is None else self._shows_no_key(change, text))
