"""Caches of a bounded size, for values that repeat in most records."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def keep(cache: dict[K, V], key: K, value: V, most: int) -> V:
    """Add an entry to a cache and give its value. A cache that has `most` entries begins from empty."""
    if len(cache) >= most:
        cache.clear()
    cache[key] = value
    return value
