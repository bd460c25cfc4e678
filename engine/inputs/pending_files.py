"""The part of the files that is new to a consumer. Each line is taken once; a file that grew is continued."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.file_signatures import CALLED
from siltstone.engine.inputs.listing import FileProbe, InputFile
from siltstone.engine.names import CONTROL_OF


@dataclass(frozen=True)
class Taken:
    """The part of a file that a consumer took: the size then, its fingerprint, and its last line (1-based)."""

    size: int
    mtime: int
    fingerprint: str
    to_line: int

    def looks_like(self, file: InputFile) -> bool:
        """Whether the file still has the same size and time. Its content is not read."""
        return (file.size, file.mtime) == (self.size, self.mtime)


@dataclass(frozen=True)
class PendingFile:
    """A file whose lines after `after_line` are new. `half_line`: its last line is incomplete."""

    file: InputFile
    fingerprint: str
    after_line: int
    half_line: bool


def pending_files(
    probe: FileProbe,
    files: Iterable[InputFile],
    taken: Mapping[str, Taken],
    consumer: str,
    replaceable: Container[str] = frozenset(),
) -> list[PendingFile]:
    """The files with new lines. A file of `replaceable` that changed under its name is new as a whole.

    Raises: SourceError: another file changed under its name: it no longer starts with the part that was taken.
    """
    known = ((file, taken.get(file.path), file.path in replaceable) for file in files)
    return [found for file, part, free in known if (found := pending_file(probe, file, part, consumer, free))]


def pending_file(
    probe: FileProbe, file: InputFile, taken: Taken | None, consumer: str, replaceable: bool = False
) -> PendingFile | None:
    """The new part of one file; None if nothing is new."""
    if taken is None:
        return PendingFile(file, probe.fingerprint(file.path, file.size, file.store), 0, has_half_line(probe, file))
    if taken.looks_like(file):
        return None
    same = probe.has_same_start(file, taken.size, taken.fingerprint)
    if same and file.size == taken.size:
        return None
    if not same or not file.can_grow():
        if replaceable:
            return pending_file(probe, file, None, consumer)
        raise changed_under_its_name(file, taken, consumer)
    grown = probe.fingerprint(file.path, file.size, file.store)
    return PendingFile(file, grown, taken.to_line, has_half_line(probe, file))


def between_new(files: Sequence[InputFile], new: Sequence[PendingFile]) -> list[tuple[list[InputFile], bool, bool]]:
    """The files that are not new, as consecutive groups between new files, in the order of their names.

    Gives: each group, whether a new file is before it, and whether a new file is after it.
    """
    paths = {entry.file.path for entry in new}
    listed = [(key, list(group)) for key, group in groupby(sorted(files, key=by_path), lambda f: f.path in paths)]
    last = len(listed) - 1
    return [(stretch, at > 0, at < last) for at, (is_new, stretch) in enumerate(listed) if not is_new]


def earliest(entries: Iterable[PendingFile]) -> list[PendingFile]:
    """One entry per file: the one that begins first."""
    found: dict[str, PendingFile] = {}
    for entry in entries:
        known = found.get(entry.file.path)
        if known is None or entry.after_line < known.after_line:
            found[entry.file.path] = entry
    return [found[path] for path in sorted(found)]


def by_path(file: InputFile) -> str:
    """The sort key of files: the path."""
    return file.path


def changed_under_its_name(file: InputFile, taken: Taken, consumer: str) -> SourceError:
    """The error for a file that no longer starts with the part that was taken."""
    what = "files of its kind cannot be continued" if not file.can_grow() else "its first bytes are not the same"
    source = consumer.removeprefix(CONTROL_OF)
    whom = consumer if source == consumer else f"the control events of {source}"
    return SourceError(
        f"Cannot take {file.path} for {whom}: the file changed under its name after {taken.to_line} of its lines"
        f" were taken ({taken.size} bytes then, {file.size} now; {what}).",
        "put the taken file back and deliver new events under another name",
    )


def has_half_line(probe: FileProbe, file: InputFile) -> bool:
    """Whether the file ends inside a record: its last line has no line end and is no complete JSON value.

    False for files that are not text: no more lines will be appended to them.
    """
    tail = probe.ends_in_half_line(file)
    if tail is None or not tail.strip() or tail.startswith(tuple(CALLED)):
        return False
    try:
        json.loads(tail)
    except (ValueError, RecursionError):
        return True
    return False
