"""The pages of the report: their places in the project's folder and in the copy, and their removal.

One page a day is kept: `2026-05-01.html` is the last report of that day. Great Expectations' pages are next to them.
"""

import re
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

from siltstone.engine.errors import writing
from siltstone.engine.inputs.file_store import Entry, Store, store_of
from siltstone.engine.spec.model import ProjectSpec

INDEX: Final = "index.html"
DOCS: Final = "data-docs"
RESULTS: Final = "gx"  # Great Expectations' name for the folder of its context
KEEP_DAYS: Final = 30
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})\.html")


def report_folder(root: Path) -> Path:
    """The folder of the pages below the project's root."""
    return root / "report"


def docs_folder(root: Path) -> Path:
    """The folder of Great Expectations' pages."""
    return report_folder(root) / DOCS


def page_of(day: date | str) -> str:
    """The file name of a day's page."""
    return f"{day}.html"


def days_of(store: Store, folder: str) -> list[str]:
    """The days that have a page in a folder or at a URI, newest first."""
    if store.entry(folder) is None:
        return []
    return sorted((day[1] for entry in store.children(folder) if (day := _DAY.fullmatch(entry.name))), reverse=True)


def published_days(project: ProjectSpec) -> list[str]:
    """The days that have a page, newest first: in the copy, if the project has one, else in its folder.

    A job in a container starts with an empty folder, but the copy has the earlier pages.
    """
    folder = _places(project)[-1]
    return days_of(store_of(folder, project.store), folder)


def remove_old_days(project: ProjectSpec, folder: str) -> None:
    """Keep the pages of the newest days only."""
    store = store_of(folder, project.store)
    for day in days_of(store, folder)[KEEP_DAYS:]:
        store.remove(f"{folder}/{page_of(day)}")


def remove_pages(project: ProjectSpec) -> None:
    """Remove all pages, also of the copy: they can show values that the specs mask now.

    Raises: StorageError: the store refuses it. SpecError: the folder is not writable.
    """
    folder = report_folder(project.root)
    with writing(folder, f"{folder} must be a writable folder"):
        if (folder / RESULTS).exists():
            shutil.rmtree(folder / RESULTS)
        for place in _places(project):
            store = store_of(place, project.store)
            for name in (INDEX, *map(page_of, days_of(store, place)), DOCS):
                for path in list(_files(store, store.entry(f"{place}/{name}"))):
                    store.remove(path)


def _places(project: ProjectSpec) -> list[str]:
    """The folder of the pages, and the address of the copy, if the project has one."""
    copy = [project.report.rstrip("/")] if project.report else []
    return [str(report_folder(project.root)), *copy]


def _files(store: Store, entry: Entry | None) -> Iterator[str]:
    """The paths of a file, or of all files in a folder and its subfolders."""
    if entry is not None and entry.is_folder:
        for child in store.children(entry.path):
            yield from _files(store, child)
    elif entry is not None:
        yield entry.path
