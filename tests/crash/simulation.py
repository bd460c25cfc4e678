"""A simulated database over many nights. Its changes arrive late, twice, and in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

from tests.conformance.workload import ACCOUNTS, ORDERS, Key, Table, Workload, WorkloadBuilder

LATE_PART = 0.1
LATEST = 6
"""The greatest delay of a change, in nights."""
TWICE_PART = 0.05
AFTER_SNAPSHOT = 600
"""Seconds between the first snapshot and the first change: longer than the window of a READ."""


def simulated_workload(seed: int, transactions: int, keys: int) -> Workload:
    """The workload of two tables with about `keys` keys: all kinds of changes, truncates and snapshots."""
    builder = WorkloadBuilder(seed)
    draw = builder.random
    for number in range(1, keys + 1):
        builder.insert(ACCOUNTS, builder.account(number))
    for number in range(1, keys // 2):
        builder.insert(ORDERS, builder.order(number, 1))
    builder.commit(kind="initial")
    for number in range(transactions):
        for _ in range(draw.randint(1, 4)):
            _account(builder, keys)
        if draw.random() < 0.3:
            _order(builder, keys)
        if builder.open:
            pause = draw.choice((0, 1, 1, 5, 600))
            # A change in the window of the first snapshot supersedes its READ, so that no history has the image before.
            builder.commit(pause if number else AFTER_SNAPSHOT)
        if number % max(1, transactions // 5) == transactions // 7:
            _snapshot(builder)
        if number == transactions * 2 // 3:
            builder.truncate(ORDERS)
            builder.commit(2)
    return builder.workload


def _account(builder: WorkloadBuilder, keys: int) -> None:
    """One change of an account that no other change of this transaction touches."""
    draw, rows = builder.random, builder.rows["accounts"]
    touched = touched_keys(builder, ACCOUNTS)
    free = sorted(rows.keys() - touched)
    choice = draw.random()
    new = (draw.randint(1, 2 * keys),)
    if choice < 0.15 or not free:
        if new not in rows and new not in touched:
            builder.insert(ACCOUNTS, builder.account(new[0]))
    elif choice < 0.85:
        balance = Decimal(draw.randint(0, 10**9)) / 100
        builder.update(ACCOUNTS, draw.choice(free), balance=balance, score=draw.random())
    elif choice < 0.95:
        builder.delete(ACCOUNTS, draw.choice(free))
    elif new not in rows and new not in touched:
        builder.update(ACCOUNTS, draw.choice(free), id=new[0])


def _order(builder: WorkloadBuilder, keys: int) -> None:
    """Insert, change or delete an order."""
    draw, rows = builder.random, builder.rows["orders"]
    key = (draw.randint(1, keys), draw.randint(1, 2))
    if key in touched_keys(builder, ORDERS):
        return
    if key not in rows:
        builder.insert(ORDERS, builder.order(*key))
    elif draw.random() < 0.7:
        builder.update(ORDERS, key, item=draw.choice(("one", "two", "three")))
    else:
        builder.delete(ORDERS, key)


def touched_keys(builder: WorkloadBuilder, table: Table) -> set[Key]:
    """The keys of a table that the open transaction has touched."""
    mine = (event for event in builder.open if event.table is table)
    return {table.key(row) for event in mine for row in (event.before, event.after) if row}


def _snapshot(builder: WorkloadBuilder) -> None:
    """A snapshot reads all accounts; some of its rows are older than changes committed just before."""
    rows = builder.rows["accounts"]
    chosen = builder.random.sample(sorted(rows), min(3, len(rows)))
    stale = {key: dict(rows[key]) for key in chosen}
    for key in chosen:
        builder.update(ACCOUNTS, key, name="newer than the snapshot")
    builder.commit(3600)
    for key in sorted(rows):
        builder.read(ACCOUNTS, stale.get(key, rows[key]))
    builder.commit(2, kind="read")
    builder.now += (
        3600 * 1_000_000
    )  # so that no READ's window has a change by chance: the workload cannot define who wins


def arrivals_by_night(lines: Sequence[str], nights: int, seed: int) -> list[list[list[str]]]:
    """The files of lines that arrive each night. After the last night, all lines have arrived."""
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
