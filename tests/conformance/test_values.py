"""Extreme values of every kind in every format are exact, or null and rescued or rejected if no type holds them."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests.conformance.decoded import decoded, kit_value, single
from tests.conformance.extremes import column, fits, zoo
from tests.conformance.formats import BY_NAME
from tests.conformance.quick import variants
from tests.conformance.workload import Row

ALIKE = (
    "canal_swapped",
    "spanner_new_row_and_old_values_array",
)  # their values are those of canal and of the other variants with arrays
OTHERS = {name: encoder for name, encoder in BY_NAME.items() if name not in ALIKE}
CARRIED = [name for name, encoder in OTHERS.items() if encoder.can.types]


@pytest.mark.parametrize("name", variants(list(OTHERS)))
def test_values_of_declared_types_are_exact_or_rescued(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    assert_no_value_is_wrong(name, True, spark, project)


@pytest.mark.parametrize("name", variants(CARRIED, ("postgresql_schemas", "canal", "rows_parquet")))
def test_values_of_types_in_events_are_exact_or_rescued(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    assert_no_value_is_wrong(name, False, spark, project)


def assert_no_value_is_wrong(name: str, typed: bool, spark: SparkSession, project: ProjectSpec) -> None:
    workload, held = zoo(BY_NAME[name], typed)
    found = decoded(spark, project, BY_NAME[name], workload, typed)
    by_id = {(change["row"] or {}).get("id"): change for change in found.changes["zoo"]}
    problems = [problem for n, cell in enumerate(held) if (problem := wrong(by_id.get(n), *cell))]
    assert not problems, "\n".join([*problems, f"stored as {found.stored['zoo']}", *found.reasons])


def wrong(change: Row | None, kind: str, value: Any) -> str | None:
    """The problem with the row that has one value; None if there is none."""
    name, shown = column(kind), f"{kind} {str(value)[:60]!r}"
    if change is None:
        return f"{shown}: no such row"
    got, rescued = change["row"][name], change["rescued"] or ""
    others = [c for c, v in change["row"].items() if c not in ("id", name) and v is not None]
    if others:
        return f"{shown}: {others} have values, too"
    if got is not None:
        return None if same(kind, got, value) else f"{shown}: became {str(got)[:60]!r}"
    if fits(kind, value):
        return f"{shown}: is lost ({change['reason']}, rescued {rescued[:80]})"
    named = f'"{name}"' in (change["reason"] or "") or f'"{name}"' in rescued
    return None if named else f"{shown}: is null, and neither the reason nor _rescued names it"


def same(kind: str, got: Any, value: Any) -> bool:
    """Whether two values are equal. Floats are compared as text: NaN equals NaN, minus zero is not zero."""
    if kind == "float":
        return repr(got) == repr(single(value))
    if kind == "json":
        return bool(got == kit_value(kind, value))
    return repr(got) == repr(value) if kind == "double" else bool(got == value)
