"""The partitioning, sort order, properties and comments of `latest` and `history` in the spec, and their checks."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError
from siltstone.engine.fold.fold_inputs import layout_of
from siltstone.engine.schema.comments import comment_on
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.spec.layouts import IDENTITY, SortField, TableLayout, Transform
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.table.catalog import exists
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.table_settings import Settings, apply_settings, differences

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
"""The types that each partition transform accepts."""
_WHOLE: Final = (T.ArrayType, T.MapType, T.StructType)


def settings_of(spec: TableSpec) -> dict[str, Settings]:
    """The settings that the spec declares, by table."""
    target, layout = spec.target, layout_of(spec)
    declared = (target.properties, spec.comment, spec.comments)
    own = tuple(Transform(column, "month") for column in layout.partition_columns())
    return {
        target.latest: Settings((), comment_on("latest"), target.latest_layout, *declared),
        target.history: Settings(own, comment_on("history"), as_stored(target.history_layout, layout), *declared),
    }


def as_stored(wanted: TableLayout, layout: Layout) -> TableLayout:
    """The layout with the stored names of history's own columns."""
    partition = (Transform(layout.name(one.column), one.name, one.number) for one in wanted.partition)
    sort = (SortField(layout.name(one.column), one.descending, one.nulls_first) for one in wanted.sort)
    return TableLayout(tuple(partition), tuple(sort))


def settle_targets(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Apply the settings of the spec to `latest` and `history`, which exist."""
    for table, wanted in settings_of(spec).items():
        apply_settings(spark, catalog, table, wanted)


def planned_settings(spark: SparkSession, catalog: str, spec: TableSpec) -> Iterable[str]:
    """Descriptions of the settings that the next run changes in the existing tables."""
    for table, wanted in settings_of(spec).items():
        found = differences(spark, catalog, table, wanted) if exists(spark, catalog, table) else None
        if found is not None:
            yield from (f"{table}: {text}" for text in found.in_words())


def refuse_unfit_layout(spec: TableSpec, row: T.StructType) -> None:
    """Check that the columns of the partitioning and the sort order exist and have suitable types.

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
                    f"{hint}declare a column that the source adds later under columns",
                )
            if not takes(transform, schema[column].dataType):
                kind = schema[column].dataType.simpleString()
                raise SpecError(f"Cannot write {table}: target.{setting} has {transform} of {column}, which is {kind}.")


def used_columns(layout: TableLayout) -> Iterable[tuple[str, str, str]]:
    """The columns of a layout, each with the setting and the transform."""
    yield from (("partition", one.column, one.name) for one in layout.partition)
    yield from (("sort", one.column, IDENTITY) for one in layout.sort)


def takes(transform: str, kind: T.DataType) -> bool:
    """Whether a transform accepts values of a type."""
    return not isinstance(kind, _WHOLE) if transform == IDENTITY else isinstance(kind, _TAKES[transform])
