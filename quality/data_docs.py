"""Great Expectations' Data Docs: below <project root>/report, readable without a network."""

import html
import json
import re
from operator import and_
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from siltstone.engine.report_pages import docs_folder
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.gx_context import DATA_SOURCE, RUN, SITE

KEEP_RUNS: Final = 20
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


def build_pages(
    context: Any, project: ProjectSpec, suite_name: str, source: str = DATA_SOURCE, is_info: bool = False
) -> None:
    """Write the pages of a table's newest result, delete the oldest ones, write the index.

    Does nothing without `quality.data_docs`. `is_info`: all expectations of the suite have the severity info.
    """
    if not project.quality.data_docs:
        return
    from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier

    root, store = project.root, context.validation_results_store
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
