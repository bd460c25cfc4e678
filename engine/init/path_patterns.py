"""One path for the files of a table: it takes those in which the table was found, and the next ones of a folder.

The engine reads folders to the bottom, and knows `*` and `{a,b}`.
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
"""The end of a name by which the files, or folders, of one kind differ: numbers and dates."""

_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True)
class NamedFolder:
    """A folder that was named: the visible files in it, and how many each folder in it has, both to the bottom."""

    path: Path
    files: frozenset[Path]
    counts: Counter[Path]


def named_folders(events: Iterable[Path]) -> list[NamedFolder]:
    """The folders among the places that were named."""
    found = []
    for place in map(normal, events):
        if place.is_dir():
            files = frozenset(_visible_files(place))
            found.append(NamedFolder(place, files, _counts(place, files)))
    return found


@dataclass(frozen=True)
class Pattern:
    """A path with wildcards, or of a folder, and the files that it takes today."""

    glob: str
    takes: frozenset[Path]


@dataclass(frozen=True)
class Surroundings:
    """What lies around the files of a table: the folders that were named; the files with nothing but control events,
    which its path has to take, too; those with nothing in them, and those of other tables, which it may take because
    events name their table. `apart`: they do not, so that the path has to keep tables apart.
    """

    folders: Sequence[NamedFolder] = ()
    controls: Collection[Path] = ()
    blank: Collection[Path] = ()
    others: Collection[Path] = ()
    apart: bool = False


def common_path(files: Iterable[Path], root: Path, around: Surroundings) -> str:
    """One path that takes exactly these files, and those that their folder gets: a file, a folder, a pattern; relative
    inside the project.

    Raises: SourceError: there is none.
    """
    own = set(files)
    found = _parts(sorted(own.union(around.controls)), own, around) or _parts(sorted(own), own, around)
    if not found:
        raise SourceError(
            f"Cannot write one path for {len(own)} files of one format: others lie between them.",
            "run init once for each folder",
        )
    return inside(_joined(found), root.absolute())


def inside(path: str, base: Path) -> str:
    """A path as a spec has it: relative inside the project."""
    return os.path.relpath(path, base) if Path(path).is_relative_to(base) else path


def _parts(wanted: list[Path], own: Collection[Path], around: Surroundings) -> list[str]:
    """Globs that take the wanted files: one where there is one; else one for those that are the table's `own`, and one
    for each folder of the others. Nothing where they are too many.
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
        found = (each for each in _patterns(left, around) if each.takes.isdisjoint(taken))
        if (pattern := next(found, None)) is not None:
            globs.append(pattern.glob)
            taken |= pattern.takes
        else:
            globs += [exactly(str(file)) for file in left]
    return globs if len(globs) <= LISTED_FILES else []


def _joined(globs: Sequence[str]) -> str:
    """One glob for several. Where a brace holds a slash, Hadoop takes it apart first, and an escape with it."""
    if len(globs) == 1:
        return globs[0]
    above = with_slashes(os.path.commonpath([glob.rpartition("/")[0] for glob in globs]))
    below = [os.path.relpath(glob, above).replace(",", "\\,") for glob in globs]
    if any("/" in each for each in below):
        below = [_ESCAPED.sub(r"\\\\\\\1", each) for each in below]
    return f"{above}/{{{','.join(below)}}}"


def _patterns(wanted: list[Path], around: Surroundings) -> Iterator[Pattern]:
    """Patterns from the best on: those that a folder's next files are taken by, whatever day it is."""
    folders = [folder for folder in around.folders if folder.files.issuperset(wanted)]
    if not wanted or (len(wanted) == 1 and not folders):
        return  # a single file was named itself
    above = _above(wanted)
    own = frozenset([*wanted, *around.controls, *around.blank])
    every = own.union(around.others)
    if around.apart:
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
    """Patterns in a named folder, of the first of the places on, that take those wanted, and others of `taken` only."""
    counts = _counts(folder.path, taken & folder.files)
    for place in places:
        yield from _by_ending(place, wanted, taken, _ending(wanted[0]))
        if counts[place] == folder.counts[place]:
            yield Pattern(exactly(str(place)), frozenset(file for file in folder.files if place in file.parents))


def _above(files: Iterable[Path]) -> Path:
    folders = [file.parent for file in files]
    return type(folders[0])(os.path.commonpath(folders))


def _downward(folder: NamedFolder, above: Path) -> Iterator[Path]:
    """The folders from the named one down to one in it."""
    below = above.relative_to(folder.path).parts
    return (folder.path.joinpath(*below[:depth]) for depth in range(len(below) + 1))


def _lasting(folder: NamedFolder, above: Path) -> Iterator[Path]:
    """Those of them that tomorrow's files come into, too: none of them, nor one around it, is one of a series."""
    for place in _downward(folder, above):
        if place != folder.path and _is_one_of_many(place):
            return
        yield place


def _is_one_of_many(folder: Path) -> bool:
    """Whether there are folders next to one, or will be, that differ in numbers only: the days and hours of a tree."""
    name = NUMBERED.sub("", folder.name)
    alike = (each for each in folder.parent.iterdir() if each.is_dir() and NUMBERED.sub("", each.name) == name)
    return not name or name.endswith("=") or any(each != folder for each in alike)


def _by_ending(folder: Path, wanted: Sequence[Path], taken: frozenset[Path], ending: str) -> Iterator[Pattern]:
    """The files of a folder that end so, where they are those wanted, and others of `taken` only."""
    if ending and all(file.parent == folder for file in wanted):
        visible = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
        found = frozenset(file for file in visible if file.name.endswith(ending))
        if found.issuperset(wanted) and found <= taken:
            yield Pattern(f"{exactly(str(folder))}/*{exactly(ending)}", found)


def _ending(file: Path) -> str:
    """What says how a file is written: the last ending, with the one before it where that is a compression's; nothing
    where it is a number or a date.
    """
    *_, before, last = "", "", *file.suffixes
    if not NUMBERED.sub("", last):
        return ""
    return f"{before if NUMBERED.sub('', before) and is_compressed(last) else ''}{last}"


def _counts(top: Path, files: Iterable[Path]) -> Counter[Path]:
    """How many of the files each folder has, from the top one to the bottom."""
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
