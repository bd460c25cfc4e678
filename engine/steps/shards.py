"""Changes of several sources in one table: the source of a row is part of its key.

Rows of two shards can have the same key, and the positions of two logs have no common order.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names

SHARDS = "shards"
_SOURCE = T.StructField(names.SOURCE, T.StringType())


def with_source(columns: T.StructType) -> T.StructType:
    """The columns of a key or a row, after the source as the first column."""
    return T.StructType([_SOURCE, *columns.fields])


def sharded(changes: DataFrame) -> DataFrame:
    """Add the source to the keys and rows of changes.

    Needs: the columns of `change_fields`.
    Gives: the same columns; keys and images begin with `_source`. The row of a truncate has it too, because a truncate
        removes only rows of its own source.
    Rows: 1:1.
    """
    is_truncate = F.col("op") == names.OP_TRUNCATE
    added = {name: _with_source(changes, name) for name in ("key", "before", "old_key", "new_key")}
    added["row"] = F.when(is_truncate, _struct(changes, "row")).otherwise(_with_source(changes, "row"))
    added["present"] = F.when(F.col("present").isNotNull(), F.concat(F.array(F.lit(names.SOURCE)), F.col("present")))
    return changes.select(*[added.get(name, F.col(name)).alias(name) for name in changes.columns])


def _with_source(changes: DataFrame, name: str) -> Column:
    return F.when(F.col(name).isNotNull(), _struct(changes, name))


def _struct(changes: DataFrame, name: str) -> Column:
    kind = changes.schema[name].dataType
    assert isinstance(kind, T.StructType)
    return F.struct(F.col("source").alias(names.SOURCE), *[F.col(name)[part].alias(part) for part in kind.names])
