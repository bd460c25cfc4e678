"""The fold of a table without a key: every image that a change is about is folded again from all its changes.

How many equal rows there are follows from all that was ever told of them, so there is no shorter way that is right.
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
    for_anything,
    tally_refolded,
    tally_truncates,
)
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.fold_settings import FoldRules


def fold_images(
    context: FoldContext,
    everything: DataFrame,
    placed: DataFrame,
    news: DataFrame | None,
    windows: DataFrame | None,
    rules: FoldRules,
) -> DataFrame:
    """What the images' versions should be, as a difference to what the table has.

    Needs: everything: all changes; placed: the new ones as `change_rows` gives them; news: images of READs whose window
        has become known only now, and of changes withdrawn since.
    Gives: what `full_diff` gives. Computed.
    """
    seeds = [placed.where(F.col("op") != names.OP_TRUNCATE).select("key")]
    if rules.truncates:
        seeds.append(everything.where(F.col("key").isNotNull()).select("key"))
    if news is not None:
        seeds.append(news)
    keys = reduce(DataFrame.unionByName, seeds).distinct().transform(checkpointed)
    anything = for_anything(context, rules)
    judged = fold_with_links(all_rows_of(context, everything, keys, windows, anything), anything)
    tally_refolded(context, judged)
    tally_truncates(context, placed, judged.where(F.col("batch") > context.folded.batch), rules.truncates)
    return difference_to(context, judged, keys)
