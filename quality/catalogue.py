"""The checks: what each expects, and what to do when it fails. Their names and severities are the spec language's."""

from dataclasses import dataclass
from typing import Final

CHAIN_BREAK: Final = "chain_break"
ORPHAN: Final = "orphan"
DOUBLE_INSERT: Final = "double_insert"
POSITIONS_BACKWARDS: Final = "positions_backwards"
OPEN_WINDOW: Final = "open_window"
VERSIONS_TILE_TIME: Final = "versions_tile_time"
LATEST_EQUALS_OPEN_VERSIONS: Final = "latest_equals_open_versions"
SUMS_CLOSE: Final = "sums_close"


@dataclass(frozen=True, slots=True)
class Check:
    """One check in words: what is expected of the data, and what a person does when it is not so."""

    name: str
    expects: str
    hint: str


CHECKS: Final = {
    check.name: check
    for check in (
        Check(
            CHAIN_BREAK,
            "The before image of every streamed update and delete equals the version just before it.",
            "A change between the two is missing: read the source's log again from position_from, "
            "or snapshot these keys at the source.",
        ),
        Check(
            ORPHAN,
            "The first change of a key is a READ or an insert.",
            "The key's beginning is missing: snapshot the table at the source, or add what came before position_from.",
        ),
        Check(
            DOUBLE_INSERT,
            "No insert meets a row that is live already.",
            "A delete before the insert is missing: read the source's log again up to position_from.",
        ),
        Check(
            POSITIONS_BACKWARDS,
            "Positions do not go backwards inside one channel, in the order of delivery.",
            "After a restart the source sends a range again, which changes nothing. "
            "Without a restart, the log was reset or another source writes to the channel: look at the source.",
        ),
        Check(
            OPEN_WINDOW,
            "Every snapshot window that was opened was closed.",
            "The chunk is unfinished, or its close was lost. Run again when more events have arrived; "
            "if it stays open, repeat the snapshot at the source.",
        ),
        Check(
            VERSIONS_TILE_TIME,
            "The versions of a key follow each other without gap or overlap, exactly one of them is open, and "
            "_is_current tells whether it is live.",
            "The history table was written by others, or siltstone is at fault: run rebuild, and report it.",
        ),
        Check(
            LATEST_EQUALS_OPEN_VERSIONS,
            "The latest table holds exactly the open live versions of the history table.",
            "One of the tables was written by others, or siltstone is at fault: run rebuild, and report it.",
        ),
        Check(
            SUMS_CLOSE,
            "Every record read is accounted for, and every change has exactly one outcome.",
            "Records were lost or counted twice on the way: do not trust this run, and report it.",
        ),
    )
}
