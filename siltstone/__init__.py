"""siltstone: change data capture streams to Apache Iceberg tables with the latest state and the SCD2 history.

This is the public Python API. Each name is loaded when it is first used, so `import siltstone` is fast and does not
load Spark.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siltstone.engine.run import explain, maintain, plan, verify
    from siltstone.engine.session import spark_session
    from siltstone.engine.spec import load_project, load_spec, load_specs
    from siltstone.quality.runs import catch_up, rebuild, replay, reread

__all__ = [
    "catch_up",
    "explain",
    "load_project",
    "load_spec",
    "load_specs",
    "maintain",
    "plan",
    "rebuild",
    "replay",
    "reread",
    "spark_session",
    "verify",
]

_MODULES = {
    "siltstone.engine.run": ("explain", "maintain", "plan", "verify"),
    "siltstone.engine.session": ("spark_session",),
    "siltstone.engine.spec": ("load_project", "load_spec", "load_specs"),
    "siltstone.quality.runs": ("catch_up", "rebuild", "replay", "reread"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("siltstone")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'siltstone' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), "__version__", *__all__])
