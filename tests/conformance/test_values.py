"""Every kind of value at its ends, in every format: exact, or null and rescued or rejected where no type holds it."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests.conformance.decoded import decoded, kit_value, single
from tests.conformance.extremes import column, fits, zoo
from tests.conformance.formats import BY_NAME
from tests.conformance.quick import ways
from tests.conformance.story import Row

ALIKE = ("canal_swapped", "spanner_new_row_and_old_values_array")  # values as in canal, and in the other array
OTHERS = {name: teller for name, teller in BY_NAME.items() if name not in ALIKE}
CARRIED = [name for name, teller in OTHERS.items() if teller.can.types]


@pytest.mark.parametrize("name", ways(list(OTHERS)))
def test_no_value_of_a_declared_type_is_wrong(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    no_value_is_wrong(name, True, spark, project)


@pytest.mark.parametrize("name", ways(CARRIED, ("postgresql_schemas", "canal", "rows_parquet")))
def test_no_value_of_a_type_that_the_events_carry_is_wrong(
    name: str, spark: SparkSession, project: ProjectSpec
) -> None:
    no_value_is_wrong(name, False, spark, project)


def no_value_is_wrong(name: str, typed: bool, spark: SparkSession, project: ProjectSpec) -> None:
    story, held = zoo(BY_NAME[name], typed)
    found = decoded(spark, project, BY_NAME[name], story, typed)
    by_id = {(change["row"] or {}).get("id"): change for change in found.changes["zoo"]}
    problems = [problem for n, cell in enumerate(held) if (problem := wrong(by_id.get(n), *cell))]
    assert not problems, "\n".join([*problems, f"stored as {found.stored['zoo']}", *found.reasons])


def wrong(change: Row | None, kind: str, value: Any) -> str | None:
    """What is wrong with the row that holds one value; None where nothing is."""
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
    return None if named else f"{shown}: is null, and nothing tells so"


def same(kind: str, got: Any, value: Any) -> bool:
    """Floats by what they print: NaN is itself, and minus zero is not zero."""
    if kind == "float":
        return repr(got) == repr(single(value))
    if kind == "json":
        return bool(got == kit_value(kind, value))
    return repr(got) == repr(value) if kind == "double" else bool(got == value)
