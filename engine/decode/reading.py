"""Images that are not plain, read: what they carry, ready to be converted; texts, where the JSON reader refuses one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import fractions, outcome
from engine.decode.conversion import BARE, of_text, prepared, read_type
from engine.decode.parsing import struct_of, struct_or_text
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.steps import Of, Step
from engine.decode.values import is_infinite, let


def reading(shape: TableShape, is_exact: bool) -> list[Step]:
    """What images carry that are not plain, ready to be converted, as the JSON reader gives it; and whether it refused.

    Need: _image_json, _before_json: the texts; _look, _look_before: what `plain_row` gives of them. `is_exact`: the
        reader may have cut texts.
    Give: _plain, _plain_fields, _plain_before: what was plainly read; _refused, _image, _old_image.
    """
    columns = shape.columns

    def read(of: Of) -> dict[str, Column]:
        image = F.when(of("_look").isNull(), of("_image_json"))
        old = F.when(of("_look_before").isNull(), of("_before_json"))
        return {"_read": _read(image, columns), "_old_read": _read(old, columns)}

    def again(of: Of) -> dict[str, Column]:
        return {"_again": _again(of("_image_json"), of("_read"), columns)}

    def carried(of: Of) -> dict[str, Column]:
        return {
            "_plain": of("_look")["row"],
            "_plain_fields": of("_look")["fields"],
            "_plain_before": of("_look_before")["row"],
            "_refused": _is_refused(of("_read"), columns),
            "_image": _carried(of("_image_json"), of("_read"), of("_again") if is_read_again else None, columns),
            "_old_image": _ready(of("_old_read"), None, columns),
        }

    is_read_again = is_exact and any(_is_text(column) for column in columns)
    return [read, again, carried] if is_read_again else [read, carried]


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
        return value if again is None or not _is_text(column) else _digits_of(value, again[column.name])

    fields = [prepared(told(column), column).alias(column.name) for column in columns]
    return F.when(read.isNotNull() & read[names.REFUSED].isNull(), F.struct(*fields))


def from_texts(json: Column, columns: Sequence[ColumnShape]) -> Column:
    """The same of an image all of whose values are read as texts; few are."""

    def ready(texts: Column) -> Column:
        fields = [of_text(texts[c.name], c).alias(c.name) for c in columns]
        return F.when(texts.isNotNull(), F.struct(*fields))

    return F.when(json.isNotNull(), let(exact_texts(json, columns), ready))


def exact_texts(json: Column, columns: Sequence[ColumnShape]) -> Column:
    """The same, with fractions to their last digit: where one is long, all is parsed again with these in quotes. What
    should be base64, but stands in no quotes, has BARE before it."""

    def digits(both: Column, column: ColumnShape) -> Column:
        plain, quoted = both["plain"][column.name], both["quoted"][column.name]
        if _is_bytes(column):
            is_bare = ~F.schema_of_variant(both["variants"][column.name]).isin("STRING", "VOID")
            return F.when(is_bare, F.concat(F.lit(BARE), F.coalesce(quoted, plain))).otherwise(plain)
        if _is_text(column):
            return _digits_of(plain, quoted)
        return F.when(fractions.is_fraction(plain), F.coalesce(quoted, plain)).otherwise(plain)

    def exact(both: Column) -> Column:
        return F.when(both["plain"].isNotNull(), F.struct(*[digits(both, c).alias(c.name) for c in columns]))

    named = [column.name for column in columns]
    quoted = F.when(fractions.may_be_cut(json, named), fractions.in_quotes(json, named))
    both = [_texts(json, columns).alias("plain"), _texts(quoted, columns).alias("quoted")]
    if of_bytes := [T.StructField(c.name, T.VariantType()) for c in columns if _is_bytes(c)]:
        both.append(struct_of(json, T.StructType(of_bytes)).alias("variants"))
    return F.when(json.isNotNull(), let(F.struct(*both), exact))


def _is_text(column: ColumnShape) -> bool:
    return isinstance(read_type(column), T.StringType)


def _is_bytes(column: ColumnShape) -> bool:
    return isinstance(read_type(column), T.BinaryType)


def _again(image: Column, read: Column, columns: Sequence[ColumnShape]) -> Column:
    """Texts that the JSON reader may have cut, from an image that is read a second time where a text of the first
    reading is a fraction and a number in the image is long."""
    texts = [column for column in columns if _is_text(column)]
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
