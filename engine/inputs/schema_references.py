"""Avro schemas that use types of other schemas: each of these types is defined where it is first used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_NAMED: Final = ("record", "error", "enum", "fixed")
_INSIDE: Final = ("type", "items", "values")


def inlined(schema: Any, others: Iterable[Any]) -> Any:
    """The schema with the types of the other schemas in it."""
    return _Inlining({_full_name(other): other for other in others if isinstance(other, Mapping)}).of(schema, "")


class _Inlining:
    """One schema whose types are filled in. A type is defined once."""

    def __init__(self, types: dict[str, Mapping[str, Any]]) -> None:
        self._types = types

    def of(self, part: Any, space: str) -> Any:
        if isinstance(part, list):
            return [self.of(one, space) for one in part]
        if isinstance(part, str):
            return self._named(part, space)
        if not isinstance(part, Mapping):
            return part
        inner = _full_name(part, space).rpartition(".")[0] if part.get("type") in _NAMED else space
        filled = {**part, **{name: self.of(part[name], inner) for name in _INSIDE if name in part}}
        if "fields" in part:
            filled["fields"] = [{**field, "type": self.of(field["type"], inner)} for field in part["fields"]]
        return filled

    def _named(self, name: str, space: str) -> Any:
        full = _full_name({"name": name}, space)
        found = self._types.pop(full, None)
        return name if found is None else self.of(found, "")


def _full_name(schema: Mapping[str, Any], space: str = "") -> str:
    name = str(schema.get("name", ""))
    around = str(schema.get("namespace", space) or "")
    return name if "." in name or not around else f"{around}.{name}"
