"""Images that are not plain, read: what they carry, ready to be converted; texts, where the JSON reader refuses one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import fractions, outcome
from engine.decode.conversion import counts, loosened, prepared, read_type
from engine.decode.parsing import struct_of, struct_or_text
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.values import is_infinite, let


def step_by_step(images: DataFrame, shape: TableShape, is_exact: bool) -> DataFrame:
    """What images carry that are not plain, ready to be converted, as the JSON reader gives it; and whether it refused.

    Needs: _image_json, _before_json: the texts; _look, _look_before: what `plain_row` gives of them. `is_exact`: the
        reader may have cut texts.
    Gives: what there is more, _image_json, _plain, _plain_fields, _plain_before, _refused, _image, _old_image.
    Rows: 1:1.
    """
    json, old_json = (_read(text, shape.columns) for text in _others())
    read = images.select(*_seen(images), json.alias("_read"), old_json.alias("_old_read"))
    kept = [name for name in read.columns if name not in ("_read", "_old_read")]
    again = _again(F.col("_image_json"), F.col("_read"), shape.columns) if is_exact else None
    if again is not None:
        read, again = read.select("*", again.alias("_again")), F.col("_again")
    return read.select(
        *kept,
        _is_refused(F.col("_read"), shape.columns).alias("_refused"),
        _carried(F.col("_image_json"), F.col("_read"), again, shape.columns).alias("_image"),
        _ready(F.col("_old_read"), None, shape.columns).alias("_old_image"),
    )


def at_once(images: DataFrame, shape: TableShape, is_exact: bool) -> DataFrame:
    """The same, interpreted."""
    columns = shape.columns

    def told(json: Column, read: Column, again: Column | None) -> Column:
        carried = _carried(json, read, again, columns)
        return F.struct(_is_refused(read, columns).alias("refused"), carried.alias("image"))

    def found(json: Column, read: Column) -> Column:
        again = _again(json, read, columns) if is_exact else None
        return told(json, read, None) if again is None else let(again, lambda quoted: told(json, read, quoted))

    json, old_json = _others()
    told_of = F.when(json.isNotNull(), let(_read(json, columns), lambda read: found(json, read)))
    old = F.when(old_json.isNotNull(), let(_read(old_json, columns), lambda read: _ready(read, None, columns)))
    read = images.select(*_seen(images), told_of.alias("_told"), old.alias("_old_image"))
    kept = [name for name in read.columns if name not in ("_told", "_old_image")]
    refused = F.coalesce(F.col("_told.refused"), F.lit(False)).alias("_refused")
    return read.select(*kept, refused, F.col("_told.image").alias("_image"), "_old_image")


def _seen(images: DataFrame) -> list[Column]:
    """What stays of the images when they are read: all but the texts of images before, and what was plainly read."""
    kept = [F.col(name) for name in images.columns if name not in ("_before_json", "_look", "_look_before")]
    return [
        *kept,
        F.col("_look.row").alias("_plain"),
        F.col("_look.fields").alias("_plain_fields"),
        F.col("_look_before.row").alias("_plain_before"),
    ]


def _others() -> tuple[Column, Column]:
    """The texts of images, and of images before, that are not plain."""
    image = F.when(F.col("_look").isNull(), F.col("_image_json"))
    return image, F.when(F.col("_look_before").isNull(), F.col("_before_json"))


def _is_refused(read: Column, columns: Iterable[ColumnShape]) -> Column:
    """Whether the JSON reader refused a value. What is too large for the type is read as infinite; its text tells it
    from what is."""
    floating = [c.name for c in columns if isinstance(read_type(c), T.FloatType | T.DoubleType)]
    endless = outcome.some(is_infinite(read[name]) for name in floating)
    return read[names.REFUSED].isNotNull() | F.coalesce(endless, F.lit(False))


def _carried(image: Column, read: Column, again: Column | None, columns: Sequence[ColumnShape]) -> Column:
    """A struct of what the event carried, ready to be converted; from texts where the JSON reader refused a value."""
    return F.when(_is_refused(read, columns), from_texts(image, columns)).otherwise(_ready(read, again, columns))


def _ready(read: Column, again: Column | None, columns: Iterable[ColumnShape]) -> Column:
    """What the JSON reader gave, as conversions take it; null where the event carries none, or the reader refused.
    `again`: texts of a second reading, which the first one may have cut."""

    def told(column: ColumnShape) -> Column:
        value = read[column.name]
        is_text = isinstance(read_type(column), T.StringType)
        return value if again is None or not is_text else _digits_of(value, again[column.name])

    fields = [prepared(told(column), column).alias(column.name) for column in columns]
    return F.when(read.isNotNull() & read[names.REFUSED].isNull(), F.struct(*fields))


def from_texts(json: Column, columns: Sequence[ColumnShape]) -> Column:
    """The same of an image all of whose values are read as texts; few are."""

    def ready(texts: Column) -> Column:
        fields = [prepared(loosened(texts[c.name], read_type(c), counts(c)), c).alias(c.name) for c in columns]
        return F.when(texts.isNotNull(), F.struct(*fields))

    return F.when(json.isNotNull(), let(exact_texts(json, columns), ready))


def exact_texts(json: Column, columns: Sequence[ColumnShape]) -> Column:
    """The same, with fractions to their last digit: where one is long, all is parsed again with these in quotes."""

    def digits(both: Column, column: ColumnShape) -> Column:
        plain, quoted = both["plain"][column.name], both["quoted"][column.name]
        if isinstance(read_type(column), T.StringType):
            return _digits_of(plain, quoted)
        return F.when(fractions.is_fraction(plain), F.coalesce(quoted, plain)).otherwise(plain)

    def exact(both: Column) -> Column:
        return F.when(both["plain"].isNotNull(), F.struct(*[digits(both, c).alias(c.name) for c in columns]))

    named = [column.name for column in columns]
    quoted = F.when(fractions.may_be_cut(json, named), fractions.in_quotes(json, named))
    both = F.struct(_texts(json, columns).alias("plain"), _texts(quoted, columns).alias("quoted"))
    return F.when(json.isNotNull(), let(both, exact))


def _again(image: Column, read: Column, columns: Sequence[ColumnShape]) -> Column | None:
    """Texts that the JSON reader may have cut, from an image that is read a second time where a text of the first
    reading is a fraction and a number in the image is long. None where no column is read as text."""
    texts = [column for column in columns if isinstance(read_type(column), T.StringType)]
    if not texts:
        return None
    some = outcome.some(fractions.is_fraction(read[column.name]) for column in texts)
    json = F.when(some & fractions.has_long_number(image), image)
    return _texts(fractions.in_quotes(json, [column.name for column in texts]), texts)


def _read(json: Column, columns: Iterable[ColumnShape]) -> Column:
    fields = [T.StructField(column.name, read_type(column)) for column in columns]
    schema = T.StructType([*fields, T.StructField(names.REFUSED, T.StringType())])
    return struct_or_text(json, schema)


def _digits_of(told: Column, quoted: Column) -> Column:
    """A text, from a second reading where the first may have cut it; 1.10 is 1.1, whatever numbers stand beside it."""
    return F.when(fractions.is_fraction(told) & fractions.has_long_number(quoted), quoted).otherwise(told)


def _texts(json: Column, columns: Iterable[ColumnShape]) -> Column:
    return struct_of(json, T.StructType([T.StructField(column.name, T.StringType()) for column in columns]))
