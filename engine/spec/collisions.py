"""Checks across the specs of one project.

Two specs must not share a source table or a target table. Specs that read the same files must share some settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from siltstone.engine.errors import Violation
from siltstone.engine.formats import format_of
from siltstone.engine.names import LEASE, LEDGER_TABLES
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.wording import Place, shown
from siltstone.engine.spec.yaml_document import Document

SAME_SETTING_HINT: Final = (
    "snapshot windows are shared by all tables of the same files: use the same setting in both specs."
)


def collisions(read: Sequence[tuple[TableSpec, Document]], project: ProjectSpec) -> Iterator[Violation]:
    """Find source tables with two specs, target tables of two specs, and the same files with other settings."""
    sources: dict[str, str] = {}
    paths: dict[str, tuple[SourceSpec, str]] = {}
    targets = own_tables(project.namespace)
    for spec, document in read:
        who = shown(spec.table) if spec.file is None else f"{shown(spec.table)} in {spec.file.name}"
        first = sources.setdefault(spec.table, who)
        if first != who:
            yield document.violation(("table",), f"the table {shown(spec.table)} already has a spec ({first})")
            continue
        other, of = paths.setdefault(spec.source.path, (spec.source, who))
        if setting := conflicting_setting(spec.source, other):
            yield document.violation(
                ("source", setting), f"{of} takes the same files with another source.{setting}", SAME_SETTING_HINT
            )
        for place, name in _targets(spec):
            owner = targets.setdefault(name.casefold(), f"{who}, {place[-1]}")
            if owner != f"{who}, {place[-1]}":
                yield document.violation(place, f"{shown(name)} is already written ({owner})", "name another table.")


def conflicting_setting(one: SourceSpec, other: SourceSpec) -> str | None:
    """The setting that gives events of the same files other positions in two sources, or None.

    Snapshot windows are shared by all tables of the files, so positions must be equal.
    """
    if one.epochs != other.epochs:
        return "epoch"
    if one.kafka is not None and other.kafka is not None and one.kafka.bootstrap != other.kafka.bootstrap:
        return "kafka"
    both_turn = format_of(one.format).can_turn_to_scns and format_of(other.format).can_turn_to_scns
    return "order" if one.order != other.order and both_turn else None


def own_tables(namespace: str) -> dict[str, str]:
    """The tables that no spec may write, in lower case, and their owner."""
    return {f"{namespace}.{name}".casefold(): "siltstone's own ledger" for name in (*LEDGER_TABLES, LEASE)}


def _targets(spec: TableSpec) -> Iterator[tuple[Place, str]]:
    yield ("target", "latest"), spec.target.latest
    yield ("target", "history"), spec.target.history
    yield ("target", "changes"), spec.target.changes
