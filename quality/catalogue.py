"""The checks: what each expects, and what to do if it fails. Names and severities are defined by the spec language."""

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
"""Checks whose findings are totals, not single places."""


@dataclass(frozen=True, slots=True)
class Check:
    """The texts of one check: the expectation, and what to do if the data does not meet it."""

    name: str
    expects: str
    hint: str


CHECKS: Final = {
    check.name: check
    for check in (
        Check(
            CHAIN_BREAK,
            "The before image of every streamed update and delete equals the previous version of the row.",
            "A change between the two is missing. Re-read this range of the source's log (position_from to "
            "position_to), or take a snapshot of these keys at the source.",
        ),
        Check(
            ORPHAN,
            "The first change of a key is a READ or an insert.",
            "The first changes of the key are missing. Deliver the changes before this position (position_from). If "
            "they are lost, take a snapshot of the table at the source, which corrects latest, and acknowledge the "
            "gap: the earlier versions stay unknown.",
        ),
        Check(
            DOUBLE_INSERT,
            "No insert arrives for a row that is live already.",
            "A delete before the insert is missing. Re-read this range of the source's log (position_from to "
            "position_to).",
        ),
        Check(
            INCOMPLETE_TRANSACTION,
            "Every transaction is complete: as many changes arrived as it announced, counted over all tables.",
            "Changes of the transaction are missing. Re-read this range of the source's log (position_from to "
            "position_to).",
        ),
        Check(
            LOG_GAP,
            "No numbered log file is missing, and no transaction is missing that other transactions identify.",
            "Either the missing files or transactions have no captured changes, or they were lost before they were "
            "read. A connector can skip transactions by GTID, and the channel of logical messages may not be an "
            "input. Look for them at the source. If they no longer exist there, take a new snapshot of the tables.",
        ),
        Check(
            TIME_AGAINST_ORDER,
            "Commit times do not decrease while positions increase, and are not in the future.",
            "The log position decides the order, and history gives the change the time of the change before it. Check "
            "the source's clock. If transactions are long and have the time of their begin, raise snapshot.skew.",
        ),
        Check(
            POSITIONS_BACKWARDS,
            "Positions do not go back within one channel, in the order of delivery.",
            "After a restart the source sends a range a second time, which does no harm. Without a restart, the log "
            "was reset or another source writes to the channel: check the source.",
        ),
        Check(
            OPEN_WINDOW,
            "Every snapshot window that was opened was closed.",
            "Either the chunk is unfinished, or its close event was lost. Run `siltstone catch-up` when more events "
            "have arrived. If the window stays open, repeat the snapshot at the source.",
        ),
        Check(
            SHORT_SNAPSHOT,
            "Every complete snapshot delivered as many rows as it announced.",
            "Rows of the snapshot were lost on the way. Repeat the snapshot of this table at the source.",
        ),
        Check(
            GHOST_ROW,
            "After a complete snapshot, every live row is in the snapshot or changed after it.",
            "Either the delete of the row was lost, or a part of the snapshot was lost. Repeat the snapshot. If the "
            "row no longer exists at the source, deliver its delete.",
        ),
        Check(
            STALLED_SOURCE,
            "Heartbeats do not stop and partitions do not lag while the source advances, and no partition is read "
            "before its parents end.",
            "Changes of the silent part are missing from the tables. Check its connector, partition or file delivery. "
            "The next run takes the changes when they have arrived.",
        ),
        Check(
            VERSIONS_TILE_TIME,
            "The versions of a key follow each other without gap or overlap, exactly one of them is open, and "
            "_is_current shows whether it is live.",
            "Another program wrote to the history table, or siltstone has a bug. Run `siltstone rebuild`, and report "
            "it.",
        ),
        Check(
            LATEST_EQUALS_OPEN_VERSIONS,
            "The latest table has exactly the open live versions of the history table.",
            "Another program wrote to one of the tables, or siltstone has a bug. Run `siltstone rebuild`, and report "
            "it.",
        ),
        Check(
            SUMS_CLOSE,
            "Every record that was read is accounted for, and every change has exactly one outcome.",
            "Records were lost or counted twice. Do not trust this run, and report it.",
        ),
        Check(
            REJECTS,
            "Every record of the table was decoded, and every record of its source names a table.",
            "`siltstone rejects show TABLE` lists the records with their reasons; without TABLE it also lists those "
            "that name no table. Fix the spec and run `siltstone rejects replay`, or run `siltstone rejects dismiss` "
            "for records that were repaired in another way or are not needed.",
        ),
        Check(
            DUPLICATES,
            "No change is delivered twice.",
            "No action is needed: a change counts once, however often it arrives. Many duplicates cost time: look for "
            "files that are delivered twice, or for a connector that restarts.",
        ),
        Check(
            LATE_CHANGES,
            "No change is older than the changes of earlier runs.",
            "Changes that were applied need no action: history has them in the right order. Changes that were too "
            "late are only in the changes table. To apply them, raise lateness and run `siltstone rebuild --reread`.",
        ),
        Check(
            SNAPSHOT_READS,
            "No snapshot READ contradicts the streamed changes.",
            "A READ showed a row that no streamed change explains: the stream missed a change. History has the row "
            "from the READ on; what happened before the READ is unknown.",
        ),
    )
}
