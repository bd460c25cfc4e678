"""Copies of the report's pages in a folder or an object store."""

from collections.abc import Iterator
from pathlib import Path

from siltstone.engine.inputs.file_store import LocalFiles, store_of
from siltstone.engine.report_pages import INDEX, days_of, docs_folder, page_of, remove_old_days, report_folder
from siltstone.engine.spec.model import ProjectSpec


def copy_pages(project: ProjectSpec, to: str) -> str:
    """Copy the pages to a folder or a URI, the report's own page last. Unchanged files are skipped.

    Gives: the address of the copied report page.
    Raises: StorageError: the store refuses a file. OSError: the folder is not writable.
    """
    folder, store = report_folder(project.root), store_of(to, project.store)
    for file in _pages(project):
        address = f"{to.rstrip('/')}/{file.relative_to(folder).as_posix()}"
        copy, own = store.entry(address), file.stat()
        if copy is not None and copy.size == own.st_size and copy.mtime >= own.st_mtime_ns // 1_000_000:
            continue
        with store.writer(address) as out:
            out.write(file.read_bytes())
    remove_old_days(project, to.rstrip("/"))
    return f"{to.rstrip('/')}/{INDEX}"


def _pages(project: ProjectSpec) -> Iterator[Path]:
    """Great Expectations' pages, then the pages of the days, then the report's page."""
    folder = report_folder(project.root)
    if project.quality.data_docs:
        yield from sorted(file for file in docs_folder(project.root).rglob("*") if file.is_file())
    for name in (*map(page_of, days_of(LocalFiles(), str(folder))), INDEX):
        yield folder / name
