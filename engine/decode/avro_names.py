"""The names of Avro types: defined once, optionally in the namespace of an enclosing type, and then referenced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Named = dict[str, Mapping[str, Any]]

_NAMED: Final = ("record", "error", "enum", "fixed")
_WORDS: Final = (*_NAMED, "array", "map")


def with_full_names(schema: Any) -> tuple[Any, Named]:
    """The schema with full names in definitions and references, and its named types."""
    named: Named = {}
    return _full(schema, "", named), named


def _full(schema: Any, space: str, named: Named) -> Any:
    if isinstance(schema, list):
        return [_full(part, space, named) for part in schema]
    if isinstance(schema, str):
        full = f"{space}.{schema}" if space else schema
        return full if full in named else schema
    if not isinstance(schema, Mapping):
        return schema
    found, kind = dict(schema), schema.get("type")
    if kind not in _WORDS:  # a type can have the name fixed: Spark gives it to every decimal
        found["type"] = _full(kind, space, named)
        return found["type"] if isinstance(kind, str) and found["type"] in named else found
    if kind in _NAMED:
        simple = str(found["name"]).rpartition(".")[2]
        space = _space(found, space)
        found["name"] = f"{space}.{simple}" if space else simple
        named[found["name"]] = found  # before its fields, which can have the type itself
    if "fields" in found:
        found["fields"] = [{**field, "type": _full(field["type"], space, named)} for field in found["fields"]]
    return found | {inside: _full(found[inside], space, named) for inside in ("items", "values") if inside in found}


def _space(schema: Mapping[str, Any], around: str) -> str:
    return str(schema["name"]).rpartition(".")[0] or str(schema.get("namespace", around) or "")
