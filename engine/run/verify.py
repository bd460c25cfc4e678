"""verify: recompute some keys from badly delivered changes, and compare the result with the tables."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import InvariantViolation
from siltstone.engine.fold.applied_settings import check_settings
from siltstone.engine.fold.base_states import keys_with_older_changes, versions_since_bases
from siltstone.engine.fold.batch_profile import fold_rules, known_windows
from siltstone.engine.fold.context import FoldContext, open_folded
from siltstone.engine.fold.fold_inputs import Rows
from siltstone.engine.fold.key_change_links import linked
from siltstone.engine.fold.planning import light_planning
from siltstone.engine.fold.publish import Difference, fold_difference, has_followed, latest_rows
from siltstone.engine.fold.recompute_keys import keys_to_recompute, versions_of
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
TWICE_ONE_IN = 3  # one in three changes is delivered a second time
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
    """Recompute some keys from their changes, shuffled, some of them twice, in several batches, and compare.

    `sample`: the number of keys per table, None for all; `seed` repeats an earlier choice. Nothing is written.

    Raises: LockedError: another run holds the lock. The failure of one table is in its report.
    """
    set_fold_conf(spark)
    chosen = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    with no_run(project, wait):
        return [verify_table(project, spec, spark, progress or silent, sample, chosen) for spec in specs]


def verify_table(
    project: ProjectSpec, spec: TableSpec, spark: SparkSession, progress: Progress, sample: int | None, seed: int
) -> Verification:
    """Verify one table, and report its failure if it fails."""
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
    """Choose keys, fold their changes as they could have arrived, and find the first difference."""
    chance = random.Random(seed)
    batches = chance.randint(2, MOST_BATCHES)
    everything = context.changes_up_to_target()
    keys = chosen_keys(context, everything, sample, seed)
    is_truncate = F.col("op") == names.OP_TRUNCATE
    mine = everything.where(~is_truncate).join(F.broadcast(keys), on="key", how="left_semi")
    mine = mine.unionByName(everything.where(is_truncate).select(*mine.columns)).transform(checkpointed)
    delivered = deliveries(mine, batches, seed).transform(checkpointed)
    controls = sorted(chance.randint(0, context.folded.control_batch) for _ in range(batches - 1))
    recomputed, folded = empty_history(context), Folded()
    for number, control in enumerate([*controls, context.folded.control_batch], 1):
        progress(context.spec.table, f"folding batch {number} of {batches}")
        target = replace(folded, batch=number, control_batch=control)
        rows = Rows(delivered, recomputed, context.rows.control)
        step = replace(context, rows=rows, folded=folded, target=target, outcomes={}, versions={})
        difference = fold_difference(step)
        assert difference is not None  # the batch has moved
        recomputed, folded = applied(step, recomputed, difference), step.target
    progress(context.spec.table, "comparing")
    with_latest = has_followed(context)
    differing, first = compare_tables(context, recomputed, keys, with_latest)
    return Verification(
        table=context.spec.table,
        status=EQUAL if first is None else DIFFERENT,
        seed=seed,
        batches=batches,
        keys=keys.count(),
        changes=mine.count(),
        delivered=delivered.count(),
        versions=recomputed.count(),
        differing_rows=differing,
        latest_compared=with_latest,
        difference=first,
        exit_code=0 if first is None else InvariantViolation.exit_code,
    )


def chosen_keys(context: FoldContext, everything: DataFrame, sample: int | None, seed: int) -> DataFrame:
    """A sample of the keys of the changes and the tables, and the keys that key changes link with them.

    Gives: key. Computed. Rows: one per key.
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
    return keys_to_recompute(keys.transform(checkpointed), linked(context, everything), rules)


def deliveries(changes: DataFrame, batches: int, seed: int) -> DataFrame:
    """The changes as they could have arrived: in another order, in batches, some of them twice.

    Needs: the change schema.
    Gives: the same columns; `batch` from 1 to `batches`.
    Rows: 1 or 2 per change. The result for a change depends only on the change and the seed, so a seed reproduces all.
    """
    coordinates = ("source", "channel", "file", "line", "kafka_partition", "kafka_offset", "op", "position")

    def drawn(what: str, outcomes: Column | int, *more: str) -> Column:
        return F.pmod(F.xxhash64(F.lit(seed), F.lit(what), *coordinates, "content_hash", *more), F.lit(outcomes))

    copies = F.when(drawn("twice", TWICE_ONE_IN) == 0, F.array(F.lit(0), F.lit(1))).otherwise(F.array(F.lit(0)))
    copied = changes.withColumn("_copy", F.explode(copies))
    dealt = copied.withColumn("batch", (drawn("batch", batches, "_copy") + 1).cast("bigint"))
    order = F.xxhash64(F.lit(seed), F.lit("order"), *coordinates, "content_hash", "_copy")
    return dealt.orderBy(order).select(*changes.columns)


def empty_history(context: FoldContext) -> DataFrame:
    """A history without rows."""
    return local_frame(context.spark, [], history_schema(context.stored))


def applied(context: FoldContext, history: DataFrame, difference: Difference) -> DataFrame:
    """Apply a difference to history, as the statements of `write_history` do to the table.

    Gives: history's columns. Computed. Rows: one per version.
    """
    columns = [F.col(quoted(name)) for name in history_schema(context.stored).names]
    rows = difference.rows.transform(checkpointed)
    gone = rows.where(F.col(names.CHANGE) != INSERT).select("*", F.lit(True).alias("_gone")).alias("g")
    is_open = side("h", names.VALID_TO).isNull()
    written = F.when(side("g", names.WAS_OPEN), is_open).otherwise(~is_open & same_opening("h", "g"))
    same = same_key(context.identity, "h", "g", context.has_null_keys) & written
    kept = history.alias("h").join(gone, on=same, how="left_anti").select(*columns)
    return kept.unionByName(rows.where(F.col(names.CHANGE) != DELETE).select(*columns)).transform(checkpointed)


def compare_tables(
    context: FoldContext, recomputed: DataFrame, keys: DataFrame, with_latest: bool
) -> tuple[int, FirstDifference | None]:
    """The number of rows that differ between the tables and the recomputed rows, and the first difference."""
    target = context.spec.target
    history = versions_since_bases(context, versions_of(context, context.rows.history, keys), fold_rules(context))
    counted, first = compare_rows(context, target.history, history, recomputed)
    if not with_latest:
        return counted, first
    latest = versions_of(context, read(context.spark, context.catalog, target.latest), keys)
    more, other = compare_rows(context, target.latest, latest, latest_rows(context, recomputed))
    return counted + more, first or other


def compare_rows(
    context: FoldContext, table: str, stored: DataFrame, expected: DataFrame
) -> tuple[int, FirstDifference | None]:
    """The number of rows that only one side has, and the first of them by key and position.

    Bookkeeping is not compared: the batch that wrote a row, and whether a column was unknown before it was added.
    """
    columns = [name for name in expected.columns if name != names.BATCH]
    sides = []
    for rows, sign in ((stored, 1), (expected, -1)):
        compared = [comparable(context, name).alias(name) for name in columns]
        sides.append(rows.select(*compared, F.lit(sign).alias(names.SIDE)))
    both = sides[0].unionByName(sides[1]).groupBy(*[quoted(name) for name in columns])
    odd = both.agg(F.sum(names.SIDE).alias(names.SIDE)).where(F.col(names.SIDE) != 0).transform(checkpointed)
    order = [quoted(name) for name in (*context.identity, names.VALID_FROM, names.POSITION)]
    # As text, for all types: the report is for people and for JSON.
    shown = odd.orderBy(*order, names.SIDE).select(
        *[F.col(quoted(name)).cast("string").alias(name) for name in columns], names.SIDE
    )
    found = shown.limit(SHOWN_DIFFERENCES).collect()
    return odd.count(), first_difference(context, table, columns, found) if found else None


def comparable(context: FoldContext, name: str) -> Column:
    """A column in the form in which it is compared."""
    if name != names.UNKNOWN or not context.rows.since:
        return F.col(quoted(name))
    left = F.array_except(names.UNKNOWN, F.array(*[F.lit(column) for column in context.rows.since]))
    return F.when(F.size(left) > 0, left)


def first_difference(context: FoldContext, table: str, columns: Sequence[str], found: Sequence[Row]) -> FirstDifference:
    """The first row that differs, with the row of the other side that is the same version, if there is one."""
    first = found[0]
    identity = [*context.identity, names.POSITION]
    others = [row for row in found[1:] if row[names.SIDE] * first[names.SIDE] < 0]
    other = next((row for row in others if all(row[name] == first[name] for name in identity)), None)
    stored, expected = (first, other) if first[names.SIDE] > 0 else (other, first)
    different = tuple(name for name in columns if other is None or first[name] != other[name])
    masked = {name for name, column in (context.spec.columns or {}).items() if column.mask is not None}

    def shown(row: Row | None) -> str | None:
        return None if row is None else ", ".join(f"{c}={plain(row[c], c in masked)}" for c in different)

    key = ", ".join(f"{name}={plain(first[name], name in masked)}" for name in context.keys)
    version = first[names.POSITION]
    as_source = notation_of(context.rows.control, context.folded.sources).shown(version)
    return FirstDifference(table, key, version, different, shown(stored), shown(expected), as_source)


def plain(value: Any, is_masked: bool) -> str:
    """A value as the report shows it."""
    return "***" if is_masked else "null" if value is None else str(value)
