"""Key changes: a delete of the old key and an insert of the new one, linked by what the insert does not carry."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.history.rules import FoldRules
from engine.history.timeline import never_null


def owing_inserts(changes: DataFrame) -> DataFrame:
    """The insert halves of key changes that lack columns: their values stayed with the old key.

    Needs: key, old_key, op, present.
    Gives: the same columns.
    Rows: filters.
    """
    return changes.where((F.col("op") == names.OP_INSERT) & F.col("old_key").isNotNull() & F.col("present").isNotNull())


def owed_keys(changes: DataFrame, judged: DataFrame, rules: FoldRules) -> DataFrame:
    """Keys whose insert half lacks a value that the old key had, or whose old key is not among these changes.

    Needs: changes: timeline rows; judged: what `reconcile` gave for them.
    Gives: key.
    Rows: one an insert that is owed something. One that lacks only what the source had no column for yet is owed none.
    """
    given = judged.where(F.col("given_up").isNotNull()).select(
        F.col("key").alias("old_key"), F.col("new_key").alias("key"), "own_position", "given_up"
    )
    owing = owing_inserts(changes).select("key", "old_key", "own_position", "present")
    joined = owing.join(given, on=["old_key", "key", "own_position"], how="left")  # a copy more makes no difference
    owed = F.col("given_up").isNull()
    for name in rules.followed:
        owed = owed | (~F.array_contains("present", name) & never_null(F.col("given_up")[name]["known"]))
    return joined.where(owed).select("key")


def linked_keys(keys: DataFrame, links: DataFrame) -> DataFrame:
    """The keys themselves, and those one key change away from them, in either direction.

    Needs: keys: column key; links: columns key, old_key.
    Gives: key.
    Rows: without duplicates.
    """
    onward = links.join(keys.select(F.col("key").alias("old_key")), on="old_key", how="left_semi").select("key")
    backward = links.join(keys, on="key", how="left_semi").select(F.col("old_key").alias("key"))
    return keys.select("key").unionByName(onward).unionByName(backward).distinct()  # a set of keys, no fan-out


def carry_over(changes: DataFrame, judged: DataFrame, rules: FoldRules) -> DataFrame:
    """Give inserts of a key change the columns that only the old key knows.

    Needs: changes: timeline rows; judged: what `reconcile` gave for them (all keys that take part).
    Gives: the columns of `changes`.
    Rows: 1:1.

        old key   state before the change   insert carries   becomes
        7         a=1, body=long            a=1              a=1, body=long
        8         a=1, body unknown         a=1              a=1, body unknown
    """
    given = (
        judged.where(F.col("given_up").isNotNull())
        .groupBy(F.col("key").alias("old_key"), F.col("new_key").alias("key"), F.col("own_position"))
        .agg(F.max_by("given_up", "content_hash").alias("given"))  # one row a link, whatever was delivered twice
    )
    owes = (F.col("op") == names.OP_INSERT) & F.col("old_key").isNotNull() & F.col("present").isNotNull()
    joined = changes.join(given, on=["old_key", "key", "own_position"], how="left")
    takes = {
        name: never_null(owes & ~F.array_contains("present", name) & F.col(f"given.{name}.known"))
        for name in rules.followed
    }
    own = {name: F.col("row")[name] for name in rules.columns}
    handed = {name: F.when(takes[name], F.col(f"given.{name}.value")).otherwise(own[name]) for name in takes}
    fields = [(own | handed)[name].alias(name) for name in rules.columns]
    taken = F.array_compact(F.array(*[F.when(takes[name], F.lit(name)) for name in rules.followed]))
    row = F.when(F.col("row").isNotNull(), F.struct(*fields))
    present = F.when(F.col("present").isNotNull(), F.array_union("present", taken))
    return joined.select(
        *[{"row": row, "present": present}.get(name, F.col(name)).alias(name) for name in changes.columns]
    )
