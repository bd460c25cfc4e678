"""A source's history: what was committed, in order, and the tables it leads to. The tellers tell it in every format."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from tests.conformance.wire import SECOND, days_of, micros_of

Row = dict[str, Any]
Key = tuple[Any, ...]
Op = Literal["insert", "update", "delete", "truncate", "read"]
NOON = micros_of(2026, 3, 1, 12 * 3600 * SECOND)


@dataclass(frozen=True)
class Table:
    """A table of the source: its key columns and the kinds of all columns."""

    name: str
    keys: tuple[str, ...]
    columns: Mapping[str, str]

    def key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.keys)


@dataclass(frozen=True)
class Event:
    """One change of one row. An update may change the key; a truncate has no rows."""

    op: Op
    table: Table
    before: Row | None = None
    after: Row | None = None

    @property
    def moves(self) -> bool:
        """Whether an update changes the key."""
        both = self.before is not None and self.after is not None
        return self.op == "update" and both and self.table.key(self.before or {}) != self.table.key(self.after or {})


@dataclass(frozen=True)
class Step:
    """A committed transaction, or rows read by a snapshot: `initial` before the log begins, `read` in its midst.

    `early`: its records were written to the log before those of the transaction before it, which committed first; the
    two touch different rows.
    """

    kind: Literal["stream", "initial", "read"]
    number: int
    at: int  # microseconds; whole seconds, as some sources tell no more
    events: tuple[Event, ...]
    early: bool = False


@dataclass
class Story:
    """Steps in the order in which they were committed."""

    tables: tuple[Table, ...]
    steps: list[Step] = field(default_factory=list)

    def images(self) -> dict[str, dict[Key, list[Row | None]]]:
        """What each key of each table went through: its images, None where it was gone; repetitions once."""
        found: dict[str, dict[Key, list[Row | None]]] = {table.name: {} for table in self.tables}

        def put(table: Table, key: Key, row: Row | None) -> None:
            images = found[table.name].setdefault(key, [])
            if not images or images[-1] != row:
                images.append(row)

        for event in self.events("stream", "initial"):
            if event.op == "truncate":
                for key, images in found[event.table.name].items():
                    if images[-1] is not None:
                        put(event.table, key, None)
                continue
            if event.before is not None and (event.after is None or event.moves):
                put(event.table, event.table.key(event.before), None)
            if event.after is not None:
                put(event.table, event.table.key(event.after), event.after)
        return found

    def latest(self) -> dict[str, dict[Key, Row]]:
        """The tables at the end."""
        return {
            name: {key: images[-1] for key, images in keys.items() if images[-1] is not None}
            for name, keys in self.images().items()
        }

    def events(self, *kinds: str) -> Iterator[Event]:
        """The events of the steps of some kinds."""
        return (event for step in self.steps if step.kind in kinds for event in step.events)


ACCOUNTS = Table(
    "accounts",
    ("id",),
    {
        "id": "bigint",
        "name": "text",
        "balance": "decimal(12,2)",
        "born": "date",
        "seen": "timestamp",
        "score": "double",
        "note": "text",
    },
)
ORDERS = Table(
    "orders",
    ("account", "line"),
    {"account": "bigint", "line": "int", "item": "text", "price": "decimal(10,4)", "at": "timestamp"},
)
TABLES = (ACCOUNTS, ORDERS)
NAMES = ("", "Ada", "Zoë", "O'Brien", 'quote"d', "back\\slash", "tab\there", "李雷", "null", "😀", "{brace}", "a,b;c")
LONG = "a text too long to stand in its row " * 80


class Author:
    """Writes a story: keeps the tables as they are, so that before images are right."""

    def __init__(self, seed: int = 7, tables: tuple[Table, ...] = TABLES) -> None:
        self.random, self.story, self.now, self.number = random.Random(seed), Story(tables), NOON, 0
        self.rows: dict[str, dict[Key, Row]] = {table.name: {} for table in tables}
        self.open: list[Event] = []

    def commit(self, seconds: int = 1, kind: Any = "stream", early: bool = False) -> None:
        """End the transaction; it was committed so many seconds after the one before."""
        self.now += seconds * SECOND
        self.number += 1
        self.story.steps.append(Step(kind, self.number, self.now, tuple(self.open), early))
        self.open = []

    def insert(self, table: Table, row: Row) -> None:
        self.rows[table.name][table.key(row)] = row
        self.open.append(Event("insert", table, None, row))

    def update(self, table: Table, key: Key, **changed: Any) -> None:
        before = self.rows[table.name].pop(key)
        after = before | changed
        self.rows[table.name][table.key(after)] = after
        self.open.append(Event("update", table, before, after))

    def delete(self, table: Table, key: Key) -> None:
        self.open.append(Event("delete", table, self.rows[table.name].pop(key), None))

    def truncate(self, table: Table) -> None:
        """Beside the event it keeps what was there: formats that know no truncate tell deletes."""
        for key in sorted(self.rows[table.name]):
            self.delete(table, key)
        gone = [event for event in self.open if event.table is table and event.op == "delete"]
        self.open = [event for event in self.open if event not in gone]
        self.open.append(Truncate("truncate", table, gone=tuple(gone)))
        self.rows[table.name].clear()

    def read(self, table: Table, row: Row) -> None:
        self.open.append(Event("read", table, None, row))

    def account(self, number: int) -> Row:
        draw = self.random
        return {
            "id": number,
            "name": draw.choice((*NAMES, None)),
            "balance": draw.choice((None, Decimal(draw.randint(-(10**11), 10**11)) / 100)),
            "born": draw.choice((None, days_of(1900, 2, 28) + draw.randint(0, 60_000))),
            "seen": draw.choice((None, micros_of(1999, 12, 31) + draw.randint(0, 10**15))),
            "score": draw.choice((None, 0.0, -1.5, 0.1, draw.random() * 1e12)),
            "note": draw.choice((None, "", "short", LONG + str(number))),
        }

    def order(self, account: int, line: int) -> Row:
        draw = self.random
        price = Decimal(draw.randint(0, 10**9)) / 10_000
        at = NOON + draw.randint(-(10**14), 10**12)
        return {"account": account, "line": line, "item": draw.choice(NAMES), "price": price, "at": at}


@dataclass(frozen=True)
class Truncate(Event):
    """A truncate, and the deletes that tell the same."""

    gone: tuple[Event, ...] = ()


def a_story() -> Story:
    """Two tables through everything that can befall a row."""
    author = Author()
    for number in range(1, 13):
        author.insert(ACCOUNTS, author.account(number))
        for line in range(1, 1 + number % 3):
            author.insert(ORDERS, author.order(number, line))
    author.commit(kind="initial")
    _ordinary(author)
    _several_of_one_key(author)
    _key_changes(author)
    _reads(author)
    author.truncate(ORDERS)
    author.commit(2)
    author.insert(ORDERS, author.order(1, 1))
    author.insert(ORDERS, author.order(7, 2))
    author.update(ACCOUNTS, (2,), note=None, balance=Decimal("0.00"))
    author.commit(1)
    return author.story


def _ordinary(author: Author) -> None:
    """Inserts, updates to and from null, deletes, an update of nothing; transactions that overlap in the log."""
    author.insert(ACCOUNTS, author.account(20))
    author.insert(ORDERS, author.order(20, 1))
    author.commit(1800)
    author.update(ACCOUNTS, (1,), name=None, note=LONG)
    author.update(ORDERS, (2, 1), price=Decimal("1.5"))
    author.commit(1)
    author.update(ACCOUNTS, (3,), balance=Decimal("-9999999999.99"), score=None)
    author.update(ORDERS, (5, 1), item="written earlier, committed later")
    author.commit(0, early=True)
    author.update(ACCOUNTS, (1,), name="back again")
    author.commit(0)
    author.delete(ACCOUNTS, (4,))
    author.delete(ORDERS, (4, 1))
    author.commit(3)
    author.update(ACCOUNTS, (5,))
    author.commit(1)
    author.update(ACCOUNTS, (1,), score=2.5)
    author.commit(0)
    author.insert(ACCOUNTS, author.account(4))
    author.commit(60)


def _several_of_one_key(author: Author) -> None:
    """A row that changes several times in one transaction: there and back, gone and back, born and changed."""
    author.update(ACCOUNTS, (6,), name="A")
    author.update(ACCOUNTS, (6,), name="B")
    author.update(ACCOUNTS, (6,), name="A")
    author.commit(1)
    author.delete(ACCOUNTS, (7,))
    author.insert(ACCOUNTS, author.account(7))
    author.update(ACCOUNTS, (7,), name="reborn")
    author.commit(1)
    author.insert(ORDERS, author.order(30, 1))
    author.update(ORDERS, (30, 1), item="second thought")
    author.commit(0)


def _key_changes(author: Author) -> None:
    """New keys: a plain one, one with a long value that does not change, one in a composite key, and back again."""
    author.update(ACCOUNTS, (8,), id=88)
    author.commit(5)
    author.update(ACCOUNTS, (1,), id=101, name="moved")
    author.update(ORDERS, (2, 1), line=9)
    author.commit(1)
    author.update(ACCOUNTS, (88,), id=8)
    author.commit(1)
    author.update(ACCOUNTS, (101,), score=7.0)
    author.delete(ORDERS, (2, 9))
    author.commit(2)


def _reads(author: Author) -> None:
    """A second snapshot an hour later; one of its rows is older than a change committed just before."""
    stale = dict(author.rows["accounts"][9,])
    author.update(ACCOUNTS, (9,), name="newer than the snapshot")
    author.commit(3600)
    for key in sorted(author.rows["accounts"]):
        author.read(ACCOUNTS, stale if key == (9,) else author.rows["accounts"][key])
    author.commit(2, kind="read")
    author.update(ACCOUNTS, (10,), name="after the snapshot")
    author.delete(ACCOUNTS, (11,))
    author.commit(3600)
