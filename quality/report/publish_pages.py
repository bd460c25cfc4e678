"""Copies of the report's pages in a folder or an object store."""

from collections.abc import Iterator
from pathlib import Path

from siltstone.engine.inputs.file_store import store_of
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.data_docs import docs_folder

INDEX = "index.html"


def copy_pages(project: ProjectSpec, to: str) -> str:
    """Copy the pages to a folder or a URI, the report's own page last. Unchanged files are skipped.

    Gives: the address of the copied report page.
    Raises: StorageError: the store refuses a file. OSError: the folder is not writable.
    """
    folder, store = project.root / "report", store_of(to, project.store)
    for file in _pages(project.root):
        address = f"{to.rstrip('/')}/{file.relative_to(folder).as_posix()}"
        copy, own = store.entry(address), file.stat()
        if copy is not None and copy.size == own.st_size and copy.mtime >= own.st_mtime_ns // 1_000_000:
            continue
        with store.writer(address) as out:
            out.write(file.read_bytes())
    return f"{to.rstrip('/')}/{INDEX}"


def _pages(root: Path) -> Iterator[Path]:
    """Great Expectations' pages, then the report's page."""
    docs = docs_folder(root)
    yield from sorted(file for file in docs.rglob("*") if file.is_file())
    yield root / "report" / INDEX
