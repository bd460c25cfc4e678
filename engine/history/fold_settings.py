"""What shapes a fold, and what has been folded so far: two frozen values."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class FoldRules:
    """The settings of one table's fold.

    `columns` are all of the table's columns, keys included, in order. `partial` are those that some change ever
    lacked: only they are followed one by one; the others always travel together. `defaults` are of the columns' types,
    as they are stored. `reads`, `swaps`, `truncates` and `partial_inserts` say whether snapshot READs, deletes of key changes,
    truncates and key-change inserts that lack columns occur at all, `guarded` whether READs without a position do, and
    `apart` whether halves of key changes of which the other can have been folded before: what cannot occur is not
    computed. In a `keyless` table the whole row is the key, and equal rows are told apart by a
    number.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tracked: tuple[str, ...]
    partial: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    guard: timedelta = timedelta(minutes=15)
    skew: timedelta = timedelta(seconds=5)
    margin: timedelta = timedelta(seconds=10)
    reads: bool = True
    swaps: bool = True
    truncates: bool = True
    partial_inserts: bool = True
    guarded: bool = True
    apart: bool = True
    keyless: bool = False

    @property
    def solid(self) -> tuple[str, ...]:
        """The columns every change carries, without the keys."""
        return tuple(name for name in self.columns if name not in self.keys and name not in self.partial)

    @property
    def followed(self) -> tuple[str, ...]:
        """The partial columns that are not keys."""
        return tuple(name for name in self.partial if name not in self.keys)


STORED_AS = {"partial_inserts": "owing"}
"""Fields of the marker whose names in snapshots are older than their names here."""


@dataclass(frozen=True)
class Folded:
    """What `history` is a fold of: its marker, kept in the summary of its snapshot.

    `close` and `close_ts` (microseconds) are the greatest place a folded READ took; `truncate` and `truncate_ts` the
    greatest folded truncate; `read_ts` the latest folded READ that has no position, only a time; `partial_inserts` the greatest
    folded insert half of a key change that lacks columns. A change at or before them can concern versions already
    written. `sources` are those of all folded changes. `changes` tells their table from others (its UUID, which stays
    when it is renamed or replaced); None where an older marker does not say.
    """

    batch: int = 0
    control_batch: int = 0
    close: str | None = None
    close_ts: int | None = None
    truncate: str | None = None
    truncate_ts: int | None = None
    partial: tuple[str, ...] = ()
    read_ts: int | None = None
    sources: tuple[str, ...] = ()
    partial_inserts: str | None = None
    changes: str | None = None

    def to_json(self) -> str:
        """The marker as a snapshot's summary stores it."""
        return json.dumps({STORED_AS.get(name, name): value for name, value in asdict(self).items()}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Folded":
        """The marker read back."""
        own = {stored: name for name, stored in STORED_AS.items()}
        values = {own.get(name, name): value for name, value in json.loads(text).items()}
        tuples = {name: tuple(values.get(name, ())) for name in ("partial", "sources")}
        return cls(**{**values, **tuples})
