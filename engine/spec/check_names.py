"""The names of the checks, and their default severities."""

from __future__ import annotations

from typing import Final

from siltstone.engine.spec.model import Severity

CHECK_SEVERITY: Final[dict[str, Severity]] = {
    "chain_break": "error",
    "orphan": "error",
    "double_insert": "error",
    "incomplete_transaction": "error",
    "log_gap": "warn",
    "positions_backwards": "warn",
    "time_against_order": "warn",
    "open_window": "warn",
    "short_snapshot": "error",
    "ghost_row": "error",
    "stalled_source": "warn",
    "versions_tile_time": "error",
    "latest_equals_open_versions": "error",
    "sums_close": "error",
    "rejects": "warn",
    "duplicates": "info",
    "late_changes": "info",
    "snapshot_reads": "info",
}
CHECK_NAMES: Final = tuple(CHECK_SEVERITY)

COMPACTED: Final[dict[str, Severity]] = dict.fromkeys(
    ("chain_break", "orphan", "double_insert", "incomplete_transaction"), "info"
)
"""Default severities for a log-compacted source. It has lost events on purpose, so missing events only inform."""
