"""drop: remove a table and everything that siltstone stores for it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from siltstone.engine.errors import SpecError
from siltstone.engine.reader import find_spec
from siltstone.engine.report import DropReport
from siltstone.engine.run.exclusive_run import one_run
from siltstone.engine.run.run_context import record_interrupted_run
from siltstone.engine.run.run_reports import Progress, silent
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, TargetSpec
from siltstone.engine.spec.resolve import target_values
from siltstone.engine.spec.table_config import TargetConfig
from siltstone.engine.table.catalog import exists, load
from siltstone.engine.table.commit import own_marker
from siltstone.engine.table.drop_tables import remove_rows, remove_table


@dataclass(frozen=True)
class TableToDrop:
    """A table to drop, by its name at the source. `file`, `path`: its spec and the place of its events, if known."""

    table: str
    target: TargetSpec
    file: Path | None = None
    path: str | None = None

    @property
    def tables(self) -> tuple[str, str, str]:
        """The tables to drop, in this order: at any time a run can restore the dropped ones from the remaining ones, or
        from the source."""
        return self.target.latest, self.target.history, self.target.changes


def table_to_drop(word: str, project: ProjectSpec) -> TableToDrop:
    """The table that a word names: a spec's table, or, without a spec, a source table with default target names.

    Raises: SpecError: the word is not a table name, or a spec cannot be read.
    """
    known = with_tables(project, ())
    spec = find_spec(word, known.tables)
    if spec is not None:
        return TableToDrop(spec.table, spec.target, spec.file, spec.source.path)
    if known.unread:
        listed = ", ".join(str(file) for file in known.unread)
        raise SpecError(
            f"Cannot drop {word}: no spec has this name, and some specs cannot be read ({listed}).",
            "run `siltstone validate`, and fix them first",
        )
    if "." not in word:
        raise SpecError(
            f"Cannot drop {word}: no spec has this name.",
            "without its spec, name the table as the source does, such as inventory.customers",
        )
    return TableToDrop(word, target_values(TargetConfig(), word, project.namespace))


def drop(
    project: ProjectSpec,
    to_drop: TableToDrop,
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
) -> DropReport:
    """Remove latest, history and changes of a table, then its rows in the ledgers.

    The next drop completes an interrupted one. A run in between ingests the whole table from its source.

    Raises: LockedError: another run holds the lock. SpecError: there is nothing to drop, or siltstone did not write a
            table.
        CommitConflictError: another program wrote meanwhile; retry the drop.
    """
    began = time.monotonic()
    with one_run(project, wait):
        refuse_others(spark, project, to_drop.tables)
        record_interrupted_run(spark, project)
        removed = []
        for name in to_drop.tables:
            (progress or silent)(name, "dropping")
            removed += [name] if remove_table(spark, project.catalog.name, name) else []
        (progress or silent)(to_drop.table, "removing its rows from the ledgers")
        rows = remove_rows(spark, project, to_drop.table)
    if not removed and not rows:
        raise SpecError(
            f"Cannot drop {to_drop.table}: none of {', '.join(to_drop.tables)} exists, and the ledgers of"
            f" {project.namespace} have no row of it.",
            "`siltstone show` and `siltstone runs` list the existing tables",
        )
    return DropReport(to_drop.table, tuple(removed), rows, kept(project, to_drop), time.monotonic() - began)


def kept(project: ProjectSpec, to_drop: TableToDrop) -> tuple[str, ...]:
    """Descriptions of what stays."""
    recreated = "with it, the next catch-up ingests the table from the start"
    spec = f"the spec ({to_drop.file}): {recreated}" if to_drop.file else None
    files = "the files of the source" + (f" ({to_drop.path})" if to_drop.path else "")
    control = f"control events of the source in {project.namespace}.control, which its other tables use"
    old = "removed rows in older snapshots of the ledgers: `siltstone maintain --retain 0s` expires them"
    return tuple(part for part in (files, spec, control, old) if part is not None)


def refuse_others(spark: SparkSession, project: ProjectSpec, tables: Sequence[str]) -> None:
    """Check that siltstone wrote these tables.

    Raises: SpecError: it did not write one of them. Nothing was removed.
    """
    catalog = project.catalog.name
    for name in tables:
        if not exists(spark, catalog, name):
            continue
        if load(spark, catalog, name).currentSnapshot() is not None and not own_marker(spark, catalog, name):
            raise SpecError(
                f"Cannot drop {name}: siltstone did not write it. Nothing was removed.",
                "name the table as its spec or its source does; SQL drops other tables",
            )
