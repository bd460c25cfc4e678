"""The names of Avro's types: defined once, perhaps in the namespace of a type around, and used from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Named = dict[str, Mapping[str, Any]]

_NAMED: Final = ("record", "error", "enum", "fixed")
_WORDS: Final = (*_NAMED, "array", "map")


def with_full_names(schema: Any) -> tuple[Any, Named]:
    """The schema with full names only, where types are defined and where they are used; and its named types."""
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
    told, kind = dict(schema), schema.get("type")
    if kind not in _WORDS:  # a type may be called fixed, and is: Spark calls every decimal so
        told["type"] = _full(kind, space, named)
        return told["type"] if isinstance(kind, str) and told["type"] in named else told
    if kind in _NAMED:
        simple = str(told["name"]).rpartition(".")[2]
        space = _space(told, space)
        told["name"] = f"{space}.{simple}" if space else simple
        named[told["name"]] = told  # before its fields, which may be of the type itself
    if "fields" in told:
        told["fields"] = [{**field, "type": _full(field["type"], space, named)} for field in told["fields"]]
    return told | {inside: _full(told[inside], space, named) for inside in ("items", "values") if inside in told}


def _space(schema: Mapping[str, Any], around: str) -> str:
    return str(schema["name"]).rpartition(".")[0] or str(schema.get("namespace", around) or "")
