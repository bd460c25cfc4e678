"""Key changes whose insert lacks columns: it takes their values from the row under the old key.

A key change is two events: a delete of the old key and an insert of the new one. Each half names the key of the other.
If events have lost their headers, the position that both halves share links them.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import is_from
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import is_key_known, never_null

_AT: Final = ("source", "position")


def is_lone_insert(keys: Sequence[str]) -> Column:
    """True for an insert that must be half of a key change but does not name its old key.

    Sources that split key changes leave values out of updates only. So an insert that lacks columns was an update.
    They also give every changed row a position of its own in the log.
    """
    return _is_half(names.OP_INSERT) & ~is_key_known("old_key", keys) & F.col("present").isNotNull()


def is_lone_delete(keys: Sequence[str]) -> Column:
    """True for a delete that can be the other half of such an insert."""
    return _is_half(names.OP_DELETE) & ~is_key_known("new_key", keys)


def _keys(changes: DataFrame) -> list[str]:
    return changes.select("key.*").columns


def _is_half(op: str) -> Column:
    return (F.col("op") == op) & is_from(lambda kind: kind.separates_key_changes) & F.col("position").isNotNull()


def links_by_position(changes: DataFrame) -> DataFrame:
    """The key changes whose halves do not name each other.

    Needs: source, position, op, key, old_key, new_key, present.
    Gives: source, position, taken (the new key), given (the old one).
    Rows: one per key change. None if several keys are given up, or taken, at one position: they cannot be paired. Old
        connectors gave all changes of a transaction the same position.
    """
    keys = _keys(changes)
    taken = _only_key(changes.where(is_lone_insert(keys)), "taken")
    given = _only_key(changes.where(is_lone_delete(keys)), "given")
    return taken.join(given, on=list(_AT), how="inner")  # one key per position on either side


def _only_key(halves: DataFrame, name: str) -> DataFrame:
    """The key at each position that has only one."""
    ends = halves.groupBy(*_AT).agg(F.min("key").alias(name), F.max("key").alias("_last"))
    return ends.where(F.col(name) == F.col("_last")).drop("_last")


def with_links(changes: DataFrame, links: DataFrame | None) -> DataFrame:
    """Fill in the key of the other half where the halves of a key change do not name each other.

    Needs: the change schema; links: as `links_by_position` gives them, few; None if there are none.
    Gives: the columns of `changes`.
    Rows: 1:1.
    """
    if links is None:
        return changes
    keys = _keys(changes)
    linked = {
        "old_key": F.when(is_lone_insert(keys), F.coalesce("given", "old_key")).otherwise(F.col("old_key")),
        "new_key": F.when(is_lone_delete(keys), F.coalesce("taken", "new_key")).otherwise(F.col("new_key")),
    }
    joined = changes.join(F.broadcast(links), on=list(_AT), how="left")  # one link per position
    return joined.select(*[linked.get(name, F.col(name)).alias(name) for name in changes.columns])


def is_older(partial_inserts: str | None) -> Column:
    """True for a delete that can be half of a key change whose insert half is folded already.

    `partial_inserts`: the greatest position of a folded insert half that lacks columns.
    """
    return (F.col("op") == names.OP_DELETE) & (F.col("position") <= F.lit(partial_inserts))


def keys_rejoined(inserts: DataFrame, deletes: DataFrame, older: DataFrame) -> DataFrame:
    """Keys of insert halves whose delete half came in another batch.

    `missing_keys` finds those that name their old key.

    Needs: inserts: new changes that are `is_lone_insert`; deletes: new changes that are `is_older`; older: the changes
        folded before at the same positions.
    Gives: key.
    """
    keys = _keys(older)

    def taken(of: DataFrame, halves: DataFrame) -> DataFrame:
        others = halves.where(is_lone_delete(keys)).select(*_AT)
        return of.where(is_lone_insert(keys)).join(others, on=list(_AT), how="left_semi").select("key")

    named = deletes.where(is_key_known("new_key", keys)).select(F.col("new_key").alias("key"))
    return named.unionByName(taken(inserts, older)).unionByName(taken(older, deletes))


def keep_partial_inserts(changes: DataFrame) -> DataFrame:
    """The insert halves of key changes that lack columns. Their values are in the row of the old key.

    Needs: key, old_key, op, present.
    Gives: the same columns.
    Rows: filters.
    """
    is_half = (F.col("op") == names.OP_INSERT) & is_key_known("old_key", _keys(changes))
    return changes.where(is_half & F.col("present").isNotNull())


def missing_keys(changes: DataFrame, classified: DataFrame, rules: FoldRules) -> DataFrame:
    """Keys whose insert half lacks a value that the old key had, or whose old key is not among these changes.

    Needs: changes: timeline rows; classified: the rows that `reconcile` gave for them.
    Gives: key.
    Rows: one per such insert. An insert that lacks only columns that the source did not have yet does not count.
    """
    given = classified.where(F.col("given_up").isNotNull()).select(
        F.col("key").alias("old_key"), F.col("new_key").alias("key"), "own_position", "given_up"
    )
    partial_inserts = keep_partial_inserts(changes).select("key", "old_key", "own_position", "present")
    joined = partial_inserts.join(
        given, on=["old_key", "key", "own_position"], how="left"
    )  # a copy more makes no difference
    is_missing = F.col("given_up").isNull()
    for name in rules.partly_present:
        is_missing = is_missing | (~F.array_contains("present", name) & never_null(F.col("given_up")[name]["known"]))
    return joined.where(is_missing).select("key")


def linked_keys(keys: DataFrame, links: DataFrame) -> DataFrame:
    """The keys, and all keys that one key change links to them, in either direction.

    Needs: keys: column key; links: columns key, old_key.
    Gives: key.
    Rows: without duplicates.
    """
    onward = links.join(keys.select(F.col("key").alias("old_key")), on="old_key", how="left_semi").select("key")
    backward = links.join(keys, on="key", how="left_semi").select(F.col("old_key").alias("key"))
    return keys.select("key").unionByName(onward).unionByName(backward).distinct()  # a set of keys, no fan-out


def carry_over(changes: DataFrame, classified: DataFrame, rules: FoldRules) -> DataFrame:
    """Copy the columns that the insert of a key change lacks from the row of the old key.

    Needs: changes: timeline rows; classified: the rows that `reconcile` gave for them (all keys that take part).
    Gives: the columns of `changes`.
    Rows: 1:1.

        old key   state before the change   insert carries   insert becomes
        7         a=1, body=long            a=1              a=1, body=long
        8         a=1, body unknown         a=1              a=1, body unknown
    """
    given = (
        classified.where(F.col("given_up").isNotNull())
        .groupBy(F.col("key").alias("old_key"), F.col("new_key").alias("key"), F.col("own_position"))
        .agg(F.max_by("given_up", "content_hash").alias("given"))  # one row a link, whatever was delivered twice
    )
    lacks_columns = (F.col("op") == names.OP_INSERT) & F.col("old_key").isNotNull() & F.col("present").isNotNull()
    joined = changes.join(given, on=["old_key", "key", "own_position"], how="left")
    takes = {
        name: never_null(lacks_columns & ~F.array_contains("present", name) & F.col(f"given.{name}.known"))
        for name in rules.partly_present
    }
    own = {name: F.col("row")[name] for name in rules.columns}
    handed = {name: F.when(takes[name], F.col(f"given.{name}.value")).otherwise(own[name]) for name in takes}
    fields = [(own | handed)[name].alias(name) for name in rules.columns]
    taken = F.array_compact(F.array(*[F.when(takes[name], F.lit(name)) for name in rules.partly_present]))
    row = F.when(F.col("row").isNotNull(), F.struct(*fields))
    present = F.when(F.col("present").isNotNull(), F.array_union("present", taken))
    return joined.select(
        *[{"row": row, "present": present}.get(name, F.col(name)).alias(name) for name in changes.columns]
    )
