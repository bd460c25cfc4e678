"""TSOs of TiDB: milliseconds since 1970, then 18 bits of a counter. The TSO of its commit orders a change.

    position     epoch (4) - TSO (16) - 0 for a delete, 1 for any other change

TiDB commits a key once at a TSO. What replaces a row under its own key is a delete and an insert at that TSO, and the
delete is first.
"""

from __future__ import annotations

from typing import Final

from siltstone.engine.decode.position_text import hex_digits, joined, segments

_COUNTER_BITS: Final = 18
_OF_DELETE: Final = "0"
_OF_OTHERS: Final = "1"


def position_of(tso: int | None, *, is_delete: bool) -> str | None:
    """The position of a change that was committed at a TSO; None where it is none."""
    return joined(hex_digits(tso, 16), _OF_DELETE if is_delete else _OF_OTHERS) if tso else None


def millis_of(tso: int) -> int:
    """Milliseconds since 1970 of a TSO."""
    return tso >> _COUNTER_BITS


def notation(position: str, _source: str) -> str | None:
    """The TSO of a position."""
    found = segments(position, 16, 1)
    return str(int(found[0], 16)) if found else None
