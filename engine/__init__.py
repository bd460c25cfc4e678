"""siltstone: change events settle into Iceberg tables that keep every layer.

The public face, loaded when first used, so that `import engine` starts neither Spark nor anything else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "catch_up": "quality.runs",
    "explain": "engine.run",
    "load_project": "engine.spec",
    "load_spec": "engine.spec",
    "load_specs": "engine.spec",
    "maintain": "engine.run",
    "plan": "engine.run",
    "rebuild": "quality.runs",
    "replay": "quality.runs",
    "reread": "quality.runs",
    "verify": "engine.run",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - computed from the one list


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
