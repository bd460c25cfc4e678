"""Shared names: op codes, origins, reserved columns, ledger tables, summary keys.

Columns that siltstone adds to a table start with an underscore. No other column can have one of their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OP_READ: Final = "read"
OP_INSERT: Final = "insert"
OP_UPDATE: Final = "update"
OP_DELETE: Final = "delete"
OP_TRUNCATE: Final = "truncate"

ORIGIN_STREAM: Final = "stream"
ORIGIN_SNAPSHOT: Final = "snapshot"
ORIGIN_BASE: Final = "base"  # the base state of a key: a streamed change whose predecessors were removed

VALID_FROM: Final = "_valid_from"
VALID_TO: Final = "_valid_to"
IS_CURRENT: Final = "_is_current"
OP: Final = "_op"
COMMIT_TS: Final = "_commit_ts"
POSITION: Final = "_position"
CHANGE_HASH: Final = "_change_hash"
LAST_POSITION: Final = "_last_position"
STREAM_TS: Final = "_stream_ts"
UNKNOWN: Final = "_unknown"
RESCUED: Final = "_rescued"
BATCH: Final = "_batch"
RECORDED_FROM: Final = "_recorded_from"  # when a row was recorded
RECORDED_TO: Final = "_recorded_to"  # when another row replaced it
SOURCE: Final = "_source"  # in a table of several sources: the source of a row
COPY: Final = "_copy"  # in a keyless table: the number of a row among equal rows

# Added to the columns of versions while a difference is written.
ACTION: Final = "_action"
CHANGE: Final = "_change"
WAS_OPEN: Final = "_was_open"

# Added to the columns of a table while two of its states are compared.
NEWEST: Final = "_siltstone_newest"
SIDE: Final = "_siltstone_side"

# Added to a row's columns while they are read from JSON: why the reader refused the row.
REFUSED: Final = "_siltstone_refused"

OWN_COLUMNS: Final = frozenset(
    (
        *(VALID_FROM, VALID_TO, IS_CURRENT, OP, COMMIT_TS, POSITION, CHANGE_HASH, LAST_POSITION, STREAM_TS, UNKNOWN),
        *(RESCUED, BATCH, RECORDED_FROM, RECORDED_TO, SOURCE, COPY, ACTION, CHANGE, WAS_OPEN),
        *(NEWEST, SIDE, REFUSED),
    )
)
ICEBERG_COLUMNS: Final = frozenset(
    (
        *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
        *("_change_type", "_change_ordinal", "_commit_snapshot_id"),
    )
)
"""Iceberg's own columns. It cannot read a table that has another column of such a name."""
TAKEN_NAMES: Final = OWN_COLUMNS | ICEBERG_COLUMNS
"""Names that no column can have, in lower case. Such a column is rescued if events bring it, and an error in a spec."""

REDACTED: Final = "***"  # replaces a text that is not shown or stored

CONTROL: Final = "control"
REJECTS: Final = "rejects"
PLACE: Final = ["file", "line"]  # where a record was delivered
OF_REJECT: Final = ("consumer", "batch", "file", "line")  # the columns that identify a reject
REPLAYS: Final = "replays"
INPUTS: Final = "inputs"
RUNS: Final = "runs"
CHECKS: Final = "checks"
GAPS: Final = "gaps"
CONTROL_OF: Final = "control:"  # the name of the consumer of a source's control events is this and the path
DISMISSALS: Final = "dismissals"
LEASE: Final = "run_lease"
"""The table in a shared catalog that names the active run: see `engine.run.lease`."""
LEDGER_TABLES: Final = (CONTROL, REJECTS, REPLAYS, INPUTS, RUNS, CHECKS, GAPS, DISMISSALS)

TOPICS: Final = "kafka://"  # the beginning of the path of a topic's partition

NO_BATCH: Final = 0  # for inputs without an event of a table that has no batch yet
EVERY_BATCH: Final = -1  # all batches are after it

PROPERTY_NAMES: Final = "siltstone.history-names"  # a property of `history`: the names of its renamed columns
PROPERTY_TRIMMED: Final = "siltstone.trimmed-to"  # of `changes`: older changes that are not needed are removed
PROPERTY_FIRST_NAMES: Final = "siltstone.first-names"  # of `changes`: the first names of renamed columns
SINCE_PREFIX: Final = "siltstone.since."  # of `changes`: the batch in which a column appeared
PROPERTY_LAYOUT: Final = "siltstone.layout-version"  # of every table: see `engine.layout_version`
PROPERTY_COMMENT: Final = "comment"  # Spark and other engines show it
PROPERTY_SETTINGS: Final = "siltstone.settings"  # of `latest` and `history`: the settings of the spec applied last

SUMMARY_BATCH: Final = "siltstone.batch"
MARKER_TAG: Final = "siltstone"  # of a table: the newest snapshot that carries a marker
SUMMARY_FOLDED: Final = "siltstone.folded"  # of `history` and `latest`: which changes are folded into them
SUMMARY_EMPTIED: Final = "siltstone.emptied"  # the rows were removed for good: the table counts as new
SUMMARY_ATTEMPT: Final = "siltstone.attempt"  # the attempt that committed the batch
SUMMARY_FINGERPRINT: Final = "siltstone.fingerprint"
SUMMARY_MAX_COMMIT: Final = "siltstone.max-commit-us"
SUMMARY_MASKS: Final = "siltstone.masks"
SUMMARY_DECODED: Final = "siltstone.decoded"  # of `changes`: the settings by which they were decoded
SUMMARY_BY_SCN: Final = "siltstone.by-scn"  # of `changes`: the sources that turned out to be ordered by SCNs alone
SUMMARY_REREAD: Final = "siltstone.reread"  # the number of the reread that the rows come from; absent: the first read
ACCEPTED: Final = "accepted-"  # begins SUMMARY_REREAD if the rows are what another program left, with the same columns

SUMMARY_FOREIGN: Final = "siltstone.foreign"  # rows of other programs are left: only some keys were rebuilt

# Properties of `history` and `latest`: how complete they are.
CHECKED_BATCH: Final = "siltstone.checked-batch"
COMPLETE_THROUGH: Final = "siltstone.complete-through"
COMPLETE_THROUGH_BY: Final = "siltstone.complete-through-by"
SEALED_UP_TO: Final = "siltstone.sealed-up-to"
OPEN_GAPS: Final = "siltstone.open-gaps"


def quoted(name: str) -> str:
    """One identifier, quoted for Spark's parser, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string, quoted for Spark's parser."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def deduplicated(names: Iterable[str]) -> list[str]:
    """The names of a record's fields, made unique for Spark, which ignores case.

    A name that differs from an earlier one only in case is replaced.
    """
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names):
        found.append(f"__siltstone_{number}" if name.casefold() in taken else name)
        taken.add(name.casefold())
    return found
