"""Compare the versions that a fold gives with the history table: which rows to insert, update and delete."""

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


def version_rows(classified: DataFrame, batch: int) -> DataFrame:
    """The versions among the rows of `reconcile`, as history rows.

    Needs: the columns of `reconcile`.
    Gives: the columns of history, then _action.
    Rows: one per version.
    """
    stamped, action = F.lit(batch).alias(names.BATCH), F.col("action").alias(names.ACTION)
    return classified.where(F.col("action").isNotNull()).select("version.*", stamped, action)


def open_diff(classified: DataFrame, batch: int) -> DataFrame:
    """The rows to write after a fold over open versions.

    Needs: the rows of `reconcile` with `existing`.
    Gives: the columns of history, then _change (insert, update), _was_open (true for updates: they concern open rows).
    Rows: one per version to write. Versions that stay as they are have none.
    """
    written = version_rows(classified, batch).where(F.col(names.ACTION) != KEEP)
    is_new = F.col(names.ACTION) == OPEN
    return written.select(
        *[F.col(quoted(column)) for column in written.columns if column != names.ACTION],
        F.when(is_new, INSERT).otherwise(UPDATE).alias(names.CHANGE),
        (~is_new).alias(names.WAS_OPEN),
    )


def full_diff(
    classified: DataFrame, existing: DataFrame, identity: Sequence[str], batch: int, with_nulls: bool = False
) -> DataFrame:
    """The rows to write after a fold from the beginning: the fold compared with all rows of the same keys.

    Needs: classified: the rows of `reconcile` without `existing`; existing: all history rows of the same keys;
        identity: the columns that identify a row of the tables; with_nulls: they can be null.
    Gives: the columns of history, then _change (insert, update, delete), _was_open.
    Rows: one per version that is new, differs or is no longer there.

        fold gives       table has        change
        A [1, 5)         A [1, 9)         update
        B [5, 9)                          insert
        C [9, )          C [9, )          (none)
                         R [7, 9)         delete: a READ that a late change superseded
    """
    wanted = version_rows(classified, batch).drop(names.ACTION)
    same = same_version(identity, "w", "e", with_nulls)
    both = wanted.alias("w").join(existing.alias("e"), on=same, how="full_outer")  # one row per version
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
    """The value of the wanted version; of the existing one if it is to be deleted."""
    return F.when(is_wanted, side("w", name)).otherwise(side("e", name))


def same_version(keys: Sequence[str], left: str, right: str, with_nulls: bool) -> Column:
    """True for the same version in two sets of history rows, by their aliases: same key, same opening change."""
    return same_key(keys, left, right, with_nulls) & same_opening(left, right)


def same_key(keys: Sequence[str], left: str, right: str, with_nulls: bool) -> Column:
    """True for rows of the same key. `with_nulls`: key columns can be null, and null equals null."""
    pairs = [(side(left, name), side(right, name)) for name in keys]
    return reduce(and_, [one.eqNullSafe(other) if with_nulls else one == other for one, other in pairs])


def same_opening(left: str, right: str) -> Column:
    """True for versions that the same change opened. READs without a position can differ in nothing but their time."""
    opening = [
        *[(side(left, name), side(right, name)) for name in (names.POSITION, names.OP, names.CHANGE_HASH)],
        (read_at(left), read_at(right)),
    ]
    return reduce(and_, [one.eqNullSafe(other) for one, other in opening])


def read_at(of: str) -> Column:
    """The commit time of a version without a position; null for all others."""
    return F.when(side(of, names.POSITION).isNull(), side(of, names.COMMIT_TS))


def side(alias: str, name: str) -> Column:
    """A column of one side of the comparison."""
    return F.col(f"{alias}.{quoted(name)}")
