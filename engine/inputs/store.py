"""Where files are: this machine, or an object store. Listed, looked at and read without a JVM.

Paths of this machine are written as Spark and the ledgers write them: `file:/folder/name`. Every other scheme is one
of PyArrow's file systems (`s3://`, `gs://`, `abfs://`, `hdfs://`), with credentials from the environment.
"""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from engine.errors import SourceError

LOCAL: Final = "file:"
_LOCAL_START: Final = re.compile(r"^file:/*")
_SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
HADOOP_NAMES: Final = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}
"""Schemes of Hadoop's connectors, and what PyArrow calls the same store."""


@dataclass(frozen=True)
class Entry:
    """A file or a folder. `mtime` in milliseconds since 1970."""

    path: str
    is_folder: bool
    size: int = 0
    mtime: int = 0

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]


class Store(Protocol):
    """What siltstone needs of a place that holds files."""

    def entry(self, path: str) -> Entry | None:
        """The file or folder of a path; None where nothing is."""

    def children(self, folder: str) -> list[Entry]:
        """What a folder holds, in the order of the names."""

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading bytes from any place."""


def store_of(path: str) -> Store:
    """The store of a path.

    Raises: SourceError: no library here knows it.
    """
    scheme = _SCHEME.match(path)
    if scheme is None or scheme[1].lower() == "file":
        return LocalFiles()
    end = path.find("/", scheme.end())
    return _object_store(path if end < 0 else path[:end])


@lru_cache(maxsize=64)
def _object_store(root: str) -> ObjectStore:
    return ObjectStore(root)


def read_bytes(path: str, start: int, length: int) -> bytes:
    """A piece of a file.

    Raises: as `read_pieces`.
    """
    return read_pieces(path, [(start, length)])[0]


def read_pieces(path: str, pieces: Sequence[tuple[int, int]]) -> list[bytes]:
    """Pieces of a file: (start, length).

    Raises: SourceError: the file ends before a piece does, or cannot be read.
    """
    if not any(length > 0 for _, length in pieces):
        return [b""] * len(pieces)
    found = []
    try:
        with store_of(path).open(path) as file:
            for start, length in pieces:
                file.seek(start)
                piece = file.read(length)
                if len(piece) < length:
                    raise shorter(path, start + len(piece))
                found.append(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    return found


def shorter(path: str, size: int) -> SourceError:
    """The error of a file that lost bytes since it was listed. `size`: how many are left."""
    return SourceError(
        f"Cannot read {path}: it became shorter while it was looked at ({size} bytes are left).",
        "deliver a file under its name only when it is whole, or append to it; then run again",
    )


def unreadable(path: str, error: OSError) -> SourceError:
    """What the system says against reading a file, as siltstone's error."""
    if isinstance(error, FileNotFoundError):
        return SourceError(
            f"Cannot read {path}: it is gone since it was listed. Nothing of this batch was taken.",
            "bring it back and run again: a file can be moved away when a run has ended",
        )
    reason = error.strerror or str(error).splitlines()[0]
    return SourceError(f"Cannot read {path}: {reason}.", "check the file and the permissions")


def local_path(path: str) -> Path:
    """A path of this machine as Python takes it."""
    return Path(_LOCAL_START.sub("/", path))


class LocalFiles:
    """The files of this machine."""

    def entry(self, path: str) -> Entry | None:
        """The file or folder of a path; None where nothing is."""
        place = local_path(path)
        try:
            found = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _local_entry(str(place), found)

    def children(self, folder: str) -> list[Entry]:
        """What a folder holds, in the order of the names. A link to nothing is left out."""
        entries = []
        with os.scandir(local_path(folder)) as found:
            for one in found:
                try:
                    entries.append(_local_entry(one.path, one.stat()))
                except FileNotFoundError:
                    continue
        return sorted(entries, key=lambda entry: entry.path)

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading bytes from any place."""
        return local_path(path).open("rb")


def _local_entry(path: str, found: os.stat_result) -> Entry:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path)
        raise SourceError(
            f"Cannot list {shown!r}: the name is not UTF-8 text.", "give the file a name in UTF-8"
        ) from None
    return Entry(f"{LOCAL}{path}", modes.S_ISDIR(found.st_mode), found.st_size, found.st_mtime_ns // 1_000_000)


class ObjectStore:
    """A store that PyArrow reads. `root`: a URI up to the bucket, the container or the host. Names of files are no part
    of a URI here: they can have any character."""

    def __init__(self, root: str) -> None:
        from pyarrow import ArrowException, fs

        scheme, _, rest = root.partition("://")
        name = HADOOP_NAMES.get(scheme.lower(), scheme.lower())
        try:
            self._system, inside = fs.FileSystem.from_uri(f"{name}://{rest}/")
        except (ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise SourceError(f"Cannot open {root}: {reason}.", "check the path and the credentials") from error
        self._root, self._prefix = root, f"{inside.rstrip('/')}/" if inside else ""

    def entry(self, path: str) -> Entry | None:
        """The file or folder of a path; None where nothing is."""
        from pyarrow import fs

        found = self._system.get_file_info(self._inside(path))
        return None if found.type == fs.FileType.NotFound else self._entry(found)

    def children(self, folder: str) -> list[Entry]:
        """What a folder holds, in the order of the names."""
        from pyarrow import fs

        found = self._system.get_file_info(fs.FileSelector(self._inside(folder)))
        return sorted((self._entry(one) for one in found), key=lambda entry: entry.path)

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading bytes from any place."""
        return self._system.open_input_file(self._inside(path))  # type: ignore[no-any-return]

    def _inside(self, path: str) -> str:
        return f"{self._prefix}{path.removeprefix(self._root).strip('/')}".rstrip("/") or "/"

    def _entry(self, found: Any) -> Entry:
        from pyarrow import fs

        mtime = 0 if found.mtime_ns is None else found.mtime_ns // 1_000_000
        path = f"{self._root}/{found.path.removeprefix(self._prefix)}"
        return Entry(path, found.type == fs.FileType.Directory, found.size or 0, mtime)


def files_below(store: Store, entry: Entry) -> Iterator[Entry]:
    """A file itself, or the visible files of a folder and of all folders in it. `.` or `_` first in a name hides it."""
    if entry.name.startswith((".", "_")):
        return
    if not entry.is_folder:
        yield entry
        return
    for child in store.children(entry.path):
        yield from files_below(store, child)
