"""Positions as people read them: in the notation of the source that they are of.

    0000-000000000017F3AE-00000000017F3AF58   0/17F3AF58
    0002-00000001-000000000001BD36-00000000   mysql-bin.000001:113978 in epoch 2

What orders changes is the position itself; its notation is for messages, tables and pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.decode.position_text import declared_epoch
from engine.formats import kind_of, loaded


def shown(position: str | None, sources: Iterable[str]) -> str | None:
    """A position in the notation of its source; as it is where it has none of their layouts.

    `sources`: those it can be of, as changes name them.
    """
    if position is None:
        return None
    for source in sources:
        kind = kind_of(source)
        text = _shown(position, kind.notation, source) if kind.notation else None
        if text is not None:
            return text
    return position


def _shown(position: str, notation: str, source: str) -> str | None:
    try:
        text: str | None = loaded(notation)(position, source)
        epoch = declared_epoch(position)
    except ValueError:  # a text of another layout
        return None
    return text if text is None or epoch == 0 else f"{text} in epoch {epoch + 1}"
