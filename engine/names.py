"""Names with one meaning everywhere: op codes, origins, reserved columns, ledger tables, summary keys.

Columns that siltstone adds to a table start with an underscore, and no other column can be called like one of them.
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
ORIGIN_BASE: Final = "base"  # a streamed change before which those of its key were removed

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
RECORDED_FROM: Final = "_recorded_from"  # when the table began to say a row
RECORDED_TO: Final = "_recorded_to"  # when it ceased to
SOURCE: Final = "_source"  # of a table of several sources: which of them a row is from
COPY: Final = "_copy"  # of a keyless table: which of the equal rows

# Beside the columns of versions while a difference is written.
ACTION: Final = "_action"
CHANGE: Final = "_change"
WAS_OPEN: Final = "_was_open"

# Beside the columns of a table while two of its states are compared.
NEWEST: Final = "_siltstone_newest"
SIDE: Final = "_siltstone_side"

# Beside a row's columns while they are read from JSON: why the reader refused it.
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
"""Iceberg's own: it does not read a table that has a column of such a name."""
TAKEN_NAMES: Final = OWN_COLUMNS | ICEBERG_COLUMNS
"""What no column can be called, in lower case: one that events bring is rescued, one that a spec names is refused."""

REDACTED: Final = "***"  # what stands for a text of which only is kept that there was one

CONTROL: Final = "control"
REJECTS: Final = "rejects"
PLACE: Final = ["file", "line"]  # where a record was delivered
OF_REJECT: Final = ("consumer", "batch", "file", "line")  # what tells one reject from all others
REPLAYS: Final = "replays"
INPUTS: Final = "inputs"
RUNS: Final = "runs"
CHECKS: Final = "checks"
GAPS: Final = "gaps"
CONTROL_OF: Final = "control:"  # how the consumer of a source's control events is called, before the path
DISMISSALS: Final = "dismissals"
LEASE: Final = "run_lease"
"""Where a shared catalog says which run is at work: see `engine.run.lease`."""
LEDGER_TABLES: Final = (CONTROL, REJECTS, REPLAYS, INPUTS, RUNS, CHECKS, GAPS, DISMISSALS)

TOPICS: Final = "kafka://"  # how the path of a topic's partition begins

NO_BATCH: Final = 0  # of inputs in which no event of a table is: it has no batch yet
EVERY_BATCH: Final = -1  # the batches after it are all

PROPERTY_NAMES: Final = "siltstone.history-names"  # a property of `history`: how its renamed columns are called
PROPERTY_TRIMMED: Final = "siltstone.trimmed-to"  # of `changes`: older ones are removed as far as none needs them
PROPERTY_FIRST_NAMES: Final = "siltstone.first-names"  # of `changes`: what renamed columns were called first
SINCE_PREFIX: Final = "siltstone.since."  # of `changes`: the batch in which a column appeared
PROPERTY_COMMENT: Final = "comment"  # Spark and others show it
PROPERTY_SETTINGS: Final = "siltstone.settings"  # of `latest` and `history`: what their spec said of them last

SUMMARY_BATCH: Final = "siltstone.batch"
MARKER_TAG: Final = "siltstone"  # of a table: the newest snapshot that carries a marker
SUMMARY_FOLDED: Final = "siltstone.folded"  # of `history` and `latest`: what they are a fold of
SUMMARY_EMPTIED: Final = "siltstone.emptied"  # the rows were removed for good: as if none was ever taken
SUMMARY_ATTEMPT: Final = "siltstone.attempt"  # which of the attempts at a batch made it
SUMMARY_FINGERPRINT: Final = "siltstone.fingerprint"
SUMMARY_MAX_COMMIT: Final = "siltstone.max-commit-us"
SUMMARY_MASKS: Final = "siltstone.masks"
SUMMARY_DECODED: Final = "siltstone.decoded"  # of `changes`: by which settings
SUMMARY_BY_SCN: Final = "siltstone.by-scn"  # of `changes`: the sources that were seen to be ordered by SCNs alone
SUMMARY_REREAD: Final = "siltstone.reread"  # which reading of the inputs the rows come from; absent: the first

SUMMARY_FOREIGN: Final = "siltstone.foreign"  # rows of other programs stay: only some keys were rebuilt over them

# Properties of `history` and `latest`: how far they can be relied on.
CHECKED_BATCH: Final = "siltstone.checked-batch"
COMPLETE_THROUGH: Final = "siltstone.complete-through"
COMPLETE_THROUGH_BY: Final = "siltstone.complete-through-by"
SEALED_UP_TO: Final = "siltstone.sealed-up-to"
OPEN_GAPS: Final = "siltstone.open-gaps"


def quoted(name: str) -> str:
    """One identifier as Spark's parser takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def deduplicated(names: Iterable[str]) -> list[str]:
    """The names of a record's fields; those that differ from one before only in upper and lower case under others, for
    Spark does not tell such deduplicated."""
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names):
        found.append(f"__siltstone_{number}" if name.casefold() in taken else name)
        taken.add(name.casefold())
    return found
