"""What of the files is new to a consumer. A file is taken once; one that grew is taken from where it was left."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.file_signatures import CALLED
from siltstone.engine.inputs.listing import InputFile, Look
from siltstone.engine.names import CONTROL_OF


@dataclass(frozen=True)
class Taken:
    """What a consumer took of a file: its size then, the fingerprint of that part, its last line (1-based)."""

    size: int
    mtime: int
    fingerprint: str
    to_line: int

    def looks_like(self, file: InputFile) -> bool:
        """Whether the file has the size and the time that it had then: nothing of it is read to tell."""
        return (file.size, file.mtime) == (self.size, self.mtime)


@dataclass(frozen=True)
class PendingFile:
    """A file of which lines after `after_line` are new. `half_line`: its last line is not finished yet."""

    file: InputFile
    fingerprint: str
    after_line: int
    half_line: bool


def pending_files(
    look: Look,
    files: Iterable[InputFile],
    taken: Mapping[str, Taken],
    consumer: str,
    replaceable: Container[str] = frozenset(),
) -> list[PendingFile]:
    """The files with something new. One of `replaceable` that changed under its name is new as a whole.

    Raises: SourceError: another file changed under its name: what was taken of it is not what stands there now.
    """
    asked = ((file, taken.get(file.path), file.path in replaceable) for file in files)
    return [found for file, known, free in asked if (found := pending_file(look, file, known, consumer, free))]


def pending_file(
    look: Look, file: InputFile, taken: Taken | None, consumer: str, replaceable: bool = False
) -> PendingFile | None:
    """What is new of one file, None when nothing is."""
    if taken is None:
        return PendingFile(file, look.fingerprint(file.path, file.size, file.store), 0, has_half_line(look, file))
    if taken.looks_like(file):
        return None
    same = look.has_same_start(file, taken.size, taken.fingerprint)
    if same and file.size == taken.size:
        return None
    if not same or not file.can_grow():
        if replaceable:
            return pending_file(look, file, None, consumer)
        raise changed_under_its_name(file, taken, consumer)
    grown = look.fingerprint(file.path, file.size, file.store)
    return PendingFile(file, grown, taken.to_line, has_half_line(look, file))


def between_new(files: Sequence[InputFile], new: Sequence[PendingFile]) -> list[tuple[list[InputFile], bool, bool]]:
    """The files that are not new, in the order of their names, as the stretches that new ones leave of them; with each
    whether a new file stands before it, and whether one stands behind it."""
    paths = {entry.file.path for entry in new}
    listed = [(key, list(group)) for key, group in groupby(sorted(files, key=by_path), lambda f: f.path in paths)]
    last = len(listed) - 1
    return [(stretch, at > 0, at < last) for at, (is_new, stretch) in enumerate(listed) if not is_new]


def earliest(entries: Iterable[PendingFile]) -> list[PendingFile]:
    """One entry a file: the one that begins first."""
    found: dict[str, PendingFile] = {}
    for entry in entries:
        known = found.get(entry.file.path)
        if known is None or entry.after_line < known.after_line:
            found[entry.file.path] = entry
    return [found[path] for path in sorted(found)]


def by_path(file: InputFile) -> str:
    """The order of files: that of their names."""
    return file.path


def changed_under_its_name(file: InputFile, taken: Taken, consumer: str) -> SourceError:
    """The error for a file whose taken part is not there any more."""
    what = "files of its kind cannot be continued" if not file.can_grow() else "its first bytes are not the same"
    source = consumer.removeprefix(CONTROL_OF)
    whom = consumer if source == consumer else f"the control events of {source}"
    return SourceError(
        f"Cannot take {file.path} for {whom}: the file changed under its name after {taken.to_line} of its lines"
        f" were taken ({taken.size} bytes then, {file.size} now; {what}).",
        "put the taken file back and deliver new events under another name",
    )


def has_half_line(look: Look, file: InputFile) -> bool:
    """Whether the file ends inside a record: no line end, and no complete JSON value either. A file that is none of
    lines does not: what nobody will finish is not waited for."""
    tail = look.ends_in_half_line(file)
    if tail is None or not tail.strip() or tail.startswith(tuple(CALLED)):
        return False
    try:
        json.loads(tail)
    except (ValueError, RecursionError):
        return True
    return False
