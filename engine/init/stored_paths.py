"""Paths in an object store with the interface of local paths: names, parents and contents.

`s3://bucket/a.json` is stored as the absolute path `/s3:/bucket/a.json`, so that names and parents work as for any
path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path, PosixPath
from typing import Any, BinaryIO, ClassVar, Final

from siltstone.engine.errors import SpecError
from siltstone.engine.inputs.file_store import Entry, store_of
from siltstone.engine.storage import StoreSettings, is_remote, lacks_slash, with_slashes

_BEGIN: Final = re.compile(r"^/([A-Za-z][A-Za-z0-9+.-]+):/")


class StoredPath(PosixPath):
    """A path in a store. `settings`: of the store; `known`: the entries that were listed or looked up."""

    settings: ClassVar[StoreSettings] = ()
    known: ClassVar[dict[str, Entry | None]] = {}

    def __str__(self) -> str:
        return _BEGIN.sub(r"\1://", self.__fspath__())

    def __fspath__(self) -> str:
        return super().__str__()

    def exists(self, **_: Any) -> bool:
        """Whether the path exists."""
        return self._entry() is not None

    def is_dir(self, **_: Any) -> bool:
        """Whether the path is a folder."""
        entry = self._entry()
        return entry is not None and entry.is_folder

    def is_file(self, **_: Any) -> bool:
        """Whether the path is a file."""
        entry = self._entry()
        return entry is not None and not entry.is_folder

    def absolute(self) -> StoredPath:
        """The path itself."""
        return self

    def iterdir(self) -> Generator[StoredPath, None, None]:
        """The entries of a folder."""
        for child in store_of(str(self), self.settings).children(str(self)):
            self.known[child.path] = child
            yield self / child.name

    def rglob(self, *_: Any, **__: Any) -> Generator[StoredPath, None, None]:
        """The entries of a folder and of all its subfolders."""
        for child in self.iterdir():
            yield child
            if child.is_dir():
                yield from child.rglob()

    def size(self) -> int:
        """The size of a file in bytes."""
        entry = self._entry()
        return 0 if entry is None else entry.size

    def _entry(self) -> Entry | None:
        address = str(self)
        if address not in self.known:
            self.known[address] = store_of(address, self.settings).entry(address)
        return self.known[address]


def event_place(text: str, settings: StoreSettings) -> Path:
    """A place with events, on this machine or in a store.

    Raises: SpecError: it is a URI with one slash instead of two.
    """
    if lacks_slash(text):
        raise SpecError(f"Cannot read {text}: it is neither a path nor a URI.", f"write {with_slashes(text)}")
    if not is_remote(text):
        return Path(text.removeprefix("file://"))
    scheme, _, rest = text.partition("://")
    kind = type("StoredPath", (StoredPath,), {"settings": settings, "known": {}})
    return kind(f"/{scheme}:/{rest}")  # type: ignore[no-any-return]  # a class made here has no types


def settings_of(path: Path) -> StoreSettings:
    """The settings of the store of a path; empty for a local path."""
    return path.settings if isinstance(path, StoredPath) else ()


def missing(path: Path) -> str:
    """The description of a missing path: its bucket can be missing."""
    return store_of(str(path), settings_of(path)).missing()


def opened(path: Path) -> BinaryIO:
    """Open a file for reading bytes."""
    return store_of(str(path), path.settings).open(str(path)) if isinstance(path, StoredPath) else path.open("rb")


def size_of(path: Path) -> int:
    """The size of a file in bytes."""
    return path.size() if isinstance(path, StoredPath) else path.stat().st_size


def normal(path: Path) -> Path:
    """A path as an absolute path without `..`, on the same machine or in the same store."""
    return type(path)(os.path.normpath(path.absolute()))
