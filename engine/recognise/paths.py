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

from engine.errors import SourceError
from engine.inputs.listing import is_compressed

LISTED_FILES: Final = 50
NUMBERED: Final = re.compile(r"(?i)([-_.]?(part|chunk|batch)?[-_.]?\d[\d\-_T:Z]*)+$")
"""The end of a name by which the files, or folders, of one kind differ: numbers and dates."""


@dataclass(frozen=True)
class NamedFolder:
    """A folder that was named: the visible files in it, and how many each folder in it has, both to the bottom."""

    path: Path
    files: frozenset[Path]
    counts: Counter[Path]


def named_folders(events: Iterable[Path]) -> list[NamedFolder]:
    """The folders among the places that were named."""
    found = []
    for place in (Path(os.path.normpath(place.absolute())) for place in events):
        if place.is_dir():
            files = frozenset(_visible_files(place))
            found.append(NamedFolder(place, files, _counts(place, files)))
    return found


def common_path(
    files: Iterable[Path], root: Path, folders: Sequence[NamedFolder] = (), beside: Collection[Path] | None = ()
) -> str:
    """One path that takes exactly these files, and those that their folder gets: a file, a folder, a pattern; relative
    inside the project. `beside`: files that it may take, too, because the events in them name other tables; None where
    events do not name their table, so that the path has to keep tables apart.

    Raises: SourceError: there is none.
    """
    wanted = sorted(set(files))
    for path in _paths(wanted, folders, beside):
        return inside(path, root.absolute())
    raise SourceError(
        f"Cannot write one path for {len(wanted)} files of one format: others lie between them.",
        "run init once for each folder",
    )


def inside(path: Path, base: Path) -> str:
    """A path as a spec has it: relative inside the project."""
    return os.path.relpath(path, base) if path.is_relative_to(base) else str(path)


def _paths(wanted: list[Path], folders: Iterable[NamedFolder], beside: Collection[Path] | None) -> Iterator[Path]:
    """Paths from the best on: those that a folder's next files are taken by, whatever day it is."""
    around = [folder for folder in folders if folder.files.issuperset(wanted)]
    above = Path(os.path.commonpath([file.parent for file in wanted]))
    if len(wanted) == 1 and not around:
        yield wanted[0]  # it was named itself
    if beside is None:
        yield from _by_ending(above, wanted, _ending(wanted[0]))
    for folder in around:
        yield from _growing(folder, wanted, frozenset(wanted), _lasting(folder, above))
    for folder in around:
        taken = folder.files.intersection([*wanted, *(beside or ())])
        yield from _growing(folder, wanted, taken, _lasting(folder, above))
    for folder in around:
        yield from _growing(folder, wanted, frozenset(wanted), _downward(folder, above))
    suffixes = wanted[0].suffixes
    for ending in (_ending(wanted[0]), *("".join(suffixes[first:]) for first in reversed(range(len(suffixes))))):
        yield from _by_ending(above, wanted, ending)
    if len(wanted) == 1:
        yield wanted[0]
    elif len(wanted) <= LISTED_FILES and not any(set(",{}") & set(str(file)) for file in wanted):
        yield above / ("{" + ",".join(str(file.relative_to(above)) for file in wanted) + "}")


def _growing(
    folder: NamedFolder, wanted: Sequence[Path], taken: frozenset[Path], places: Iterable[Path]
) -> Iterator[Path]:
    """Paths in a named folder, of the first of the places on, that take those wanted, and others of `taken` only."""
    counts = _counts(folder.path, taken)
    for place in places:
        if all(file.parent == place for file in wanted):
            direct = sorted(file for file in taken if file.parent == place)
            yield from _by_ending(place, direct, _ending(wanted[0]))
        if counts[place] == folder.counts[place]:
            yield place


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
    """Whether others stand beside a folder, or will, that differ in numbers only: the days and hours of a tree."""
    name = NUMBERED.sub("", folder.name)
    alike = (each for each in folder.parent.iterdir() if each.is_dir() and NUMBERED.sub("", each.name) == name)
    return not name or name.endswith("=") or any(each != folder for each in alike)


def _by_ending(folder: Path, wanted: list[Path], ending: str) -> Iterator[Path]:
    """The files of a folder that end so, where they are those wanted."""
    if ending and wanted[0].parent == folder:
        beside = (file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
        if sorted(file for file in beside if file.name.endswith(ending)) == wanted:
            yield folder / f"*{ending}"


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
