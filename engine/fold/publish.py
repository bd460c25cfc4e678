"""Fold new changes into `history`, then let `latest` follow: each table in one published step."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.batch_profile import keys_to_reconsider, known_windows, profile_batch
from siltstone.engine.fold.context import FoldContext, refuse_moved, same_keys
from siltstone.engine.fold.key_change_links import keys_in_two_batches, linked
from siltstone.engine.fold.keyless_tables import fold_images
from siltstone.engine.fold.markers import SUMMARY_GENERATION, marker_of
from siltstone.engine.fold.planning import tasks_for_rows
from siltstone.engine.fold.recompute_keys import (
    count_retracted,
    keys_to_recompute,
    recompute_keys,
    tally_changes,
    tally_truncates,
)
from siltstone.engine.fold.source_keys import refuse_shared_keys
from siltstone.engine.frames import checkpointed, temporary_view
from siltstone.engine.history.diff import DELETE, INSERT, UPDATE, open_diff
from siltstone.engine.history.fold_settings import Folded, FoldRules
from siltstone.engine.history.intervals import KEEP, OPEN
from siltstone.engine.history.key_timeline import key_of, truncate_rows
from siltstone.engine.history.partial_key_changes import missing_keys
from siltstone.engine.history.reconcile import reconcile
from siltstone.engine.names import quoted
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.spec import fold_fingerprint
from siltstone.engine.table.catalog import exists
from siltstone.engine.table.changes_table import with_unknown
from siltstone.engine.table.commit import Branch, drop_stale_branches
from siltstone.engine.table.merge import CLOSED_ROWS, OPEN_ROWS, history_merge, latest_merge

BROADCAST_CHANGES = 2_000_000


@dataclass(frozen=True)
class Difference:
    """The rows that a fold writes to `history`. `changes`: the number of rows, by (change, was_open).

    `recomputed`: the rows of keys that were recomputed from all their changes. None if there are none.
    """

    rows: DataFrame
    changes: Counter[tuple[str, bool]]
    recomputed: DataFrame | None = None


def fold_history(context: FoldContext) -> Branch | None:
    """Fold new changes into a branch of `history`. None if there is nothing new. The caller publishes the branch."""
    difference = fold_difference(context)
    if difference is None:
        return None
    drop_stale_branches(context.spark, context.catalog, context.spec.target.history)
    with context.phase("history"):
        return write_history(context, difference)


def fold_difference(context: FoldContext) -> Difference | None:
    """Fold new changes without writing. None if there is nothing new.

    Keys whose changes are in order are folded over their open versions: no closed version and no older change is
    read for them. The other keys are recomputed from all their changes.
    """
    everything = context.changes_up_to_target()
    reconsidered = keys_to_reconsider(context, everything)
    if context.target.batch == context.folded.batch and reconsidered is None:
        return None
    windows = known_windows(context)
    with context.phase("survey"):
        placed, rules = profile_batch(context, everything.where(F.col("batch") > context.folded.batch), windows)
        count_retracted(context)
        refuse_shared_keys(context, placed, everything)
    if context.keyless:
        with context.phase("refold"):
            images = fold_images(context, everything, placed, reconsidered, windows, rules)
        context.check_sum()
        return Difference(images, tally_changes(context, images), images)
    with context.phase("fold"):
        reconciled = fold_new(context, placed, rules)
        found = FoldCounts.of(reconciled)
        # A truncate ends the rows of its own source only, and the source of an open version is known only from its
        # changes.
        of_sources = reconciled.select("key") if rules.truncates and context.has_disjoint_sources else None
        split_keys = keys_in_two_batches(context, everything) if rules.split_halves and rules.partly_present else None
        requested = [keys for keys in (reconsidered, of_sources, split_keys) if keys is not None]
        seed = out_of_order(reconciled, found, placed, requested, rules)
        if seed is None:
            tally_truncates(context, placed, reconciled, rules.truncates)
    difference = Difference(open_diff(reconciled, context.target.batch), found.changes)
    if seed is not None:
        with context.phase("refold"):
            whole = linked(context, everything)
            keys = keys_to_recompute(seed, whole, rules)
            recomputed, outcomes = recompute_keys(context, whole, keys, windows, rules)
            in_order = reconciled.join(F.broadcast(keys), on="key", how="left_anti")
            parts = [rows.select("is_copy", "outcome", "position") for rows in (in_order, outcomes)]
            tally_truncates(context, placed, parts[0].unionByName(parts[1]), rules.truncates)
            found = FoldCounts.of(in_order)
            rows = open_diff(in_order, context.target.batch).unionByName(recomputed)
            difference = Difference(rows, found.changes + tally_changes(context, recomputed), recomputed)
    for outcome, number in found.outcomes.items():
        context.count(outcome, number)
    context.check_sum()
    return difference


def fold_new(context: FoldContext, placed: DataFrame, rules: FoldRules) -> DataFrame:
    """Fold the new changes over the open versions of their keys.

    Needs: timeline rows. Gives: the output of `reconcile`. Computed.
    """
    timeline = placed.where(F.col("op") != names.OP_TRUNCATE)
    existing = open_versions(context, timeline, first_truncate(placed) if rules.truncates else None)
    if rules.truncates:
        keys = timeline.select("key").unionByName(existing.select(key_of(rules).alias("key"))).distinct()
        timeline = timeline.unionByName(truncate_rows(placed.where(F.col("op") == names.OP_TRUNCATE), keys))
    # Computed once, since three readers follow: the search for late keys, the counts, and the write.
    return reconcile(existing, timeline, rules, context.folded).transform(checkpointed)


@dataclass(frozen=True)
class FoldCounts:
    """The counts of a fold: whether any key is late, the outcomes of changes, the changes of versions."""

    late: bool
    outcomes: Counter[str]
    changes: Counter[tuple[str, bool]]

    @classmethod
    def of(cls, reconciled: DataFrame) -> "FoldCounts":
        """Count the output of `reconcile` in one pass. `changes`: by (change, was_open), as in `open_diff`."""
        outcomes: Counter[str] = Counter()
        changes: Counter[tuple[str, bool]] = Counter()
        late = False
        is_change = (~F.col("is_base") & ~F.col("is_copy")).alias("is_change")
        for row in reconciled.groupBy("is_late", is_change, "outcome", "action").count().collect():
            late = late or row["is_late"]
            if row["is_change"]:
                outcomes[row["outcome"]] += row["count"]
            if row["action"] not in (None, KEEP):
                changes[(INSERT, False) if row["action"] == OPEN else (UPDATE, True)] += row["count"]
        return cls(late, outcomes, changes)


def out_of_order(
    reconciled: DataFrame, found: FoldCounts, placed: DataFrame, requested: Sequence[DataFrame], rules: FoldRules
) -> DataFrame | None:
    """The keys that cannot be folded over their open versions, `requested` ones included. None if there are none.

    Gives: key. Computed. Rows: one per key.
    """
    seeds = [*requested]
    if found.late:
        seeds.append(reconciled.where("is_late").select("key"))
    if rules.partial_inserts and rules.partly_present:
        seeds.append(missing_keys(placed, reconciled, rules))
    if not seeds:
        return None
    keys = reduce(DataFrame.unionByName, seeds).distinct().transform(checkpointed)
    return None if keys.isEmpty() else keys


def first_truncate(placed: DataFrame) -> str | None:
    """The position of the first truncate among the changes. None if there is none."""
    found = placed.where(F.col("op") == names.OP_TRUNCATE).agg(F.min("position").alias("position")).first()
    return None if found is None else found["position"]


def open_versions(context: FoldContext, timeline: DataFrame, truncate: str | None) -> DataFrame:
    """The open versions of the keys that changed. With a truncate, those of all keys that it can concern too.

    A truncate ends the live keys. A late truncate can also have ended an earlier life of a key that is deleted now.

    Rows: at most one per key.
    """
    history = with_unknown(context.rows.history.where(F.col(names.VALID_TO).isNull()), context.rows.since)
    flat = timeline.select(*[F.col("key")[name].alias(name) for name in context.keys]).distinct()
    if context.changes <= BROADCAST_CHANGES:
        flat = F.broadcast(flat)
    same = same_keys(context, history, flat)
    touched = history.join(flat, on=same, how="left_semi")
    if truncate is None:
        return touched
    concerned = F.col(names.IS_CURRENT) | (F.col(names.LAST_POSITION) >= truncate)
    return touched.unionByName(history.where(concerned).join(flat, on=same, how="left_anti"))


def history_branch(context: FoldContext, sole_writer: bool = False) -> Branch:
    """Start a branch of `history` whose commits carry the target marker. `sole_writer`: as in `Branch.start`."""
    table, marker = context.spec.target.history, history_marker(context)
    return Branch.start(context.spark, context.catalog, table, marker, context.layout, sole_writer)


def checked_history_branch(context: FoldContext) -> Branch:
    """Start a branch of `history` after checking that `history` has not moved since this fold began.

    Raises: CommitConflictError: `history` has moved.
    """
    branch = history_branch(context, sole_writer=not context.keeps_foreign)
    refuse_moved(branch, marker_of(context.spark, context.catalog, context.spec.target.history)[0] == context.folded)
    return branch


def history_marker(context: FoldContext) -> dict[str, str]:
    """The marker in the commits to `history`."""
    return latest_marker(context, context.target) | {names.SUMMARY_FINGERPRINT: fold_fingerprint(context.spec)}


def latest_marker(context: FoldContext, reached: Folded) -> dict[str, str]:
    """The marker in the commits to `latest`."""
    marker = {names.SUMMARY_BATCH: str(reached.batch), names.SUMMARY_FOLDED: reached.to_json()}
    marker |= {names.SUMMARY_REREAD: context.reread} if context.reread else {}
    marker |= {names.SUMMARY_FOREIGN: "true"} if context.keeps_foreign else {}
    return marker | ({SUMMARY_GENERATION: context.generation} if context.generation else {})


def write_history(context: FoldContext, difference: Difference) -> Branch:
    """Write the difference to a branch: first the changes to existing versions, then the new versions.

    Raises: CommitConflictError: another run has folded in between.
    """
    diff, changes = difference.rows, difference.changes
    columns = history_schema(context.stored).names
    branch = checked_history_branch(context)
    for rows, was_open in ((OPEN_ROWS, True), (CLOSED_ROWS, False)):
        if any(change != INSERT and there == was_open for change, there in changes):
            source = diff.where((F.col(names.CHANGE) != INSERT) & (F.col(names.WAS_OPEN) == was_open))
            view = temporary_view(source)
            branch.execute(
                history_merge(
                    branch.identifier, view, context.identity, columns, rows, context.has_null_keys, branch.layout
                )
            )
            context.spark.catalog.dropTempView(view)
    is_added = F.col(names.CHANGE) != DELETE if branch.layout.recorded else F.col(names.CHANGE) == INSERT
    added = diff.where(is_added).select(*[F.col(quoted(name)) for name in columns])
    branch.append(added.coalesce(tasks_for_rows(sum(changes.values()))))
    if changes[(DELETE, True)]:
        context.taken_away = diff.where((F.col(names.CHANGE) == DELETE) & F.col(names.WAS_OPEN))
    context.versions = {
        "opened": sum(n for (change, _), n in changes.items() if change == INSERT),
        "updated": sum(n for (change, _), n in changes.items() if change == UPDATE),
        "removed": sum(n for (change, _), n in changes.items() if change not in (INSERT, UPDATE)),
    }
    return branch


def has_followed(context: FoldContext) -> bool:
    """Whether `latest` has followed `history`. If not, the next run completes that."""
    return latest_reached(context) == (context.folded, context.generation)


def latest_reached(context: FoldContext) -> tuple[Folded, str]:
    """The marker of `latest`: what it is a fold of, and its generation."""
    is_there = exists(context.spark, context.catalog, context.spec.target.latest)
    return marker_of(context.spark, context.catalog, context.spec.target.latest) if is_there else (Folded(), "")


def follow_latest(context: FoldContext, history: Branch | None) -> Branch | None:
    """Write to a branch of `latest` what `history` has written since: the open live versions of keys, and removals.

    `history`: its unpublished branch, or None to follow the published table. Returns None if nothing is missing. Every
    fold stamps the rows that it writes with its batch, so the missing rows are the open rows with a newer batch. A fold
    can write without advancing the batch, when a window becomes known: a `latest` that missed such a fold re-reads the
    rows of its own batch. A `latest` of another generation missed a rebuild and is replaced.
    """
    found, generation = marker_of(context.spark, context.catalog, context.spec.target.latest)
    in_step, same_generation = found == context.folded, generation == context.generation
    if in_step and same_generation and history is None:
        return None
    drop_stale_branches(context.spark, context.catalog, context.spec.target.latest)
    rows = context.rows.history if history is None else history.read()
    reached = context.folded if history is None else context.target
    marker = latest_marker(context, reached)
    branch = Branch.start(
        context.spark, context.catalog, context.spec.target.latest, marker, sole_writer=same_generation
    )
    if not same_generation:
        branch.replace(latest_rows(context, rows))
        return branch
    since = min(found.batch + 1, context.target.batch) if in_step else found.batch
    opened = rows.where(F.col(names.VALID_TO).isNull())
    columns = latest_schema(context.stored).names
    moved = opened.where(F.col(names.BATCH) >= since)
    moved = moved.select(*[F.col(quoted(name)) for name in [*columns, names.IS_CURRENT]])
    # After a fold that `latest` missed, the removed keys are not known: all keys of `latest` are candidates.
    candidates = context.taken_away if in_step else branch.read()
    if candidates is not None:
        moved = moved.unionByName(keys_without_version(context, candidates, opened), allowMissingColumns=True)
    # Checkpointed, so that it no longer depends on the branch: a statement that rewrites files reads its source twice,
    # and Spark cannot plan the second read of a view over a branch.
    view = temporary_view(moved.transform(checkpointed))
    branch.execute(latest_merge(branch.identifier, view, context.identity, columns, context.has_null_keys))
    context.spark.catalog.dropTempView(view)
    return branch


def keys_without_version(context: FoldContext, candidates: DataFrame, opened: DataFrame) -> DataFrame:
    """The keys without any version left: the only change was a READ, which a late truncate in its window superseded.

    Needs: candidates, opened: the columns that identify a row; opened: the open versions.
    Gives: these columns, and _is_current: false.
    Rows: filters `candidates`.
    """
    keys = [F.col(quoted(name)) for name in context.identity]
    left = opened.select(*[key.alias(f"_open_{index}") for index, key in enumerate(keys)])
    same = [key.eqNullSafe(F.col(f"_open_{index}")) for index, key in enumerate(keys)]
    return (
        candidates.select(*keys).join(left, on=same, how="left_anti").select("*", F.lit(False).alias(names.IS_CURRENT))
    )


def latest_rows(context: FoldContext, history: DataFrame) -> DataFrame:
    """The rows of `latest` for a history: the open versions of live keys."""
    columns = [F.col(quoted(name)) for name in latest_schema(context.stored).names]
    return history.where(F.col(names.VALID_TO).isNull() & F.col(names.IS_CURRENT)).select(*columns)
