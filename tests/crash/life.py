"""A database that lives for many nights, and how its changes arrive: late, twice, and in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

from tests.conformance.story import ACCOUNTS, ORDERS, Author, Key, Story, Table

LATE_PART = 0.1
LATEST = 6
"""So many nights late a change can be."""
TWICE_PART = 0.05


def lived(seed: int, transactions: int, keys: int) -> Story:
    """The story of two tables of about so many keys: inserts, updates, deletes, moves, truncates and snapshots."""
    author = Author(seed)
    draw = author.random
    for number in range(1, keys + 1):
        author.insert(ACCOUNTS, author.account(number))
    for number in range(1, keys // 2):
        author.insert(ORDERS, author.order(number, 1))
    author.commit(kind="initial")
    for number in range(transactions):
        for _ in range(draw.randint(1, 4)):
            _account(author, keys)
        if draw.random() < 0.3:
            _order(author, keys)
        if author.open:
            author.commit(draw.choice((0, 1, 1, 5, 600)))
        if number % max(1, transactions // 5) == transactions // 7:
            _snapshot(author)
        if number == transactions * 2 // 3:
            author.truncate(ORDERS)
            author.commit(2)
    return author.story


def _account(author: Author, keys: int) -> None:
    """One change of an account that no other change of this transaction touches."""
    draw, rows = author.random, author.rows["accounts"]
    touched = touched_keys(author, ACCOUNTS)
    free = sorted(rows.keys() - touched)
    choice = draw.random()
    new = (draw.randint(1, 2 * keys),)
    if choice < 0.15 or not free:
        if new not in rows and new not in touched:
            author.insert(ACCOUNTS, author.account(new[0]))
    elif choice < 0.85:
        balance = Decimal(draw.randint(0, 10**9)) / 100
        author.update(ACCOUNTS, draw.choice(free), balance=balance, score=draw.random())
    elif choice < 0.95:
        author.delete(ACCOUNTS, draw.choice(free))
    elif new not in rows and new not in touched:
        author.update(ACCOUNTS, draw.choice(free), id=new[0])


def _order(author: Author, keys: int) -> None:
    """An order that comes, changes or goes."""
    draw, rows = author.random, author.rows["orders"]
    key = (draw.randint(1, keys), draw.randint(1, 2))
    if key in touched_keys(author, ORDERS):
        return
    if key not in rows:
        author.insert(ORDERS, author.order(*key))
    elif draw.random() < 0.7:
        author.update(ORDERS, key, item=draw.choice(("one", "two", "three")))
    else:
        author.delete(ORDERS, key)


def touched_keys(author: Author, table: Table) -> set[Key]:
    """The keys of a table that the open transaction has touched."""
    mine = (event for event in author.open if event.table is table)
    return {table.key(row) for event in mine for row in (event.before, event.after) if row}


def _snapshot(author: Author) -> None:
    """A snapshot reads all accounts; some of its rows are older than changes committed just before."""
    rows = author.rows["accounts"]
    chosen = author.random.sample(sorted(rows), min(3, len(rows)))
    stale = {key: dict(rows[key]) for key in chosen}
    for key in chosen:
        author.update(ACCOUNTS, key, name="newer than the snapshot")
    author.commit(3600)
    for key in sorted(rows):
        author.read(ACCOUNTS, stale.get(key, rows[key]))
    author.commit(2, kind="read")
    author.now += 3600 * 1_000_000  # no change falls into a READ's window by chance: the story could not say who wins


def nights_of(lines: Sequence[str], nights: int, seed: int) -> list[list[list[str]]]:
    """What arrives each night: files of lines. All has arrived when the last night has."""
    draw = random.Random(seed)
    arriving: list[list[str]] = [[] for _ in range(nights)]
    for index, line in enumerate(lines):
        night = index * nights // len(lines)
        late = draw.randint(1, LATEST) if draw.random() < LATE_PART else 0
        arriving[min(night + late, nights - 1)].append(line)
        if draw.random() < TWICE_PART:
            arriving[draw.randint(night, nights - 1)].append(line)
    found = []
    for of_night in arriving:
        draw.shuffle(of_night)
        number = draw.randint(1, 3)
        found.append([of_night[part::number] for part in range(number)])
    return found
