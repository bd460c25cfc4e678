"""Tables whose changes come from several sources: their keys are to be disjoint, or the spec says what they are."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.errors import SourceError
from siltstone.engine.fold.context import FoldContext


def refuse_shared_keys(context: FoldContext, placed: DataFrame, everything: DataFrame) -> None:
    """See that no key has changes from two sources: positions in two logs do not say which came first.

    Needs: placed: the new changes; everything: all changes. Both: key, source. The older ones of the same keys are
    looked at, too.

    Raises: SourceError: one has. Nothing is folded.
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
            f" ({', '.join(context.target.sources)}), and of two logs neither says what came first. Nothing was folded.",
            "source.several: shards keeps the rows of each source apart (the events have to be taken again);"
            " source.several: one_log says that these are names of one log",
        )
