"""Link the halves of key changes that only share a position. The search runs only if there can be any."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.fold.context import FoldContext
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.partial_key_changes import (
    is_lone_insert,
    is_older,
    keys_rejoined,
    links_by_position,
    with_links,
)


def computed_links(changes: DataFrame) -> DataFrame | None:
    """The output of `links_by_position`, computed. None if there are no links."""
    links = links_by_position(changes).transform(checkpointed)
    return None if links.isEmpty() else links


def linked(context: FoldContext, changes: DataFrame) -> DataFrame:
    """Changes of all batches, in which the halves of each key change name each other.

    Needs, Gives: the change schema.
    """
    return changes if context.target.partial_inserts is None else with_links(changes, computed_links(changes))


def keys_in_two_batches(context: FoldContext, everything: DataFrame) -> DataFrame:
    """Keys of new and of folded insert halves whose delete half arrived in another batch.

    Reads only older changes in the position range of the new halves: none, while batches arrive in order.

    Needs: everything: all changes.
    Gives: key.
    """
    columns = ("source", "position", "op", "key", "old_key", "new_key", "present")
    is_new = F.col("batch") > context.folded.batch
    halves = [is_lone_insert(context.keys), is_older(context.folded.partial_inserts)]
    inserts, deletes = (everything.where(is_new & half).select(*columns).transform(checkpointed) for half in halves)
    bounds = inserts.unionByName(deletes).agg(F.min("position").alias("first"), F.max("position").alias("last")).first()
    assert bounds is not None
    at_them = F.col("position").between(bounds["first"], bounds["last"])
    return keys_rejoined(inserts, deletes, everything.where((F.col("batch") <= context.folded.batch) & at_them))
