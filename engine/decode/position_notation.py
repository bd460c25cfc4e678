"""Shows positions to people, in the notation of their source.

    0000-000000000017F3AE-00000000017F3AF58   0/17F3AF58
    0002-00000001-000000000001BD3A-00000000   mysql-bin.000001:113978 in epoch 2

The position itself orders changes. Its notation is for messages, tables and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from siltstone.engine.decode.position_text import declared_epoch
from siltstone.engine.formats import kind_of, loaded

LogFile = tuple[str, str, str | None]
"""A log file: its source, the beginning of its positions, and its name if it is known."""


def has_log_files(sources: Iterable[str]) -> bool:
    """Whether positions of any of these sources have the number of a log file."""
    return any(kind_of(source).has_numbered_log for source in sources)


@dataclass(frozen=True, slots=True)
class Notation:
    """How the positions of a table are shown. `sources`: its possible sources, as changes name them. `files`: the names
    of log files, by the beginning of their positions."""

    sources: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Iterable[str], files: Iterable[LogFile] = ()) -> Notation:
        """A notation with those file names that are equal for all of these sources."""
        known = tuple(sources)
        found: dict[str, set[str]] = {}
        for source, begins, name in files:
            if source in known and name is not None:
                found.setdefault(begins, set()).add(name)
        return cls(known, {begins: next(iter(listed)) for begins, listed in found.items() if len(listed) == 1})

    def shown(self, position: str | None) -> str | None:
        """A position as its source writes it. Unchanged if it has none of the sources' layouts."""
        if position is None:
            return None
        for source in self.sources:
            kind = kind_of(source)
            text = _shown(position, kind.notation, source) if kind.notation else None
            if text is not None:
                return self._with_name(text, position) if kind.has_numbered_log else text
        return position

    def _with_name(self, text: str, position: str) -> str:
        """The place with the name of its log file, if it is known."""
        usual = text.partition(" ")[0].partition(":")[0]
        return self.files.get("-".join(position.split("-")[:2]), usual) + text[len(usual) :]


def _shown(position: str, notation: str, source: str) -> str | None:
    try:
        text: str | None = loaded(notation)(position, source)
        epoch = declared_epoch(position)
    except ValueError:  # a text of another layout
        return None
    return text if text is None or epoch == 0 else f"{text} in epoch {epoch + 1}"
