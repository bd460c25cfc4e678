"""Arrays: converts each item with the converter of the items."""

from __future__ import annotations

from typing import Any

from siltstone.engine.decode import json_value
from siltstone.engine.decode.types.converter import Converter, each


def array(items: Converter) -> Converter:
    """Lists, or their JSON text. Nulls in a list stay. None if an item does not fit."""

    def one(value: Any) -> list[Any] | None:
        found = _parsed(value) if type(value) is str else value
        if type(found) is not list:
            return None
        made = items.all(found)
        return None if any(new is None and old is not None for old, new in zip(found, made, strict=True)) else made

    return each(one)


def _parsed(text: str) -> Any:
    try:
        return json_value.parse(text) if text.lstrip().startswith("[") else None
    except json_value.PARSE_ERRORS:
        return None
