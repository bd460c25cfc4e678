"""Rows of YugabyteDB: its connectors put each value of an event into a cell, and null for columns without a value.

    {"id": {"value": 1, "set": true}, "name": {"value": null, "set": true}, "aura": null}   the event
    {"id": 1, "name": null}                                                                 the row

    https://docs.yugabyte.com/stable/additional-features/change-data-capture/using-logical-replication/transformers/

The first connectors wrote cells without `set`.
"""

from __future__ import annotations

from typing import Any, Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object, text_of

_VALUE: Final = "value"
_SET: Final = "set"
_MARK: Final = b'"value"'
_CELL: Final = frozenset((_VALUE, _SET))


def cell_values(image: bytes) -> bytes:
    """The values in the cells of an image; an image without cells stays unchanged."""
    if _MARK not in image:
        return image
    try:
        fields = parse_object(image)
    except PARSE_ERRORS:
        return image
    cells = {name: cell for name, cell in fields.items() if cell is not None}
    if not all(map(_is_cell, cells.values())):
        return image
    return text_of({name: cell[_VALUE] for name, cell in cells.items() if cell.get(_SET, True)})


def _is_cell(value: Any) -> bool:
    return isinstance(value, dict) and _VALUE in value and value.keys() <= _CELL
