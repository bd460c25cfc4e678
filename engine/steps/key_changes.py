"""Find key changes that Debezium does not report: it splits an update only if the key of its messages changes.

If messages have no key, or another key than the spec, an update can change the key of a row. `TableDecoder` splits such
an update. This module finds out whether any record needs it. If none does, a cheaper way to count rejects is used.
"""

from __future__ import annotations

from functools import reduce
from json import dumps

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared


def changes_declared_key(declared: Declared) -> Column:
    """Whether a record is an update that changes a key that only a spec names.

    Needs: the frame of events. `declared`: the tables that specs name, and their keys.
    """
    found = F.lit(False)
    for keys in sorted({keys for keys in declared.values() if keys}):
        tables = [table for table, named in declared.items() if named == keys]
        found = F.when(F.col("table").isin(tables), _moves(keys)).otherwise(found)
    return found


def _moves(keys: tuple[str, ...]) -> Column:
    """Whether the texts of the two images differ in the key.

    The images are parsed only if the message's own key lacks these columns, which is rare.
    """
    named = [F.col("key_json").contains(f"{dumps(key, ensure_ascii=False)}:") for key in keys]
    has_key = F.coalesce(reduce(lambda one, other: one & other, named), F.lit(False))
    has_images = F.col("before_json").isNotNull() & F.col("after_json").isNotNull()
    schema = T.StructType([T.StructField(key, T.StringType()) for key in keys])
    is_open = (F.col("op") == names.OP_UPDATE) & has_images & ~has_key
    old, new = (F.from_json(F.when(is_open, F.col(image)), schema) for image in ("before_json", "after_json"))
    return F.when(is_open, ~old.eqNullSafe(new)).otherwise(F.lit(False))
