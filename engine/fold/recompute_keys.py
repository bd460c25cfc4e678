"""Recompute keys with late changes from all their changes, and compare the result with the table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import InvariantViolation
from siltstone.engine.fold.base_states import changes_since_bases, versions_since_bases
from siltstone.engine.fold.batch_profile import fold_rules
from siltstone.engine.fold.context import FoldContext, same_keys
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.classify import ABSORBED, OPENED, REDELIVERED
from siltstone.engine.history.diff import DELETE, full_diff
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import change_rows, order_ties, truncate_rows, undo_key_swaps
from siltstone.engine.history.partial_key_changes import carry_over, keep_partial_inserts, linked_keys
from siltstone.engine.history.reconcile import reconcile
from siltstone.engine.ordering.snapshot_windows import attach_windows
from siltstone.engine.table.retracted import retracted_of


def keys_to_recompute(keys: DataFrame, everything: DataFrame, rules: FoldRules) -> DataFrame:
    """The late keys, and the keys that are linked with them by key changes that carry values over.

    Needs: keys: column key; everything: all changes.
    Gives: key. Computed.
    Rows: one per key.
    """
    if not rules.partly_present:
        return keys
    links = keep_partial_inserts(everything).select("key", "old_key").transform(checkpointed)
    if links.isEmpty():
        return keys
    size = keys.count()
    while True:
        keys = linked_keys(keys, links).transform(checkpointed)
        grown = keys.count()
        if grown == size:
            return keys
        size = grown


def recompute_keys(
    context: FoldContext, everything: DataFrame, keys: DataFrame, windows: DataFrame | None, rules: FoldRules
) -> tuple[DataFrame, DataFrame]:
    """Recompute the keys' versions. Returns their difference to the table, and the reconciled changes.

    Gives: the output of `full_diff`, computed; the output of `reconcile`, computed.
    """
    rules = rules_for_old_changes(context, rules)
    reconciled = fold_with_links(all_rows_of(context, everything, keys, windows, rules), rules)
    tally_recomputed(context, reconciled)
    return difference_to(context, reconciled, keys), reconciled


def difference_to(context: FoldContext, reconciled: DataFrame, keys: DataFrame) -> DataFrame:
    """The difference between the keys' versions, folded from nothing, and `history`.

    Gives: the output of `full_diff`. Computed.
    """
    existing = versions_since_bases(context, versions_of(context, context.rows.history, keys), fold_rules(context))
    found = full_diff(reconciled, existing, context.identity, context.target.batch, context.has_null_keys)
    return found.transform(checkpointed)


def tally_changes(context: FoldContext, diff: DataFrame) -> Counter[tuple[str, bool]]:
    """Count the changes of a difference, by (change, was_open), and the removed versions that READs had opened."""
    changes: Counter[tuple[str, bool]] = Counter()
    of_read = F.col(names.OP).eqNullSafe(names.OP_READ).alias("of_read")
    for row in diff.groupBy(names.CHANGE, names.WAS_OPEN, of_read).count().collect():
        changes[row[names.CHANGE], row[names.WAS_OPEN]] += row["count"]
        if row[names.CHANGE] == DELETE and row["of_read"]:
            context.superseded_versions += row["count"]
    return changes


def rules_for_old_changes(context: FoldContext, rules: FoldRules) -> FoldRules:
    """The rules for a fold of old changes, which can contain every kind of change.

    Only READs without a position are known to be absent, if the marker has never seen one.
    """
    return replace(rules, reads=True, swaps=True, truncates=True, guarded=context.target.read_ts is not None)


def all_rows_of(
    context: FoldContext, everything: DataFrame, keys: DataFrame, windows: DataFrame | None, rules: FoldRules
) -> DataFrame:
    """All changes of the keys in order, truncates included.

    Gives: the output of `change_rows`.
    """
    mine = everything.where(F.col("op") != names.OP_TRUNCATE).join(F.broadcast(keys), on="key", how="left_semi")
    rows = change_rows(attach_windows(mine, windows, rules.margin), rules).transform(checkpointed)
    if context.target.truncate is None:
        return changes_since_bases(context, rows, rules)
    truncates = everything.where(F.col("op") == names.OP_TRUNCATE)
    placed = change_rows(attach_windows(truncates, None, rules.margin), rules)
    of = rows.select("key", "source").distinct() if context.has_disjoint_sources else keys
    return changes_since_bases(context, rows.unionByName(truncate_rows(placed, of)), rules)


def fold_with_links(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Fold repeatedly, each time with the values that key changes carry over to their inserts, until these are stable.

    A chain of n key changes is stable after n rounds. Gives: the output of `reconcile`, computed.

    Raises: InvariantViolation: the values do not become stable.
    """
    rows = order_ties(rows, rules).transform(checkpointed)  # used in every round; planned once
    if rules.swaps and not rules.keyless:
        # Swaps are recognized by the values that the changes themselves carry. A carried-over value can be older than
        # the delete's before image, if a change between them was lost, and the row would look like another one.
        rows, rules = undo_key_swaps(rows, rules), replace(rules, swaps=False)
    reconciled = reconcile(None, rows, rules).transform(checkpointed)
    links = keep_partial_inserts(rows).count() if rules.partly_present else 0
    if not links:
        return reconciled
    previous = None
    for _ in range(links + 2):  # each round carries over along one more link, and the last one finds no difference
        filled = carry_over(rows, reconciled, rules)
        # A sum, not a bitwise XOR: with XOR, two copies of an insert would cancel each other out.
        of_each = F.xxhash64("key", "position", "row", "present").cast("decimal(38,0)")
        known = keep_partial_inserts(filled).agg(F.sum(of_each)).first()
        carried = known[0] if known is not None else None
        if carried == previous:
            return reconciled
        previous = carried
        reconciled = reconcile(None, filled, rules).transform(checkpointed)
    raise InvariantViolation(
        f"Cannot fold key changes: values carried over along {links} links do not become stable.",
        "report this with the changes table",
    )


def tally_recomputed(context: FoldContext, reconciled: DataFrame) -> None:
    """Count the outcomes of the new changes among the recomputed ones, and how many of them were late."""
    is_new = F.col("batch") > context.folded.batch
    newest_old = F.max(F.when(~is_new & ~F.col("is_copy"), F.col("position"))).over(Window.partitionBy("key"))
    late = F.coalesce(F.col("position") < newest_old, F.lit(False)) & (F.col("outcome") != REDELIVERED)
    marked = reconciled.where(~F.col("is_copy")).select("outcome", is_new.alias("is_new"), late.alias("late"))
    for row in marked.where("is_new").groupBy("outcome", "late").count().collect():
        context.count(row["outcome"], row["count"])
        context.late += row["count"] if row["late"] else 0


def tally_truncates(context: FoldContext, placed: DataFrame, reconciled: DataFrame, has_truncates: bool) -> None:
    """Count the outcomes of truncates. A truncate is one change, however many keys it ends.

    A truncate that an earlier batch already had counts as redelivered.

    Needs: placed: the new changes; reconciled: is_copy, outcome, position of the rows that come from truncates.
    """
    if not has_truncates:
        return
    found = placed.where(F.col("op") == names.OP_TRUNCATE).select("source", "position").collect()
    new = {(row["source"], row["position"]) for row in found}
    fresh = new - truncates_before(context, [position for _, position in new])
    ended = reconciled.where(F.col("is_copy") & (F.col("outcome") == OPENED)).select("position").distinct()
    effective = {row["position"] for row in ended.collect()}
    opened = sum(position in effective for _, position in fresh)
    context.count(REDELIVERED, len(found) - len(fresh))
    context.count(OPENED, opened)
    context.count(ABSORBED, len(fresh) - opened)


def truncates_before(context: FoldContext, positions: Sequence[str]) -> set[tuple[str, str]]:
    """The already folded truncates at these positions, by source and position."""
    older = context.changes_up_to_target().where(
        (F.col("batch") <= context.folded.batch) & F.col("position").isin(positions)
    )
    found = older.where(F.col("op") == names.OP_TRUNCATE).select("source", "position").collect()
    return {(row["source"], row["position"]) for row in found}


def count_retracted(context: FoldContext) -> None:
    """Count the new changes that were retracted before they were folded."""
    if context.retracted_places is None:
        return
    new = context.all_changes_up_to_target().where(F.col("batch") > context.folded.batch)
    number = retracted_of(new, context.retracted_places).count()
    context.changes += number
    context.count(REDELIVERED, number)


def versions_of(context: FoldContext, table: DataFrame, keys: DataFrame) -> DataFrame:
    """All rows of the keys in a table. `table`: `history` or `latest`."""
    flat = keys.select(*[F.col("key")[name].alias(name) for name in context.keys])
    return table.join(F.broadcast(flat), on=same_keys(context, table, flat), how="left_semi")
