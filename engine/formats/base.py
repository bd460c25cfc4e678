"""What a format declares about itself: how to detect it, its settings, and the meaning of its changes.

Code outside of a format's own modules reads these values and never compares a format's name. The values are plain data,
so that reading a spec or a table imports no decoder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Container = Literal["json", "text", "csv", "avro", "parquet"]
Holds = Literal["events", "messages", "rows"]
Several = Literal["disjoint", "shards", "one_log"]
Values = Literal["connect", "json", "written"]

NO_BEFORE: Final = "its changes have no before image"
NO_SIZE: Final = "its events do not report the size of their transaction"
NO_FILES: Final = "its log has no numbered files"
MANY_LOGS: Final = "its records can come from several logs and do not name the log"
NO_READS: Final = "it has no snapshot READs"
NO_BEATS: Final = "it sends no heartbeats"
NO_LANE: Final = "its files have no order"
OWN_PLACE: Final = "its order is the place of the events, which cannot go backwards"
OWN_TIME: Final = "its order is the order of commit times"
NO_SNAPSHOTS: Final = {
    "open_window": "it has no markers of snapshot windows",
    "short_snapshot": "it does not report when a snapshot is complete",
    "ghost_row": "it does not report when a snapshot is complete",
}

ONE_WAY: Final = "its values are written in one way only"
BY_SCHEMA: Final = "the schemas define it"
BY_LOG: Final = "the source's log: position, LSN or SCN"
NO_MARKS: Final = re.compile(rb"(?!)")


@dataclass(frozen=True)
class SourceKind:
    """One kind of source, for example one database of a format.

    `begins`: how the column `source` of its changes begins. `title`: its usual name, where its format has several
    kinds.
    `unavailable_checks`: the checks that it cannot support, each with the reason. It supports all other checks.

    Positions (segments count from 1, the epoch is the first):
    `has_numbered_log`: the segment after the epoch is the number of a log file.
    `orders_statements`: a position is the place of a statement, whose transaction can commit much later.
    `commit_segment`: the segment with the commit; where it is zeros, the position is that of the statement alone.
    `snapshot_segment`: the segment of a READ's position that holds the stream's position at the start of the snapshot.
    `commits_in_order`: a transaction is written to the log when it commits.

    Transactions and times:
    `counts_transactions`: a change has its number within its transaction, and the END event has the number of changes.
    `renumbers_transactions`: a redelivered change can have another number.
    `commit_time_is_transaction`: changes without a transaction id belong to one transaction if their commit time is
    equal.
    `stamps_commits`: the time of a change is that of its commit, not that of its statement.
    `names_previous_commit`: each transaction names the commit before it.
    `counts_commits`: transactions are numbered without a gap.

    `has_partitions`: its channels are partitions, each with its own order and watermark.
    `separates_key_changes`: the two halves of a key change name each other only in headers, and each has its own place
    in the log.
    `omits_server`: its changes may lack the server and the GTID.
    `has_mysql_values`: values without a schema are written as Debezium's MySQL connectors write them.
    `stamps_pairs`: positions have a time that can differ between the two halves of a key change.
    `notation`: the function that shows a position as the source writes it, as `module:function`.
    """

    begins: str
    title: str = ""
    unavailable_checks: Mapping[str, str] = field(default_factory=dict)
    has_numbered_log: bool = False
    orders_statements: bool = False
    commit_segment: int | None = None
    snapshot_segment: int | None = None
    commits_in_order: bool = False
    counts_transactions: bool = False
    renumbers_transactions: bool = False
    commit_time_is_transaction: bool = False
    stamps_commits: bool = False
    names_previous_commit: bool = False
    counts_commits: bool = False
    has_partitions: bool = False
    separates_key_changes: bool = False
    omits_server: bool = False
    has_mysql_values: bool = False
    stamps_pairs: bool = False
    notation: str = ""

    @property
    def connector(self) -> str:
        """The connector of its changes."""
        return self.begins.removesuffix(":")


@dataclass(frozen=True)
class Format:
    """One format: what the spec, the fold, the checks and `init` need to know about it.

    `decoder`: the class of its decoder, as `module:class`. `sources`: the kinds of source that use it.

    Files: `containers`: the file types that it comes in; `holds`: events as records, messages (bytes, or base64 in
    lines of text), or plain rows. `of_topics`: its messages come from topics, which can have null messages.

    Detection: `marks`: the pattern that the text of its changes matches; `looks_for`: the same in words; `needs_marks`:
    every event of the format matches, control events too. `order`: a description of its order. `no_key`:
    `module:function` that returns whether a change shows that its table has no key.

    Settings: `settings`: the settings of `source` that only some formats have; `refuses`: the settings that do not
    apply to it, each with the reason; `orders`: the values of `source.order`; `several`: the default of
    `source.several`.
    `names_source`: events name their source. `has_bare_tables`: table names have no dot.
    `needs_schemas`: its messages are read with schemas from elsewhere.

    Values without a schema: `values`: `connect`: as Kafka Connect's converters and the settings of the spec define;
    `json`: as plain JSON (numbers as numbers, times as ISO text); `written`: as text that the database writes.
    `counts_clocks`: times of day are microseconds, and binary values are hexadecimal digits. `bytes_are_text`: each
    byte is a character. `marks_values`: each value names its kind.

    Decoding: `fans_out`: one message can hold several changes. `reads_whole`: the meaning of a message can depend on
    the earlier messages of its file. `resends`: later files can show that a message was sent a second time, so that its
    change does not count. `joins_lines`: two lines can be one change. `is_complete`: `module:function` that returns
    whether the text of a record is not half of a change and has a position in the log. `can_turn_to_coordinates`: if
    one change lacks a position, coordinates order the whole source from then on. `can_turn_to_scns`: a record can show
    that SCNs alone order its source. `splits_key_changes`: one record becomes both halves of a key change.
    `pairs_key_changes`: a key change is two events at one place. `splits_declared_keys`: an update that changes a key
    which only the spec declares becomes two changes. `omits_columns`: a column that an image lacks is unknown, so that
    the image is not complete. `is_unordered`: events of one position need not be next to each other, or in one file.
    `has_null_keys`: null is a value of a key column like any other.

    Completeness: `progress_events`: the kinds of control events after which all changes up to their time have been
    sent, each with its usual name.
    """

    name: str
    decoder: str
    sources: tuple[SourceKind, ...]
    order: str
    containers: tuple[Container, ...] = ("json",)
    holds: Holds = "events"
    of_topics: bool = False
    marks: re.Pattern[bytes] = NO_MARKS
    looks_for: str = ""
    needs_marks: bool = False
    no_key: str | None = None
    settings: frozenset[str] = frozenset()
    refuses: Mapping[str, str] = field(default_factory=dict)
    orders: tuple[str, ...] = ("auto",)
    several: Several = "one_log"
    names_source: bool = False
    has_bare_tables: bool = False
    needs_schemas: bool = False
    values: Values = "connect"
    counts_clocks: bool = False
    bytes_are_text: bool = False
    marks_values: bool = False
    fans_out: bool = False
    reads_whole: bool = False
    resends: bool = False
    joins_lines: bool = False
    is_complete: str | None = None
    can_turn_to_coordinates: bool = False
    can_turn_to_scns: bool = False
    splits_key_changes: bool = False
    pairs_key_changes: bool = False
    splits_declared_keys: bool = False
    omits_columns: bool = False
    is_unordered: bool = False
    has_null_keys: bool = False
    progress_events: Mapping[str, str] = field(default_factory=dict)
