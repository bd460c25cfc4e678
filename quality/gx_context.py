"""Great Expectations' context, and the validation of a batch in it."""

from datetime import datetime
from typing import Any, Final

from siltstone.engine.report_pages import docs_folder, report_folder
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.gx_library import great_expectations

SITE: Final = "local_site"
DATA_SOURCE: Final = "siltstone"
RUN: Final = "run-"
QUIET: Final = {"globally": False, "metric_calculations": False}


def open_context(project: ProjectSpec) -> Any:
    """A context that sends no usage statistics and prints nothing.

    With `quality.data_docs` it keeps results and pages in files, else it keeps nothing after the run.
    """
    if project.quality.data_docs:
        return _file_context(project)
    context = great_expectations().get_context(mode="ephemeral")
    context.variables.progress_bars = QUIET
    return context


def _file_context(project: ProjectSpec) -> Any:
    context = great_expectations().get_context(mode="file", project_root_dir=report_folder(project.root))
    config = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {
            "class_name": "TupleFilesystemStoreBackend",
            "base_directory": str(docs_folder(project.root)),
        },
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
    }
    if context.variables.data_docs_sites != {SITE: config} or context.variables.analytics_enabled is not False:
        context.variables.data_docs_sites = {SITE: config}
        context.variables.progress_bars = QUIET
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
