"""Summaries of the columns that changes have: schemas, keys, and the kinds of values without a schema.

Each task summarizes the changes of the records that it decodes together. The summaries travel with the events, and are
merged. The result does not depend on the split of the changes into tasks, or on the order of the tasks.

A table can take only a part of the records, because it took others before. So records belong to one region if the same
tables take them, and a summary has the changes of one region only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from siltstone.engine.decode import dts_types
from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.event import CHANGE, HALVES, Event
from siltstone.engine.decode.event_schemas import KNOWN_FROM_VALUES, key_columns, row_columns
from siltstone.engine.decode.json_kinds import kind_of, type_of_kinds
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object, raw_fields
from siltstone.engine.spec.renamed_names import NewNames, renamed

NO_END: Final = 2**62
Regions = Mapping[str, tuple[Sequence[int], Sequence[Hashable]]]
"""The regions of a file: their first lines, and their ids. All other lines and files are one more region."""


class Wanted(NamedTuple):
    """What a summary of a table collects. `fields`: the fields of changes without a schema. `keys`: the keys. `typed`:
    fields whose types are known. Only their names are collected."""

    fields: bool = True
    keys: bool = True
    typed: frozenset[str] = frozenset()


ALL: Final = Wanted()


@dataclass(frozen=True)
class SummaryRules:
    """How events are summarized. `wanted`: what is collected of each table. None: everything of all tables."""

    wanted: Mapping[str, Wanted] | None = None
    regions: Regions = field(default_factory=dict)


EVERYTHING: Final = SummaryRules()
_SCALE: Final = "scale"
_SCALE_TEXT: Final = b'"scale"'
T = TypeVar("T")
_MOST_CACHED: Final = 2_000
Place = tuple[str, int]
Schemas = tuple[int | None, str | None, str | None]
"""The schemas of a change: the hash of the row schema, the row schema, and the key schema."""


@dataclass(frozen=True)
class Seen:
    """The columns that changes have.

    `schemas`: the columns of each schema, by its hash. `has_schemaless`: some changes have no schema. `inferred`: the
    types of the values of those changes, for every field, in order. `any_scale`: fields whose numbers have their own
    scale. `keys`: the keys of changes. `variants`: lower-case names that one change has in two spellings. `renames`:
    the columns by their earlier names, in lower case.
    """

    schemas: tuple[tuple[int, dict[str, Typed]], ...]
    has_schemaless: bool
    inferred: dict[str, Typed]
    any_scale: frozenset[str]
    keys: tuple[tuple[str, ...], ...]
    variants: frozenset[str] = frozenset()
    renames: NewNames = field(default_factory=dict)

    @classmethod
    def nothing(cls) -> Seen:
        """The result without changes."""
        return cls((), False, {}, frozenset(), ())

    @property
    def has_readable_schemas(self) -> bool:
        """Whether every schema has columns. If not, some fields are unknown."""
        return all(columns for _, columns in self.schemas)

    @property
    def schema_fields(self) -> tuple[str, ...]:
        """The fields of the schemas, in order. The schema with the most fields comes first."""
        schemas = sorted(self.schemas, key=lambda item: (-len(item[1]), item[0]))
        return tuple(dict.fromkeys(name for _, columns in schemas for name in columns))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """All fields with a known type, in order. The fields of schemas come first."""
        return tuple(dict.fromkeys([*self.schema_fields, *self.inferred]))

    def of_column(self, name: str, fields: Mapping[str, T]) -> T | None:
        """The entry for a column, in any of its spellings."""
        if name in fields:
            return fields[name]
        return next((fields[other] for other in self.spellings(name) if other in fields), None)

    def typed(self, name: str) -> list[tuple[int, Typed]]:
        """The type and encoding of a column in each schema that has it."""
        both = [(number, self.of_column(name, columns)) for number, columns in self.schemas]
        return [(number, typed) for number, typed in both if typed is not None]

    def spellings(self, name: str) -> frozenset[str]:
        """The other spellings of a column, and its old names. A change has only one of them."""
        folded = self.folded(name)
        alike = () if folded in self.variants else self._alike.get(folded, ())
        return frozenset(alike) - {name}

    @cached_property
    def _alike(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.fields:
            found.setdefault(self.folded(name), []).append(name)
        return found

    def folded(self, name: str) -> str:
        """The current name of a column in lower case, which is equal for all its spellings."""
        return renamed(name, self.renames).casefold()

    def has_both_names(self) -> bool:
        """Whether changes have a column under an old name and under the new name. One change can have both."""
        there = {name.casefold() for name in self.fields}
        return any(old in there and new.casefold() in there for old, new in self.renames.items())


class State(msgspec.Struct):
    """A summary in the form in which processes exchange it. `first_fields`: the fields of the first image without a
    schema; `first_place`: its place."""

    schemas: dict[int, str] = msgspec.field(default_factory=dict)
    keys: set[tuple[str, ...]] = msgspec.field(default_factory=set)
    has_schemaless: bool = False
    kinds: dict[str, set[str]] = msgspec.field(default_factory=dict)
    any_scale: set[str] = msgspec.field(default_factory=set)
    variants: set[str] = msgspec.field(default_factory=set)
    first_place: Place | None = None
    first_fields: tuple[str, ...] = ()


class ColumnsSeen:
    """A summary of changes of one table."""

    def __init__(self, wanted: Wanted = ALL) -> None:
        self._wanted = wanted
        self._state = State()
        self._known_schemas: dict[Schemas, bool] = {}
        self._untyped_fields: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Add changes."""
        for event in events:
            schemas = event.schema_hash, event.row_schema, event.key_schema
            image = event.before if event.after is None else event.after
            self._add((event.file, event.line), schemas, event.key, image)

    @property
    def state(self) -> State:
        """The summary in the form in which processes exchange it."""
        return self._state

    def merge(self, new: State) -> None:
        """Add the changes of another summary."""
        mine = self._state
        for number, schema in new.schemas.items():
            self._add_row_schema(number, schema)
        mine.keys |= new.keys
        mine.has_schemaless |= new.has_schemaless
        for name, kinds in new.kinds.items():
            mine.kinds.setdefault(name, set()).update(kinds)
        mine.any_scale |= new.any_scale
        mine.variants |= new.variants
        if new.first_place is not None:
            self._add_first(new.first_place, new.first_fields)

    def seen(self) -> Seen:
        """The columns that the changes have."""
        state = self._state
        schemas = tuple((number, row_columns(schema)) for number, schema in sorted(state.schemas.items()))
        variants = state.variants.union(*(_variants(columns) for _, columns in schemas))
        order = dict.fromkeys([*(name for name in state.first_fields if name in state.kinds), *sorted(state.kinds)])
        return Seen(
            schemas,
            state.has_schemaless,
            {name: type_of_kinds(state.kinds[name]) for name in order},
            frozenset(state.any_scale),
            tuple(sorted(state.keys)),
            frozenset(variants),
        )

    # --- one change -------------------------------------------------------------------------------------------------

    def _add(self, place: Place, schemas: Schemas, key: bytes | None, image: bytes | None) -> None:
        names_key = self._known_schemas.get(schemas)
        if names_key is None:
            names_key = keep(self._known_schemas, schemas, self._add_schemas(*schemas), _MOST_CACHED)
        if key is not None and self._wanted.keys and not names_key:
            self._add_key(key)
        if image is not None and schemas[0] is None and (self._wanted.fields or _SCALE_TEXT in image):
            self._add_image(place, image)

    def _add_schemas(self, number: int | None, row_schema: str | None, key_schema: str | None) -> bool:
        """Add the columns of schemas. Gives whether they name the key."""
        if number is None:
            self._state.has_schemaless = True
        else:
            self._add_row_schema(number, row_schema or "")
        key = key_columns(key_schema) if key_schema is not None and self._wanted.keys else ()
        self._add_key_columns(key)
        return bool(key)

    def _add_row_schema(self, number: int, schema: str) -> None:
        """Add a schema. Facts from values can differ between changes of one schema, and all of them are merged."""
        known = self._state.schemas.setdefault(number, schema)
        if known != schema and schema.startswith(KNOWN_FROM_VALUES):
            self._state.schemas[number] = dts_types.merged(known, schema)

    def _add_key(self, key: bytes) -> None:
        try:
            self._add_key_columns(raw_fields(key))
        except PARSE_ERRORS:
            return

    def _add_key_columns(self, names: Iterable[str]) -> None:
        key = tuple(names)
        if key:
            self._state.keys.add(key)

    def _add_image(self, place: Place, image: bytes) -> None:
        try:
            fields = parse_object(image)
        except PARSE_ERRORS:
            return
        if self._wanted.fields:
            self._add_fields(place, fields)
        if _SCALE_TEXT in image:
            self._state.any_scale.update(name for name, value in fields.items() if _has_scale(value))

    def _add_fields(self, place: Place, fields: dict[str, Any]) -> None:
        names, kinds = tuple(fields), self._state.kinds
        untyped = self._untyped_fields.get(names)
        if untyped is None:
            untyped = keep(self._untyped_fields, names, self._add_names(names), _MOST_CACHED)
        self._add_first(place, names)
        for name in untyped:
            kinds[name].add(kind_of(fields[name]))

    def _add_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Add the names of an image. Gives those whose types are not known."""
        self._state.variants |= _variants(names)
        for name in names:
            self._state.kinds.setdefault(name, set())
        return tuple(name for name in names if name not in self._wanted.typed)

    def _add_first(self, place: Place, names: tuple[str, ...]) -> None:
        first = self._state.first_place
        if first is None or place < first:
            self._state.first_place, self._state.first_fields = place, names


# --- summaries that travel with events ------------------------------------------------------------------------------


def summarize(events: Iterable[Event], rules: SummaryRules = EVERYTHING) -> None:
    """Attach a summary of the changes of each region to one of its messages. `events`: decoded together.

    The message is no half of a change, because a later step replaces halves.
    """
    regions: dict[Hashable, list[Event]] = {}
    for file, of_file in groupby(events, attrgetter("file")):
        starts, ids = rules.regions.get(file, ((), ()))
        whole = [event for event in of_file if event.control_kind not in HALVES]
        if not starts:
            regions.setdefault(None, []).extend(whole)
            continue
        for event in whole:
            at = bisect_right(starts, event.line)
            regions.setdefault(ids[at - 1] if at else None, []).append(event)
    for mine in regions.values():
        found = _summaries(mine, rules.wanted)
        if found:
            # Later steps can remove an event without a text, which is not the first one of its message.
            last = next((event for event in reversed(mine) if event.text is not None), mine[-1])
            last.columns = encoded(found)


def _summaries(events: Iterable[Event], wanted: Mapping[str, Wanted] | None) -> dict[str, ColumnsSeen]:
    """A summary of the changes of each table that is wanted."""
    changes: dict[str, list[Event]] = {}
    for event in events:
        if event.kind == CHANGE and event.table is not None and (wanted is None or event.table in wanted):
            changes.setdefault(event.table, []).append(event)
    found = {table: ColumnsSeen() if wanted is None else ColumnsSeen(wanted[table]) for table in changes}
    for table, seen in found.items():
        seen.add(changes[table])
    return found


def regions_of(spans: Iterable[tuple[Hashable, str, int, int]]) -> Regions:
    """The regions of files, from the lines that each consumer takes: consumer, path, first line, last line.

    A consumer takes each line at most once.
    """
    borders: dict[str, dict[int, tuple[set[Hashable], set[Hashable]]]] = {}
    for consumer, path, first, last in spans:
        of_file = borders.setdefault(path, {})
        of_file.setdefault(first, (set(), set()))[0].add(consumer)
        of_file.setdefault(last + 1, (set(), set()))[1].add(consumer)
    found: dict[str, tuple[Sequence[int], Sequence[Hashable]]] = {}
    for path, of_file in borders.items():
        starts, takers, active = sorted(of_file), [], frozenset[Hashable]()
        for line in starts:
            begins, ends = of_file[line]
            active = (active - ends) | begins
            takers.append(active)
        found[path] = starts, takers
    return found


def encoded(summaries: Mapping[str, ColumnsSeen]) -> bytes:
    """The text of summaries by their tables."""
    return msgspec.json.encode({table: seen.state for table, seen in summaries.items()})


def merged(texts: Iterable[str | bytes]) -> dict[str, ColumnsSeen]:
    """The summaries of all texts, by their tables."""
    found: dict[str, ColumnsSeen] = {}
    for text in texts:
        for table, state in msgspec.json.decode(text, type=dict[str, State]).items():
            found.setdefault(table, ColumnsSeen()).merge(state)
    return found


def _variants(names: Iterable[str]) -> set[str]:
    """The names, in lower case, that occur in more than one spelling."""
    return {name for name, number in Counter(name.casefold() for name in names).items() if number > 1}


def _has_scale(value: Any) -> bool:
    """Whether a value is a number with its own scale, or a list with such a number."""
    if isinstance(value, list):
        return any(map(_has_scale, value))
    return isinstance(value, dict) and next(iter(value), None) == _SCALE
