"""A workload of a source: its transactions in commit order, and the resulting tables. Encoders write it in every
format."""

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
    """One change of one row. An update can change the key. A truncate has no rows."""

    op: Op
    table: Table
    before: Row | None = None
    after: Row | None = None

    @property
    def changes_key(self) -> bool:
        """Whether an update changes the key."""
        both = self.before is not None and self.after is not None
        return self.op == "update" and both and self.table.key(self.before or {}) != self.table.key(self.after or {})


@dataclass(frozen=True)
class Step:
    """A committed transaction, or the rows of a snapshot: `initial` before the log begins, `read` while it grows.

    `early`: its records are in the log before those of the previous transaction, which committed earlier. The two
    transactions change different rows.
    """

    kind: Literal["stream", "initial", "read"]
    number: int
    at: int  # microseconds, but whole seconds, because some sources have no finer times
    events: tuple[Event, ...]
    early: bool = False


@dataclass
class Workload:
    """Steps in commit order."""

    tables: tuple[Table, ...]
    steps: list[Step] = field(default_factory=list)

    def images(self) -> dict[str, dict[Key, list[Row | None]]]:
        """The sequence of images of each key of each table. None means that there is no row. Consecutive repetitions
        are one image."""
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
            if event.before is not None and (event.after is None or event.changes_key):
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
        """The events of all steps of these kinds."""
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


class WorkloadBuilder:
    """Builds a workload. It keeps the current rows, so that before images are right."""

    def __init__(self, seed: int = 7, tables: tuple[Table, ...] = TABLES) -> None:
        self.random, self.workload, self.now, self.number = random.Random(seed), Workload(tables), NOON, 0
        self.rows: dict[str, dict[Key, Row]] = {table.name: {} for table in tables}
        self.open: list[Event] = []

    def commit(self, seconds: int = 1, kind: Any = "stream", early: bool = False) -> None:
        """End the transaction, which commits `seconds` after the previous one."""
        self.now += seconds * SECOND
        self.number += 1
        self.workload.steps.append(Step(kind, self.number, self.now, tuple(self.open), early))
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
        """Truncate the table. The event keeps the equivalent deletes for formats without truncates."""
        for key in sorted(self.rows[table.name]):
            self.delete(table, key)
        deletes = [event for event in self.open if event.table is table and event.op == "delete"]
        self.open = [event for event in self.open if event not in deletes]
        self.open.append(Truncate("truncate", table, deletes=tuple(deletes)))
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
    """A truncate, and the equivalent deletes."""

    deletes: tuple[Event, ...] = ()


def full_workload() -> Workload:
    """Two tables with every kind of change."""
    builder = WorkloadBuilder()
    for number in range(1, 13):
        builder.insert(ACCOUNTS, builder.account(number))
        for line in range(1, 1 + number % 3):
            builder.insert(ORDERS, builder.order(number, line))
    builder.commit(kind="initial")
    _ordinary(builder)
    _several_of_one_key(builder)
    _key_changes(builder)
    _reads(builder)
    builder.truncate(ORDERS)
    builder.commit(2)
    builder.insert(ORDERS, builder.order(1, 1))
    builder.insert(ORDERS, builder.order(7, 2))
    builder.update(ACCOUNTS, (2,), note=None, balance=Decimal("0.00"))
    builder.commit(1)
    return builder.workload


def _ordinary(builder: WorkloadBuilder) -> None:
    """Inserts, deletes, updates to and from null and without a change, transactions that overlap in the log."""
    builder.insert(ACCOUNTS, builder.account(20))
    builder.insert(ORDERS, builder.order(20, 1))
    builder.commit(1800)
    builder.update(ACCOUNTS, (1,), name=None, note=LONG)
    builder.update(ORDERS, (2, 1), price=Decimal("1.5"))
    builder.commit(1)
    builder.update(ACCOUNTS, (3,), balance=Decimal("-9999999999.99"), score=None)
    builder.update(ORDERS, (5, 1), item="written earlier, committed later")
    builder.commit(0, early=True)
    builder.update(ACCOUNTS, (1,), name="back again")
    builder.commit(0)
    builder.delete(ACCOUNTS, (4,))
    builder.delete(ORDERS, (4, 1))
    builder.commit(3)
    builder.update(ACCOUNTS, (5,))
    builder.commit(1)
    builder.update(ACCOUNTS, (1,), score=2.5)
    builder.commit(0)
    builder.insert(ACCOUNTS, builder.account(4))
    builder.commit(60)


def _several_of_one_key(builder: WorkloadBuilder) -> None:
    """Several changes of one row in one transaction: a value and back, delete and insert, insert and update."""
    builder.update(ACCOUNTS, (6,), name="A")
    builder.update(ACCOUNTS, (6,), name="B")
    builder.update(ACCOUNTS, (6,), name="A")
    builder.commit(1)
    builder.delete(ACCOUNTS, (7,))
    builder.insert(ACCOUNTS, builder.account(7))
    builder.update(ACCOUNTS, (7,), name="reborn")
    builder.commit(1)
    builder.insert(ORDERS, builder.order(30, 1))
    builder.update(ORDERS, (30, 1), item="second thought")
    builder.commit(0)


def _key_changes(builder: WorkloadBuilder) -> None:
    """Key changes: of a simple and of a composite key, of a row with a long unchanged value, and back."""
    builder.update(ACCOUNTS, (8,), id=88)
    builder.commit(5)
    builder.update(ACCOUNTS, (1,), id=101, name="moved")
    builder.update(ORDERS, (2, 1), line=9)
    builder.commit(1)
    builder.update(ACCOUNTS, (88,), id=8)
    builder.commit(1)
    builder.update(ACCOUNTS, (101,), score=7.0)
    builder.delete(ORDERS, (2, 9))
    builder.commit(2)


def _reads(builder: WorkloadBuilder) -> None:
    """A second snapshot an hour later. One of its rows is older than a change that was committed just before it."""
    stale = dict(builder.rows["accounts"][9,])
    builder.update(ACCOUNTS, (9,), name="newer than the snapshot")
    builder.commit(3600)
    for key in sorted(builder.rows["accounts"]):
        builder.read(ACCOUNTS, stale if key == (9,) else builder.rows["accounts"][key])
    builder.commit(2, kind="read")
    builder.update(ACCOUNTS, (10,), name="after the snapshot")
    builder.delete(ACCOUNTS, (11,))
    builder.commit(3600)
