"""The fold of a table without a key: recompute every changed row image from all its changes.

The number of equal rows depends on all changes of that row image, so an incremental fold would be wrong.
"""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.fold.recompute_keys import (
    all_rows_of,
    difference_to,
    fold_with_links,
    rules_for_old_changes,
    tally_recomputed,
    tally_truncates,
)
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.fold_settings import FoldRules


def fold_images(
    context: FoldContext,
    everything: DataFrame,
    placed: DataFrame,
    reconsidered: DataFrame | None,
    windows: DataFrame | None,
    rules: FoldRules,
) -> DataFrame:
    """Recompute the versions of the changed row images, as a difference to the table.

    Needs: everything: all changes; placed: the new changes, as `change_rows` gives them; reconsidered: images of READs
        whose window has become known only now, and of changes retracted since.
    Gives: the output of `full_diff`. Computed.
    """
    seeds = [placed.where(F.col("op") != names.OP_TRUNCATE).select("key")]
    if rules.truncates:
        seeds.append(everything.where(F.col("key").isNotNull()).select("key"))
    if reconsidered is not None:
        seeds.append(reconsidered)
    keys = reduce(DataFrame.unionByName, seeds).distinct().transform(checkpointed)
    old_rules = rules_for_old_changes(context, rules)
    reconciled = fold_with_links(all_rows_of(context, everything, keys, windows, old_rules), old_rules)
    tally_recomputed(context, reconciled)
    tally_truncates(context, placed, reconciled.where(F.col("batch") > context.folded.batch), rules.truncates)
    return difference_to(context, reconciled, keys)
