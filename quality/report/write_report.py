"""The report of a project: read the tables and write the page next to Great Expectations' pages."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from siltstone.engine.atomic_file import whole_file
from siltstone.engine.errors import SiltstoneError, SpecError, writing
from siltstone.engine.reader import NothingWrittenError, Reader, open_catalog
from siltstone.engine.report_pages import (
    INDEX,
    KEEP_DAYS,
    docs_folder,
    page_of,
    published_days,
    remove_old_days,
    report_folder,
)
from siltstone.engine.spec import load_specs
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.report.collect import collect
from siltstone.quality.report.facts import Facts
from siltstone.quality.report.page import page
from siltstone.quality.report.publish_pages import copy_pages

LOG = logging.getLogger("siltstone")


def facts_of(project: ProjectSpec, at: datetime | None = None) -> Facts:
    """The current facts of the report. Needs no JVM.

    Raises: SpecError if the kind of catalog needs a JVM.
    """
    catalog: Reader | None
    try:
        catalog = open_catalog(project.catalog)
    except NothingWrittenError:
        catalog = None
    facts = collect(project, known_specs(project), catalog, at or datetime.now(UTC))
    return replace(facts, docs=project.quality.data_docs and (docs_folder(project.root) / INDEX).is_file())


def known_specs(project: ProjectSpec) -> Sequence[TableSpec]:
    """The project's specs; none if they are invalid: then the report shows the tables of the ledgers."""
    try:
        return load_specs(None, project)
    except SpecError:
        return ()


def report_after(project: ProjectSpec, checked: bool) -> str | None:
    """Write the page after a run with checks and give its address. None if no checks ran or no page was written."""
    if not checked:
        return None
    try:
        page = write_page(project, facts_of(project))
        return str(page) if project.report is None else copy_pages(project, project.report)
    except (SiltstoneError, OSError) as error:  # the tables are written: a missing page must not fail the run
        LOG.warning("No report was written: %s", error)
        return None


def write_page(project: ProjectSpec, facts: Facts) -> Path:
    """Write the page, and the same page as the one of the day. Gives the page's file.

    Raises: SpecError: the folder is not writable. StorageError: the store refuses to list the earlier pages.
    """
    folder, today = report_folder(project.root), f"{facts.at.astimezone(UTC):%Y-%m-%d}"
    index = folder / INDEX
    with writing(index, f"{folder} must be a writable folder"):
        text = page(facts, [today, *(day for day in published_days(project) if day < today)][:KEEP_DAYS])
        for file in (folder / page_of(today), index):
            with whole_file(file) as out:
                out.write(text.encode())
        remove_old_days(project, str(folder))
    return index
