"""The report's pages in another place: a folder, or an object store that people read them from."""

from collections.abc import Iterator
from pathlib import Path

from siltstone.engine.inputs.file_store import store_of
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.data_docs import docs_folder

INDEX = "index.html"


def copy_pages(project: ProjectSpec, to: str) -> str:
    """Copy the pages to a folder or a URI, the report's own page last. What is there already is not sent again.

    Gives: the address of the report's page there.
    Raises: StorageError: the store refuses it. OSError: the folder cannot be written.
    """
    folder, store = project.root / "report", store_of(to, project.store)
    for file in _pages(project.root):
        address = f"{to.rstrip('/')}/{file.relative_to(folder).as_posix()}"
        there, own = store.entry(address), file.stat()
        if there is not None and there.size == own.st_size and there.mtime >= own.st_mtime_ns // 1_000_000:
            continue
        with store.writer(address) as out:
            out.write(file.read_bytes())
    return f"{to.rstrip('/')}/{INDEX}"


def _pages(root: Path) -> Iterator[Path]:
    """Great Expectations' pages, then the report's."""
    docs = docs_folder(root)
    yield from sorted(file for file in docs.rglob("*") if file.is_file())
    yield root / "report" / INDEX
