"""What siltstone's own reader of Avro files (`engine/jvm`, `AvroTexts`) writes of each record: the text that `records`
makes of what Spark reads, without the struct in between.

It is told by the schema of the files, where each type that is not written as it is has a property that says how. It
knows types of no parts, arrays of them, and records that stand for one value; files with other columns are read by
Spark.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.decode import values
from engine.decode.avro import (
    EVENT_FIELDS,
    EVENT_TIMES,
    array_of_scalars,
    clock_unit,
    name_of,
    only_type,
    scalar,
    stands_for,
    telling,
    type_of,
)
from engine.decode.avro_names import Named, with_full_names
from engine.decode.carried import carried_schema
from engine.decode.connect import Typed

TOLD: Final = "siltstone"
"""The property: see `AvroType`."""
_PAYLOAD: Final = "payload"
_PRIMITIVE: Final = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")


@dataclass(frozen=True)
class Texts:
    """`schema`: of the records, as the reader takes it. `row_schema`: of the rows in them, as they carry it."""

    schema: str
    row_schema: str


class _UnknownError(Exception):
    """That the reader does not know a type."""


def texts_of_rows(schema: str) -> Texts | None:
    """Of rows; None where the reader does not know their types. `schema`: the writer's, as JSON."""
    written, named = with_full_names(json.loads(schema))
    return _texts(lambda plan: plan.row(written, clocks=True), named)


def texts_of_events(schema: str) -> Texts | None:
    """The same of Datastream's events."""
    written, named = with_full_names(json.loads(schema))
    return _texts(lambda plan: plan.event(written), named)


def _texts(told: Callable[[_Plan], tuple[dict[str, Any], dict[str, Typed]]], named: Named) -> Texts | None:
    try:
        kind, columns = told(_Plan(named))
    except _UnknownError:
        return None
    return Texts(json.dumps(kind, separators=(",", ":")), carried_schema(columns))


@dataclass
class _Plan:
    """What is told of a schema. Types are written where they are used, each by a name of its own."""

    named: Named
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def row(self, written: Any, *, clocks: bool) -> tuple[dict[str, Any], dict[str, Typed]]:
        """A record whose fields are columns, and what these are. `clocks`: as of `avro_columns`."""
        told = {one["name"]: self.column(one["type"], clocks) for one in _fields(written)}
        columns = {name: typed for name, (_, typed) in told.items()}
        return self.record({name: kind for name, (kind, _) in told.items()}), columns

    def event(self, written: Any) -> tuple[dict[str, Any], dict[str, Typed]]:
        """Datastream's event, and the columns of the row in it."""
        columns: dict[str, Typed] = {}
        kinds: dict[str, Any] = {}
        for one in _fields(written):
            name, kind = one["name"], one["type"]
            if name == _PAYLOAD:
                kinds[name], columns = self.row(kind, clocks=False)
            elif name in EVENT_TIMES:
                kinds[name] = self.clock(kind)
            else:
                kinds[name] = self.as_it_is(kind)
        places = [list(kinds).index(name) for name in (*EVENT_TIMES, *EVENT_FIELDS, _PAYLOAD) if name in kinds]
        return self.record(kinds) | {TOLD: " ".join(["fields", *map(str, places)])}, columns

    def column(self, written: Any, clocks: bool) -> tuple[Any, Typed]:
        """A column's type as it is told, and what it is stored as."""
        if isinstance(written, list):
            told = {place: self.column(part, clocks) for place, part in enumerate(written) if part != "null"}
            if len(told) != 1:
                raise _UnknownError
            ((_, typed),) = told.values()
            return [told[place][0] if place in told else "null" for place in range(len(written))], typed
        kind = type_of(written, self.named)
        found = scalar(kind)
        if found is not None:
            told_so = telling(*found) if clocks else None
            if told_so is None:
                return self.plain(kind), found
            return self.plain(kind) | {TOLD: f"{told_so.word} {told_so.number}"}, (found[0], told_so.encoding)
        found = array_of_scalars(kind)
        if found is not None:
            return self.as_it_is(kind), found
        return self.one_value(kind, clocks)

    def one_value(self, kind: Any, clocks: bool) -> tuple[Any, Typed]:
        """A record that stands for the value of one of its fields."""
        name = stands_for(kind)
        if name is None:
            raise _UnknownError
        typed: dict[str, Typed] = {}
        kinds: dict[str, Any] = {}
        for one in kind["fields"]:
            if one["name"] == name:
                kinds[name], typed[name] = self.column(one["type"], clocks)
            else:
                kinds[one["name"]] = self.as_it_is(one["type"])
        return self.record(kinds) | {TOLD: f"only {list(kinds).index(name)}"}, typed[name]

    def clock(self, written: Any) -> Any:
        """A time of an event."""
        parts = written if isinstance(written, list) else [written]
        if type_of(written, self.named) != only_type(written) or name_of(only_type(written)) != "long":
            raise _UnknownError
        told = {"type": "long", TOLD: f"clock {values.A_SECOND[clock_unit(only_type(written))]}"}
        return ["null" if part == "null" else told for part in parts] if isinstance(written, list) else told

    def as_it_is(self, written: Any, around: tuple[str, ...] = ()) -> Any:
        """Any type, without logical ones."""
        if isinstance(written, list):
            return [self.as_it_is(part, around) for part in written]
        kind = self.named[written] if isinstance(written, str) and written in self.named else written
        if isinstance(kind, Mapping) and kind["type"] == "record":
            if kind["name"] in around:
                raise _UnknownError  # it is in itself
            inside = (*around, kind["name"])
            return self.record({one["name"]: self.as_it_is(one["type"], inside) for one in kind["fields"]})
        if isinstance(kind, Mapping) and kind["type"] == "array":
            return {"type": "array", "items": self.as_it_is(kind["items"], around)}
        return self.plain(kind)

    def plain(self, kind: Any) -> dict[str, Any]:
        """A type of no parts."""
        name = name_of(kind)
        if name in ("enum", "fixed"):
            return {"name": self.new_name()} | {key: kind[key] for key in ("type", "symbols", "size") if key in kind}
        if name in _PRIMITIVE:
            return {"type": name}
        raise _UnknownError

    def record(self, kinds: Mapping[str, Any]) -> dict[str, Any]:
        """A record of these fields."""
        fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
        return {"type": "record", "name": self.new_name(), "fields": fields}

    def new_name(self) -> str:
        """A name that no other type of the schema has."""
        return f"type{next(self.numbers)}"


def _fields(written: Any) -> list[Mapping[str, Any]]:
    """The fields of a record that is always there."""
    if not (isinstance(written, Mapping) and written["type"] == "record"):
        raise _UnknownError
    fields: list[Mapping[str, Any]] = written["fields"]
    return fields
