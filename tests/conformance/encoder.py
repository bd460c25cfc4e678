"""The base of all encoders: how a format represents a workload, and what it can represent."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.conformance import wire
from tests.conformance.wire import base
from tests.conformance.workload import Event, Row, Step, Table, Truncate, Workload

MAX_DIGITS = 38


@dataclass(frozen=True)
class Capabilities:
    """What a format can represent.

    `positions`: a position in the source's log; without it, the order of delivery counts. `before`: the row before an
    update. `deleted_row`: the row that a delete removed. `partial`: updates without their unchanged columns.
    `truncate`, `reads`: truncates, rows of snapshots. `transactions`: which changes were committed together.
    `commit_positions`: positions are those of commits. `keys`, `types`: events have them, so that a spec need not
    declare them.
    """

    positions: bool = True
    before: bool = False
    deleted_row: bool = True
    partial: bool = False
    truncate: bool = False
    reads: bool = False
    transactions: bool = False
    commit_positions: bool = False
    keys: bool = False
    types: bool = False


class Encoder(ABC):
    """Writes workloads in one format, as one connector writes it."""

    name: str
    format: str
    can: Capabilities
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
    """Kinds whose type is different in the events. Only a spec can declare the right type."""

    def table_name(self, table: Table) -> str:
        """The name of the table in events and specs."""
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

    def committed(self, workload: Workload) -> Workload:
        """The workload as the source of this format commits it."""
        return workload

    def steps(self, workload: Workload) -> Iterator[Step]:
        """The steps that the format can represent. Without READs, the first rows are inserts. Without truncates, they
        are deletes."""
        for step in workload.steps:
            if step.kind == "initial" and not self.can.reads:
                yield Step("stream", step.number, step.at, step.events)
            elif step.kind != "read" or self.can.reads:
                yield Step(step.kind, step.number, step.at, tuple(self._events(step)), step.early)

    def _events(self, step: Step) -> Iterator[Event]:
        for event in step.events:
            if step.kind == "initial":
                yield Event("read", event.table, None, event.after)
            elif isinstance(event, Truncate) and not self.can.truncate:
                yield from event.deletes
            else:
                yield event

    @abstractmethod
    def deliver(self, workload: Workload, folder: Path) -> None:
        """Write the files of the workload."""


class LineEncoder(Encoder):
    """An encoder that writes JSON lines."""

    @abstractmethod
    def lines(self, workload: Workload) -> list[str]:
        """The lines, in the order in which the connector writes them."""

    def deliver(self, workload: Workload, folder: Path) -> None:
        """Write two files. If the format has positions, shuffle the lines and repeat some of them: this must not change
        the result."""
        lines = self.lines(workload)
        if self.can.positions:
            draw = random.Random(3)
            lines += draw.sample(lines, len(lines) // 5)
            draw.shuffle(lines)
        half = len(lines) // 2
        for name, part in (("part-1.jsonl", lines[:half]), ("part-2.jsonl", lines[half:])):
            if part:
                (folder / name).write_text("".join(line + "\n" for line in part), encoding="utf-8")


def changed(event: Event) -> Row:
    """The columns whose values an update changes."""
    before, after = event.before or {}, event.after or {}
    return {name: value for name, value in after.items() if before[name] != value}
