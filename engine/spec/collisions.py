"""What the specs of one project must not share: a source table, or a table they write; and what they must, of files
that several take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from siltstone.engine.errors import Violation
from siltstone.engine.formats import format_of
from siltstone.engine.names import LEDGER_TABLES
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.wording import Place, shown
from siltstone.engine.spec.yaml_document import Document

ONE: Final = "the windows of their snapshots are placed once for all tables: say the same in both specs."


def collisions(read: Sequence[tuple[TableSpec, Document]], project: ProjectSpec) -> Iterator[Violation]:
    """A violation for every source table read twice, each target table written by two, and files placed in two ways."""
    sources: dict[str, str] = {}
    paths: dict[str, tuple[SourceSpec, str]] = {}
    targets = own_tables(project.namespace)
    for spec, document in read:
        who = shown(spec.table) if spec.file is None else f"{shown(spec.table)} in {spec.file.name}"
        first = sources.setdefault(spec.table, who)
        if first != who:
            yield document.violation(("table",), f"the table {shown(spec.table)} has a spec already ({first})")
            continue
        other, of = paths.setdefault(spec.source.path, (spec.source, who))
        if setting := placed_otherwise(spec.source, other):
            yield document.violation(
                ("source", setting), f"{of} takes the same files with another source.{setting}", ONE
            )
        for place, name in _targets(spec):
            owner = targets.setdefault(name.casefold(), f"{who}, {place[-1]}")
            if owner != f"{who}, {place[-1]}":
                yield document.violation(place, f"{shown(name)} is written already ({owner})", "name another table.")


def placed_otherwise(one: SourceSpec, other: SourceSpec) -> str | None:
    """The setting by which two sources over the same files would place their events differently; None where none does.

    The windows of snapshots are placed once for all tables of the files.
    """
    if one.epochs != other.epochs:
        return "epoch"
    if one.kafka is not None and other.kafka is not None and one.kafka.bootstrap != other.kafka.bootstrap:
        return "kafka"
    both_turn = format_of(one.format).can_turn_to_scns and format_of(other.format).can_turn_to_scns
    return "order" if one.order != other.order and both_turn else None


def own_tables(namespace: str) -> dict[str, str]:
    """The tables that no spec may write, and whose they are; of names, upper and lower case are one."""
    return {f"{namespace}.{name}".casefold(): "siltstone's own ledger" for name in LEDGER_TABLES}


def _targets(spec: TableSpec) -> Iterator[tuple[Place, str]]:
    yield ("target", "latest"), spec.target.latest
    yield ("target", "history"), spec.target.history
    yield ("target", "changes"), spec.target.changes
