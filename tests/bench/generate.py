"""Write the input of the benchmark: the snapshot of one table, and one night of its changes, in Debezium's format.

A row is a pure function of (id, version). So the images before and after any change are known without state, and the
final content of the tables is known without a fold:

    python -m tests.bench.generate OUT --events 1000000 --keys 300000 --table-keys 2000000 --seed 7

writes OUT/snapshot-.../*.jsonl (op r), OUT/night-.../events/*.jsonl (op c, u, d) and OUT/night-.../expected.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.bench import rows

Longs = npt.NDArray[np.int64]
Parts = tuple[pa.StringArray | str, ...]

INSERT_SHARE, DELETE_SHARE, NO_OP_SHARE = 0.15, 0.08, 0.02  # the rest are updates
REINSERTED = 0.1  # of the inserts: the key was deleted by the change before
MULTI_ROW = 0.1  # of the changes: next row of the same binlog event
CHANNELS = 4  # partitions of the topic
LINES_A_FILE = 125_000
LINES_A_CHUNK = 50_000  # keeps the text of one chunk far below the 2 GiB of an Arrow string array

SNAPSHOT_SECOND = 1_794_000_000  # 2026-11-06 UTC, an hour before the first change
FIRST_CHANGE_SECOND, SECONDS = SNAPSHOT_SECOND + 3_600, 86_400
DONE = "_SUCCESS"  # Spark also ignores names that begin with an underscore
FIRST_LOG, LOG_BYTES = 999_998, 1 << 27  # the night begins in mysql-bin.999998 and continues after 999999
GTID_SOURCE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@dataclass(frozen=True)
class Size:
    """The size of the input: `events` changes of `keys` keys, in a table of `table_keys` rows."""

    events: int
    keys: int
    table_keys: int
    seed: int = 7

    def scaled(self, batch: float = 1.0, table: float = 1.0) -> Size:
        """The same mix of changes at another size."""
        return Size(round(self.events * batch), round(self.keys * batch), round(self.table_keys * table), self.seed)


@dataclass(frozen=True)
class Batch:
    """The changes of one night in commit order. `version` is the row's version after the change (or deleted by it)."""

    ids: Longs
    ops: npt.NDArray[np.str_]
    before: Longs
    after: Longs


@dataclass(frozen=True)
class Expected:
    """The numbers that every correct run over the same input gives."""

    live_keys: int
    live_cents: int  # sum of balance over the latest table
    versions: int  # rows of a history without tombstones
    deletes: int  # tombstones, where the history keeps them
    no_ops: int


def plan(size: Size) -> Batch:
    """Draw the changes of all keys. The order of the changes of each key is valid: no update of an absent row."""
    rng = np.random.default_rng([size.seed, size.events, size.table_keys])
    plans = _key_plans(size, rng)
    key = rng.permutation(np.repeat(np.arange(size.keys), plans.count))
    by_key = np.argsort(key, kind="stable")
    first = np.repeat(np.cumsum(plans.count) - plans.count, plans.count)
    rank = np.empty(size.events, np.int64)
    rank[by_key] = np.arange(size.events) - first
    left = plans.count[key] - 1 - rank
    new, deleted, reinserted = plans.new[key], plans.deleted[key], plans.reinserted[key]

    ops = np.full(size.events, "u")
    ops[(new & (rank == 0)) | (reinserted & (left == 0))] = "c"
    ops[deleted & (left == reinserted)] = "d"
    changes = np.ones(size.events, np.int64)
    changes[rng.choice(np.flatnonzero(ops == "u"), round(size.events * NO_OP_SHARE), replace=False)] = 0

    total = np.concatenate([[0], np.cumsum(changes[by_key])])
    after = np.empty(size.events, np.int64)
    after[by_key] = total[1:] - total[first]
    return Batch(plans.ids[key], ops, after - changes, after)


@dataclass(frozen=True)
class _KeyPlans:
    """The plan of each key: its number of changes, whether it is new, is deleted at the end, and is then reinserted."""

    ids: Longs
    count: Longs
    new: npt.NDArray[np.bool_]
    deleted: npt.NDArray[np.bool_]
    reinserted: npt.NDArray[np.bool_]


def _key_plans(size: Size, rng: np.random.Generator) -> _KeyPlans:
    inserts, deletes = round(size.events * INSERT_SHARE), round(size.events * DELETE_SHARE)
    reinserts = round(inserts * REINSERTED)
    new = inserts - reinserts
    if not new <= size.keys <= min(size.events, new + size.table_keys):
        raise ValueError(f"Cannot plan {size}: {new} of the keys are new and the others must be in the table")
    weights = rng.lognormal(0.0, 0.8, size.keys)
    count = 1 + rng.multinomial(size.events - size.keys, weights / weights.sum())
    old_ids = 1 + rng.choice(size.table_keys, size.keys - new, replace=False)
    able = np.flatnonzero(count >= 3)  # room for an insert, a delete, and an insert
    if len(able) < deletes:
        raise ValueError(f"Cannot plan {size}: {deletes} deletes, but {len(able)} keys have three changes")
    deleted_keys = rng.choice(able, deletes, replace=False)
    keys = np.arange(size.keys)
    ids = np.concatenate([size.table_keys + 1 + np.arange(new), old_ids])
    return _KeyPlans(ids, count, keys < new, np.isin(keys, deleted_keys), np.isin(keys, deleted_keys[:reinserts]))


def expected(size: Size, batch: Batch) -> Expected:
    """The counts and sums of the tables after the batch."""
    last = len(batch.ids) - 1 - np.unique(batch.ids[::-1], return_index=True)[1]
    live = last[batch.ops[last] != "d"]
    touched = batch.ids[last][batch.ids[last] <= size.table_keys]
    base = np.arange(1, size.table_keys + 1)
    cents = rows.cents(base, np.zeros_like(base)).sum() - rows.cents(touched, np.zeros_like(touched)).sum()
    no_ops = int((batch.before == batch.after).sum())
    deletes = int((batch.ops == "d").sum())
    return Expected(
        live_keys=size.table_keys - len(touched) + len(live),
        live_cents=int(cents + rows.cents(batch.ids[live], batch.after[live]).sum()),
        versions=size.table_keys + len(batch.ids) - deletes - no_ops,
        deletes=deletes,
        no_ops=no_ops,
    )


def write_snapshot(size: Size, folder: Path) -> None:
    """Write one READ for every row of the table, in key order, as an initial snapshot has them."""

    def lines(start: int, end: int) -> pa.StringArray:
        ids = np.arange(start + 1, end + 1)
        millis = rows.number(SNAPSHOT_SECOND * 1000 + ids // 100)
        marker = np.full(len(ids), '"true"', dtype="U7")
        marker[ids == 1], marker[ids == size.table_keys] = '"first"', '"last"'
        return rows.joined(
            *_head(ids, ids % CHANNELS, (ids - 1) // CHANNELS),
            '{"before":null,"after":',
            rows.images(ids, np.zeros_like(ids)),
            *_source(millis, rows.text(marker)),
            f'0,"gtid":null,"file":"mysql-bin.{FIRST_LOG}","pos":157,"row":0,"thread":null,"query":null}}',
            *_tail(rows.text(np.full(len(ids), "r")), millis),
        )

    _write(folder, size.table_keys, lines)


def write_events(size: Size, batch: Batch, folder: Path) -> None:
    """Write the changes of the batch in the order of the binlog, which is the order of delivery."""
    log = _log(size, batch)
    channel, offset = _channels(size, batch)

    def lines(start: int, end: int) -> pa.StringArray:
        part = slice(start, end)
        ids, ops = batch.ids[part], batch.ops[part]
        millis = rows.number(log.second[part] * 1000)
        late = rows.number(log.second[part] * 1000 + 40 + ids % 900)
        return rows.joined(
            *_head(ids, channel[part], offset[part]),
            '{"before":',
            rows.unless(ops == "c", rows.images(ids, batch.before[part])),
            ',"after":',
            rows.unless(ops == "d", rows.images(ids, batch.after[part])),
            *_source(millis, '"false"'),
            f'223344,"gtid":"{GTID_SOURCE}:',
            rows.number(log.transaction[part]),
            '","file":"mysql-bin.',
            rows.number(log.file[part]),
            '","pos":',
            rows.number(log.pos[part]),
            ',"row":',
            rows.number(log.row[part]),
            ',"thread":42,"query":null}',
            *_tail(rows.text(ops), late),
        )

    _write(folder, size.events, lines)


@dataclass(frozen=True)
class _Log:
    """The position of each change in the binlog, and its commit time (in seconds, as in MySQL)."""

    file: Longs
    pos: Longs
    row: Longs
    second: Longs
    transaction: Longs


def _log(size: Size, batch: Batch) -> _Log:
    rng = np.random.default_rng([size.seed, size.events, 1])
    starts = rng.random(size.events) >= MULTI_ROW
    starts[1:] |= batch.ops[1:] != batch.ops[:-1]
    starts[0] = True
    group = np.cumsum(starts) - 1
    heads = np.flatnonzero(starts)
    at = (157 + np.cumsum(rng.integers(280, 900, len(heads))))[group]
    return _Log(
        file=FIRST_LOG + at // LOG_BYTES,
        pos=157 + at % LOG_BYTES,
        row=np.arange(size.events) - heads[group],
        second=FIRST_CHANGE_SECOND + heads[group] * SECONDS // size.events,
        transaction=1_000_000 + group,
    )


def _channels(size: Size, batch: Batch) -> tuple[Longs, Longs]:
    """The partition and the offset of each change. Keys have one partition, offsets continue those of the snapshot."""
    channel, offset = batch.ids % CHANNELS, np.empty(size.events, np.int64)
    for number in range(CHANNELS):
        mine = channel == number
        offset[mine] = size.table_keys // CHANNELS + 1 + np.arange(mine.sum())
    return channel, offset


def _head(ids: Longs, channel: Longs, offset: Longs) -> Parts:
    return (
        '{"topic":"bench.shop.accounts","partition":',
        rows.number(channel),
        ',"offset":',
        rows.number(offset),
        ',"key":{"id":',
        rows.number(ids),
        '},"value":',
    )


def _source(millis: pa.StringArray, snapshot: pa.StringArray | str) -> Parts:
    return (
        ',"source":{"version":"3.4.0.Final","connector":"mysql","name":"bench","ts_ms":',
        millis,
        ',"snapshot":',
        snapshot,
        ',"db":"shop","sequence":null,"ts_us":',
        millis,
        '000,"ts_ns":',
        millis,
        '000000,"table":"accounts","server_id":',
    )


def _tail(op: pa.StringArray, millis: pa.StringArray) -> Parts:
    return (
        ',"transaction":null,"op":"',
        op,
        '","ts_ms":',
        millis,
        ',"ts_us":',
        millis,
        '123,"ts_ns":',
        millis,
        "123456}}\n",
    )


def _write(folder: Path, count: int, lines: Callable[[int, int], pa.StringArray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, count, LINES_A_FILE)):
        last = min(first + LINES_A_FILE, count)
        with (folder / f"part-{number:05d}.jsonl").open("wb") as out:
            for start in range(first, last, LINES_A_CHUNK):
                text = lines(start, min(start + LINES_A_CHUNK, last))
                out.write(text.buffers()[2])  # the lines are in one buffer, with their line ends


@dataclass(frozen=True)
class Inputs:
    """The files of the lines, and the expected result."""

    size: Size
    snapshot: Path
    events: Path
    expected: Expected


def inputs(size: Size, folder: Path) -> Inputs:
    """The lines of this size in the folder. Lines that an earlier call has written are used.

    Sizes with the same table have the same snapshot.
    """
    snapshot = folder / f"snapshot-{size.table_keys}"
    night = folder / f"night-{size.events}-{size.keys}-{size.table_keys}-{size.seed}"
    if not (snapshot / DONE).exists():
        write_snapshot(size, snapshot)
        (snapshot / DONE).touch()
    if not (night / "expected.json").exists():
        batch = plan(size)
        write_events(size, batch, night / "events")
        (night / "expected.json").write_text(json.dumps(asdict(expected(size, batch)), indent=2) + "\n")
    return Inputs(size, snapshot, night / "events", Expected(**json.loads((night / "expected.json").read_text())))


def add_size(parser: argparse.ArgumentParser) -> None:
    """The flags that choose a Size."""
    parser.add_argument("--events", type=int, default=1_000_000, help="changes of the night")
    parser.add_argument("--keys", type=int, default=300_000, help="keys they touch")
    parser.add_argument("--table-keys", type=int, default=2_000_000, help="rows in the table before them")
    parser.add_argument("--seed", type=int, default=7)


def main() -> None:
    """Command line: see the module's docstring."""
    parser = argparse.ArgumentParser(description="Writes the benchmark's input.")
    parser.add_argument("out", type=Path)
    add_size(parser)
    given = parser.parse_args()
    print(inputs(Size(given.events, given.keys, given.table_keys, given.seed), given.out))


if __name__ == "__main__":
    main()
