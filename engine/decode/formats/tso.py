"""TSOs of TiDB: milliseconds since 1970, then 18 bits of a counter. The TSO of its commit orders a change.

    position     epoch (4) - TSO (16) - 0 for a delete, 1 for any other change

TiDB commits a key once at a TSO. If an operation replaces a row under the same key, a delete and an insert have that
TSO, and the delete comes first.
"""

from __future__ import annotations

from typing import Final

from siltstone.engine.decode.position_text import hex_digits, joined, segments

_COUNTER_BITS: Final = 18
_OF_DELETE: Final = "0"
_OF_OTHERS: Final = "1"


def position_of(tso: int | None, *, is_delete: bool) -> str | None:
    """The position of a change that was committed at a TSO; None if the TSO is missing or 0."""
    return joined(hex_digits(tso, 16), _OF_DELETE if is_delete else _OF_OTHERS) if tso else None


def millis_of(tso: int) -> int:
    """The time of a TSO in milliseconds since 1970."""
    return tso >> _COUNTER_BITS


def notation(position: str, _source: str) -> str | None:
    """The TSO of a position."""
    found = segments(position, 16, 1)
    return str(int(found[0], 16)) if found else None
