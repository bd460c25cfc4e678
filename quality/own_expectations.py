"""A spec's own expectations, judged by Great Expectations on the tables themselves, with Spark."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame

from siltstone.engine.spec.model import ExpectationSpec, TableSpec
from siltstone.quality.data_docs import build_pages
from siltstone.quality.gx_library import great_expectations
from siltstone.quality.results import FAILED, NOTED, PASSED, CheckResult
from siltstone.quality.suite import GX_SEVERITY, exception_of, suite_name

SOURCE: Final = "siltstone_tables"
# Counts only: what stands in the rows is nobody's business but the tables' readers'.
RESULT: Final = {"result_format": "BASIC", "partial_unexpected_count": 0}
HINT: Final = "Look at the rows of the table that do not meet it, or change the expectation in the spec."


def run_expectations(
    context: Any, root: Path, spec: TableSpec, frames: Mapping[str, DataFrame], run_id: str, checked_at: datetime
) -> list[CheckResult]:
    """The results of the spec's expectations, in the order of the spec; their pages are written.

    `root`: the project's folder; `frames`: the tables as they are to be judged, by what the spec calls them.
    """
    results: dict[str, CheckResult] = {}
    asked = sorted(spec.quality.expectations, key=suite_of)
    for (table, informs), group in groupby(asked, suite_of):
        mine = list(group)
        name = f"{suite_name(spec.table)}.{table}" + (".info" if informs else "")
        judged = judge_table(context, name, mine, frames[table], run_id, checked_at)
        build_pages(context, root, name, SOURCE, informs)
        for one, result in zip(mine, by_number(judged.results, len(mine)), strict=True):
            results[one.label] = as_result(spec, one, result, run_id, checked_at)
    return [results[one.label] for one in spec.quality.expectations]


def suite_of(one: ExpectationSpec) -> tuple[str, bool]:
    """The suite of an expectation: its table's. Those that inform only have one of their own, which never fails."""
    return one.on, one.severity == "info"


def judge_table(
    context: Any, name: str, asked: Sequence[ExpectationSpec], frame: DataFrame, run_id: str, checked_at: datetime
) -> Any:
    """Validate one table against its expectations. Gives Great Expectations' result."""
    gx = great_expectations()
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.expectations.registry import get_expectation_impl

    expectations = [
        get_expectation_impl(one.name)(**one.arguments, severity=GX_SEVERITY[one.severity], meta={"number": number})
        for number, one in enumerate(asked)
    ]
    suite = context.suites.add_or_update(gx.ExpectationSuite(name=name, expectations=expectations))
    source = context.data_sources.add_or_update_spark(SOURCE, persist=False)
    data = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("table")
    definition = context.validation_definitions.add_or_update(
        gx.ValidationDefinition(name=name, data=data, suite=suite)
    )
    run = RunIdentifier(run_name=run_id, run_time=checked_at)
    return definition.run(batch_parameters={"dataframe": frame}, result_format=RESULT, run_id=run)


def by_number(results: Sequence[Any], expected: int) -> list[Any]:
    """The results in the order of the expectations."""
    ordered = sorted(results, key=lambda result: result.expectation_config.meta["number"])
    assert len(ordered) == expected
    return ordered


def as_result(spec: TableSpec, one: ExpectationSpec, result: Any, run_id: str, checked_at: datetime) -> CheckResult:
    """One expectation's result as the ledger keeps it. What could not be evaluated has not passed."""
    told = result.result or {}
    unexpected = told.get("unexpected_count")
    return CheckResult(
        run_id=run_id,
        checked_at=checked_at,
        table=spec.table,
        check=one.label,
        severity=one.severity,
        status=PASSED if result.success else NOTED if one.severity == "info" else FAILED,
        observed=int(unexpected) if unexpected is not None else int(not result.success),
        message=message(spec, one, result, told),
        hint=None if result.success else HINT,
    )


def message(spec: TableSpec, one: ExpectationSpec, result: Any, told: Mapping[str, Any]) -> str:
    """What was observed, in numbers: never a value of the table."""
    raised = exception_of(result.exception_info)
    if raised:
        return f"it could not be evaluated: {raised.splitlines()[0][:200]}"
    if told.get("unexpected_count") is not None:
        return f"{told['unexpected_count']} of {told.get('element_count')} values are not as expected"
    observed = told.get("observed_value")
    is_masked = any(column.mask for name, column in (spec.columns or {}).items() if name in one.arguments.values())
    if isinstance(observed, (int, float)) and not is_masked:
        return f"observed: {observed}"
    return "as expected" if result.success else "not as expected"
