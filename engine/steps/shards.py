"""Changes of several sources in one table: which source a row is from is part of its key.

Rows of two shards can have one key, and of the positions in two logs neither comes before the other.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names

SHARDS = "shards"
_SOURCE = T.StructField(names.SOURCE, T.StringType())


def with_source(columns: T.StructType) -> T.StructType:
    """The columns of a key or a row, the source before them."""
    return T.StructType([_SOURCE, *columns.fields])


def sharded(changes: DataFrame) -> DataFrame:
    """Changes whose keys and rows say their source.

    Needs: the columns of `change_fields`.
    Gives: the same columns; keys and images begin with `_source`; a truncate's row has it, too: it ends rows of its own
        source only.
    Rows: 1:1.
    """
    is_truncate = F.col("op") == names.OP_TRUNCATE
    told = {name: _told(changes, name) for name in ("key", "before", "old_key", "new_key")}
    told["row"] = F.when(is_truncate, _struct(changes, "row")).otherwise(_told(changes, "row"))
    told["present"] = F.when(F.col("present").isNotNull(), F.concat(F.array(F.lit(names.SOURCE)), F.col("present")))
    return changes.select(*[told.get(name, F.col(name)).alias(name) for name in changes.columns])


def _told(changes: DataFrame, name: str) -> Column:
    return F.when(F.col(name).isNotNull(), _struct(changes, name))


def _struct(changes: DataFrame, name: str) -> Column:
    kind = changes.schema[name].dataType
    assert isinstance(kind, T.StructType)
    return F.struct(F.col("source").alias(names.SOURCE), *[F.col(name)[part].alias(part) for part in kind.names])
