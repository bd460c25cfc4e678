"""The columns of one decoded change, from the structs of text and of values that `rows` has made.

`_image` and `_row` are the row as carried and as stored, `_old_image` and `_before` an update's before image, `_key`
and `_key_values` the key where the image lacks it. `_losses` has the texts of what was carried, and names the columns
carried but not stored: `unavailable`, the source did not send it; `unkept`, no stored type holds it; `unfit`, it is not
of the column's type. It is null where none is lost.

What few rows have stands in a branch of its own, behind a condition that is cheap: Spark computes an expression that is
in a condition and behind it once for every row, before the condition is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Final
from zlib import crc32

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import fractions
from engine.decode.cut import BEYOND_MICROS, can_be_cut
from engine.decode.masks import masked, masked_text
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.steps import Of
from engine.decode.values import let
from engine.json_text import from_json
from engine.schema.evolve import MAX_DIGITS

UNAVAILABLE, UNKEPT, UNFIT = FATES = ("unavailable", "unkept", "unfit")
TOO_FINE_HINT: Final = " (of a key no digit may be lost: columns of the spec can declare it as string)"
GUESSED_HINT: Final = " (no type is declared for it, and its first values were of this one: columns can say another)"
WRITTEN_OUT: Final = r"^[+-]?[0-9]+\.[0-9]+$"
WRITTEN_OUT_HINT: Final = " (its digits are written out: source.decimals: string in the spec reads them)"


def some(conditions: Iterable[Column]) -> Column:
    """Whether one of the conditions holds."""
    return reduce(lambda one, other: one | other, conditions, F.lit(False))


def names_where(conditions: Iterable[tuple[str, Column]]) -> Column:
    """The names whose condition holds."""
    return F.array_compact(F.array(*[F.when(condition, name) for name, condition in conditions]))


def losses_type(shape: TableShape) -> T.StructType:
    """The type of `_losses`."""
    texts = T.StructType([T.StructField(column.name, T.StringType()) for column in shape.columns])
    return T.StructType(
        [T.StructField("text", texts), *[T.StructField(kind, T.ArrayType(T.StringType())) for kind in FATES]]
    )


def row(of: Of, shape: TableShape) -> Column:
    """The stored row: null for a truncate, the keys alone for a delete that carries no more."""
    in_image = {c.name: of("_row")[c.name] for c in shape.columns}
    in_key = {c.name: of("_key_values")[c.name] for c in shape.key_columns}
    values = {
        name: F.coalesce(value, in_key[name]) if name in shape.keys else value for name, value in in_image.items()
    }
    made = F.struct(*[masked(values[c.name], c).alias(c.name) for c in shape.columns])
    is_truncate = of("op") == names.OP_TRUNCATE
    if any(column.mask is not None for column in shape.columns):
        return F.when(~is_truncate, made)
    has_keys = reduce(and_, [in_image[name].isNotNull() for name in shape.keys], of("_row").isNotNull())
    return F.when(is_truncate, None).when(has_keys, of("_row")).otherwise(made)


def key(of: Of, shape: TableShape) -> Column:
    """The key columns: the image's, else those beside it; a keyless table's key is the whole row."""
    in_image, in_key = of("_row"), of("_key_values")
    columns = [
        masked(F.coalesce(in_image[c.name], in_key[c.name]) if shape.keys else in_image[c.name], c).alias(c.name)
        for c in shape.key_columns
    ]
    return F.when(of("op") != names.OP_TRUNCATE, F.struct(*columns))


def masked_struct(values: Column, columns: Sequence[ColumnShape]) -> Column:
    """The struct with its masks; null where it is null. `columns`: all that it has, in their order."""
    if all(column.mask is None for column in columns):
        return values
    return F.when(values.isNotNull(), F.struct(*[masked(values[c.name], c).alias(c.name) for c in columns]))


def present(of: Of, shape: TableShape) -> Column:
    """The names of the columns carried, where they are not all: absent is not null, and neither is unavailable."""
    all_names = _listed(column.name for column in shape.columns)
    only_keys = (of("op") == names.OP_DELETE) & ~of("_full")
    fields = F.when(only_keys, _listed(shape.keys)).otherwise(F.array_union(of("_fields"), _listed(shape.keys)))
    carried = F.array_except(F.array_intersect(all_names, fields), _fated(of, UNAVAILABLE))
    # Of plain rows the names are those of columns, in their order: sets need not be made of them.
    has_keys = reduce(and_, [F.array_contains(of("_plain_fields"), name) for name in shape.keys], F.lit(True))
    plainly = (
        F.when(of("_losses").isNotNull(), None)
        .when(only_keys, _listed(column.name for column in shape.columns if column.name in shape.keys))
        .when(has_keys, of("_plain_fields"))
    )
    others = of("_plain_fields").isNotNull() | (of("_fields") != all_names) | of("_losses").isNotNull()
    partial = only_keys | F.coalesce(others, F.lit(False))
    told = F.coalesce(plainly, carried)
    lacks_some = F.when(F.size(told) < len(shape.columns), told)
    return F.when((of("op") != names.OP_TRUNCATE) & partial, lacks_some)


def _listed(columns: Iterable[str]) -> Column:
    return F.array(*[F.lit(name) for name in columns]).cast("array<string>")


def before(of: Of, shape: TableShape) -> Column:
    """The image before, where it is whole: PostgreSQL may send the keys alone, the rest null or unavailable."""
    if not shape.images:
        return F.lit(None).cast(shape.row_type)
    whole_delete = (of("op") == names.OP_DELETE) & of("_full") & (F.size(_fated(of, UNAVAILABLE)) == 0)
    whole_update = of("_before_full") & ~of("_before_spoilt")
    return F.when(whole_delete, of("_stored")).when(whole_update, masked_struct(of("_before"), shape.columns))


def content_hash(of: Of, shape: TableShape, row: str = "_stored") -> Column:
    """A hash of the op and of the row's values with their names; a column without a value adds nothing.

    So it stays what it is when the table gets a column, or one that is wider: a redelivery may come after that.
    """
    parts = []
    for column in sorted(shape.columns, key=lambda column: column.name):
        as_float = _carries_floats(of, column) if row == "_stored" else None
        value = _widest(of(row)[column.name], column.type, as_float)
        parts += [F.when(value.isNotNull(), F.lit(crc32(column.name.encode()))), value]
    return F.xxhash64(of("op"), *parts)


def _carries_floats(of: Of, column: ColumnShape) -> Column | None:
    """Whether the event carries what is stored as a double as a float; None where no event does."""
    singles = {number: encoding.is_single for number, encoding in column.encodings}
    if not any(singles.values()):
        return None
    usual = singles.get(None, False)
    others = [number for number, single in singles.items() if number is not None and single != usual]
    listed = F.coalesce(of("schema_hash").isin(others), F.lit(False))
    return ~listed if usual else listed


def _widest(value: Column, kind: T.DataType, as_float: Column | None = None) -> Column:
    """The value as it would be decoded if the column had the widest type that it can get without being written anew; of
    a float its digits: 0.1, and not the double that is nearest to it."""
    if isinstance(kind, T.DecimalType):
        return value.cast(T.DecimalType(MAX_DIGITS, kind.scale))
    if isinstance(kind, T.ArrayType) and not isinstance(kind.elementType, T.StringType):
        return F.transform(value, lambda element: _widest(element, kind.elementType, as_float))
    if isinstance(kind, T.FloatType):
        return value.cast("string").cast("double")
    if isinstance(kind, T.DoubleType) and as_float is not None:
        return F.when(as_float, value.cast("float").cast("string").cast("double")).otherwise(value)
    return value.cast("bigint") if isinstance(kind, T.IntegerType) else value


def rescued(of: Of, shape: TableShape) -> Column:
    """JSON text of what no column keeps: values that no stored type holds, and fields that are no columns."""
    texts = of("_losses")["text"]
    kept = [
        F.when(
            _has_fate(of, column.name, UNKEPT),
            F.struct(F.lit(column.name).alias("key"), masked_text(texts[column.name], column).alias("value")),
        )
        for column in shape.columns
    ]
    unkept = F.when(of("_losses").isNotNull() & (F.size(_fated(of, UNKEPT)) > 0), F.array_compact(F.array(*kept)))
    parts = [unkept] if shape.closed else [unkept, _other_fields(of, shape)]
    nothing = F.array().cast("array<struct<key:string,value:string>>")
    entries = F.concat(*[F.coalesce(part, nothing) for part in parts])
    return F.when(some(part.isNotNull() for part in parts), F.to_json(F.map_from_entries(entries)))


def _other_fields(of: Of, shape: TableShape) -> Column:
    columns = [F.lit(column.name) for column in shape.columns]
    known = F.array(*columns, *[F.lit(name) for name in sorted(shape.dropped)])
    images = (of("_image_json"), fractions.all_in_quotes(of("_image_json")))
    fields, exact = (F.map_entries(from_json(image, "map<string,string>")) for image in images)

    def exactly(told: Column, whole: Column) -> Column:
        value = F.when(fractions.is_cut(whole["value"]), whole["value"]).otherwise(told["value"])
        return F.struct(told["key"].alias("key"), _masked_alike(told["key"], value, shape).alias("value"))

    others = F.filter(F.zip_with(fields, exact, exactly), lambda entry: ~F.array_contains(known, entry["key"]))
    if shape.dropped:
        others = let(
            F.filter(others, lambda entry: ~_is_called(entry["key"], shape.dropped)),
            lambda left: F.when(F.size(left) > 0, left),
        )
    # Most often the fields are the columns, in their order: that is asked first, comparing sets takes long. A plain row
    # has no others.
    may_be = of("_plain_fields").isNull() & (of("_fields") != F.array(*columns))
    there = F.when(may_be, F.size(F.array_except(of("_fields"), known)) > 0)
    return F.when(there, others)


def _masked_alike(name: Column, text: Column, shape: TableShape) -> Column:
    """The text of a field; masked, where it differs from a masked column only in upper and lower case: who writes `ssn`
    for the source's SSN does not want it in clear."""
    for column in shape.columns:
        if column.mask is not None:
            text = F.when(_is_called(name, [column.name]), masked_text(text, column)).otherwise(text)
    return text


def _is_called(name: Column, names: Iterable[str]) -> Column:
    """Whether a name is one of these, in upper or lower case."""
    return F.lower(name).isin([each.lower() for each in names])


def reason(of: Of, shape: TableShape) -> Column:
    """What is wrong, all of it; null where nothing is. Names columns and types, never values."""
    unfit = [F.when(_has_fate(of, c.name, UNFIT), _misfit(of, c, c.name in shape.keys)) for c in shape.columns]
    keys = [_key_problem(of, column) for column in (shape.key_columns if shape.keys else ())]
    problems = F.array_join(F.array_compact(F.array(*keys, *unfit).cast("array<string>")), "; ")
    wrong = some([of("_lost"), *[of("_stored_key")[name].isNull() for name in shape.keys]])
    return F.when((of("op") != names.OP_TRUNCATE) & wrong, F.when(problems != "", problems))


def _misfit(of: Of, column: ColumnShape, is_key: bool) -> Column:
    """That the value is none of the column's type, and what setting would read it, where one would."""
    problem = F.lit(f'column "{column.name}": {unlike(column)}')
    if is_key and can_be_cut(column):
        is_too_fine = of("_losses")["text"][column.name].rlike(BEYOND_MICROS)
        return F.when(is_too_fine, F.concat(problem, F.lit(TOO_FINE_HINT))).otherwise(problem)
    if not any(encoding.kind == "decimal_base64" for _, encoding in column.encodings):
        return problem
    is_written_out = of("_losses")["text"][column.name].rlike(WRITTEN_OUT)
    return F.when(is_written_out, F.concat(problem, F.lit(WRITTEN_OUT_HINT))).otherwise(problem)


def unlike(column: ColumnShape) -> str:
    """That the value is none of the column's type."""
    told = f"the value does not fit {column.value_type.simpleString()}"
    return told + GUESSED_HINT if column.guessed else told


def _key_problem(of: Of, column: ColumnShape) -> Column:
    name = column.name
    carried = of("_image")[name].isNotNull() | of("_key")[name].isNotNull()
    named = [F.array_contains(F.json_object_keys(of(json)), name) for json in ("_image_json", "_key_json")]
    there = some(F.coalesce(one, F.lit(False)) for one in named)
    problem = (
        F.when(carried, f'key column "{name}": {unlike(column)}')
        .when(there, f'key column "{name}" is null')
        .otherwise(f'key column "{name}" is missing')
    )
    unfit = F.coalesce(_has_fate(of, name, UNFIT), F.lit(False))
    return F.when(of("_stored_key")[name].isNull() & ~unfit, problem)


def _fated(of: Of, fate: str) -> Column:
    """The names of the columns with this fate; none where nothing is lost."""
    return F.coalesce(of("_losses")[fate], F.array().cast("array<string>"))


def _has_fate(of: Of, name: str, fate: str) -> Column:
    """Whether a column has this fate; null where nothing is lost."""
    return F.array_contains(of("_losses")[fate], name)
