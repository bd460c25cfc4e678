"""Rows of YugabyteDB, whose connectors put every value that an event carries into a cell, and null for all others.

    {"id": {"value": 1, "set": true}, "name": {"value": null, "set": true}, "aura": null}   as it is sent
    {"id": 1, "name": null}                                                                 what it says

    https://docs.yugabyte.com/stable/additional-features/change-data-capture/using-logical-replication/transformers/

The first connectors wrote cells without `set`.
"""

from __future__ import annotations

from typing import Any, Final

from siltstone.engine.decode.json_value import MISFIT, parse_object, text_of

_VALUE: Final = "value"
_SET: Final = "set"
_MARK: Final = b'"value"'
_CELL: Final = frozenset((_VALUE, _SET))


def cell_values(image: bytes) -> bytes:
    """The values that an image carries in cells; an image without cells as it is."""
    if _MARK not in image:
        return image
    try:
        fields = parse_object(image)
    except MISFIT:
        return image
    cells = {name: cell for name, cell in fields.items() if cell is not None}
    if not all(map(_is_cell, cells.values())):
        return image
    return text_of({name: cell[_VALUE] for name, cell in cells.items() if cell.get(_SET, True)})


def _is_cell(value: Any) -> bool:
    return isinstance(value, dict) and _VALUE in value and value.keys() <= _CELL
