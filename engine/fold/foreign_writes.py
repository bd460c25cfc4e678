"""What other programs wrote to `changes`, `history` and `latest` since siltstone's newest commits.

Compaction and other maintenance keep the rows: a run goes on from there. Whatever else changed rows stops a run before
it takes anything. What was written to `history` or `latest` a rebuild replaces, and names; of `changes` there is no
copy, so a person decides.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import ForeignWriteError
from siltstone.engine.fold.context import is_outdated
from siltstone.engine.fold.markers import marker_of
from siltstone.engine.schema.commits import foreign_commits
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import exists, load
from siltstone.engine.table.commit import Branch, commits_of, drop_stale_branches, lost_commits, own_marker, tag_marker

SHOWN = 5  # commits named in a message
ROLL_BACK = "undo it with Iceberg's procedure rollback_to_snapshot"


def foreign_writes(spark: SparkSession, project: ProjectSpec, tables: Sequence[str]) -> dict[str, list[str]]:
    """What other programs did to the rows of these tables, in words, by table; tables without such are left out."""
    found = {table: writes_to(spark, project.catalog.name, table) for table in tables}
    return {table: writes for table, writes in found.items() if writes}


def writes_to(spark: SparkSession, catalog: str, table: str) -> list[str]:
    """What other programs did to the rows of a table, in words."""
    if not exists(spark, catalog, table):
        return []
    commits = [str(commit) for commit in foreign_commits(commits_of(spark, load(spark, catalog, table)))]
    lost = None if commits else lost_commits(spark, catalog, table)
    return commits if lost is None else [lost]


def refuse_foreign_writes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """See that the rows a run goes on from are those that siltstone wrote. What a rebuild that died leaves to be
    replaced is not looked at: the run completes that, and names what it replaces.

    Raises: ForeignWriteError.
    """
    found = foreign_writes(spark, project, kept_tables(spark, project.catalog.name, spec))
    if found:
        way_out = of_changes(spec) if spec.target.changes in found else f"or {rebuild_command(spec)}"
        raise foreign_error(f"Cannot go on with {spec.table}", found, way_out)


def refuse_foreign_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """See that the changes to be folded are those that siltstone took.

    Raises: ForeignWriteError.
    """
    if found := foreign_writes(spark, project, [spec.target.changes]):
        raise foreign_error(f"Cannot rebuild {spec.table}", found, of_changes(spec))


def refuse_foreign_rows(found: Mapping[str, Sequence[str]], spec: TableSpec, way_out: str) -> None:
    """See that another program has not changed the rows of `history` and `latest`, where a rebuild cannot mend that.

    Raises: ForeignWriteError.
    """
    if found:
        raise foreign_error(f"Cannot rebuild {spec.table}", found, way_out)


def foreign_error(what: str, found: Mapping[str, Sequence[str]], way_out: str) -> ForeignWriteError:
    """The error that names what was written."""
    written = "; ".join(in_words(table, writes) for table, writes in found.items())
    return ForeignWriteError(
        f"{what}: another program changed its rows. {written}. Nothing was changed.", f"{ROLL_BACK}, {way_out}"
    )


def in_words(table: str, writes: Sequence[str]) -> str:
    """One table's foreign writes as one text: the first few, and how many more."""
    more = len(writes) - SHOWN
    return f"{table}: {', '.join(writes[:SHOWN])}" + (f" and {more} more" if more > 0 else "")


def replaced_notes(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What a rebuild says of the foreign writes that it replaced."""
    return tuple(f"replaced what another program wrote to {in_words(table, writes)}" for table, writes in found.items())


def kept_notes(found: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What a rebuild of some keys says of the foreign writes: those to other keys are still there."""
    stays = "its other keys still hold what another program wrote, until the whole table is rebuilt"
    return tuple(f"{in_words(table, writes)}; {stays}" for table, writes in found.items())


def accepted_notes(spec: TableSpec, writes: Sequence[str]) -> tuple[str, ...]:
    """What a rebuild says of the foreign writes to `changes` that it accepted."""
    return (f"accepted what another program wrote to {in_words(spec.target.changes, writes)}",) if writes else ()


def rebuild_command(spec: TableSpec) -> str:
    """The way out of a `history` or `latest` that another program changed."""
    return f"run `{command(spec)}`, which folds history and latest from the changes and drops what was written"


def of_changes(spec: TableSpec) -> str:
    """The ways out of a `changes` that another program changed."""
    return (
        f"or run `{command(spec)} --reread`, which reads the inputs again, or `{command(spec)} --accept-changes`, which"
        " takes the changes as they are now for what happened"
    )


def command(spec: TableSpec) -> str:
    """The rebuild of one table as a command."""
    return "siltstone rebuild" if spec.file is None else f"siltstone rebuild {spec.file}"


def kept_tables(spark: SparkSession, catalog: str, spec: TableSpec) -> tuple[str, ...]:
    """The tables whose rows the next run goes on from."""
    changes, history, latest = three_tables(spec)
    if is_outdated(spark, catalog, spec):
        return (changes,)
    there = exists(spark, catalog, history) and exists(spark, catalog, latest)
    if there and marker_of(spark, catalog, history)[1] != marker_of(spark, catalog, latest)[1]:
        return changes, history
    return changes, history, latest


def three_tables(spec: TableSpec) -> tuple[str, str, str]:
    """The tables that are one table's."""
    return spec.target.changes, spec.target.history, spec.target.latest


def settle_tags(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Put the tag of each table on siltstone's newest commit, where a run that died did not."""
    for table in three_tables(spec):
        if exists(spark, project.catalog.name, table):
            tag_marker(spark, project.catalog.name, table)


def accept_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec, run_id: str) -> list[str]:
    """Take what another program made of `changes` for what happened: an empty batch says so.

    From then on the tables are left behind, until they are folded from it. Gives: what was accepted, in words.

    Raises: ForeignWriteError: no commit of siltstone's is left that says how far the changes were taken.
    """
    catalog, changes = project.catalog.name, spec.target.changes
    found = writes_to(spark, catalog, changes)
    if not found:
        return []
    before = own_marker(spark, catalog, changes)
    if not before:
        lost = "or drop the three tables: the next run takes all inputs again"
        raise foreign_error(f"Cannot accept the changes of {spec.table}", {changes: found}, lost)
    batch = str(int(before[names.SUMMARY_BATCH]) + 1)
    accepted = {names.SUMMARY_BATCH: batch, names.SUMMARY_REREAD: run_id, names.SUMMARY_ATTEMPT: run_id}
    drop_stale_branches(spark, catalog, changes)
    branch = Branch.start(spark, catalog, changes, before | accepted)
    branch.append(branch.read().limit(0))
    branch.publish()
    return found
