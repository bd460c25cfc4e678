"""From versions as they should be to what has to be written."""

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.intervals import KEEP, OPEN
from siltstone.engine.names import quoted

INSERT = "insert"
UPDATE = "update"
DELETE = "delete"


def version_rows(judged: DataFrame, batch: int) -> DataFrame:
    """History rows out of judged changes.

    Needs: what `reconcile` gives.
    Gives: history's columns, then _action.
    Rows: one a version.
    """
    stamped, action = F.lit(batch).alias(names.BATCH), F.col("action").alias(names.ACTION)
    return judged.where(F.col("action").isNotNull()).select("version.*", stamped, action)


def open_diff(judged: DataFrame, batch: int) -> DataFrame:
    """What versions folded over open ones ask of the table.

    Needs: what `reconcile` gives with `existing`.
    Gives: history's columns, then _change (insert, update), _was_open (true for updates: they concern open rows).
    Rows: one a version written; kept ones are gone.
    """
    written = version_rows(judged, batch).where(F.col(names.ACTION) != KEEP)
    is_new = F.col(names.ACTION) == OPEN
    return written.select(
        *[F.col(quoted(column)) for column in written.columns if column != names.ACTION],
        F.when(is_new, INSERT).otherwise(UPDATE).alias(names.CHANGE),
        (~is_new).alias(names.WAS_OPEN),
    )


def full_diff(
    judged: DataFrame, existing: DataFrame, identity: Sequence[str], batch: int, with_nulls: bool = False
) -> DataFrame:
    """What versions folded from nothing ask of the table, compared with all rows their keys have.

    Needs: judged: what `reconcile` gives without `existing`; existing: all history rows of the same keys;
        identity: the columns that a row of the tables is known by; with_nulls: a null is a value of them.
    Gives: history's columns, then _change (insert, update, delete), _was_open.
    Rows: one a version that is new, differs or is gone.

        should be        is               change
        A [1, 5)         A [1, 9)         update
        B [5, 9)                          insert
        C [9, )          C [9, )          (nothing)
                         R [7, 9)         delete: a READ that a late change superseded
    """
    wanted = version_rows(judged, batch).drop(names.ACTION)
    same = same_version(identity, "w", "e", with_nulls)
    both = wanted.alias("w").join(existing.alias("e"), on=same, how="full_outer")  # one row a version
    is_wanted, is_there = side("w", names.VALID_FROM).isNotNull(), side("e", names.VALID_FROM).isNotNull()
    compared = [name for name in wanted.columns if name != names.BATCH]
    equal = F.struct(*[side("w", c) for c in compared]).eqNullSafe(F.struct(*[side("e", c) for c in compared]))
    change = F.when(is_wanted & ~is_there, INSERT).when(is_wanted & ~equal, UPDATE).when(~is_wanted, DELETE)
    columns = [F.coalesce(side("w", c), side("e", c)) if c in identity else picked(c, is_wanted) for c in compared]
    return both.select(
        *[column.alias(name) for column, name in zip(columns, compared, strict=True)],
        F.lit(batch).alias(names.BATCH),
        change.alias(names.CHANGE),
        (is_there & side("e", names.VALID_TO).isNull()).alias(names.WAS_OPEN),
    ).where(F.col(names.CHANGE).isNotNull())


def picked(name: str, is_wanted: Column) -> Column:
    """The wanted version's value, or the existing one's where the version is to go."""
    return F.when(is_wanted, side("w", name)).otherwise(side("e", name))


def same_version(keys: Sequence[str], left: str, right: str, with_nulls: bool) -> Column:
    """True for the same version in two sets of history rows, by their aliases: of one key, opened by one change."""
    return same_key(keys, left, right, with_nulls) & same_opening(left, right)


def same_key(keys: Sequence[str], left: str, right: str, with_nulls: bool) -> Column:
    """True for rows of one key. `with_nulls`: a null is a value of a key, too."""
    pairs = [(side(left, name), side(right, name)) for name in keys]
    return reduce(and_, [one.eqNullSafe(other) if with_nulls else one == other for one, other in pairs])


def same_opening(left: str, right: str) -> Column:
    """True for versions that the same change opened. READs without a position can be the same but for their time."""
    opening = [
        *[(side(left, name), side(right, name)) for name in (names.POSITION, names.OP, names.CHANGE_HASH)],
        (read_at(left), read_at(right)),
    ]
    return reduce(and_, [one.eqNullSafe(other) for one, other in opening])


def read_at(of: str) -> Column:
    """The time of a version without a position; null for all others."""
    return F.when(side(of, names.POSITION).isNull(), side(of, names.COMMIT_TS))


def side(alias: str, name: str) -> Column:
    """A column of one side of the comparison."""
    return F.col(f"{alias}.{quoted(name)}")
