"""Order changes of one key at one position when neither a transaction nor a partition orders them.

Ops and complete images give an order: each change leads from one state of the row to another, and it starts in the
state in which the change before it ended.

    change                   starts from   ends in
    insert A                 no row        A
    update, before A, to B   A             B
    update to B              (unknown)     B
    delete, before A         A             no row
    delete, truncate         (unknown)     no row

The chain is built from its end. The last change is one whose end state starts no other change. The change before each
change is one that ends in the state where it starts. If several changes fit, this decides: changes that continue a
row that existed before all of them come first; then inserts before updates before truncates before deletes; then the
lower content hash.

    insert A; update A to B; update B to A       in this order
    insert A; delete                             in this order
    delete, before A; insert B                   in this order: the delete is of another row
    update to A; update to B                     by content hash

If one key has more than MOST_CHAINED changes at one position, only ops and hashes order them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import is_from

MOST_CHAINED: Final = 16
"""The time to build a chain grows with the cube of the number of changes."""
NO_ROW: Final = 0
_IDENTITY: Final = "struct<rank: int, content: bigint>"
_FACTS: Final = ("rank", "content", "starts", "ends")
_RANKS: Final = {names.OP_INSERT: 0, names.OP_UPDATE: 1, names.OP_TRUNCATE: 2, names.OP_DELETE: 3}


@dataclass(frozen=True)
class Tied:
    """The columns that order tied changes. `starts`, `ends`: as `start_of` and `end_of` give them."""

    is_tied: Column
    op: Column
    content: Column
    starts: Column
    ends: Column


def transaction_order() -> Column:
    """The number of a change in its transaction; null if its source changes the numbers when it restarts.

    Such a number does not belong to the change. It is treated like an offset.
    """
    return F.when(~renumbers_on_restart(), F.col("tx_order"))


def partition_offset(is_read: Column) -> Column:
    """The offset of a change in its partition (struct kafka_partition, number); null if its transaction orders it."""
    number = F.coalesce("kafka_offset", F.when(renumbers_on_restart(), F.col("tx_order")))
    is_offset = ~is_read & transaction_order().isNull() & number.isNotNull()
    return F.when(is_offset, F.struct("kafka_partition", number.alias("number")))


def renumbers_on_restart() -> Column:
    """Whether a source gives its records other numbers when it restarts."""
    return is_from(lambda kind: kind.renumbers_transactions)


def start_of(op: Column, before: Column, columns: Sequence[str]) -> Column:
    """The state of the row before a change, as a hash; null if it is unknown."""
    is_known = op.isin(names.OP_UPDATE, names.OP_DELETE) & before.isNotNull()
    return F.when(op == names.OP_INSERT, F.lit(NO_ROW).cast("bigint")).when(is_known, _image(before, columns))


def end_of(op: Column, row: Column, present: Column, columns: Sequence[str]) -> Column:
    """The state of the row after a change, as a hash; null if the change lacks columns."""
    is_gone = op.isin(names.OP_DELETE, names.OP_TRUNCATE)
    return F.when(is_gone, F.lit(NO_ROW).cast("bigint")).when(present.isNull(), _image(row, columns))


def _image(image: Column, columns: Sequence[str]) -> Column:
    """A hash of an image. Spark's hash functions skip nulls, so the nulls are hashed too."""
    values = [image[name] for name in columns]
    return F.xxhash64(F.lit(len(values)), *values, *[value.isNull() for value in values])


def with_turns(rows: DataFrame, group: Sequence[Column], tied: Tied) -> DataFrame:
    """Number the tied changes of each group in order; all copies of a change have the same number.

    Needs: the columns that `group` and `tied` use.
    Gives: the same columns, then turn (null if there is no tie).
    Rows: 1:1.
    """
    of = rows.select(
        "*",
        *[column.alias(f"_group_{number}") for number, column in enumerate(group)],
        tied.is_tied.alias("_is_tied"),
        _rank(tied.op).alias("_rank"),
        tied.content.alias("_content"),
        F.when(tied.is_tied, tied.starts).alias("_starts"),
        F.when(tied.is_tied, tied.ends).alias("_ends"),
    )
    groups = Window.partitionBy(*[f"_group_{number}" for number in range(len(group))])
    by_op = groups.orderBy(F.col("_is_tied").desc(), "_rank", F.col("_content").asc_nulls_first())
    whole = by_op.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    numbered = of.withColumns({"_turn": F.dense_rank().over(by_op), "_number": F.row_number().over(by_op)})
    counted = numbered.withColumns(
        {
            "_many": F.max(F.when(F.col("_is_tied"), F.col("_turn"))).over(whole),
            "_has_image": F.max(F.col("_is_tied") & F.coalesce(F.col("_starts") != NO_ROW, F.lit(False))).over(whole),
        }
    )
    is_chained = F.col("_is_tied") & F.col("_has_image") & F.col("_many").between(2, MOST_CHAINED)
    change = F.struct(F.col("_rank").alias("rank"), F.col("_content").alias("content"), *_states())
    gathered = counted.withColumn("_changes", F.collect_set(F.when(is_chained, change)).over(whole))
    # The chain is computed once per group, on its first row. All rows look it up there.
    chain = F.when(is_chained & (F.col("_number") == 1), chained(F.col("_changes")))
    linked = gathered.withColumn("_chain", chain).withColumn("_chain", F.first("_chain").over(whole))
    place = F.array_position("_chain", F.struct(F.col("_rank").alias("rank"), F.col("_content").alias("content")))
    turn = F.when(is_chained, place.cast("int")).when(F.col("_is_tied"), F.col("_turn"))
    return linked.select(*rows.columns, turn.alias("turn"))


def _states() -> list[Column]:
    return [F.col(f"_{name}").alias(name) for name in ("starts", "ends")]


def _rank(op: Column) -> Column:
    rank = F.lit(len(_RANKS))
    for name, number in _RANKS.items():
        rank = F.when(op == name, number).otherwise(rank)
    return rank


def chained(changes: Column) -> Column:
    """The identities (struct rank, content) of changes in the order of their chain.

    `changes`: an array of struct rank, content, starts, ends. Copies of one change can know different states.
    """
    identities = F.array_distinct(F.transform(changes, _identity))
    one_each = F.transform(identities, lambda identity: _merged(changes, identity))
    return _named(one_each, _chain)


def _chain(changes: Column) -> Column:
    """`chained` for changes without copies."""
    marked = F.aggregate(changes, F.transform(changes, _mark_old(changes)), lambda found, _: _spread_age(found))
    none, unknown = F.array().cast(f"array<{_IDENTITY}>"), F.lit(None).cast("bigint")
    start = F.struct(marked.alias("left"), none.alias("done"), unknown.alias("from"))
    return F.aggregate(changes, start, lambda state, _: _one_more(state), lambda state: state["done"])


def _named(value: Column, use: Callable[[Column], Column]) -> Column:
    """Apply `use` to a value that it uses more than once. As the parameter of a lambda, the value is computed once."""
    return F.transform(F.array(value), use)[0]


def _identity(change: Column) -> Column:
    return F.struct(change["rank"].alias("rank"), change["content"].alias("content"))


def _is_other(one: Column, other: Column) -> Column:
    return ~_identity(one).eqNullSafe(_identity(other))


def _meets(ends: Column, starts: Column) -> Column:
    return F.coalesce(ends == starts, F.lit(False))


def _merged(changes: Column, identity: Column) -> Column:
    """One change for all its copies. A state on which the copies disagree is unknown."""
    copies = F.filter(changes, lambda change: _identity(change).eqNullSafe(identity))

    def known(name: str) -> Column:
        states = F.filter(F.transform(copies, lambda copy: copy[name]), lambda state: state.isNotNull())
        return _named(F.array_distinct(states), lambda found: F.when(F.size(found) == 1, found[0]))

    states = [known(name).alias(name) for name in ("starts", "ends")]
    return F.struct(identity["rank"].alias("rank"), identity["content"].alias("content"), *states)


def _mark_old(changes: Column) -> Callable[[Column], Column]:
    """Mark changes that start from a row that none of the changes made: `is_old`."""

    def mark(change: Column) -> Column:
        is_row = F.coalesce(change["starts"] != NO_ROW, F.lit(False))
        is_made = F.exists(changes, lambda other: _is_other(other, change) & _meets(other["ends"], change["starts"]))
        return _with_age(change, is_row & ~is_made)

    return mark


def _spread_age(changes: Column) -> Column:
    """Mark the changes that continue an old row: they start where an old change ends."""

    def mark(change: Column) -> Column:
        is_row = F.coalesce(change["starts"] != NO_ROW, F.lit(False))
        follows = F.exists(changes, lambda other: other["is_old"] & _meets(other["ends"], change["starts"]))
        return _with_age(change, change["is_old"] | (is_row & follows))

    return F.transform(changes, mark)


def _with_age(change: Column, is_old: Column) -> Column:
    return F.struct(*[change[name].alias(name) for name in _FACTS], is_old.alias("is_old"))


def _one_more(state: Column) -> Column:
    """Put one more change before those that are already in order."""
    left = state["left"]
    fitting = F.filter(left, lambda change: _meets(change["ends"], state["from"]))
    last = F.filter(left, lambda change: ~_leads_on(change, left))
    pool = F.when(F.size(fitting) > 0, fitting).when(F.size(last) > 0, last).otherwise(left)
    facts = (*_FACTS, "is_old")
    ranked = F.transform(
        pool,
        lambda change: F.struct((~change["is_old"]).alias("is_new"), *[change[name].alias(name) for name in facts]),
    )
    return _named(
        F.array_max(ranked),
        lambda chosen: F.struct(
            F.filter(left, lambda change: _is_other(change, chosen)).alias("left"),
            F.concat(F.array(_identity(chosen)), state["done"]).alias("done"),
            chosen["starts"].alias("from"),
        ),
    )


def _leads_on(change: Column, changes: Column) -> Column:
    """Whether another change starts from the state in which this one ends."""
    return F.exists(changes, lambda other: _is_other(other, change) & _meets(change["ends"], other["starts"]))
