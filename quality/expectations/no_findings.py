"""The only expectation that ordering-gap checks need: the pass over the tables found nothing.

It reads a small pandas batch with one row per finding (columns check, observed, is_known, position_from, position_to,
key, message, acknowledged). A check without findings has no row. Acknowledged findings are shown with their reasons. A
check does not fail if all its findings are acknowledged, or if its severity is info.
"""

from html import escape
from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation, render_suite_parameter_string
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render import LegacyRendererType, RenderedStringTemplateContent, RenderedTableContent
from great_expectations.render.components import LegacyDiagnosticRendererType
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererConfiguration, RendererValueType

from siltstone.engine.counts import counted

METRIC = "siltstone.findings"
SHOWN = ("position_from", "position_to", "key", "message", "acknowledged")


class Findings(TableMetricProvider):  # type: ignore[misc] # Great Expectations has no type information
    """The findings of one check: their number, and the first of them."""

    metric_name = METRIC
    value_keys = ("check",)

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator] # same
    def _pandas(
        cls,  # noqa: N805 # Great Expectations calls metrics as class methods
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002 # Great Expectations' signature
        runtime_configuration: dict[str, Any],  # noqa: ARG002 # same
    ) -> dict[str, Any]:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        found = frame[frame["check"] == metric_value_kwargs["check"]]
        observed = 0 if found.empty else int(found["observed"].iloc[0])
        is_known = not found.empty and bool(found["is_known"].iloc[0])
        return {"observed": observed, "is_known": is_known, "sample": found[list(SHOWN)].to_dict("records")}


class ExpectNoFindings(BatchExpectation):  # type: ignore[misc] # same
    """Expect that a check has no unknown findings. `check`: its name; `expects`: the expectation as a sentence."""

    check: str
    expects: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("check", "expects")
    args_keys: ClassVar[tuple[str, ...]] = ("check",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002 # Great Expectations' signature
        execution_engine: Any = None,  # noqa: ARG002 # same
    ) -> dict[str, Any]:
        found = metrics[METRIC]
        is_info = self.severity == FailureSeverity.INFO
        is_noted = is_info and found["observed"] > 0 and not found["is_known"]
        details = {"findings": found["sample"], "acknowledged": found["is_known"], "noted": is_noted}
        return {
            "success": found["observed"] == 0 or found["is_known"] or is_info,
            "result": {"observed_value": found["observed"], "details": details},
        }

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: RendererConfiguration) -> RendererConfiguration:
        for name in ("check", "expects"):
            renderer_configuration.add_param(name=name, param_type=RendererValueType.STRING)
        renderer_configuration.template_str = "$check: $expects"
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)  # type: ignore[untyped-decorator] # same
    @render_suite_parameter_string  # type: ignore[untyped-decorator] # same
    def _prescriptive_renderer(
        cls,
        configuration: Any = None,
        result: Any = None,  # noqa: ARG003 # same
        runtime_configuration: dict[str, Any] | None = None,
        **_: Any,
    ) -> list[RenderedStringTemplateContent]:
        template = {
            "template": "$check: $expects",
            "params": {name: configuration.kwargs[name] for name in ("check", "expects")},
            "styling": (runtime_configuration or {}).get("styling"),
        }
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)  # type: ignore[untyped-decorator] # same
    def _diagnostic_observed_value_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003 # same
        result: Any = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003 # same
        **_: Any,
    ) -> str:
        observed = result.result.get("observed_value") if result else None
        if observed is None:
            return "--"
        details = result.result.get("details") or {}
        suffix = (
            ", acknowledged" if details.get("acknowledged") else ", for information" if details.get("noted") else ""
        )
        return counted(observed, "finding") + suffix

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)  # type: ignore[untyped-decorator] # same
    def _diagnostic_unexpected_table_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003 # same
        result: Any = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003 # same
        **_: Any,
    ) -> list[RenderedTableContent] | None:
        findings = ((result.result.get("details") or {}) if result else {}).get("findings")
        if not findings:
            return None
        # Great Expectations does not escape cells, and a key can have any text.
        rows = [[escape(finding[name] or "", quote=False) for name in SHOWN] for finding in findings]
        header = [name.replace("_", " ") for name in SHOWN]
        return [RenderedTableContent(content_block_type="table", table=rows, header_row=header)]
