"""Are the tables what their changes say? Some keys folded again, delivered as badly as can be, and compared."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import InvariantViolation
from siltstone.engine.fold.base_states import keys_with_older_changes, versions_since_bases
from siltstone.engine.fold.batch_profile import fold_rules, known_windows
from siltstone.engine.fold.context import FoldContext, check_settings, open_folded
from siltstone.engine.fold.fold_inputs import Rows
from siltstone.engine.fold.key_change_links import linked
from siltstone.engine.fold.planning import light_planning
from siltstone.engine.fold.publish import Difference, fold_difference, has_followed, latest_rows
from siltstone.engine.fold.recompute_keys import keys_to_refold, versions_of
from siltstone.engine.fold.shown_positions import notation_of
from siltstone.engine.frames import checkpointed, local_frame
from siltstone.engine.history.diff import DELETE, INSERT, same_key, same_opening, side
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.history.key_timeline import change_rows, key_of
from siltstone.engine.names import quoted
from siltstone.engine.ordering.snapshot_windows import attach_windows
from siltstone.engine.report import DIFFERENT, EQUAL, NOTHING_FOLDED, FirstDifference, Verification
from siltstone.engine.run.exclusive_run import no_run
from siltstone.engine.run.run_reports import Progress, failed, silent
from siltstone.engine.schema.history_row import history_schema
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import read

SAMPLE_KEYS = 100
MOST_BATCHES = 4
TWICE_ONE_IN = 3  # of three changes one is delivered a second time
SHOWN_DIFFERENCES = 50


def verify(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    sample: int | None = SAMPLE_KEYS,
    seed: int | None = None,
    wait: float = 0.0,
) -> list[Verification]:
    """Fold the changes of some keys again, shuffled, some of them twice, in several batches, and compare.

    `sample` keys of each table, all of them with None; `seed` makes the same choice again. Nothing is written.

    Raises: LockedError: a run is at work. Failures of one table are in its report.
    """
    set_fold_conf(spark)
    chosen = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    tell = progress or silent
    with no_run(project, wait):
        return [verify_table(project, spec, spark, tell, sample, chosen) for spec in specs]


def verify_table(
    project: ProjectSpec, spec: TableSpec, spark: SparkSession, progress: Progress, sample: int | None, seed: int
) -> Verification:
    """Verify one table. Its failure is its own."""
    began = time.monotonic()
    try:
        progress(spec.table, "choosing keys")
        check_settings(spark, project, spec)
        context = open_folded(spark, project, spec)
        if context is None:
            return Verification(spec.table, NOTHING_FOLDED, seed)
        with light_planning(spark, context.is_small(), project.spark.conf):
            found = verify_fold(context, progress, sample, seed)
    except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
        report = failed(spec, error, time.monotonic() - began)
        return Verification(
            spec.table, report.status, seed, seconds=report.seconds, error=report.error, exit_code=report.exit_code
        )
    return replace(found, seconds=time.monotonic() - began)


def verify_fold(context: FoldContext, progress: Progress, sample: int | None, seed: int) -> Verification:
    """Choose keys, fold their changes again as they could have arrived, and look for the first difference."""
    chance = random.Random(seed)
    batches = chance.randint(2, MOST_BATCHES)
    everything = context.changes_up_to_target()
    keys = chosen_keys(context, everything, sample, seed)
    is_truncate = F.col("op") == names.OP_TRUNCATE
    mine = everything.where(~is_truncate).join(F.broadcast(keys), on="key", how="left_semi")
    mine = mine.unionByName(everything.where(is_truncate).select(*mine.columns)).transform(checkpointed)
    delivered = deliveries(mine, batches, seed).transform(checkpointed)
    controls = sorted(chance.randint(0, context.folded.control_batch) for _ in range(batches - 1))
    refolded, folded = nothing_folded(context), Folded()
    for number, control in enumerate([*controls, context.folded.control_batch], 1):
        progress(context.spec.table, f"folding batch {number} of {batches}")
        target = replace(folded, batch=number, control_batch=control)
        rows = Rows(delivered, refolded, context.rows.control)
        step = replace(context, rows=rows, folded=folded, target=target, outcomes={}, versions={})
        difference = fold_difference(step)
        assert difference is not None  # the batch has moved
        refolded, folded = applied(step, refolded, difference), step.target
    progress(context.spec.table, "comparing")
    with_latest = has_followed(context)
    differing, first = compared(context, refolded, keys, with_latest)
    return Verification(
        table=context.spec.table,
        status=EQUAL if first is None else DIFFERENT,
        seed=seed,
        batches=batches,
        keys=keys.count(),
        changes=mine.count(),
        delivered=delivered.count(),
        versions=refolded.count(),
        differing_rows=differing,
        latest_compared=with_latest,
        difference=first,
        exit_code=0 if first is None else InvariantViolation.exit_code,
    )


def chosen_keys(context: FoldContext, everything: DataFrame, sample: int | None, seed: int) -> DataFrame:
    """A sample of the keys that stand anywhere, and the keys that key changes link with them.

    Gives: key. Computed. Rows: one a key.
    """
    rules = fold_rules(context)
    latest = read(context.spark, context.catalog, context.spec.target.latest)
    keys = everything.where(F.col("key").isNotNull()).select("key")
    for table in (context.rows.history, latest):
        keys = keys.unionByName(table.select(key_of(rules).alias("key")))
    keys = keys.distinct()
    if context.is_trimmed:
        rows = change_rows(attach_windows(everything, known_windows(context), rules.margin), rules)
        older = keys_with_older_changes(context, rows, rules)
        keys = keys if older is None else keys.join(older, on="key", how="left_anti")
    if sample is not None:
        keys = keys.orderBy(F.xxhash64(F.lit(seed), "key"), "key").limit(sample)
    return keys_to_refold(keys.transform(checkpointed), linked(context, everything), rules)


def deliveries(changes: DataFrame, batches: int, seed: int) -> DataFrame:
    """The changes as they could have arrived: in another order, in batches, some of them twice.

    Needs: the change schema.
    Gives: the same columns; `batch` from 1 to `batches`.
    Rows: 1 or 2 a change. What happens to a change depends on itself and the seed alone, so that a seed tells all.
    """
    coordinates = ("source", "channel", "file", "line", "kafka_partition", "kafka_offset", "op", "position")

    def drawn(what: str, outcomes: Column | int, *more: str) -> Column:
        return F.pmod(F.xxhash64(F.lit(seed), F.lit(what), *coordinates, "content_hash", *more), F.lit(outcomes))

    copies = F.when(drawn("twice", TWICE_ONE_IN) == 0, F.array(F.lit(0), F.lit(1))).otherwise(F.array(F.lit(0)))
    copied = changes.withColumn("_copy", F.explode(copies))
    dealt = copied.withColumn("batch", (drawn("batch", batches, "_copy") + 1).cast("bigint"))
    order = F.xxhash64(F.lit(seed), F.lit("order"), *coordinates, "content_hash", "_copy")
    return dealt.orderBy(order).select(*changes.columns)


def nothing_folded(context: FoldContext) -> DataFrame:
    """A history without rows."""
    return local_frame(context.spark, [], history_schema(context.stored))


def applied(context: FoldContext, history: DataFrame, difference: Difference) -> DataFrame:
    """History after a difference was written to it: what the statements of `write_history` do to the table.

    Gives: history's columns. Computed. Rows: one a version.
    """
    columns = [F.col(quoted(name)) for name in history_schema(context.stored).names]
    rows = difference.rows.transform(checkpointed)
    gone = rows.where(F.col(names.CHANGE) != INSERT).select("*", F.lit(True).alias("_gone")).alias("g")
    is_open = side("h", names.VALID_TO).isNull()
    written = F.when(side("g", names.WAS_OPEN), is_open).otherwise(~is_open & same_opening("h", "g"))
    same = same_key(context.identity, "h", "g", context.has_null_keys) & written
    kept = history.alias("h").join(gone, on=same, how="left_anti").select(*columns)
    return kept.unionByName(rows.where(F.col(names.CHANGE) != DELETE).select(*columns)).transform(checkpointed)


def compared(
    context: FoldContext, refolded: DataFrame, keys: DataFrame, with_latest: bool
) -> tuple[int, FirstDifference | None]:
    """How many rows differ between the tables and what was folded again, and the first difference."""
    target = context.spec.target
    history = versions_since_bases(context, versions_of(context, context.rows.history, keys), fold_rules(context))
    counted, first = unequal(context, target.history, history, refolded)
    if not with_latest:
        return counted, first
    latest = versions_of(context, read(context.spark, context.catalog, target.latest), keys)
    more, other = unequal(context, target.latest, latest, latest_rows(context, refolded))
    return counted + more, first or other


def unequal(
    context: FoldContext, table: str, stands: DataFrame, should: DataFrame
) -> tuple[int, FirstDifference | None]:
    """The number of rows that only one side has, and the first of them by key and position.

    Which batch wrote a row is bookkeeping, and so is that a column was unknown before it was there.
    """
    columns = [name for name in should.columns if name != names.BATCH]
    sides = []
    for rows, sign in ((stands, 1), (should, -1)):
        told = rows.select(*[comparable(context, name).alias(name) for name in columns], F.lit(sign).alias(names.SIDE))
        sides.append(told)
    both = sides[0].unionByName(sides[1]).groupBy(*[quoted(name) for name in columns])
    odd = both.agg(F.sum(names.SIDE).alias(names.SIDE)).where(F.col(names.SIDE) != 0).transform(checkpointed)
    order = [quoted(name) for name in (*context.identity, names.VALID_FROM, names.POSITION)]
    # As text: whatever the types are, the report is for people and for JSON.
    shown = odd.orderBy(*order, names.SIDE).select(
        *[F.col(quoted(name)).cast("string").alias(name) for name in columns], names.SIDE
    )
    found = shown.limit(SHOWN_DIFFERENCES).collect()
    return odd.count(), first_difference(context, table, columns, found) if found else None


def comparable(context: FoldContext, name: str) -> Column:
    """A column as it is compared."""
    if name != names.UNKNOWN or not context.rows.since:
        return F.col(quoted(name))
    left = F.array_except(names.UNKNOWN, F.array(*[F.lit(column) for column in context.rows.since]))
    return F.when(F.size(left) > 0, left)


def first_difference(context: FoldContext, table: str, columns: Sequence[str], found: Sequence[Row]) -> FirstDifference:
    """The first row that differs, beside the row of the other side that is the same version, if there is one."""
    first = found[0]
    identity = [*context.identity, names.POSITION]
    others = [row for row in found[1:] if row[names.SIDE] * first[names.SIDE] < 0]
    other = next((row for row in others if all(row[name] == first[name] for name in identity)), None)
    stands, should = (first, other) if first[names.SIDE] > 0 else (other, first)
    different = tuple(name for name in columns if other is None or first[name] != other[name])
    masked = {name for name, column in (context.spec.columns or {}).items() if column.mask is not None}

    def told(row: Row | None) -> str | None:
        return None if row is None else ", ".join(f"{c}={plain(row[c], c in masked)}" for c in different)

    key = ", ".join(f"{name}={plain(first[name], name in masked)}" for name in context.keys)
    version = first[names.POSITION]
    as_source = notation_of(context.rows.control, context.folded.sources).shown(version)
    return FirstDifference(table, key, version, different, told(stands), told(should), as_source)


def plain(value: Any, is_masked: bool) -> str:
    """A value in a report."""
    return "***" if is_masked else "null" if value is None else str(value)
