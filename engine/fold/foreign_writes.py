"""Writes of other programs to `changes`, `history` and `latest` since siltstone's newest commits.

Compaction and other maintenance keep the rows, so a run continues after them. Any other foreign write stops a run
before it ingests anything. A rebuild replaces foreign writes to `history` and `latest`, and its report names them.
`changes` has no copy, so the user has to decide about foreign writes to it.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import ForeignWriteError
from siltstone.engine.fold.applied_settings import is_outdated
from siltstone.engine.fold.markers import marker_of
from siltstone.engine.schema.commits import foreign_commits
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import exists, load
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.commit import Branch, commits_of, drop_stale_branches, lost_commits, own_marker, tag_marker

SHOWN = 5  # commits named in a message
ROLL_BACK = "undo it with Iceberg's procedure rollback_to_snapshot"


def foreign_writes(spark: SparkSession, project: ProjectSpec, tables: Sequence[str]) -> dict[str, list[str]]:
    """Descriptions of the foreign writes to these tables, by table. Tables without foreign writes are left out."""
    found = {table: writes_to(spark, project.catalog.name, table) for table in tables}
    return {table: writes for table, writes in found.items() if writes}


def writes_to(spark: SparkSession, catalog: str, table: str) -> list[str]:
    """Descriptions of the foreign writes to a table."""
    if not exists(spark, catalog, table):
        return []
    commits = [str(commit) for commit in foreign_commits(commits_of(spark, load(spark, catalog, table)))]
    lost = None if commits else lost_commits(spark, catalog, table)
    return commits if lost is None else [lost]


def refuse_foreign_writes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Check that siltstone wrote the rows from which a run continues.

    A table that an interrupted rebuild left to be replaced is not checked: the run completes the rebuild, and its
    report names what it replaces.

    Raises: ForeignWriteError.
    """
    found = foreign_writes(spark, project, kept_tables(spark, project.catalog.name, spec))
    if found:
        way_out = of_changes(spec) if spec.target.changes in found else f"or {rebuild_command(spec)}"
        raise foreign_error(f"Cannot go on with {spec.table}", found, way_out)


def refuse_foreign_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Check that siltstone wrote the changes to fold.

    Raises: ForeignWriteError.
    """
    if found := foreign_writes(spark, project, [spec.target.changes]):
        raise foreign_error(f"Cannot rebuild {spec.table}", found, of_changes(spec))


def refuse_foreign_rows(found: Mapping[str, Sequence[str]], spec: TableSpec, way_out: str) -> None:
    """Check that there are no foreign writes to `history` and `latest`, if a rebuild cannot replace them.

    Raises: ForeignWriteError.
    """
    if found:
        raise foreign_error(f"Cannot rebuild {spec.table}", found, way_out)


def foreign_error(what: str, found: Mapping[str, Sequence[str]], way_out: str) -> ForeignWriteError:
    """The error that names the foreign writes."""
    written = "; ".join(in_words(table, writes) for table, writes in found.items())
    return ForeignWriteError(
        f"{what}: another program changed its rows. {written}. Nothing was changed.", f"{ROLL_BACK}, {way_out}"
    )


def in_words(table: str, writes: Sequence[str]) -> str:
    """One table's foreign writes as one text: the first few, and the number of the others."""
    more = len(writes) - SHOWN
    return f"{table}: {', '.join(writes[:SHOWN])}" + (f" and {more} more" if more > 0 else "")


def replaced_notes(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The notes of a rebuild's report on the foreign writes that it replaced."""
    return tuple(f"replaced what another program wrote to {in_words(table, writes)}" for table, writes in found.items())


def kept_notes(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The notes of a partial rebuild's report on foreign writes: those to other keys are still there."""
    stays = "its other keys still hold what another program wrote, until the whole table is rebuilt"
    return tuple(f"{in_words(table, writes)}; {stays}" for table, writes in found.items())


def accepted_notes(spec: TableSpec, writes: Sequence[str]) -> tuple[str, ...]:
    """The notes of a rebuild's report on the foreign writes to `changes` that it accepted."""
    return (f"accepted what another program wrote to {in_words(spec.target.changes, writes)}",) if writes else ()


def rebuild_command(spec: TableSpec) -> str:
    """The hint for a `history` or `latest` that another program changed."""
    return f"run `{command(spec)}`, which recomputes history and latest from the changes and drops what was written"


def of_changes(spec: TableSpec) -> str:
    """The hint for a `changes` that another program changed."""
    return (
        f"or run `{command(spec)} --reread`, which rereads the inputs, or `{command(spec)} --accept-changes`, which"
        " accepts the changes as they are now"
    )


def command(spec: TableSpec) -> str:
    """The command that rebuilds one table."""
    return "siltstone rebuild" if spec.file is None else f"siltstone rebuild {spec.file}"


def kept_tables(spark: SparkSession, catalog: str, spec: TableSpec) -> tuple[str, ...]:
    """The tables from whose rows the next run continues."""
    changes, history, latest = three_tables(spec)
    if is_outdated(spark, catalog, spec):
        return (changes,)
    there = exists(spark, catalog, history) and exists(spark, catalog, latest)
    if there and marker_of(spark, catalog, history)[1] != marker_of(spark, catalog, latest)[1]:
        return changes, history
    return changes, history, latest


def three_tables(spec: TableSpec) -> tuple[str, str, str]:
    """The names of changes, history and latest."""
    return spec.target.changes, spec.target.history, spec.target.latest


def settle_tags(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Set the tag of each table to siltstone's newest commit, if an interrupted run did not."""
    for table in three_tables(spec):
        if exists(spark, project.catalog.name, table):
            tag_marker(spark, project.catalog.name, table)


def accept_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec, run_id: str) -> list[str]:
    """Accept another program's writes to `changes`: an empty batch records the decision.

    From then on `history` and `latest` are outdated until they are folded from `changes`. Gives: descriptions of the
    accepted writes.

    Raises: ForeignWriteError: no commit of siltstone's is left that records how far the inputs were ingested.
    """
    catalog, changes = project.catalog.name, spec.target.changes
    found = writes_to(spark, catalog, changes)
    if not found:
        return []
    before = own_marker(spark, catalog, changes)
    if not before:
        lost = "or drop the three tables: the next run ingests all inputs from the start"
        raise foreign_error(f"Cannot accept the changes of {spec.table}", {changes: found}, lost)
    newest = int(before[names.SUMMARY_BATCH])
    taken_inputs(spark, project, {spec.table: changes}, {spec.table: newest})  # removes leftovers of unfinished runs
    reread = run_id if is_outdated(spark, catalog, spec) else f"{names.ACCEPTED}{run_id}"
    accepted = {names.SUMMARY_BATCH: str(newest + 1), names.SUMMARY_REREAD: reread, names.SUMMARY_ATTEMPT: run_id}
    drop_stale_branches(spark, catalog, changes)
    branch = Branch.start(spark, catalog, changes, before | accepted)
    branch.append(branch.read().limit(0))
    branch.publish()
    return found
