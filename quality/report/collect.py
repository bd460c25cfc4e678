"""The facts of the report, read with PyIceberg: ledgers, gaps, and the metadata of the tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from siltstone.engine import names
from siltstone.engine.reader import Reader, TableNames, load_table, table_names
from siltstone.engine.reader.gap_reader import gaps_of
from siltstone.engine.reader.position_reader import notation_of
from siltstone.engine.reader.reject_reader import grouped, of_no_table
from siltstone.engine.report import INTERRUPTED, INTERRUPTION
from siltstone.engine.run_lock import interrupted_run
from siltstone.engine.schema.commits import Commit, foreign_commits
from siltstone.engine.schema.gap_record import HEALED, Gap
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.timestamps import EPOCH
from siltstone.quality.report.facts import CheckFact, Facts, RejectsFact, RunFact, SchemaChange, TableFacts
from siltstone.quality.report.stream_facts import Commits, commits_of, late_and_log

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

RUNS_SHOWN = 30
# A ledger has one commit per run or per table: this many commits include the runs that are shown.
COMMITS_OF_RUNS = 2 * RUNS_SHOWN
HEALED_SHOWN = timedelta(days=30)
LONGEST_RUN = timedelta(days=1)


def collect(project: ProjectSpec, specs: Sequence[TableSpec], catalog: Reader | None, at: datetime) -> Facts:
    """All facts that the report shows. `catalog`: None before the first run."""
    name = project.root.name or str(project.root)
    if catalog is None:
        return Facts(name, project.namespace, at, tuple(TableFacts(spec.table, spec.target.latest) for spec in specs))
    fresh_within = {spec.table: spec.quality.fresh_within for spec in specs}
    since = oldest_shown(catalog, project)
    runs, checks = runs_of(catalog, project, since), checks_of(catalog, project, since)
    gaps = [gap for gap in gaps_of(catalog, project.namespace) if is_shown(gap, at)]
    declared, with_gaps = [spec.table for spec in specs], [gap.table for gap in gaps]
    tables = dict.fromkeys([*declared, *sorted(runs), *with_gaps, *sorted(checks)])
    if since > EPOCH:  # a table that runs more often can fill these commits: read the others completely
        runs |= runs_of(catalog, project, EPOCH, [table for table in tables if table not in runs])
        checks |= checks_of(catalog, project, EPOCH, [table for table in tables if table not in checks])
    facts = [
        table_facts(
            catalog,
            table_names(table, project, specs),
            TableFacts(
                table,
                "",
                fresh_within=fresh_within.get(table, project.quality.fresh_within),
                runs=tuple(runs.get(table, ())),
                checks=tuple(checks.get(table, ())),
                gaps=tuple(gap for gap in gaps if gap.table == table),
            ),
            f"{project.namespace}.{names.CONTROL}",
        )
        for table in tables
    ]
    return Facts(name, project.namespace, at, tuple(facts), rejects=tuple(rejects_of(catalog, project, specs)))


def rejects_of(catalog: Reader, project: ProjectSpec, specs: Sequence[TableSpec]) -> Iterable[RejectsFact]:
    """The open rejects that name no table, by source and reason, the most frequent reason of a source first."""
    for source, found in groupby(of_no_table(catalog, project, specs), lambda each: each.source):
        for group in grouped(found):
            at = group.last_rejected_at.astimezone(UTC)
            yield RejectsFact(source, group.reason, group.count, group.first_file, group.first_line, at)


def is_shown(gap: Gap, at: datetime) -> bool:
    """Whether a gap is not healed, or was healed recently."""
    return gap.status != HEALED or gap.healed_at is None or at - gap.healed_at <= HEALED_SHOWN


def oldest_shown(catalog: Reader, project: ProjectSpec) -> datetime:
    """The earliest time at which a shown run can have begun, from the commits to the ledger of runs."""
    name = f"{project.namespace}.{names.RUNS}"
    commits = (
        sorted(load_table(catalog, name).snapshots(), key=lambda one: one.timestamp_ms)
        if catalog.table_exists(name)
        else []
    )
    if len(commits) <= COMMITS_OF_RUNS:
        return EPOCH
    return datetime.fromtimestamp(commits[-COMMITS_OF_RUNS].timestamp_ms / 1000, UTC) - LONGEST_RUN


def ledger_rows(
    catalog: Reader, name: str, column: str, since: datetime, tables: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The rows of a ledger since a time, in the order of the column; none if there is no ledger yet.

    `tables`: the requested tables; None: all.
    """
    from pyiceberg.expressions import And, GreaterThanOrEqual, In

    from siltstone.engine.plain_values import records

    if tables == [] or not catalog.table_exists(name):
        return []
    in_time = GreaterThanOrEqual(column, since.isoformat())
    condition = in_time if tables is None else And(in_time, In("table", tables))
    found = load_table(catalog, name).scan(condition).to_arrow()
    return records(found.sort_by(column))


def runs_of(
    catalog: Reader, project: ProjectSpec, since: datetime, tables: Sequence[str] | None = None
) -> dict[str, list[RunFact]]:
    """The newest runs of each table, the oldest first."""
    found: dict[str, list[RunFact]] = {}
    for row in ledger_rows(catalog, f"{project.namespace}.{names.RUNS}", "started_at", since, tables):
        fact = RunFact(
            row["run_id"],
            row["started_at"].astimezone(UTC),
            row["seconds"] or 0.0,
            row["status"],
            row["batch"],
            row["changes"] or 0,
            row["rejected"] or 0,
            dict(row["outcomes"] or {}),
            row["error"],
            row["exit_code"] or 0,
        )
        found.setdefault(row["table"], []).append(fact)
    if interrupted := interrupted_run(project):  # the next run writes it into the ledger
        fact = RunFact(interrupted.run_id, interrupted.at, 0.0, INTERRUPTED, error=INTERRUPTION)
        for table in interrupted.tables:
            found.setdefault(table, []).append(fact)
    return {table: runs[-RUNS_SHOWN:] for table, runs in found.items()}


def checks_of(
    catalog: Reader, project: ProjectSpec, since: datetime, tables: Sequence[str] | None = None
) -> dict[str, list[CheckFact]]:
    """The results of the last checks of each table."""
    last: dict[str, tuple[str, list[CheckFact]]] = {}
    for row in ledger_rows(catalog, f"{project.namespace}.{names.CHECKS}", "checked_at", since, tables):
        run_id, facts = last.get(row["table"], ("", []))
        if run_id != row["run_id"]:
            facts = []
        last[row["table"]] = row["run_id"], [*facts, check_of(row)]
    return {table: facts for table, (_, facts) in last.items()}


def check_of(row: Mapping[str, Any]) -> CheckFact:
    """A row of the checks ledger as a fact."""
    return CheckFact(
        row["check"],
        row["severity"],
        row["status"],
        row["observed"] or 0,
        row["message"] or "",
        row["checked_at"].astimezone(UTC),
        row["position_from"],
        row["position_to"],
        tuple(row["keys"] or ()),
        row["hint"],
    )


def table_facts(catalog: Reader, known: TableNames, facts: TableFacts, control: str) -> TableFacts:
    """A table's facts, with those of its Iceberg tables added."""
    facts = replace(facts, latest=known.latest)
    if not all(catalog.table_exists(name) for name in (known.latest, known.history, known.changes)):
        return facts
    latest, history, changes = (load_table(catalog, name) for name in (known.latest, known.history, known.changes))
    batches = commits_of(changes)
    late, log = late_and_log(catalog, changes, batches, facts.gaps, control, [run.batch for run in facts.runs])
    properties = history.properties
    tables = {known.changes: changes, known.history: history, known.latest: latest}
    foreign = {name: foreign_commits(commits(table)) for name, table in tables.items()}
    return replace(
        facts,
        batch=newest_batch(history),
        notation=notation_of(catalog, known.history, control),
        checked_batch=int(properties.get(names.CHECKED_BATCH, 0)),
        taken_batch=newest_batch(changes),
        foreign_writes=tuple(f"{name}: {commit}" for name, found in foreign.items() for commit in found),
        rows=row_count(latest),
        versions=row_count(history),
        changes=row_count(changes),
        complete_through=moment_of(properties.get(names.COMPLETE_THROUGH)),
        complete_through_by=properties.get(names.COMPLETE_THROUGH_BY),
        sealed_up_to=moment_of(properties.get(names.SEALED_UP_TO)),
        runs=tuple(with_lag(facts.runs, batches)),
        late=late,
        schema_changes=tuple(schema_changes(latest)),
        log=log,
    )


def newest_batch(table: "Table") -> int:
    """The batch in the newest marker of the table's main branch. 0 before the first."""
    marker = next((one.summary for one in commits(table) if names.SUMMARY_BATCH in one.summary), {})
    return int(marker.get(names.SUMMARY_BATCH, 0))


def commits(table: "Table") -> Iterator[Commit]:
    """The unexpired commits of the table's main branch, the newest first, then the tagged one."""
    by_id = {one.snapshot_id: one for one in table.snapshots()}
    reference = table.refs().get(names.MARKER_TAG)
    tagged = None if reference is None else by_id.get(reference.snapshot_id)
    one = table.current_snapshot()
    while one is not None:
        found = one.summary
        operation, summary = (None, {}) if found is None else (found.operation.value, found.additional_properties)
        yield Commit.of(one.snapshot_id, one.timestamp_ms, operation, summary)
        last, one = one, by_id.get(one.parent_snapshot_id or 0)
        if one is None and tagged is not None and (tagged.sequence_number or 0) < (last.sequence_number or 0):
            one = tagged


def with_lag(runs: Iterable[RunFact], batches: Mapping[int, Commits]) -> Iterable[RunFact]:
    """The runs; those with changes have their lag added: how old the newest change was."""
    for run in runs:
        commit = batches.get(run.batch) if run.batch is not None and run.changes else None
        known = commit is not None and commit.newest is not None
        lag = (commit.at - commit.newest).total_seconds() if commit and commit.newest else None
        yield replace(run, lag_seconds=max(lag, 0.0) if known and lag is not None else None)


def row_count(table: "Table") -> int:
    """The number of rows of a table, from the summary of its newest snapshot."""
    snapshot = table.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))


def moment_of(text: str | None) -> datetime | None:
    """A time from a table property."""
    return None if text is None else datetime.fromisoformat(text)


def schema_changes(table: "Table") -> Iterable[SchemaChange]:
    """The changes of the table's columns, the oldest first."""
    schemas = sorted(table.metadata.schemas, key=lambda schema: schema.schema_id)
    for before, after in pairwise(schemas):
        had, has = types_of(before), types_of(after)
        added = tuple(f"{name} {kind}" for name, kind in has.items() if name not in had)
        changed = tuple(
            f"{name} {had[name]} → {kind}" for name, kind in has.items() if name in had and had[name] != kind
        )
        if added or changed:
            yield SchemaChange(first_commit(table, after.schema_id), added, changed)


def types_of(schema: "Schema") -> dict[str, str]:
    """The columns with their types."""
    return {field.name: str(field.field_type) for field in schema.fields}


def first_commit(table: "Table", schema_id: int) -> datetime | None:
    """The time of the first commit with a schema; None if that snapshot has expired."""
    times = [one.timestamp_ms for one in table.snapshots() if one.schema_id == schema_id]
    return datetime.fromtimestamp(min(times) / 1000, UTC) if times else None
