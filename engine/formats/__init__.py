"""The registry of formats: the only list of all formats.

To add a format, write its declaration here (`engine/formats/<name>.py`) and its decoder in
`engine/decode/formats/<name>.py`. No other module names it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from siltstone.engine.formats import (
    canal,
    datastream,
    debezium,
    dms,
    dts,
    goldengate,
    maxwell,
    rows,
    shareplex,
    spanner,
    ticdc,
)
from siltstone.engine.formats.base import Format, SourceKind

FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for module in (debezium, datastream, ticdc, canal, maxwell, dts, dms, spanner, shareplex, goldengate, rows)
    for each in module.FORMATS
}
NAMES: Final = tuple(FORMATS)
SOURCES: Final[tuple[SourceKind, ...]] = tuple(
    {kind.begins: kind for each in FORMATS.values() for kind in each.sources}.values()
)
_UNKNOWN: Final = SourceKind("")


def format_of(name: str) -> Format:
    """The format with this name."""
    return FORMATS[name]


def kind_of(source: str | None) -> SourceKind:
    """The kind of a source, by its name in changes. An unknown kind supports every check."""
    return next((kind for kind in SOURCES if (source or "").startswith(kind.begins)), _UNKNOWN)


def beginnings(has: Callable[[SourceKind], object]) -> tuple[str, ...]:
    """The beginnings of the source names of all kinds for which `has` is true."""
    return tuple(kind.begins for kind in SOURCES if has(kind))


def loaded(place: str) -> Any:
    """The object at a place that a format gives as `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


__all__ = ["FORMATS", "NAMES", "SOURCES", "Format", "SourceKind", "beginnings", "format_of", "kind_of", "loaded"]
