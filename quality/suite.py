"""A table's Great Expectations suite, the batch of findings that it validates, and which checks passed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.errors import InvariantViolation
from siltstone.engine.spec.model import Severity, TableSpec
from siltstone.quality.catalogue import CHECKS
from siltstone.quality.gx_library import great_expectations
from siltstone.quality.results import UNKNOWN, Finding, Found, Known

GX_SEVERITY: Final[Mapping[Severity, str]] = {"info": "info", "warn": "warning", "error": "critical"}
PLAIN: Final = Notation()
BATCH_COLUMNS: Final = (
    *("check", "observed", "is_known", "position_from", "position_to", "key", "message"),
    "acknowledged",
)


def suite_name(table: str) -> str:
    """A table's name as Great Expectations can use it for a file."""
    return table.replace("/", "%2F").replace("\\", "%5C")


def build_suite(spec: TableSpec, found: Mapping[str, Found]) -> Any:
    """The suite of the available checks. Its notes list the other checks with the reasons."""
    gx = great_expectations()
    from siltstone.quality.expectations.no_findings import ExpectNoFindings

    available = [check for check, what in found.items() if what.unavailable is None]
    expectations = [
        ExpectNoFindings(
            check=check,
            expects=CHECKS[check].expects,
            severity=GX_SEVERITY[spec.quality.severity[check]],
            notes=CHECKS[check].hint.replace("`", ""),  # Data Docs show notes as they are
        )
        for check in available
    ]
    notes = [f"{check}: not available, {what.unavailable}." for check, what in found.items() if what.unavailable]
    return gx.ExpectationSuite(name=suite_name(spec.table), expectations=expectations, notes=notes or None)


def batch(found: Mapping[str, Found], known: Mapping[str, Known] | None = None, notation: Notation = PLAIN) -> Any:
    """The findings as the small pandas frame that the suite validates, with positions in the source's notation.

    `known`: the acknowledged findings; `notation`: how positions are shown.
    """
    import pandas as pd  # type: ignore[import-untyped] # it has no type information

    rows = [
        row(what.observed, finding, (known or {}).get(check, UNKNOWN), notation)
        for check, what in found.items()
        for finding in what.sample
    ]
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS))


def row(observed: int, finding: Finding, known: Known, notation: Notation = PLAIN) -> tuple[str | int | None, ...]:
    """One finding in the order of `BATCH_COLUMNS`."""
    place = (notation.shown(finding.position_from), notation.shown(finding.position_to), finding.key)
    return finding.check, observed, known.whole, *place, finding.message, known.reasons.get(finding)


def verdicts(results: Sequence[Any]) -> dict[str, bool]:
    """Which checks passed, by name.

    Raises: InvariantViolation: Great Expectations could not evaluate one.
    """
    for result in results:
        if raised := exception_of(result.exception_info):
            check = result.expectation_config.kwargs["check"]
            raise InvariantViolation(
                f"Cannot evaluate check {check}: Great Expectations failed ({raised}).",
                "report it, with the versions that siltstone doctor prints",
            )
    return {result.expectation_config.kwargs["check"]: bool(result.success) for result in results}


def exception_of(info: Mapping[str, Any] | None) -> str:
    """The exception that Great Expectations reports, either directly or per metric."""
    if not info:
        return ""
    if "raised_exception" in info:
        return str(info.get("exception_message") or "an exception") if info["raised_exception"] else ""
    found = [one for one in info.values() if isinstance(one, Mapping) and one.get("raised_exception")]
    return str(found[0].get("exception_message") or "an exception") if found else ""
