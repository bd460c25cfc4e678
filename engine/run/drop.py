"""drop: remove a table with all that siltstone keeps of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from siltstone.engine.errors import SpecError
from siltstone.engine.reader import find_spec
from siltstone.engine.report import DropReport
from siltstone.engine.run.exclusive_run import one_run
from siltstone.engine.run.run_context import settle_note
from siltstone.engine.run.run_reports import Progress, silent
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.config_models import TargetConfig
from siltstone.engine.spec.model import ProjectSpec, TargetSpec
from siltstone.engine.spec.resolve import target_values
from siltstone.engine.table.catalog import exists, load
from siltstone.engine.table.commit import own_marker
from siltstone.engine.table.drop_tables import remove_rows, remove_table


@dataclass(frozen=True)
class Unwanted:
    """A table that is to go, by its name at the source. `file`, `path`: its spec and where its events are, if a spec
    says it."""

    table: str
    target: TargetSpec
    file: Path | None = None
    path: str | None = None

    @property
    def tables(self) -> tuple[str, str, str]:
        """The tables that go, in their order: at any moment a run can make those that are gone from those that are
        left, or from the source."""
        return self.target.latest, self.target.history, self.target.changes


def table_to_drop(word: str, project: ProjectSpec) -> Unwanted:
    """The table that a word names: that of a spec, or a table of the source whose spec is gone and had the usual names.

    Raises: SpecError: no table can be named so, or its spec cannot be read.
    """
    known = with_tables(project, ())
    spec = find_spec(word, known.tables)
    if spec is not None:
        return Unwanted(spec.table, spec.target, spec.file, spec.source.path)
    if known.unread:
        listed = ", ".join(str(file) for file in known.unread)
        raise SpecError(
            f"Cannot drop {word}: no spec is of this name, and some specs cannot be read ({listed}).",
            "run `siltstone validate`, and edit them first",
        )
    if "." not in word:
        raise SpecError(
            f"Cannot drop {word}: no spec is of this name.",
            "without its spec, name the table as the source does, such as inventory.customers",
        )
    return Unwanted(word, target_values(TargetConfig(), word, project.namespace))


def drop(
    project: ProjectSpec,
    unwanted: Unwanted,
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
) -> DropReport:
    """Remove latest, history and changes of a table, then its rows in the ledgers. One that died is completed by the
    next one, or by a run, which takes the whole table from its source.

    Raises: LockedError: a run is at work. SpecError: there is nothing to drop, or a table is not siltstone's.
        CommitConflictError: another program wrote meanwhile; run it again.
    """
    began = time.monotonic()
    with one_run(project, wait):
        refuse_others(spark, project, unwanted.tables)
        settle_note(spark, project)
        removed = []
        for name in unwanted.tables:
            (progress or silent)(name, "dropping")
            removed += [name] if remove_table(spark, project.catalog.name, name) else []
        (progress or silent)(unwanted.table, "removing its rows from the ledgers")
        rows = remove_rows(spark, project, unwanted.table)
    if not removed and not rows:
        raise SpecError(
            f"Cannot drop {unwanted.table}: there is none of {', '.join(unwanted.tables)}, and no row of it in the"
            f" ledgers of {project.namespace}.",
            "`siltstone show` and `siltstone runs` name the tables that are there",
        )
    return DropReport(unwanted.table, tuple(removed), rows, kept(project, unwanted), time.monotonic() - began)


def kept(project: ProjectSpec, unwanted: Unwanted) -> tuple[str, ...]:
    """What stays, in words."""
    spec = f"the spec ({unwanted.file}): with it, the next catch-up takes the table again" if unwanted.file else None
    files = "the files of the source" + (f" ({unwanted.path})" if unwanted.path else "")
    control = f"control events of the source in {project.namespace}.control, which its other tables use"
    old = "removed rows in older snapshots of the ledgers: `siltstone maintain --retain 0s` expires them"
    return tuple(part for part in (files, spec, control, old) if part is not None)


def refuse_others(spark: SparkSession, project: ProjectSpec, tables: Sequence[str]) -> None:
    """See that siltstone wrote these tables.

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
