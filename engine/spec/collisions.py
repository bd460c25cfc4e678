"""What the specs of one project must not share: a source table, or a table they write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.errors import Violation
from engine.names import LEDGER_TABLES
from engine.spec.document import Document
from engine.spec.model import ProjectSpec, TableSpec
from engine.spec.wording import Place, shown


def collisions(read: Sequence[tuple[TableSpec, Document]], project: ProjectSpec) -> Iterator[Violation]:
    """A violation for every source table read twice and every target table written by two."""
    sources: dict[str, str] = {}
    targets = own_tables(project.namespace)
    for spec, document in read:
        who = shown(spec.table) if spec.file is None else f"{shown(spec.table)} in {spec.file.name}"
        first = sources.setdefault(spec.table, who)
        if first != who:
            yield document.violation(("table",), f"the table {shown(spec.table)} has a spec already ({first})")
            continue
        for place, name in _targets(spec):
            owner = targets.setdefault(name.casefold(), f"{who}, {place[-1]}")
            if owner != f"{who}, {place[-1]}":
                yield document.violation(place, f"{shown(name)} is written already ({owner})", "name another table.")


def own_tables(namespace: str) -> dict[str, str]:
    """The tables that no spec may write, and whose they are; of names, upper and lower case are one."""
    return {f"{namespace}.{name}".casefold(): "siltstone's own ledger" for name in LEDGER_TABLES}


def _targets(spec: TableSpec) -> Iterator[tuple[Place, str]]:
    yield ("target", "latest"), spec.target.latest
    yield ("target", "history"), spec.target.history
    yield ("target", "changes"), spec.target.changes
