"""What the spec says of `latest` and `history` in addition to their rows, and whether the tables can be so."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError
from siltstone.engine.fold.fold_inputs import layout_of
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.spec.layouts import IDENTITY, SortField, TableLayout, Transform
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.table.catalog import exists
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.table_settings import Settings, differences, settle

_TIMES: Final = (T.DateType, T.TimestampType, T.TimestampNTZType)
_EXACT: Final = (T.IntegerType, T.LongType, T.DecimalType, T.StringType, T.BinaryType)
_TAKES: Final[Mapping[str, tuple[type[T.DataType], ...]]] = {
    "bucket": (*_EXACT, *_TIMES),
    "truncate": _EXACT,
    "year": _TIMES,
    "month": _TIMES,
    "day": _TIMES,
    "hour": (T.TimestampType, T.TimestampNTZType),
}
"""The types that each transform takes."""
_WHOLE: Final = (T.ArrayType, T.MapType, T.StructType)


def settings_of(spec: TableSpec) -> dict[str, Settings]:
    """What the spec says, by table."""
    target, layout = spec.target, layout_of(spec)
    said = (target.properties, spec.comment, spec.comments)
    own = tuple(Transform(column, "month") for column in layout.partition_columns())
    return {
        target.latest: Settings((), target.latest_layout, *said),
        target.history: Settings(own, as_stored(target.history_layout, layout), *said),
    }


def as_stored(wanted: TableLayout, layout: Layout) -> TableLayout:
    """The same with the names that history's own columns have in the table."""
    partition = (Transform(layout.name(one.column), one.name, one.number) for one in wanted.partition)
    sort = (SortField(layout.name(one.column), one.descending, one.nulls_first) for one in wanted.sort)
    return TableLayout(tuple(partition), tuple(sort))


def settle_targets(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Let `latest` and `history`, which are there, be what the spec says."""
    for table, wanted in settings_of(spec).items():
        settle(spark, catalog, table, wanted)


def planned_settings(spark: SparkSession, catalog: str, spec: TableSpec) -> Iterable[str]:
    """What the next run changes of the tables that are there, in words."""
    for table, wanted in settings_of(spec).items():
        found = differences(spark, catalog, table, wanted) if exists(spark, catalog, table) else None
        if found is not None:
            yield from (f"{table}: {text}" for text in found.in_words())


def refuse_unfit_layout(spec: TableSpec, row: T.StructType) -> None:
    """See that the tables have the columns that they are to be partitioned and sorted by, with types that can be.

    Raises: SpecError.
    """
    target = spec.target
    for table, wanted, schema in (
        (target.latest, target.latest_layout, latest_schema(row)),
        (target.history, target.history_layout, history_schema(row)),
    ):
        for setting, column, transform in used_columns(wanted):
            if column not in schema.names:
                near = get_close_matches(column, schema.names, 1)
                hint = f"did you mean {near[0]}? " if near else ""
                raise SpecError(
                    f"Cannot write {table}: target.{setting} names {column}, and the table has no such column.",
                    f"{hint}a column that is still to come is declared under columns",
                )
            if not takes(transform, schema[column].dataType):
                kind = schema[column].dataType.simpleString()
                raise SpecError(f"Cannot write {table}: target.{setting} has {transform} of {column}, which is {kind}.")


def used_columns(layout: TableLayout) -> Iterable[tuple[str, str, str]]:
    """The columns of a layout, each with the setting and the transform."""
    yield from (("partition", one.column, one.name) for one in layout.partition)
    yield from (("sort", one.column, IDENTITY) for one in layout.sort)


def takes(transform: str, kind: T.DataType) -> bool:
    """Whether a transform takes values of a type."""
    return not isinstance(kind, _WHOLE) if transform == IDENTITY else isinstance(kind, _TAKES[transform])
