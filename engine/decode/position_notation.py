"""Positions as people read them: in the notation of the source that they are of.

    0000-000000000017F3AE-00000000017F3AF58   0/17F3AF58
    0002-00000001-000000000001BD3A-00000000   mysql-bin.000001:113978 in epoch 2

What orders changes is the position itself; its notation is for messages, tables and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from siltstone.engine.decode.position_text import declared_epoch
from siltstone.engine.formats import kind_of, loaded

LogFile = tuple[str, str, str | None]
"""A file of a log: its source, how the positions in it begin, and its name, where that is known."""


def has_log_files(sources: Iterable[str]) -> bool:
    """Whether positions of some source name files of its log by their numbers."""
    return any(kind_of(source).has_numbered_log for source in sources)


@dataclass(frozen=True, slots=True)
class Notation:
    """How the positions of a table are shown. `sources`: those they can be of, as changes name them; `files`: the names
    of the files of their logs, by how the positions in them begin."""

    sources: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Iterable[str], files: Iterable[LogFile] = ()) -> Notation:
        """A notation with the names of files that are the same for all of these sources."""
        known = tuple(sources)
        found: dict[str, set[str]] = {}
        for source, begins, name in files:
            if source in known and name is not None:
                found.setdefault(begins, set()).add(name)
        return cls(known, {begins: next(iter(listed)) for begins, listed in found.items() if len(listed) == 1})

    def shown(self, position: str | None) -> str | None:
        """A position as its source writes it; as it is where it has none of their layouts."""
        if position is None:
            return None
        for source in self.sources:
            kind = kind_of(source)
            text = _shown(position, kind.notation, source) if kind.notation else None
            if text is not None:
                return self._with_name(text, position) if kind.has_numbered_log else text
        return position

    def _with_name(self, text: str, position: str) -> str:
        """The place with the name of its file, where it is known."""
        usual = text.partition(" ")[0].partition(":")[0]
        return self.files.get("-".join(position.split("-")[:2]), usual) + text[len(usual) :]


def _shown(position: str, notation: str, source: str) -> str | None:
    try:
        text: str | None = loaded(notation)(position, source)
        epoch = declared_epoch(position)
    except ValueError:  # a text of another layout
        return None
    return text if text is None or epoch == 0 else f"{text} in epoch {epoch + 1}"
