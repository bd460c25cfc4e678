"""List the files of a source, and compute the fingerprints that identify their contents."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.file_store import (
    MISSING,
    Entry,
    Store,
    files_below,
    read_bytes,
    read_pieces,
    refused,
    store_of,
)
from siltstone.engine.inputs.globs import alternatives, is_pattern, name_pattern, plain
from siltstone.engine.storage import StoreSettings

SAMPLE_BYTES = 65_536
SAMPLES = 16
TAIL_BYTES = 1 << 24
COMPRESSION = 10  # about the compression ratio of events as JSON
NO_FILE = "check source.path and the file type in the spec"


@dataclass(frozen=True)
class InputFile:
    """One file of a source.

    `mtime`: in milliseconds since 1970. `whole`: the file never grows. `store`: the settings of its store.
    """

    path: str
    size: int
    mtime: int
    whole: bool = False
    store: StoreSettings = field(default=(), repr=False)

    @property
    def work_bytes(self) -> int:
        """About how many bytes are decoded."""
        return self.size * (COMPRESSION if is_compressed(self.path) else 1)

    def can_grow(self) -> bool:
        """Whether lines can be appended to the file."""
        return not self.whole and not is_compressed(self.path)


def list_files(path: str, until_ms: int | None = None, settings: StoreSettings = ()) -> list[InputFile]:
    """The files that a file name, a folder or a glob matches, sorted by name.

    Subfolders are searched too. Hidden files (``.`` or ``_`` first) are skipped, as Spark does. With `until_ms`, files
    modified later wait for another run. `settings`: of the store.

    Raises: SourceError: there are no files, or the place cannot be read.
    """
    store = store_of(path, settings)
    try:
        matched = {entry.path: entry for one in alternatives(path) for entry in matching(store, one)}
        found = [file for entry in matched.values() for file in files_below(store, entry)]
    except (OSError, ValueError) as error:
        raise refused("list", path, error) from error
    if not matched:
        missing = store.missing()
        kind = "matches no file" if is_pattern(path) and missing == MISSING else missing
        raise SourceError(f"Cannot read {path}: it {kind}.", "check source.path in the spec")
    if not found:
        raise SourceError(f"Cannot read {path}: the folder holds no files.", "check source.path in the spec")
    kept = {entry.path: entry for entry in found if until_ms is None or entry.mtime <= until_ms}
    return [InputFile(path, entry.size, entry.mtime, store=settings) for path, entry in sorted(kept.items())]


def matching(store: Store, path: str) -> Iterator[Entry]:
    """The files and folders that a path without braces matches. Folders before its first pattern are not listed."""
    if not is_pattern(path):
        entry = store.entry(plain(path))
        if entry is not None:
            yield entry
        return
    folder, _, name = path.rstrip("/").rpartition("/")
    pattern = name_pattern(name)
    for parent in matching(store, folder or "/"):
        if parent.is_folder:
            yield from (child for child in store.children(parent.path) if pattern.fullmatch(child.name))


def listed(path: str, settings: StoreSettings = ()) -> InputFile | None:
    """The current state of one file; None if it no longer exists. `settings`: of its store."""
    entry = store_of(path, settings).entry(path)
    if entry is None or entry.is_folder:
        return None
    return InputFile(entry.path, entry.size, entry.mtime, store=settings)


class FileProbe:
    """Reads samples of files, each piece once for all consumers: every piece is a call to a store."""

    def __init__(self) -> None:
        self._fingerprints: dict[tuple[str, int], str] = {}
        self._tails: dict[InputFile, bytes | None] = {}

    def fingerprint(self, path: str, size: int, settings: StoreSettings = ()) -> str:
        """A hash over samples of the first `size` bytes: evenly spread blocks that include the first and the last one.

        Files up to a megabyte are hashed completely. The fingerprint of the first `size` bytes stays the same if a file
        only grows.
        """
        if (path, size) not in self._fingerprints:
            digest = hashlib.blake2b(str(size).encode(), digest_size=16)
            for piece in read_pieces(path, samples(size), settings):
                digest.update(piece)
            self._fingerprints[path, size] = digest.hexdigest()
        return self._fingerprints[path, size]

    def has_same_start(self, file: InputFile, size: int, fingerprint: str) -> bool:
        """Whether the first `size` bytes of a file have this fingerprint."""
        return file.size >= size and self.fingerprint(file.path, size, file.store) == fingerprint

    def ends_in_half_line(self, file: InputFile) -> bytes | None:
        """The text after the last line end of an uncompressed file; None if the file ends with a line end.

        Also None for a last line longer than 16 MiB.
        """
        if file not in self._tails:
            self._tails[file] = unfinished(file)
        return self._tails[file]


def samples(size: int) -> list[tuple[int, int]]:
    """The samples of a file's first `size` bytes: (start, length)."""
    if size <= SAMPLES * SAMPLE_BYTES:
        return [(0, size)]
    step = max(SAMPLE_BYTES, (size - SAMPLE_BYTES) // (SAMPLES - 1))
    starts = sorted({*range(0, size - SAMPLE_BYTES + 1, step), size - SAMPLE_BYTES})
    return [(start, SAMPLE_BYTES) for start in starts]


def unfinished(file: InputFile) -> bytes | None:
    """The text after the last line end; None if there is none or the file cannot grow."""
    if file.size == 0 or not file.can_grow():
        return None
    if read_bytes(file.path, file.size - 1, 1, file.store) == b"\n":
        return None
    for length in (SAMPLE_BYTES, TAIL_BYTES):
        start = max(0, file.size - length)
        tail = read_bytes(file.path, start, file.size - start, file.store)
        if b"\n" in tail or start == 0:
            return tail.rsplit(b"\n", 1)[-1]
    return None


def is_compressed(path: str) -> bool:
    """Whether the file is compressed, by its name."""
    return path.endswith((".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".zstd"))
