"""Columns that the source calls otherwise than it did: by which names events know them, and which name was the first.

Hashes and fingerprints know a column by its first name: so they stay what they are when it gets another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from siltstone.engine.spec.model import TableSpec

NewNames = Mapping[str, str]
"""The columns by the names that they had before, in lower case."""


def new_names(spec: TableSpec) -> dict[str, str]:
    """The columns of a spec by the names that they had before."""
    return {old.casefold(): name for name, before in spec.renames.items() for old in before}


def renamed(name: str, by_old: NewNames) -> str:
    """What a column is called now."""
    return by_old.get(name.casefold(), name)


def first_name(spec: TableSpec, name: str) -> str:
    """What a column was called first, by its present name."""
    return spec.renames.get(name, (name,))[0]


def first_names(spec: TableSpec, columns: Iterable[str]) -> dict[str, str]:
    """The first names of the columns that had another one, by their present names."""
    return {name: first_name(spec, name) for name in columns if name in spec.renames}


def known_keys_of(spec: TableSpec) -> tuple[str, ...] | None:
    """The key columns by all names that events can have for them; None: the events say the key."""
    if spec.keys is None:
        return None
    return tuple(name for key in spec.keys for name in (key, *spec.renames.get(key, ())))
