"""List, read and write files on this machine or in an object store, without a JVM.

Paths on this machine have the form that Spark and the ledgers use: `file:/folder/name`. Every other scheme is a file
system of PyArrow (`s3://`, `gs://`, `abfs://`, `hdfs://`). Every file carries the settings of its store, because a task
on another machine has another environment.
"""

from __future__ import annotations

import mimetypes
import os
import re
import shutil
import stat as modes
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from siltstone.engine.atomic_file import whole_file
from siltstone.engine.errors import SourceError, StorageError
from siltstone.engine.storage import AZURE, GOOGLE, S3, StoreSettings, problem_in

LOCAL: Final = "file:"
_LOCAL_START: Final = re.compile(r"^file:/*")
_SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
CLOUDS: Final = S3 | GOOGLE | AZURE
MISSING: Final = "does not exist"
READING: Final = ("read", "list", "open")
"""The verbs for actions on a source. All other verbs are for files that siltstone writes."""
ACCOUNT: Final = "adls.account-name"
WHOLE_HINT: Final = "deliver a file under its name only when it is whole, or append lines to it; then retry"


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
    """The operations that siltstone needs from a store of files."""

    def entry(self, path: str) -> Entry | None:
        """The file or folder at a path; None if there is none."""

    def children(self, folder: str) -> list[Entry]:
        """The files and folders in a folder, sorted by name."""

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading bytes from any place."""

    def writer(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A file to write. It exists completely after the block, and not at all after an error."""

    def remove(self, path: str) -> None:
        """Remove a file."""

    def missing(self) -> str:
        """The words for a path that does not exist."""


def store_of(path: str, settings: StoreSettings = ()) -> Store:
    """The store of a path.

    Raises: SourceError: no installed library supports it.
    """
    scheme = _SCHEME.match(path)
    if scheme is None or scheme[1].lower() == "file":
        return LocalFiles()
    end = path.find("/", scheme.end())
    return _object_store(path if end < 0 else path[:end], settings)


@lru_cache(maxsize=64)
def _object_store(root: str, settings: StoreSettings) -> ObjectStore:
    return ObjectStore(root, settings)


def read_bytes(path: str, start: int, length: int, settings: StoreSettings = ()) -> bytes:
    """Some bytes of a file.

    Raises: as `read_pieces`.
    """
    return read_pieces(path, [(start, length)], settings)[0]


def read_pieces(path: str, pieces: Sequence[tuple[int, int]], settings: StoreSettings = ()) -> list[bytes]:
    """Pieces of a file: (start, length).

    Raises: SourceError: the file ends before a piece does, or cannot be read.
    """
    if not any(length > 0 for _, length in pieces):
        return [b""] * len(pieces)
    found = []
    try:
        with store_of(path, settings).open(path) as file:
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
    """The error for a file that lost bytes since it was listed. `size`: how many are left."""
    return SourceError(
        f"Cannot read {path}: it became shorter while it was read ({size} bytes are left).",
        WHOLE_HINT,
    )


def changed(path: str) -> SourceError:
    """The error for a file that changed while it was read."""
    return SourceError(
        f"Cannot read {path}: it changed while it was read. Nothing of this batch was taken.", WHOLE_HINT
    )


def unreadable(path: str, error: OSError) -> SourceError | StorageError:
    """The system's error on reading a file, as siltstone's."""
    if isinstance(error, FileNotFoundError):
        return SourceError(
            f"Cannot read {path}: it is gone since it was listed. Nothing of this batch was taken.",
            "put it back and retry: a file can be moved away after a run has ended",
        )
    return refused("read", path, error)


def refused(verb: str, path: str, error: Exception) -> SourceError | StorageError:
    """The error of a system or a store on reading, listing or writing, as siltstone's."""
    kind = SourceError if verb in READING else StorageError
    problem = problem_in(str(error))
    if problem is not None:
        return kind(f"Cannot {verb} {path}: {problem.reason}.", problem.hint)
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return kind(f"Cannot {verb} {path}: {reason}.", "check the path and the permissions")


@contextmanager
def _store_errors(verb: str, path: str) -> Iterator[None]:
    """Raise the errors of calls to an object store as siltstone's."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError) as error:
        raise refused(verb, path, error) from error


def local_path(path: str) -> Path:
    """A path on this machine as Python's Path."""
    return Path(_LOCAL_START.sub("/", path))


class LocalFiles:
    """The files on this machine."""

    def entry(self, path: str) -> Entry | None:
        """The file or folder at a path; None if there is none."""
        place = local_path(path)
        try:
            found = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _local_entry(str(place), found)

    def children(self, folder: str) -> list[Entry]:
        """The files and folders in a folder, sorted by name, without dangling links."""
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

    def writer(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A file to write. It exists completely after the block, and not at all after an error."""
        return whole_file(local_path(path))

    def remove(self, path: str) -> None:
        """Remove a file."""
        local_path(path).unlink()

    def missing(self) -> str:
        """The words for a path that does not exist."""
        return MISSING


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
    """A store that PyArrow reads. `root`: a URI up to the bucket, the container or the host.

    Names of files are not encoded as in a URI: they can have any character.
    """

    def __init__(self, root: str, settings: StoreSettings = ()) -> None:
        from pyarrow import ArrowException

        scheme, _, rest = root.partition("://")
        try:
            self._system, self._prefix = _opened(scheme.lower(), rest, dict(settings))
        except (ArrowException, OSError, ValueError, ImportError) as error:
            raise refused("open", root, error) from error
        self._root = root

    def entry(self, path: str) -> Entry | None:
        """The file or folder at a path; None if there is none."""
        from pyarrow import fs

        with _store_errors("read", path):
            found = self._system.get_file_info(self._inside(path))
        return None if found.type == fs.FileType.NotFound else self._entry(found)

    def children(self, folder: str) -> list[Entry]:
        """The files and folders in a folder, sorted by name."""
        from pyarrow import fs

        with _store_errors("list", folder):
            found = self._system.get_file_info(fs.FileSelector(self._inside(folder)))
        return sorted((self._entry(one) for one in found), key=lambda entry: entry.path)

    def open(self, path: str) -> BinaryIO:
        """A file, open for reading bytes from any place."""
        return self._system.open_input_file(self._inside(path))  # type: ignore[no-any-return]

    @contextmanager
    def writer(self, path: str) -> Iterator[BinaryIO]:
        """A file to write. The bytes go to a local file first.

        A stream to a store that is closed after an error would leave an incomplete file under the name.
        """
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
            part = Path(folder) / "part"
            with part.open("wb") as out:
                yield out
            with _store_errors("write", path), part.open("rb") as whole, self._stream(path, kind) as stored:
                shutil.copyfileobj(whole, stored)

    def _stream(self, path: str, kind: str) -> Any:
        return self._system.open_output_stream(self._inside(path), metadata={"Content-Type": kind})

    def remove(self, path: str) -> None:
        """Remove a file."""
        with _store_errors("remove", path):
            self._system.delete_file(self._inside(path))

    def missing(self) -> str:
        """The words for a path that does not exist. They name the bucket if that is missing."""
        return MISSING if self.entry(self._root) is not None else f"{MISSING}: there is no {self._root}"

    def _inside(self, path: str) -> str:
        return f"{self._prefix}{path.removeprefix(self._root).strip('/')}".rstrip("/") or "/"

    def _entry(self, found: Any) -> Entry:
        from pyarrow import fs

        mtime = 0 if found.mtime_ns is None else found.mtime_ns // 1_000_000
        path = f"{self._root}/{found.path.removeprefix(self._prefix)}"
        return Entry(path, found.type == fs.FileType.Directory, found.size or 0, mtime)


def _opened(scheme: str, place: str, settings: dict[str, str]) -> tuple[Any, str]:
    """PyArrow's file system of a bucket, a container or a host, as PyIceberg makes it, and the prefix of its paths."""
    if scheme not in CLOUDS:
        from pyarrow import fs

        system, inside = fs.FileSystem.from_uri(f"{scheme}://{place}/")
        return system, f"{inside.rstrip('/')}/" if inside else ""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    bucket, _, host = place.partition("@")
    if scheme in AZURE and host:
        settings.setdefault(ACCOUNT, host.partition(".")[0])
    return PyArrowFileIO(settings).fs_by_scheme(scheme, bucket), f"{bucket}/"


def files_below(store: Store, entry: Entry) -> Iterator[Entry]:
    """The file itself, or the visible files in a folder and its subfolders. Names with `.` or `_` first are hidden."""
    if entry.name.startswith((".", "_")):
        return
    if not entry.is_folder:
        yield entry
        return
    for child in store.children(entry.path):
        yield from files_below(store, child)
