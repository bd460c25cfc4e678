"""The expectations of a spec, evaluated by Great Expectations with Spark on the tables themselves."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from pyspark.sql import DataFrame

from siltstone.engine.counts import counted
from siltstone.engine.spec.model import ExpectationSpec, ProjectSpec, TableSpec
from siltstone.quality.data_docs import build_pages
from siltstone.quality.gx_context import run_identifier
from siltstone.quality.gx_library import great_expectations
from siltstone.quality.results import FAILED, NOTED, PASSED, CheckResult
from siltstone.quality.suite import GX_SEVERITY, exception_of, suite_name

SOURCE: Final = "siltstone_tables"
# Counts only: results must not have values of rows.
RESULT: Final = {"result_format": "BASIC", "partial_unexpected_count": 0}
HINT: Final = "Find the rows of the table that do not meet the expectation, or change the expectation in the spec."


def run_expectations(
    context: Any,
    project: ProjectSpec,
    spec: TableSpec,
    frames: Mapping[str, DataFrame],
    run_id: str,
    checked_at: datetime,
) -> list[CheckResult]:
    """Evaluate the spec's expectations, write their pages, and give the results in the order of the spec.

    `frames`: the tables by their names in the spec (latest, history, changes).
    """
    results: dict[str, CheckResult] = {}
    ordered = sorted(spec.quality.expectations, key=suite_of)
    for (table, is_info), group in groupby(ordered, suite_of):
        mine = list(group)
        name = f"{suite_name(spec.table)}.{table}" + (".info" if is_info else "")
        validation = validate_table(context, name, mine, frames[table], run_id, checked_at)
        build_pages(context, project, name, SOURCE, is_info)
        for one, result in zip(mine, by_number(validation.results, len(mine)), strict=True):
            results[one.label] = as_result(spec, one, result, run_id, checked_at)
    return [results[one.label] for one in spec.quality.expectations]


def suite_of(one: ExpectationSpec) -> tuple[str, bool]:
    """The suite of an expectation: its table, and whether its severity is info. The suite of those never fails."""
    return one.on, one.severity == "info"


def validate_table(
    context: Any, name: str, requested: Sequence[ExpectationSpec], frame: DataFrame, run_id: str, checked_at: datetime
) -> Any:
    """Validate one table against its expectations. Gives Great Expectations' result."""
    gx = great_expectations()
    from great_expectations.expectations.registry import get_expectation_impl

    expectations = [
        get_expectation_impl(one.name)(**one.arguments, severity=GX_SEVERITY[one.severity], meta={"number": number})
        for number, one in enumerate(requested)
    ]
    suite = context.suites.add_or_update(gx.ExpectationSuite(name=name, expectations=expectations))
    source = context.data_sources.add_or_update_spark(SOURCE, persist=False)
    data = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("table")
    definition = context.validation_definitions.add_or_update(
        gx.ValidationDefinition(name=name, data=data, suite=suite)
    )
    run = run_identifier(run_id, checked_at)
    return definition.run(batch_parameters={"dataframe": frame}, result_format=RESULT, run_id=run)


def by_number(results: Sequence[Any], expected: int) -> list[Any]:
    """The results in the order of the expectations."""
    ordered = sorted(results, key=lambda result: result.expectation_config.meta["number"])
    assert len(ordered) == expected
    return ordered


def as_result(spec: TableSpec, one: ExpectationSpec, result: Any, run_id: str, checked_at: datetime) -> CheckResult:
    """One expectation's result as a ledger row. An expectation that could not be evaluated has not passed."""
    details = result.result or {}
    unexpected = details.get("unexpected_count")
    return CheckResult(
        run_id=run_id,
        checked_at=checked_at,
        table=spec.table,
        check=one.label,
        severity=one.severity,
        status=PASSED if result.success else NOTED if one.severity == "info" else FAILED,
        observed=int(unexpected) if unexpected is not None else int(not result.success),
        message=message(spec, one, result, details),
        hint=None if result.success else HINT,
    )


def message(spec: TableSpec, one: ExpectationSpec, result: Any, details: Mapping[str, Any]) -> str:
    """The observed counts, never a value of the table."""
    raised = exception_of(result.exception_info)
    if raised:
        return f"the expectation could not be evaluated: {raised.splitlines()[0][:200]}"
    if details.get("unexpected_count") is not None:
        unexpected, number = details["unexpected_count"], details.get("element_count")
        return f"{counted(unexpected, 'unexpected value')} among {number}"
    observed = details.get("observed_value")
    is_masked = any(column.mask for name, column in (spec.columns or {}).items() if name in one.arguments.values())
    if isinstance(observed, (int, float)) and not is_masked:
        return f"observed: {observed}"
    return "as expected" if result.success else "not as expected"
