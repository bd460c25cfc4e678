"""What a format declares about itself: how it is recognised, what its settings are, and what its changes mean.

Everything outside of the format's own modules asks for these values, and never for a format's name. They are plain
data, so that reading a spec or a table imports no decoder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Container = Literal["json", "text", "csv", "avro", "parquet"]
Holds = Literal["events", "messages", "rows"]
Several = Literal["disjoint", "shards", "one_log"]
Values = Literal["connect", "natural", "written"]

NO_BEFORE: Final = "its changes carry no row before"
NO_SIZE: Final = "its events do not say how much their transaction holds"
NO_FILES: Final = "its log has no numbered files"
MANY_LOGS: Final = "its records can come from several logs, and do not say from which"
NO_READS: Final = "it has no snapshot READs"
NO_BEATS: Final = "it sends no heartbeats"
NO_LANE: Final = "its files are in no order"
OWN_PLACE: Final = "its order is where events stand: it cannot go backwards"
OWN_TIME: Final = "its order is that of commit times"
NO_SNAPSHOTS: Final = {
    "open_window": "it has no markers of snapshot windows",
    "short_snapshot": "it does not tell when a snapshot has seen the whole table",
    "ghost_row": "it does not tell when a snapshot has seen the whole table",
}

ONE_WAY: Final = "its values are written in one way only"
BY_SCHEMA: Final = "the schemas say it"
BY_LOG: Final = "the source's log: position, LSN or SCN"
NO_MARKS: Final = re.compile(rb"(?!)")


@dataclass(frozen=True)
class SourceKind:
    """One kind of source, for example one database of a format.

    `begins`: how the column `source` of its changes begins. `title`: what people call it, where its format has several.
    `not_carried`: the checks that it cannot carry, each with the reason. What is not here it can.

    Positions (segments count from 1, the epoch is the first):
    `has_numbered_log`: the segment after the epoch is the number of a log file.
    `orders_statements`: a position is the place of a statement, whose transaction can commit long after.
    `commit_segment`: the segment that holds the commit; where it is zeros, the position is that of the statement alone.
    `snapshot_segment`: the segment of a READ's position up to which the stream had come when the snapshot began.
    `commits_in_order`: a transaction is written to the log when it commits.

    Transactions and times:
    `counts_transactions`: a change says its number within its transaction, and the END how many there are.
    `renumbers_transactions`: that number is another one when the source sends a change again.
    `commit_time_is_transaction`: changes of one commit time are of one transaction where none is named.
    `stamps_commits`: the time of a change is that of its commit, not that of its statement.
    `names_previous_commit`: each transaction names the commit before it; `counts_commits`: transactions are numbered
    without a gap.

    `has_partitions`: its channels are partitions, each with an order and a watermark of its own.
    `separates_key_changes`: the halves of a key change name each other in headers only, and both have a place of their
    own in the log.
    `omits_server`: its changes need not name the server or the GTID.
    `has_mysql_values`: values without a schema are written as Debezium's connectors of MySQL write them.
    `stamps_pairs`: positions hold a time that can differ between the two halves of a key change.
    `notation`: the function that shows a position as the source writes it, as `module:function`.
    """

    begins: str
    title: str = ""
    not_carried: Mapping[str, str] = field(default_factory=dict)
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
    """One format: what the spec, the fold, the checks and `init` have to know about it.

    `decoder`: where the class of its decoder is, as `module:class`. `sources`: the kinds of source that it carries.

    Files: `containers`: what its files are written in; `holds`: events as records, messages (bytes, or base64 in lines
    of text), or plain rows. `of_topics`: its messages come from topics, where some are null.

    Recognition: `marks`: what the text of its changes has; `looks_for`: the same in words; `needs_marks`: nothing is
    of the format that does not have it, control events neither. `order`: in which order its changes are. `no_key`:
    `module:function` that says whether a change shows that its table has no key.

    Settings: `settings`: those of `source` that only some formats have; `refuses`: those that mean nothing to it, each
    with the reason; `orders`: the words of `source.order`; `several`: what several sources are, where the spec is
    silent. `names_source`: events name their source. `has_bare_tables`: tables have names without a dot.
    `needs_schemas`: its messages are read with schemas from elsewhere.

    Values without a schema: `values`: `connect`: as Kafka Connect's converters and the settings of the spec say;
    `natural`: as JSON carries any (numbers as numbers, times as ISO text); `written`: as text that the database writes.
    `counts_clocks`: times of day are microseconds, and binary values hexadecimal digits. `bytes_are_text`: each byte is
    a character. `marks_values`: a value names its kind.

    Decoding: `fans_out`: one message can hold several changes. `reads_whole`: what a message means can depend on the
    messages before it in its file. `resends`: files that come later can show that a change is none, because its message
    was sent again. `joins_lines`: two lines can be one change. `is_complete`: `module:function` that says of a record's
    text that it is no such half and has a position in the log. `can_turn_to_coordinates`: from one change without a
    position on, the place of delivery orders the whole source. `can_turn_to_scns`: a record can show that SCNs alone
    order its source. `splits_key_changes`: one record becomes both halves of a key change. `pairs_key_changes`: a key
    change is two events at one place. `splits_declared_keys`: an update that changes a key which only the spec names
    becomes two changes. `omits_columns`: what an image lacks is not known, so that it is no whole row. `is_unordered`:
    what stands at one position need not stand together, nor in one file. `has_null_keys`: a null is a value of a key
    column, as any other.

    Completeness: `vouchers`: kinds of control events that say that all changes up to their time are sent, and what
    people call them.
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
    vouchers: Mapping[str, str] = field(default_factory=dict)
