"""`history` and `latest` folded again from `changes`: all of them, or a part of their keys."""

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode.declared import stored_type
from engine.decode.shards import SHARDS
from engine.errors import SpecError
from engine.history.diff import version_rows
from engine.history.rules import Folded
from engine.history.timeline import key_of, truncate_rows
from engine.names import quoted
from engine.report import NOTHING_NEW, REBUILT, RunReport, TableReport
from engine.run.effort import light_planning
from engine.run.fold import (
    Found,
    follow_latest,
    history_branch,
    latest_marker,
    latest_rows,
    temporary_view,
)
from engine.run.folding import TOTAL_RECORDS, Folding, check_settings, marker_of, open_folding
from engine.run.lock import one_run
from engine.run.part import Part
from engine.run.refold import all_rows_of, fold_with_links, for_anything, keys_to_refold, tally_truncates
from engine.run.sequence import Progress, failed, run_rows, silent
from engine.run.sources import refuse_shared_keys
from engine.run.survey import fold_rules, known_windows, survey
from engine.run.take import SUMMARY_MASKS
from engine.schema.evolve import promotes
from engine.schema.history import history_schema
from engine.session import set_fold_conf
from engine.spec.columns import parse_column_type
from engine.spec.fingerprint import mask_fingerprints
from engine.spec.model import ProjectSpec, TableSpec
from engine.table.catalog import read
from engine.table.commit import Branch, drop_stale_branches, newest_summary
from engine.table.ledger import append_rows
from engine.table.merge import keys_delete


def rebuild(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    part: Part | None = None,
    wait: float = 0.0,
) -> RunReport:
    """Fold the changes of these tables again, aside, and replace what was folded before: one commit a table.

    With `part` only the keys in it, and those that key changes link with them, are replaced; the settings must be those
    of the fold before. A table that fails does not stop the others.

    Raises: LockedError: another run is at work. SpecError: `part` with more than one table.
    """
    if part is not None and len(specs) != 1:
        raise SpecError(f"Cannot rebuild a part of {len(specs)} tables: a key belongs to one.", "name one spec")
    set_fold_conf(spark)
    tell = progress or silent
    started_at, began = datetime.now(UTC), time.monotonic()
    with one_run(project, wait):
        tables = tuple(rebuild_table(project, spec, spark, tell, part) for spec in specs)
        exit_code = next((table.exit_code for table in tables if table.exit_code), 0)
        run_id, seconds = uuid.uuid4().hex[:16], time.monotonic() - began
        report = RunReport(run_id, started_at.isoformat(timespec="seconds"), seconds, (), tables, exit_code)
        append_rows(spark, project, names.RUNS, run_rows(report, started_at))
    return report


def rebuild_table(
    project: ProjectSpec, spec: TableSpec, spark: SparkSession, progress: Progress, part: Part | None
) -> TableReport:
    """Rebuild one table. Its failure is its own."""
    began = time.monotonic()
    try:
        progress(spec.table, "folding again")
        if part is not None:
            check_settings(spark, project, spec)
        work = open_folding(spark, project, spec)
        if work is None or (part is not None and work.folded == Folded()):
            return TableReport(spec.table, NOTHING_NEW)
        check_decoded(work)
        before = newest_summary(spark, work.catalog, spec.target.history, TOTAL_RECORDS).get(TOTAL_RECORDS, "0")
        work.generation = uuid.uuid4().hex[:12]
        drop_stale_branches(spark, work.catalog, spec.target.history)
        with light_planning(spark, work.is_small(), project.spark.conf):
            history, latest = fold_again(work) if part is None else fold_part_again(work, part)
            progress(spec.table, "replacing")
            history.publish()
            latest.publish()
    except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
        return failed(spec, error, time.monotonic() - began)
    return TableReport(
        table=spec.table,
        status=REBUILT,
        batch=work.target.batch,
        changes=work.changes,
        outcomes=dict(work.outcomes),
        versions=work.versions | {"before": int(before)},
        phases=dict(work.seconds),
        seconds=time.monotonic() - began,
    )


def check_decoded(work: Folding) -> None:
    """Refuse what folding again cannot give, because the changes were decoded with other settings.

    Raises: SpecError.
    """
    wrong = []
    shard = (names.SOURCE,) if work.spec.source.several == SHARDS else ()
    is_sharded, keys = names.SOURCE in work.keys, (*shard, *(work.spec.keys or ()))
    if (work.spec.keys and keys != work.keys) or is_sharded != bool(shard):
        wrong.append(f"keys ({', '.join(keys)} instead of {', '.join(work.keys)})")
    wrong += [f"the mask of column {name}" for name in masked_otherwise(work)]
    for name, column in (work.spec.columns or {}).items():
        if name in work.row.names and column.mask is None:
            wanted, kept = stored_type(parse_column_type(column.type)), work.row[name].dataType
            if not promotes(kept, wanted):
                wrong.append(f"column {name} ({wanted.simpleString()} instead of {kept.simpleString()})")
    if wrong:
        target = work.spec.target
        raise SpecError(
            f"Cannot rebuild {target.history}: {target.changes} was decoded with other settings: {'; '.join(wrong)}."
            " Nothing was changed.",
            f"restore the settings, or drop {target.changes}, {target.history} and {target.latest}: the next run takes"
            " the events again",
        )


def masked_otherwise(work: Folding) -> list[str]:
    """The columns that are stored masked in another way than the spec says."""
    summary = newest_summary(work.spark, work.catalog, work.spec.target.changes, SUMMARY_MASKS)
    if SUMMARY_MASKS not in summary:
        return []
    stored, said = json.loads(summary[SUMMARY_MASKS]), mask_fingerprints(work.spec)
    return [name for name in work.row.names if stored.get(name) != said.get(name)]


def fold_again(work: Folding) -> tuple[Branch, Branch]:
    """All that `changes` holds, folded from nothing onto branches that replace `history` and `latest`."""
    work.folded = Folded()
    work.target = replace(Folded(), batch=work.target.batch, control_batch=work.target.control_batch)
    with work.phase("survey"):
        placed, rules = survey(work, work.changes_up_to_target(), known_windows(work))
        refuse_shared_keys(work, placed, placed)
    with work.phase("refold"):
        rows = placed.where(F.col("op") != names.OP_TRUNCATE)
        if rules.truncates:
            truncates = placed.where(F.col("op") == names.OP_TRUNCATE)
            of = rows.select("key", "source") if work.has_sources_apart else rows.select("key")
            rows = rows.unionByName(truncate_rows(truncates, of.distinct()))
        judged = fold_with_links(rows, rules)
        tally_truncates(work, placed, judged, rules.truncates)
    for outcome, number in Found.of(judged).outcomes.items():
        work.count(outcome, number)
    work.check_sum()
    history = history_branch(work)
    with work.phase("history"):
        history.replace(folded_rows(work, judged))
    work.versions = {"written": history.newest_count("added-records")}
    with work.phase("latest"):
        latest = follow_latest(work, history)
    assert latest is not None  # it is of another generation
    return history, latest


def fold_part_again(work: Folding, part: Part) -> tuple[Branch, Branch]:
    """Some keys folded from nothing, as far as the tables are folded, onto branches that replace their rows."""
    work.target = work.folded
    rules = for_anything(work, fold_rules(work))
    everything = work.changes_up_to_target()
    found, generation = marker_of(work.spark, work.catalog, work.spec.target.latest)
    latest_table = read(work.spark, work.catalog, work.spec.target.latest)
    with work.phase("refold"):
        keys = keys_to_refold(keys_in(work, part, everything, latest_table), everything, rules)
        judged = fold_with_links(all_rows_of(work, everything, keys, known_windows(work), rules), rules)
    for outcome, number in Found.of(judged).outcomes.items():
        work.count(outcome, number)
    work.changes = sum(work.outcomes.values())
    rows = folded_rows(work, judged)
    history = history_branch(work)
    with work.phase("history"):
        replace_keys(work, history, keys, rows)
    work.versions = {"written": history.newest_count("added-records")}
    with work.phase("latest"):
        if found != work.folded or generation != marker_of(work.spark, work.catalog, work.spec.target.history)[1]:
            latest = follow_latest(work, history)  # it missed something before, and is replaced
            assert latest is not None
            return history, latest
        drop_stale_branches(work.spark, work.catalog, work.spec.target.latest)
        latest = Branch.start(work.spark, work.catalog, work.spec.target.latest, latest_marker(work, work.target))
        replace_keys(work, latest, keys, latest_rows(work, rows))
    return history, latest


def keys_in(work: Folding, part: Part, everything: DataFrame, latest: DataFrame) -> DataFrame:
    """The keys of a part, wherever they are: what stands in a table without a change must go.

    Gives: key. Computed. Rows: one a key.
    """
    rules = fold_rules(work)
    key = everything.schema["key"].dataType
    assert isinstance(key, T.StructType)
    test = part.condition(work.spark, key)
    changed = everything.where(F.col("key").isNotNull() & test(lambda name: F.col("key")[name])).select("key")
    tables = [
        table.where(test(lambda name: F.col(quoted(name)))).select(key_of(rules).alias("key"))
        for table in (work.rows.history, latest)
    ]
    return changed.unionByName(tables[0]).unionByName(tables[1]).distinct().localCheckpoint()


def folded_rows(work: Folding, judged: DataFrame) -> DataFrame:
    """History rows out of what `reconcile` gives."""
    columns = [F.col(quoted(name)) for name in history_schema(work.stored).names]
    return version_rows(judged, work.target.batch).select(*columns)


def replace_keys(work: Folding, branch: Branch, keys: DataFrame, rows: DataFrame) -> None:
    """Put these rows in the place of all that the branch has of the keys."""
    view = temporary_view(keys.select(*[F.col("key")[name].alias(name) for name in work.keys]))
    branch.execute(keys_delete(branch.identifier, view, work.keys, work.keyless, branch.layout))
    work.spark.catalog.dropTempView(view)
    branch.append(rows)
