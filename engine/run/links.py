"""Key changes whose halves only their position links: looked for where there can be any."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.frames import checkpointed
from siltstone.engine.history.links import is_behind, is_lone_insert, keys_rejoined, links_by_position, with_links
from siltstone.engine.run.folding import Folding


def computed_links(changes: DataFrame) -> DataFrame | None:
    """What `links_by_position` gives, computed; None where there are none."""
    links = links_by_position(changes).transform(checkpointed)
    return None if links.isEmpty() else links


def linked(work: Folding, changes: DataFrame) -> DataFrame:
    """Changes of all batches, old ones among them, of which the halves of key changes name each other.

    Needs, Gives: the change schema.
    """
    return changes if work.target.owing is None else with_links(changes, computed_links(changes))


def keys_in_two_batches(work: Folding, everything: DataFrame) -> DataFrame:
    """Keys of new and of folded insert halves whose delete half came in another batch.

    Older changes are read where they stand at the positions of new halves: nowhere, while batches come in order.

    Needs: everything: all changes.
    Gives: key.
    """
    told = ("source", "position", "op", "key", "old_key", "new_key", "present")
    is_new = F.col("batch") > work.folded.batch
    halves = [is_lone_insert(work.keys), is_behind(work.folded.owing)]
    inserts, deletes = (everything.where(is_new & half).select(*told).transform(checkpointed) for half in halves)
    bounds = inserts.unionByName(deletes).agg(F.min("position").alias("first"), F.max("position").alias("last")).first()
    assert bounds is not None
    at_them = F.col("position").between(bounds["first"], bounds["last"])
    return keys_rejoined(inserts, deletes, everything.where((F.col("batch") <= work.folded.batch) & at_them))
