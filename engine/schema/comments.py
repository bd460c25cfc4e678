"""The comments on siltstone's own tables and columns, which a catalog browser shows.

No Spark here: a report reads tables without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from siltstone.engine import names
from siltstone.engine.layout_version import LAYOUT_VERSION

_RESCUED: Final = "JSON of values that no column holds, or that do not fit their column"
_SHARED: Final = {
    names.COMMIT_TS: "the commit time of the change that opened the version, as the source has it",
    names.POSITION: "the position of that change, as sortable text",
    names.RESCUED: _RESCUED,
    names.BATCH: "the batch that wrote the row",
    names.SOURCE: "the source of the row",
    names.COPY: "the number of the row among equal rows of a table without a key",
}
LATEST: Final[Mapping[str, str]] = _SHARED | {names.VALID_FROM: "when the row's current version began"}
HISTORY: Final[Mapping[str, str]] = _SHARED | {
    names.VALID_FROM: "from when the version is valid",
    names.VALID_TO: "until when it is valid; null for the open version",
    names.IS_CURRENT: "whether it is the open version of a live row",
    names.OP: "what opened the version: read, insert, update or delete",
    names.CHANGE_HASH: "the content hash of that change",
    names.LAST_POSITION: "the position of the last change that concerned this version",
    names.STREAM_TS: "the time of the last streamed change that concerned this version",
    names.UNKNOWN: "the columns that no change of the key has contained yet",
    names.RECORDED_FROM: "when the row was written to the table",
    names.RECORDED_TO: "when another row replaced it; null for a row that counts",
}
CHANGES: Final[Mapping[str, str]] = {
    "batch": "the batch that added the change",
    "source": "the source that sent it: the connector and its name, such as postgresql:shop",
    "table": "the table at the source",
    "key": "the key columns",
    "op": "read, insert, update, delete or truncate",
    "row": "the image after the change; of a delete, the last known image",
    "present": "the columns that row contains; null means all of them",
    "before": "the image before the change, where the format has one",
    "position": "the place in the source's log, as sortable text",
    "commit_ts": "when the source committed the change",
    "ingest_ts": "when the tool processed the event",
    "event_id": "the event's own id, where the format has one",
    "tx_id": "the transaction, where the format has one",
    "tx_order": "the number of the change in its transaction",
    "origin": "stream, snapshot, or base: a streamed change before which older ones were removed",
    "old_key": "of the insert of a key change: the key before it",
    "new_key": "of the delete of a key change: the key after it",
    "channel": "the topic or partition that delivered the event, where the event names one",
    "kafka_partition": "the partition of the topic",
    "kafka_offset": "the offset in the partition",
    "file": "the file, or the partition of a topic as kafka://TOPIC/PARTITION",
    "line": "the line or the number of the record in the file, from 1 on; of a topic, the offset plus one",
    "content_hash": "a hash of the content, by which siltstone recognizes redeliveries",
    "rescued": _RESCUED,
    "too_late": "whether the change arrived too late to be applied",
}
_LEDGERS: Final = {
    "table": "the table at the source",
    "consumer": "the table that read the record, or control: and the source's path for control events",
    "batch": "the batch",
    "file": "the file, or the partition of a topic as kafka://TOPIC/PARTITION",
    "line": "the line or the number of the record in the file, from 1 on; of a topic, the offset plus one",
    "attempt": "the attempt that wrote the row: it counts once the commit of its batch names the attempt",
    "run_id": "the run",
    "hint": "what to do",
    "position_from": "the first position",
    "position_to": "the last position",
}
LEDGERS: Final[Mapping[str, Mapping[str, str]]] = {
    names.CONTROL: {
        **{name: CHANGES[name] for name in ("position", "commit_ts", "ingest_ts", "event_id", "tx_id", "channel")},
        "batch": "the batch of control events",
        "source": "the source, where it is known",
        "kind": "what the event is, such as heartbeat, transaction_end or ddl",
        "table": "the table that the event names",
        "payload": "the event, or what was counted, as JSON; null for events that hold values of rows",
    },
    names.REJECTS: {
        "batch": "the batch that rejected the record",
        "table": "the table that the record names",
        "reason": "why it cannot be decoded",
        "record": "the record; null if it can hold values that the spec masks",
        "rejected_at": "when it was rejected",
    },
    names.REPLAYS: {
        "batch": "the batch that the replay made",
        "consumer": "the table that the replay made it for",
        "of_batch": "the batch of the reject",
        "of_consumer": "the consumer of the reject",
        "outcome": "applied, control, other table, rejected, or read again by rebuild --reread",
        "replayed_at": "when it was replayed",
    },
    names.INPUTS: {
        "batch": "the batch that took it; 0 if no event of the table was in it",
        "path": "the file, or kafka://TOPIC/PARTITION",
        "size": "the size in bytes; of a topic, the offset after the last record",
        "mtime": "when the file was modified",
        "fingerprint": "a hash of the content that was taken, or the id of the topic",
        "from_line": "the first line that was taken; of a topic, its offset plus one",
        "to_line": "the last line that was taken; of a topic, its offset plus one",
    },
    names.RUNS: {
        "started_at": "when it began",
        "seconds": "how long it took",
        "status": "ok, nothing new, failed, blocked, interrupted or rebuilt",
        "read": "records that were read",
        "control": "of these, control events",
        "other_table": "of these, changes of other tables",
        "changes": "changes that were folded",
        "rejected": "records of the table that were rejected",
        "outcomes": "changes by outcome",
        "versions": "versions that were opened, updated and removed; of a rebuild, before and written",
        "error": "the message, if it failed",
        "exit_code": "the exit code of the table",
    },
    names.CHECKS: {
        "run_id": "the run, or the siltstone check",
        "checked_at": "when it was checked",
        "check": "the check, or the name of an expectation of the spec",
        "severity": "info, warn or error",
        "status": "passed, noted, failed, acknowledged or not available",
        "observed": "how many places it found",
        "message": "the first finding, or why the check is not available",
        "keys": "up to 20 keys, as JSON",
    },
    names.GAPS: {
        "gap_id": "the id, the same in every run",
        "check": "the check that found it",
        "severity": "info, warn or error",
        "status": "open, healed or acknowledged",
        "key": "the key as JSON, as it is stored: a masked key is its hash",
        "committed_from": "when the first position was committed, where it is known",
        "committed_to": "when the last position was committed, where it is known",
        "message": "what was found",
        "findings": "1, except in the row that counts the findings over 100",
        "since_batch": "it was found among the changes of later batches",
        "opened_run": "the run that found it first",
        "opened_at": "when it was found first",
        "last_seen_run": "the run that found it last",
        "last_seen_at": "when it was found last",
        "healed_run": "the run that did not find it any more",
        "healed_at": "when it was not found any more",
        "acknowledged_by": "who accepts it",
        "acknowledged_reason": "why it is accepted",
        "acknowledged_at": "since when it is accepted",
    },
    names.DISMISSALS: {
        "batch": "the batch of the reject",
        "reason": "why it is dismissed",
        "dismissed_by": "the user",
        "dismissed_at": "when it was dismissed",
    },
    names.LEASE: {"note": "never written: the lease is in the summaries of the commits"},
}
TABLES: Final[Mapping[str, str]] = {
    "latest": "The latest state of a source table: one row per live key",
    "history": "The SCD2 history of a source table: one row per version of a key",
    "changes": "The changes of a source table: one row per change event",
    names.CONTROL: "Events that are no changes of rows, and what siltstone counted of a delivery",
    names.REJECTS: "Records that could not be decoded, with the reason",
    names.REPLAYS: "Rejects that were replayed",
    names.INPUTS: "The files, and the offsets of topics, that each table has taken",
    names.RUNS: "Runs: one row per run and table",
    names.CHECKS: "Results of the checks",
    names.GAPS: "Gaps in the order of the changes: open, healed or acknowledged",
    names.DISMISSALS: "Rejects that a person dismissed",
    names.LEASE: "No rows: commits to this table hold the lease of the active run",
}
"""The comments on the tables."""


def comment_on(table: str) -> dict[str, str]:
    """The comment on a table, as a table property. `table`: latest, history, changes or a ledger."""
    return {names.PROPERTY_COMMENT: f"{TABLES[table]}. Written by siltstone"}


def ledger_properties(table: str) -> dict[str, str]:
    """The properties of a new ledger. Format version 2, because PyIceberg writes ledgers, too, and no later version."""
    return {"format-version": "2", names.PROPERTY_LAYOUT: str(LAYOUT_VERSION), **comment_on(table)}


def ledger_comments(table: str) -> dict[str, str]:
    """The comments on the columns of a ledger."""
    return _LEDGERS | dict(LEDGERS[table])
