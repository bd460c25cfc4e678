"""Two frozen values: the settings of a fold, and the marker that records how far a table is folded."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class FoldRules:
    """The settings of one table's fold.

    - `columns`: all columns of the table in order, keys included.
    - `partial`: the columns that at least one change ever lacked. The fold follows the state of each of them
      separately; all other columns share one state.
    - `tracked`: the columns whose changes open a version.
    - `defaults`: the default values of columns, in the columns' types, as they are stored.
    - `guard`, `skew`, `margin`: the bounds of snapshot windows (`snapshot` in the spec).
    - `keyless`: the table has no key. The whole row is the key, and a number distinguishes equal rows.

    The other flags name what occurs in the changes. The fold skips the work for everything that does not occur:

    - `reads`: snapshot READs; `guarded`: READs without a position;
    - `swaps`: deletes that are one half of a key change;
    - `partial_inserts`: inserts that are one half of a key change and lack columns;
    - `split_halves`: halves of key changes whose other half can be folded already;
    - `truncates`: truncates.
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
    split_halves: bool = True
    keyless: bool = False

    @property
    def always_present(self) -> tuple[str, ...]:
        """The columns that every change carries, without the keys."""
        return tuple(name for name in self.columns if name not in self.keys and name not in self.partial)

    @property
    def partly_present(self) -> tuple[str, ...]:
        """The partial columns that are not keys."""
        return tuple(name for name in self.partial if name not in self.keys)


STORED_AS = {"partial_inserts": "owing"}
"""The names in snapshots of the marker's fields that were renamed since."""


@dataclass(frozen=True)
class Folded:
    """The marker of `history`: which changes are folded into it. The summary of its snapshot stores it.

    - `batch`, `control_batch`: the newest folded batch of changes and of control events.
    - `close`, `close_ts` (microseconds): the greatest place of a folded READ.
    - `truncate`, `truncate_ts`: the greatest folded truncate.
    - `read_ts`: the latest folded READ that has a time but no position.
    - `partial_inserts`: the greatest position of a folded insert that is half of a key change and lacks columns.
    - `partial`: the columns that at least one folded change lacked.
    - `sources`: the sources of all folded changes.
    - `changes`: the UUID of the table of changes, which a rename or a replacement keeps. None in older markers.

    A new change at or before one of these places can concern versions that are already written.
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
        """The marker as the summary of a snapshot stores it."""
        return json.dumps({STORED_AS.get(name, name): value for name, value in asdict(self).items()}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Folded":
        """Read the marker from a summary."""
        own = {stored: name for name, stored in STORED_AS.items()}
        values = {own.get(name, name): value for name, value in json.loads(text).items()}
        tuples = {name: tuple(values.get(name, ())) for name in ("partial", "sources")}
        return cls(**{**values, **tuples})
