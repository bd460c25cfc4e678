"""Great Expectations' file context and its Data Docs: below <project root>/report, readable without a network."""

import html
import json
import re
from datetime import datetime
from operator import and_
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from siltstone.quality.gx_library import great_expectations

SITE: Final = "local_site"
DATA_SOURCE: Final = "siltstone"
KEEP_RUNS: Final = 20
RUN: Final = "run-"
STYLE: Final = """<style>
body { font-family: sans-serif; margin: 2em; } table { border-collapse: collapse; margin: .5em 0; }
td, th { border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top; }
.fa-check-circle::before { content: "\\2713"; color: #080; } .fa-times::before { content: "\\2717"; color: #b00; }
.fa-exclamation-triangle::before { content: "\\26A0"; color: #b60; }
.fa-info::before { content: "\\2139"; color: #06a; } .container-fluid { max-width: 80em; }
</style>"""
# External style sheets, scripts and images. The page's own scripts need them, so they are removed, too.
OUTSIDE: Final = re.compile(
    r"<link\b[^>]*\bhref=[\"']https?:[^>]*>|<script\b.*?</script>|<img\b[^>]*\bsrc=[\"']https?:[^>]*>"
    r"|url\([\"']?https?:[^)]*\)",
    re.DOTALL | re.IGNORECASE,
)
FAILED_STATUS: Final = re.compile(r"(Status:</span> <i class=\"fas fa-times text-danger\"[^>]*></i>) Failed")


def docs_folder(root: Path) -> Path:
    """The folder of the pages."""
    return root / "report" / "data-docs"


def open_context(root: Path) -> Any:
    """The project's file context; created if it does not exist. It sends no usage statistics and prints nothing."""
    context = great_expectations().get_context(mode="file", project_root_dir=root / "report")
    config = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(docs_folder(root))},
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }
    if context.variables.data_docs_sites != {SITE: config} or context.variables.analytics_enabled is not False:
        context.variables.data_docs_sites = {SITE: config}
        context.variables.progress_bars = {"globally": False, "metric_calculations": False}
        context.variables.analytics_enabled = False
        context.variables.save()
    return context


def validate_batch(context: Any, suite: Any, batch: Any, run_id: str, checked_at: datetime) -> Any:
    """Validate the batch against the suite and store the result in the context. Gives Great Expectations' result."""
    gx = great_expectations()
    source = context.data_sources.add_or_update_pandas(DATA_SOURCE)
    data = source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("findings")
    stored = context.suites.add_or_update(suite)
    definition = context.validation_definitions.add_or_update(
        gx.ValidationDefinition(name=suite.name, data=data, suite=stored)
    )
    return definition.run(batch_parameters={"dataframe": batch}, run_id=run_identifier(run_id, checked_at))


def run_identifier(run_id: str, checked_at: datetime) -> Any:
    """Great Expectations' name of a run.

    Its renderer reads each name that it can as a time, and fails on some: a run id may consist of digits only, so
    the name begins with a word.
    """
    from great_expectations.core.run_identifier import RunIdentifier

    return RunIdentifier(run_name=f"{RUN}{run_id}", run_time=checked_at)


def build_pages(context: Any, root: Path, suite_name: str, source: str = DATA_SOURCE, is_info: bool = False) -> Path:
    """Write the pages of a table's newest result, delete the oldest ones, write the index. Gives the index page.

    `is_info`: all expectations of the suite have the severity info.
    """
    from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier

    store = context.validation_results_store
    keys = sorted(store.list_keys(), key=lambda key: key.run_id.run_time, reverse=True)
    of_table = [key for key in keys if key.batch_identifier == f"{source}-{suite_name}"]
    for key in of_table[KEEP_RUNS:]:
        store.remove_key(key)
        page(root, key).unlink(missing_ok=True)
    written = [ExpectationSuiteIdentifier(suite_name), *of_table[:1]]
    context.build_data_docs(site_names=[SITE], resource_identifiers=written, build_index=False)
    for path in [page(root, resource) for resource in written]:
        text = offline(path.read_text(encoding="utf-8"))
        path.write_text(without_failures(text) if is_info else text, encoding="utf-8")
    index = docs_folder(root) / "index.html"
    kept = [key for key in keys if key not in of_table[KEEP_RUNS:]]
    index.write_text(index_page([listed(store, key) for key in kept]), encoding="utf-8")
    return index


def page(root: Path, resource: Any) -> Path:
    """The file of the page of a suite or of a validation result."""
    *folders, name = resource.to_tuple()
    kind = "validations" if hasattr(resource, "run_id") else "expectations"
    return docs_folder(root).joinpath(kind, *folders, f"{name}.html")


def offline(text: str) -> str:
    """The page without requests to the network."""
    return OUTSIDE.sub("", text).replace("</head>", f"{STYLE}</head>", 1)


def without_failures(text: str) -> str:
    """The page of a suite of severity info: unmet expectations are notes, not failures."""
    return FAILED_STATUS.sub(r"\1 Noted", text).replace("fa-times text-danger", "fa-info").replace("text-danger", "")


def listed(store: Any, key: Any) -> tuple[str, str, str, str, str]:
    """One row of the index: table, run, time, result, link."""
    stored = json.loads(store.store_backend.get(key.to_tuple()))
    table = key.batch_identifier.partition("-")[2]  # after the name of the data source
    link = "/".join(quote(part) for part in ("validations", *key.to_tuple()))
    moment = key.run_id.run_time.isoformat(timespec="seconds")
    details = [(one["result"] or {}).get("details") or {} for one in stored["results"]]
    known = sum(bool(one.get("acknowledged")) for one in details)
    is_info = [one["expectation_config"]["severity"] == "info" for one in stored["results"]]
    is_unmet = [not one["success"] for one in stored["results"]]
    noted = sum(bool(one.get("noted")) for one in details) + sum(map(and_, is_unmet, is_info))
    counts = [f"{number} {word}" for number, word in ((known, "acknowledged"), (noted, "noted")) if number]
    has_failed = any(unmet and not info for unmet, info in zip(is_unmet, is_info, strict=True))
    outcome = "failed" if has_failed else ", ".join(["passed", *counts])
    return table, str(key.run_id.run_name).removeprefix(RUN), moment, outcome, f"{link}.html"


def index_page(lines: list[tuple[str, str, str, str, str]]) -> str:
    """The index: newest first, one row per table and run. Plain HTML, so that it opens everywhere."""
    cells = "".join(
        f"<tr><td><a href='{html.escape(link)}'>{html.escape(table)}</a></td><td>{html.escape(run)}</td>"
        f"<td>{html.escape(moment)}</td><td>{html.escape(outcome)}</td></tr>\n"
        for table, run, moment, outcome, link in lines
    )
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Checks</title>{STYLE}</head><body>"
        f"<h1>Checks</h1>\n<table><tr><th>table</th><th>run</th><th>time</th><th>result</th></tr>\n{cells}"
        "</table></body></html>\n"
    )
