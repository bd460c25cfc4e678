"""One path for the files of a table: it matches the files with the table, and future files of their folder.

The engine reads folders with all their subfolders, and supports `*` and `{a,b}`.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from siltstone.engine.errors import SourceError
from siltstone.engine.init.stored_paths import normal
from siltstone.engine.inputs.globs import exactly
from siltstone.engine.inputs.listing import is_compressed
from siltstone.engine.storage import with_slashes

LISTED_FILES: Final = 50
NUMBERED: Final = re.compile(r"(?i)([-_.]?(part|chunk|batch)?[-_.]?\d[\d\-_T:Z]*)+$")
"""The end of a name in which files or folders of one kind differ: numbers and dates."""

_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True)
class NamedFolder:
    """A folder that the user named: its visible files, and the numbers of files in its folders, with subfolders."""

    path: Path
    files: frozenset[Path]
    counts: Counter[Path]


def named_folders(events: Iterable[Path]) -> list[NamedFolder]:
    """The folders among the places that the user named."""
    found = []
    for place in map(normal, events):
        if place.is_dir():
            files = frozenset(_visible_files(place))
            found.append(NamedFolder(place, files, _counts(place, files)))
    return found


@dataclass(frozen=True)
class Pattern:
    """A path with wildcards, or of a folder, and the files that it matches now."""

    glob: str
    matches: frozenset[Path]


@dataclass(frozen=True)
class Surroundings:
    """The files around those of a table.

    `folders`: the folders that the user named. `controls`: files with only control events, which the path must match,
    too. `blank`: files without content, and `others`: files of other tables; the path can match both, because events
    name their table. `is_exclusive`: they do not name it, so the path must not match files of other tables.
    """

    folders: Sequence[NamedFolder] = ()
    controls: Collection[Path] = ()
    blank: Collection[Path] = ()
    others: Collection[Path] = ()
    is_exclusive: bool = False


def common_path(files: Iterable[Path], root: Path, around: Surroundings) -> str:
    """One path (a file, a folder or a pattern) that matches these files and the future ones of their folder only.

    It is relative inside the project.

    Raises: SourceError: there is no such path.
    """
    own = set(files)
    found = _parts(sorted(own.union(around.controls)), own, around) or _parts(sorted(own), own, around)
    if not found:
        raise SourceError(
            f"Cannot write one path for {len(own)} files of one format: other files are between them.",
            "run init once for each folder",
        )
    return inside(_joined(found), root.absolute())


def inside(path: str, base: Path) -> str:
    """A path in the form of specs: relative inside the project."""
    return os.path.relpath(path, base) if Path(path).is_relative_to(base) else path


def _parts(wanted: list[Path], own: Collection[Path], around: Surroundings) -> list[str]:
    """Globs that match the wanted files: one, if possible; else one for the table's `own` files and one per folder of
    the others. Empty if there are too many.
    """
    whole = next(_patterns(wanted, around), None)
    if whole is not None:
        return [whole.glob]
    above = _above(wanted)
    groups: dict[tuple[str, ...], list[Path]] = {}
    for file in wanted:
        place = () if file in own else ("", *file.relative_to(above).parts[:-1][:1])
        groups.setdefault(place, []).append(file)
    globs: list[str] = []
    taken: set[Path] = set()
    for _, group in sorted(groups.items()):
        left = [file for file in group if file not in taken]
        found = (each for each in _patterns(left, around) if each.matches.isdisjoint(taken))
        if (pattern := next(found, None)) is not None:
            globs.append(pattern.glob)
            taken |= pattern.matches
        else:
            globs += [exactly(str(file)) for file in left]
    return globs if len(globs) <= LISTED_FILES else []


def _joined(globs: Sequence[str]) -> str:
    """One glob for several. If a brace contains a slash, Hadoop splits it first, and also resolves escapes then."""
    if len(globs) == 1:
        return globs[0]
    above = with_slashes(os.path.commonpath([glob.rpartition("/")[0] for glob in globs]))
    below = [os.path.relpath(glob, above).replace(",", "\\,") for glob in globs]
    if any("/" in each for each in below):
        below = [_ESCAPED.sub(r"\\\\\\\1", each) for each in below]
    return f"{above}/{{{','.join(below)}}}"


def _patterns(wanted: list[Path], around: Surroundings) -> Iterator[Pattern]:
    """Patterns, the best first: those that also match the next files of a folder, on any day."""
    folders = [folder for folder in around.folders if folder.files.issuperset(wanted)]
    if not wanted or (len(wanted) == 1 and not folders):
        return  # the user named a single file
    above = _above(wanted)
    own = frozenset([*wanted, *around.controls, *around.blank])
    every = own.union(around.others)
    if around.is_exclusive:
        yield from _by_ending(above, wanted, own, _ending(wanted[0]))
    for places in (_lasting, _downward):
        for taken in (own, every):
            for folder in folders:
                yield from _growing(folder, wanted, taken, places(folder, above))
    suffixes = wanted[0].suffixes
    for ending in (_ending(wanted[0]), *("".join(suffixes[first:]) for first in reversed(range(len(suffixes))))):
        yield from _by_ending(above, wanted, every, ending)


def _growing(
    folder: NamedFolder, wanted: Sequence[Path], taken: frozenset[Path], places: Iterable[Path]
) -> Iterator[Pattern]:
    """Patterns in a named folder, by the order of the places, that match all wanted files and only files of `taken`."""
    counts = _counts(folder.path, taken & folder.files)
    for place in places:
        yield from _by_ending(place, wanted, taken, _ending(wanted[0]))
        if counts[place] == folder.counts[place]:
            yield Pattern(exactly(str(place)), frozenset(file for file in folder.files if place in file.parents))


def _above(files: Iterable[Path]) -> Path:
    folders = [file.parent for file in files]
    return type(folders[0])(os.path.commonpath(folders))


def _downward(folder: NamedFolder, above: Path) -> Iterator[Path]:
    """The folders from the named one down to a folder in it."""
    below = above.relative_to(folder.path).parts
    return (folder.path.joinpath(*below[:depth]) for depth in range(len(below) + 1))


def _lasting(folder: NamedFolder, above: Path) -> Iterator[Path]:
    """The folders of `_downward` that also get future files: neither they nor a parent belong to a series."""
    for place in _downward(folder, above):
        if place != folder.path and _is_one_of_many(place):
            return
        yield place


def _is_one_of_many(folder: Path) -> bool:
    """Whether a folder belongs to a series whose names differ only in numbers, such as the days and hours of a tree."""
    name = NUMBERED.sub("", folder.name)
    alike = (each for each in folder.parent.iterdir() if each.is_dir() and NUMBERED.sub("", each.name) == name)
    return not name or name.endswith("=") or any(each != folder for each in alike)


def _by_ending(folder: Path, wanted: Sequence[Path], taken: frozenset[Path], ending: str) -> Iterator[Pattern]:
    """A pattern by the ending of names, if it matches all wanted files and only files of `taken`."""
    if ending and all(file.parent == folder for file in wanted):
        visible = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
        found = frozenset(file for file in visible if file.name.endswith(ending))
        if found.issuperset(wanted) and found <= taken:
            yield Pattern(f"{exactly(str(folder))}/*{exactly(ending)}", found)


def _ending(file: Path) -> str:
    """The ending of a name that shows the type of the file: the last suffix, and the one before a compression's suffix.

    Empty if the suffix is a number or a date.
    """
    *_, before, last = "", "", *file.suffixes
    if not NUMBERED.sub("", last):
        return ""
    return f"{before if NUMBERED.sub('', before) and is_compressed(last) else ''}{last}"


def _counts(top: Path, files: Iterable[Path]) -> Counter[Path]:
    """The number of the files in each folder, with its subfolders, up to the top folder."""
    counts: Counter[Path] = Counter()
    for folder, number in Counter(file.parent for file in files).items():
        for place in (folder, *folder.parents):
            counts[place] += number
            if place == top:
                break
    return counts


def _visible_files(folder: Path) -> Iterator[Path]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return (f for f in found if not any(part.startswith((".", "_")) for part in f.relative_to(folder).parts))
