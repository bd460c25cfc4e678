"""Check tables with several sources: the sources must have disjoint keys, unless the spec declares another case."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.errors import SourceError
from siltstone.engine.fold.context import FoldContext


def refuse_shared_keys(context: FoldContext, placed: DataFrame, everything: DataFrame) -> None:
    """Check that no key has changes from two sources: positions in two logs have no common order.

    Needs: placed: the new changes; everything: all changes. Both: key, source. Older changes of the same keys are
    checked too.

    Raises: SourceError: a key has changes from two sources. Nothing is folded.
    """
    if not context.has_disjoint_sources:
        return
    new = placed.where(F.col("key").isNotNull()).select("key", "source").distinct()
    older = everything.where((F.col("batch") <= context.folded.batch) & F.col("key").isNotNull()).select(
        "key", "source"
    )
    met = older.join(F.broadcast(new.select("key").distinct()), on="key", how="left_semi")
    shared = new.unionByName(met).groupBy("key").agg(F.count_distinct("source").alias("sources"))
    number = shared.where(F.col("sources") > 1).count()
    if number:
        raise SourceError(
            f"Cannot fold {context.spec.target.history}: {number} keys have changes from several sources"
            f" ({', '.join(context.target.sources)}), and positions of two logs have no common order. Nothing was"
            " folded.",
            "source.several: shards keeps the rows of each source separate (it needs a reread of the events);"
            " source.several: one_log declares that these are names of one log",
        )
