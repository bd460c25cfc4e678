"""What every teller has: how a format tells a story, and what it can tell at all."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.conformance import wire
from tests.conformance.story import Event, Row, Step, Story, Table, Truncate
from tests.conformance.wire import base

MAX_DIGITS = 38


@dataclass(frozen=True)
class Can:
    """What a format tells. `places`: a position in the source's log; without one, the order of delivery is the order.

    `before`: the row before an update. `deleted_row`: the row that a delete took. `partial`: updates without what did
    not change. `transactions`: which changes were committed together. `commit_places`: positions are those of commits.
    `keys`, `types`: events say them, so that a spec need not.
    """

    places: bool = True
    before: bool = False
    deleted_row: bool = True
    partial: bool = False
    truncate: bool = False
    reads: bool = False
    transactions: bool = False
    commit_places: bool = False
    keys: bool = False
    types: bool = False


class Teller(ABC):
    """Tells stories in one format, as one connector writes it."""

    name: str
    format: str
    can: Can
    types: ClassVar[dict[str, str]] = {
        "boolean": "boolean",
        "smallint": "int",
        "int": "int",
        "bigint": "bigint",
        "ubigint": "bigint unsigned",
        "float": "float",
        "double": "double",
        "numeric": "string",
        "text": "string",
        "bytes": "binary",
        "date": "date",
        "timestamp": "timestamp",
        "datetime": "timestamp_ntz(6)",
        "time": "time(6)",
        "json": "json",
        "uuid": "uuid",
    }
    lacks: frozenset[str] = frozenset()
    """Kinds that the source does not have."""
    misnamed: frozenset[str] = frozenset()
    """Kinds that its events call by another name: only a spec knows better."""

    def table_name(self, table: Table) -> str:
        """What events and specs call the table."""
        return f"{self.name}.{table.name}"

    def column_types(self, table: Table) -> dict[str, str]:
        """The columns as a spec declares them."""
        return {name: self.declared(kind) for name, kind in table.columns.items()}

    def declared(self, kind: str) -> str:
        if base(kind) == "decimal":
            return kind if wire.sizes(kind)[0] <= MAX_DIGITS else "string"
        if base(kind) == "array":
            return f"array<{self.types[kind[len('array<') : -1]]}>"
        return self.types[kind]

    def has(self, kind: str) -> bool:
        """Whether the source has columns of the kind."""
        return base(kind) not in self.lacks and kind not in self.lacks

    def specials(self, kind: str) -> list[Any]:
        """Values of the kind that only this source has."""
        return []

    def source(self, table: Table, folder: Path) -> dict[str, Any]:
        """The spec's source."""
        return {"format": self.format, "path": str(folder / "*")}

    def committed(self, story: Story) -> Story:
        """The story as the format's source commits it."""
        return story

    def steps(self, story: Story) -> Iterator[Step]:
        """The steps that the format can tell: without READs the first rows are inserted; without truncates, deleted."""
        for step in story.steps:
            if step.kind == "initial" and not self.can.reads:
                yield Step("stream", step.number, step.at, step.events)
            elif step.kind != "read" or self.can.reads:
                yield Step(step.kind, step.number, step.at, tuple(self._told(step)), step.early)

    def _told(self, step: Step) -> Iterator[Event]:
        for event in step.events:
            if step.kind == "initial":
                yield Event("read", event.table, None, event.after)
            elif isinstance(event, Truncate) and not self.can.truncate:
                yield from event.gone
            else:
                yield event

    @abstractmethod
    def deliver(self, story: Story, folder: Path) -> None:
        """Write the files that tell the story."""


class LineTeller(Teller):
    """A teller of JSON lines."""

    @abstractmethod
    def lines(self, story: Story) -> list[str]:
        """The lines in the order in which the connector writes them."""

    def deliver(self, story: Story, folder: Path) -> None:
        """Two files. Where positions order, lines are shuffled and some come twice: it must not matter."""
        lines = self.lines(story)
        if self.can.places:
            draw = random.Random(3)
            lines += draw.sample(lines, len(lines) // 5)
            draw.shuffle(lines)
        half = len(lines) // 2
        for name, part in (("part-1.jsonl", lines[:half]), ("part-2.jsonl", lines[half:])):
            if part:
                (folder / name).write_text("".join(line + "\n" for line in part), encoding="utf-8")


def changed(event: Event) -> Row:
    """The columns of an update that have another value than before."""
    before, after = event.before or {}, event.after or {}
    return {name: value for name, value in after.items() if before[name] != value}
