"""A simulated database that is read in the ways that connectors read one. Its own history has the true rows.

Transactions overlap and hold locks. A commit is in the log before a query sees its rows. Long transactions have the
time of their statements. The source's clock is wrong, and some timestamps are in the future. READs have the rows that
were visible at the time of their query, and a window that is known in one of the WAYS.
"""

import random
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

from tests import oracle
from tests.property.histories import NOON, SECOND, Case, Row

MARKERS, RESOLVED, POSITIONS, STATEMENTS, TIMES = "markers", "resolved", "positions", "statements", "times"
WAYS = (MARKERS, RESOLVED, POSITIONS, STATEMENTS, TIMES)
STAMPED_EARLY = (STATEMENTS, TIMES)  # changes have the time of their statement, not of their commit
GUARD, MARGIN = 900 * SECOND, 10 * SECOND
WAITS = (0, 5, 15, 3_600)
SLOWEST = 4 * SECOND  # until a query sees a commit
QUIET = 2 * GUARD
Image = tuple[Any, ...] | None  # (a, b, c); None: no row


@dataclass
class Drift:
    """The end of a simulation: a lost change of one key, and a READ of it `wait` seconds later.

    `gap` is the time between the last delivered change of the key and the READ. None: long ago.
    """

    key: int
    wait: int
    gap: int | None
    read: Image
    streamed: Image  # the row of the key according to the stream alone

    def wins(self, way: str) -> bool:
        """Whether the READ must win: no change was delivered inside its window."""
        return self.gap is None or self.gap > (GUARD if way in STAMPED_EARLY else MARGIN)


@dataclass
class Simulation:
    """The simulation of one source: what was delivered of it, and what was true."""

    case: Case
    way: str
    truth: dict[int, list[Image]]
    first: dict[int, int] = field(default_factory=dict)  # the index of each key's image at the start of the stream
    drift: Drift | None = None

    def has_true_images(self, found: Iterable[Row]) -> bool:
        """Whether history rows have all images of every key, from the start of the stream on.

        If READs have a guard, the first READ of a key can yield to a change near it. A truncate then finds no row to
        end.
        """
        images = images_of(found)
        for key, truth in self.truth.items():
            first, guarded = self.first[key], self.way in STAMPED_EARLY
            begins = [first, first + 2] if guarded and None in truth[first + 1 : first + 2] else [first]
            begins += [first + 1] if guarded else []
            if not any(images.get(key, []) == truth[begin:] for begin in begins):
                return False
        return True


def images_of(rows: Iterable[Row]) -> dict[int, list[Image]]:
    """The sequence of images of each key, from history rows in order."""
    found: dict[int, list[Image]] = {}
    for row in rows:
        image = None if row["_op"] == "delete" else (row["a"], row["b"], row["c"])
        found.setdefault(row["k"], []).append(image)
    return {key: distinct(images) for key, images in found.items()}


def distinct(images: Sequence[Image]) -> list[Image]:
    """The images without consecutive repetitions."""
    return [image for image, _ in groupby(images)]


def rules_of(way: str, rules: oracle.Rules) -> oracle.Rules:
    """The oracle's rules for a way. If positions are those of statements, the guard extends the window backwards."""
    return oracle.Rules(rules.columns, rules.keys, guard=GUARD, margin=GUARD) if way == STATEMENTS else rules


def simulate(
    count: int,
    from_seed: int,
    ways: Sequence[str] = WAYS,
    drifting: bool = False,
    number_from: int = 0,
    truncates: bool = False,
    reads: bool = True,
) -> list[Simulation]:
    """Simulate `count` sources, which take turns through the ways. With `drifting`, each ends with a lost change.

    `truncates`: some of their transactions truncate the table. (If all sources were in one table, each truncate would
    end the rows of all.) `reads`: rows are read, too. (If all sources were in one table, each READ would make the fold
    repeat older changes.)
    """
    made = []
    for turn in range(count):
        number = number_from + turn
        source = Database(number, ways[turn % len(ways)], random.Random(f"{from_seed}:{number}"), truncates, reads)
        made.append(source.run(WAITS[turn // len(ways) % len(WAITS)] if drifting else None))
    return made


class Database:
    """A database with one table of a few rows, its log, and its clock."""

    def __init__(self, number: int, way: str, chance: random.Random, truncates: bool, reads: bool) -> None:
        self.number, self.way, self.chance, self.truncates, self.is_read = number, way, chance, truncates, reads
        self.keys = list(range(1, chance.randint(2, 5) + 1))
        self.with_before, self.lean = chance.random() < 0.5, chance.random() < 0.5
        self.without_headers = way in (MARKERS, RESOLVED, POSITIONS) and chance.random() < 0.5
        self.clock = chance.randrange(-2 * SECOND, 2 * SECOND)
        self.now, self.transactions, self.serial = SECOND, 0, 0
        self.state: dict[int, Image] = dict.fromkeys(self.keys)
        self.visible: dict[int, list[tuple[int, Image]]] = {key: [] for key in self.keys}
        self.truth: dict[int, list[Image]] = {key: [] for key in self.keys}
        self.committed: dict[int, list[tuple[int, int]]] = {key: [] for key in self.keys}
        self.free = dict.fromkeys(self.keys, 0)
        self.log: list[Row] = []
        self.reads: list[Row] = []
        self.windows: list[tuple[str, int, str | None, int | None]] = []

    def run(self, wait: int | None) -> Simulation:
        """Run the database, read it, and record what was delivered. `wait`: end with a lost change."""
        starts_late = self.is_read and self.chance.random() < 0.5
        # If a row is deleted before its guarded READ, the columns that no change has stay unknown.
        self.lean = self.lean and not (starts_late and self.way in STAMPED_EARLY)
        for _ in range(self.chance.randint(3, 14)):
            self.now += self.chance.choice((1_000, 300_000, SECOND, 4 * SECOND, 40 * SECOND))
            self.transaction()
        since = self.chance.randrange(self.now) if starts_late else None
        if since is not None:
            self.first_snapshot(since)
        for _ in range(self.chance.randint(0, 4) if self.is_read else 0):
            self.chunk((since or 0) + SLOWEST + self.chance.randrange(self.now + 20 * SECOND))
        drift = None if wait is None else self.drift(wait)
        streamed = [c for c in self.log if since is None or c["at"] > since]
        changes = [as_delivered(c) for c in [*streamed, *self.reads] if not c.get("is_lost")]
        first = {key: 0 if since is None else self.image_at(key, since) for key in self.keys}
        truth = {key: distinct(images) for key, images in self.truth.items()}
        return Simulation(Case(self.number, changes, self.windows), self.way, truth, first, drift)

    def image_at(self, key: int, moment: int) -> int:
        """The index of the image of the key that was committed last at a moment; without a row, of the next image."""
        done = [count for at, count in self.committed[key] if at <= moment]
        images = distinct(self.truth[key][: done[-1] if done else 0])
        return max(0, len(images) - 1) + (bool(images) and images[-1] is None)

    # --- transactions -------------------------------------------------------------------------------------------

    def transaction(self, only: int | None = None, is_lost: bool = False) -> int:
        """Run one transaction, or one update of the key `only`. Gives its commit time."""
        self.transactions += 1
        at, mine, entries = self.now, set[int](), list[Row]()
        is_long = only is None and self.chance.random() < 0.15
        if only is None and self.truncates and self.chance.random() < 0.06 and max(self.free.values()) <= at:
            entries.append(self.truncate(at, mine))
        for _ in range(1 if only else self.chance.choice((1, 1, 2, 3))):
            entries += self.statement(at, mine, only)
            at += self.chance.randrange(60, 250) * SECOND if is_long else self.chance.randrange(200_000)
        seen = at + (0 if only else self.chance.choice((0, 0, 50_000, 3 * SECOND)))
        for order, entry in enumerate(entries, 1):
            self.commit(entry, at, order, is_lost, only is None)
        for key in mine:
            self.visible[key].append((seen, self.state[key]))
            self.free[key] = seen
        return at

    def statement(self, at: int, mine: set[int], only: int | None) -> list[Row]:
        """A statement on a row that no other transaction has locked. Gives its changes: none if all rows are locked."""
        free = [key for key in self.keys if self.free[key] <= at or key in mine]
        if not free:
            return []
        key = only or self.chance.choice(free)
        old, empty = self.state[key], [k for k in free if self.state[k] is None and k != key]
        values = self.chance.randrange(9), f"b{self.chance.randrange(3)}", f"c{self.chance.randrange(3)}"
        mine.add(key)
        if old is None:
            return [self.change("insert", key, at, None, values)]
        keep = self.chance.randrange(4)
        new = tuple(v if n == keep or keep == 3 else o for n, (o, v) in enumerate(zip(old, values, strict=True)))
        if only or self.chance.random() < 0.65:
            return [self.change("update", key, at, old, new if not only else (old[0] + 10, *old[1:]))]
        if self.chance.random() < 0.4 or not empty:
            return [self.change("delete", key, at, old, None)]
        other = self.chance.choice(empty)
        mine.add(other)
        gone, come = self.change("delete", key, at, old, None), self.change("insert", other, at, None, new, of=old)
        gone["new_key"], come["old_key"] = (self.number, other), (self.number, key)
        come["serial"] = gone["serial"]
        return [gone, come]

    def truncate(self, at: int, mine: set[int]) -> Row:
        """Delete all rows at once."""
        self.serial += 1
        self.state = dict.fromkeys(self.keys)
        mine |= {*self.keys}
        nothing = dict.fromkeys(("key", "row", "present", "before", "old_key", "new_key"))
        return nothing | {"op": "truncate", "content": 0, "stated": at, "serial": self.serial}

    def change(self, op: str, key: int, at: int, old: Image, new: Image, of: Image = None) -> Row:
        """A change of one row, without the fields that the commit sets. `of`: the row that the old key had."""
        self.serial += 1
        self.state[key] = new
        carried = {"a"} | {n for n, o, v in zip("abc", old or of or (), new or (), strict=False) if o != v}
        present = {"case", "k", *carried} if self.lean and (op == "update" or of is not None) else None
        row = self.row(key, new if new is not None else old)
        delivered = {name: value if present is None or name in present else None for name, value in row.items()}
        return {
            "key": (self.number, key),
            "op": op,
            "row": delivered,
            "present": present,
            "before": self.row(key, old) if self.with_before and old is not None else None,
            "old_key": None,
            "new_key": None,
            "content": zlib.crc32(repr((op, delivered)).encode()),
            "stated": at,
            "serial": self.serial,
        }

    def commit(self, change: Row, at: int, order: int, is_lost: bool, wrongly_stamped: bool) -> None:
        """Write a change to the log with its position and its timestamp, and record the image of the row."""
        image = None if change["op"] in ("delete", "truncate") else self.image_in(change)
        for key in self.keys if change["key"] is None else [change["key"][1]]:
            if image is not None or self.truth[key]:
                self.truth[key].append(image)
                self.committed[key].append((at, len(self.truth[key])))
        stamped = change["stated"] if self.way in STAMPED_EARLY else at
        ahead = 3_600 * SECOND if wrongly_stamped and self.way != TIMES and self.chance.random() < 0.03 else 0
        placed = change["stated"] if self.way == STATEMENTS else at
        change |= {
            "at": at,
            "position": position(placed, change["serial"]),
            "commit_ts": NOON + stamped + self.clock + ahead,
            "ingest_ts": NOON + at + self.chance.randrange(100_000, 2 * SECOND),
            "tx_id": str(self.transactions),
            "tx_order": order,
            "source": self.name,
            "is_lost": is_lost,
        }
        self.log.append(change)

    def image_in(self, change: Row) -> Image:
        """The complete row after a change, which can be partial."""
        of = change["old_key"] or change["key"]
        images = self.truth[of[1]][-2:] if change["old_key"] else self.truth[of[1]][-1:]
        under = dict(zip("abc", images[0] or (), strict=False)) if images else {}
        over = {name: change["row"][name] for name in "abc" if change["present"] is None or name in change["present"]}
        return tuple((under | over)[name] for name in "abc")

    @property
    def name(self) -> str:
        """The source that the changes name. It shows the engine whose positions are those of statements."""
        if self.way == STATEMENTS:
            return f"datastream-oracle:{self.number}"
        return f"postgresql:{self.number}" if self.without_headers else str(self.number)

    def row(self, key: int, image: Image) -> Row:
        return {"case": self.number, "k": key, **dict(zip("abc", image or (None,) * 3, strict=True))}

    # --- READs --------------------------------------------------------------------------------------------------

    def first_snapshot(self, at: int) -> None:
        """The snapshot at the start of a stream. It has exactly the rows that are committed, unless only times are
        known.

        Then each row is read at a different time, and the READ has the row that is visible at that time.
        """
        for key in self.keys:
            moment = at + self.chance.randrange(SLOWEST, 20 * SECOND) if self.way == TIMES else at
            committed = [count for done, count in self.committed[key] if done <= at]
            exact = self.truth[key][committed[-1] - 1] if committed else None
            image = self.seen(key, moment) if self.way == TIMES else exact
            if image is not None:
                self.read(key, image, moment, None if self.way == TIMES else position(at, 0xFFFFFFFF))

    def seen(self, key: int, moment: int) -> Image:
        """The row that a query sees."""
        images = [image for since, image in self.visible[key] if since <= moment]
        return images[-1] if images else None

    def chunk(self, opened: int) -> None:
        """Read all rows in one query, with a window around it."""
        queried_at = opened + self.chance.randrange(2 * SECOND)
        closed = queried_at + self.chance.randrange(2 * SECOND)
        bounds = position(opened, 0), position(closed, 0)
        if self.way == MARKERS:
            times = NOON + opened + self.clock, NOON + closed + self.clock
            never_closed = self.chance.random() < 0.1
            self.windows.append((bounds[0], times[0], *((None, None) if never_closed else (bounds[1], times[1]))))
        for key in self.keys:
            image = self.seen(key, queried_at)
            if image is not None and not (self.way == RESOLVED and self.changed(key, *bounds)):
                self.read(key, image, queried_at, self.position_of_read(bounds, queried_at))

    def changed(self, key: int, opened: str, closed: str) -> bool:
        """Whether the log has a change of the key between two positions. If it has, Debezium drops the READ itself."""
        about = (None, (self.number, key))
        return any(c["key"] in about and opened < c["position"] < closed and not c["is_lost"] for c in self.log)

    def position_of_read(self, bounds: tuple[str, str], queried_at: int) -> str | None:
        """The position of a READ: none, that of its snapshot, that of the window's close, or that of an earlier
        record."""
        if self.way == TIMES:
            return None
        if self.way in (POSITIONS, STATEMENTS):
            return position(queried_at, 0xFFFFFFFF)
        between = [c["position"] for c in self.log if bounds[0] <= c["position"] <= bounds[1]]
        near = max((p for p in between if p >= position(queried_at, 0)), default=bounds[1])
        return bounds[1] if self.way == RESOLVED else self.chance.choice((bounds[1], near))

    def read(self, key: int, image: Image, at: int, place: str | None) -> None:
        row = self.row(key, image)
        self.reads.append(
            dict.fromkeys(("present", "before", "tx_id", "tx_order", "old_key", "new_key"))
            | {"key": (self.number, key), "op": "read", "row": row, "position": place, "source": self.name}
            | {"commit_ts": NOON + at, "ingest_ts": NOON + at + SECOND}
            | {"content": zlib.crc32(repr(("read", row)).encode())}
        )

    def drift(self, wait: int) -> Drift:
        """After a long pause: perhaps a delivered change, then a lost change, then a READ of all rows."""
        self.now = max(self.now, *self.free.values()) + QUIET
        key = self.chance.choice(self.keys)
        if self.state[key] is None:
            self.transaction(key)
            self.now += QUIET
        delivered = self.chance.random() < 0.5
        gap = self.now
        if delivered:
            self.transaction(key)
            self.now += SECOND // 2
        streamed = self.state[key]
        lost_at = self.transaction(key, is_lost=True)
        self.chunk(lost_at + wait * SECOND)
        read_at = [r["commit_ts"] - NOON for r in self.reads if r["key"][1] == key][-1:]
        return Drift(key, wait, read_at[0] - gap if delivered and read_at else None, self.state[key], streamed)


def position(at: int, serial: int) -> str:
    """A position in the log. In all sources, positions grow with time alike: batches cut by position are in order."""
    return f"0000-{at:016X}-{serial:08X}"


def as_delivered(change: Row) -> Row:
    """A change with the delivered fields only."""
    return {name: value for name, value in change.items() if name not in ("at", "stated", "serial", "is_lost")}


def has_no_gaps(rows: Sequence[Row]) -> bool:
    """Whether the versions of each key follow each other without a gap, and the last one is open."""
    for _, of_key in groupby(rows, key=lambda row: row["k"]):
        versions = list(of_key)
        if any(one["_valid_to"] != other["_valid_from"] for one, other in pairwise(versions)):
            return False
        if versions[-1]["_valid_to"] is not None:
            return False
    return True
