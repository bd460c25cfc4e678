"""Key changes that Debezium does not tell: it splits an update in two only where the key of its messages changes.

Where that is another key than the spec's, or none, an update can take a row to another key.
"""

from __future__ import annotations

from functools import reduce
from json import dumps
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode.images import Declared
from engine.decode.outcome import content_hash
from engine.decode.shape import TableShape
from engine.json_text import from_json
from engine.spec.fields import DEBEZIUM

_IS_HALF: Final = "_is_half"


def is_untold(form: str, declared: Declared) -> Column:
    """Whether a record is an update that changes a key which only a spec names.

    Needs: the columns of ENVELOPE_COLUMNS. `declared`: the tables that specs name.
    """
    found = F.lit(False)
    for keys in sorted({keys for keys in declared.values() if keys and form in DEBEZIUM}):
        tables = [table for table, named in declared.items() if named == keys]
        found = F.when(F.col("table").isin(tables), _moves(keys)).otherwise(found)
    return found


def _moves(keys: tuple[str, ...]) -> Column:
    """Whether the images differ in the key, by their texts: read only where the message's own key has not its columns,
    which is seldom."""
    told = [F.col("key_json").contains(f"{dumps(key, ensure_ascii=False)}:") for key in keys]
    has_key = F.coalesce(reduce(lambda one, other: one & other, told), F.lit(False))
    has_images = F.col("before_json").isNotNull() & F.col("after_json").isNotNull()
    schema = T.StructType([T.StructField(key, T.StringType()) for key in keys])
    old, new = (from_json(image, schema) for image in ("before_json", "after_json"))
    is_open = (F.col("op") == names.OP_UPDATE) & has_images & ~has_key
    return F.when(is_open, ~old.eqNullSafe(new)).otherwise(F.lit(False))


def with_old_keys(changes: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Changes of which such an update has the row before it beside its images, to be decoded as its old key.

    Needs: envelopes of one table, kind change.
    Gives: the same columns. Rows: 1:1.
    """
    old = F.when(_moves(keys), F.col("before_json")).otherwise(F.col("old_key_json"))
    return changes.withColumn("old_key_json", old)


def split_key_changes(decoded: DataFrame, shape: TableShape) -> DataFrame:
    """The halves of such updates, as Debezium would have written them.

    Needs: what `decode_rows` gives for `with_old_keys`.
    Gives: the same columns.
    Rows: 1:1; 1:2 for an update that changes the key.

        op      key  old_key       op      key  old_key, new_key
        update  B    A             delete  A    new_key B         only the key, where the row before is not whole
                                   insert  B    old_key A
        update  B    B             update  B                      told in another way: 1 and "1"
        update  B    null field    update  B                      unavailable, or null: whose row it was is not told
        insert  B    A             insert  B    old_key A
    """
    halves = decoded.withColumn("_half", F.explode(_halves(shape)))
    fields = halves.schema["_half"].dataType.fieldNames()  # type: ignore[attr-defined]
    names_of = [*decoded.columns, _IS_HALF]
    split = halves.select(*[F.col("_half")[n].alias(n) if n in fields else F.col(n) for n in names_of])
    own = F.when(F.col(_IS_HALF), content_hash(F.col, shape, "row")).otherwise(F.col("content_hash"))
    return split.withColumn("content_hash", own).drop(_IS_HALF)


def _halves(shape: TableShape) -> Column:
    """A change as it is, or what the update takes away and what it brings."""
    key, old_key, before = F.col("key"), F.col("old_key"), F.col("before")
    is_update = F.col("op") == names.OP_UPDATE
    is_told = reduce(lambda one, other: one & other, [old_key[name].isNotNull() for name in shape.keys])
    moves = is_update & F.col("reason").isNull() & is_told & ~old_key.eqNullSafe(key)
    no_key, no_row = F.lit(None).cast(shape.key_type), F.lit(None).cast(shape.row_type)
    gone = F.struct(*[(old_key if c.name in shape.keys else before)[c.name].alias(c.name) for c in shape.columns])
    only_key = F.when(before.isNull(), F.array(*[F.lit(name) for name in shape.keys]))

    def half(**other: Column) -> Column:
        kept = ("op", "key", "row", "present", "before", "old_key", "new_key", "rescued")
        told = [other.get(name, F.col(name)).alias(name) for name in kept]
        return F.struct(*told, F.lit("op" in other).alias(_IS_HALF))

    delete = half(
        op=F.lit(names.OP_DELETE),
        key=old_key,
        row=gone.cast(shape.row_type),
        present=only_key,
        old_key=no_key,
        new_key=key,
        rescued=F.lit(None).cast("string"),
    )
    insert = half(op=F.lit(names.OP_INSERT), before=no_row)
    return F.when(moves, F.array(delete, insert)).otherwise(F.array(half(old_key=F.when(~is_update, old_key))))
