"""The names of the checks and how grave each is unless a spec says otherwise."""

from __future__ import annotations

from typing import Final

from engine.spec.model import Severity

CHECK_SEVERITY: Final[dict[str, Severity]] = {
    "chain_break": "error",
    "orphan": "error",
    "double_insert": "error",
    "positions_backwards": "warn",
    "open_window": "warn",
    "versions_tile_time": "error",
    "latest_equals_open_versions": "error",
    "sums_close": "error",
}
CHECK_NAMES: Final = tuple(CHECK_SEVERITY)
