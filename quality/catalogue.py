"""The checks: what each expects, and what to do when it fails. Their names and severities are the spec language's."""

from dataclasses import dataclass
from typing import Final

CHAIN_BREAK: Final = "chain_break"
ORPHAN: Final = "orphan"
DOUBLE_INSERT: Final = "double_insert"
INCOMPLETE_TRANSACTION: Final = "incomplete_transaction"
LOG_GAP: Final = "log_gap"
TIME_AGAINST_ORDER: Final = "time_against_order"
SHORT_SNAPSHOT: Final = "short_snapshot"
GHOST_ROW: Final = "ghost_row"
STALLED_SOURCE: Final = "stalled_source"
REJECTS: Final = "rejects"
DUPLICATES: Final = "duplicates"
LATE_CHANGES: Final = "late_changes"
SNAPSHOT_READS: Final = "snapshot_reads"
POSITIONS_BACKWARDS: Final = "positions_backwards"
OPEN_WINDOW: Final = "open_window"
VERSIONS_TILE_TIME: Final = "versions_tile_time"
LATEST_EQUALS_OPEN_VERSIONS: Final = "latest_equals_open_versions"
SUMS_CLOSE: Final = "sums_close"

SUMMARIES: Final = (REJECTS, DUPLICATES, LATE_CHANGES, SNAPSHOT_READS)
"""Checks whose findings sum up what they found: they are not places, one beside the other."""


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
            "The key's beginning is missing: add what came before position_from. Where that is gone for good, snapshot "
            "the table at the source, which puts latest right, and acknowledge the gap: what was before stays unknown.",
        ),
        Check(
            DOUBLE_INSERT,
            "No insert meets a row that is live already.",
            "A delete before the insert is missing: read the source's log again up to position_from.",
        ),
        Check(
            INCOMPLETE_TRANSACTION,
            "Every transaction is complete: as many changes came as it announced, counted over all tables.",
            "Changes of the transaction are missing: read the source's log again from position_from to position_to.",
        ),
        Check(
            LOG_GAP,
            "The files of the log follow each other without a number left out, and so do its transactions where each "
            "tells of the one before it.",
            "Either nothing that is captured was written to the missing files or transactions (a connector can leave "
            "transactions out by GTID, and the channel of logical messages may not be read), or they were lost before "
            "they were read: look for them at the source; if they are gone, snapshot the tables again.",
        ),
        Check(
            TIME_AGAINST_ORDER,
            "Commit times do not decrease while positions grow, and do not lie in the future.",
            "The order of the log decides; history shows the change at the time of the one before it. Look at the "
            "source's clock; where transactions are long and stamped when they begin, raise snapshot.skew.",
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
            SHORT_SNAPSHOT,
            "Of every snapshot that was announced complete as many rows came as it announced.",
            "A chunk of the snapshot was lost on the way: repeat the snapshot of this table at the source.",
        ),
        Check(
            GHOST_ROW,
            "After a complete snapshot every live row was seen by it, or changed since.",
            "The row was deleted and the delete was lost, or a chunk of the snapshot was: repeat the snapshot; if the "
            "row is gone at the source, replay its delete.",
        ),
        Check(
            STALLED_SOURCE,
            "No heartbeat and no partition stays behind the rest of the source, and none is read before its parents.",
            "What the silent part holds is missing from the tables: look at its connector, partition or file drop. It "
            "is taken as soon as it arrives.",
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
        Check(
            REJECTS,
            "Every record of the table could be decoded, and every one of its source names a table.",
            "`siltstone rejects show TABLE` prints them with their reasons (without TABLE those that name none, too): "
            "mend the spec and run `siltstone rejects replay`, or `siltstone rejects dismiss` what was mended "
            "otherwise or is no loss.",
        ),
        Check(
            DUPLICATES,
            "No change is delivered twice.",
            "Nothing: a change counts once however often it comes. Many of them cost time: look for files that are "
            "delivered again, or for a connector that restarts.",
        ),
        Check(
            LATE_CHANGES,
            "No change is older than what earlier runs have taken.",
            "Nothing for those that were applied: history holds them in their places. Those that came too late are "
            "only in the changes table: raise lateness and rebuild if they must count.",
        ),
        Check(
            SNAPSHOT_READS,
            "No snapshot READ contradicts what the stream told.",
            "A READ showed a row that no streamed change had made: the stream missed a change of it. History holds the "
            "row from the READ on; what was between is unknown.",
        ),
    )
}
