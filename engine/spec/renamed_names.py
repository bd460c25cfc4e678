"""Renamed columns of the source: all names that events can use, and the first name of each column.

Hashes and fingerprints use the first name of a column, so that they do not change when it is renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from siltstone.engine.spec.model import TableSpec

NewNames = Mapping[str, str]
"""The current names of columns by their earlier names in lower case."""


def new_names(spec: TableSpec) -> dict[str, str]:
    """The current names of a spec's columns by their earlier names."""
    return {old.casefold(): name for name, before in spec.renames.items() for old in before}


def renamed(name: str, by_old: NewNames) -> str:
    """The current name of a column, from any of its names."""
    return by_old.get(name.casefold(), name)


def first_name(spec: TableSpec, name: str) -> str:
    """The first name of a column, from its current name."""
    return spec.renames.get(name, (name,))[0]


def first_names(spec: TableSpec, columns: Iterable[str]) -> dict[str, str]:
    """The first names of renamed columns, by their current names."""
    return {name: first_name(spec, name) for name in columns if name in spec.renames}


def known_keys_of(spec: TableSpec) -> tuple[str, ...] | None:
    """All names that events can use for the key columns; None if the events define the key."""
    if spec.keys is None:
        return None
    return tuple(name for key in spec.keys for name in (key, *spec.renames.get(key, ())))
