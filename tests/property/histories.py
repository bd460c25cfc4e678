"""Histories drawn by Hypothesis: what a source did, and the changes, READs and windows that a consumer received.

A drawn history is a list of small steps that are applied to a table of a few rows. The delivery has the faults of real
streams: READs of an older state, absent columns, lost changes, clocks that run backwards, redeliveries.
"""

import zlib
from dataclasses import dataclass, field
from typing import Any

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

Row = dict[str, Any]
SECOND = 1_000_000
NOON = 1_790_000_000 * SECOND
COLUMNS = ("case", "k", "a", "b", "c")
KEYS = ("case", "k")
KINDS = ("insert", "update", "update", "update", "delete", "rekey", "swap", "read", "read", "window", "truncate")


@dataclass(frozen=True)
class Step:
    """One step of a history. The small numbers choose keys, values and faults."""

    kind: str
    key: int
    other: int
    value: int
    seconds: int  # since the previous step, by the source's clock
    lag: int  # from commit to processing; negative: the source's clock is ahead
    same_tx: bool
    lean: bool  # unchanged columns are absent
    fault: int  # of a READ: its place in the log; of a change: 0 = lost, 1 = delivered twice


@dataclass
class Case:
    """What was delivered of one history."""

    number: int
    changes: list[Row] = field(default_factory=list)
    windows: list[tuple[str, int, str | None, int | None]] = field(default_factory=list)


def steps() -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        kind=st.sampled_from(KINDS),
        key=st.integers(0, 5),
        other=st.integers(0, 5),
        value=st.integers(0, 3),
        seconds=st.sampled_from((0, 0, 0, 1, 4, 9, 30, -3)),
        lag=st.sampled_from((0, 1, 1, 60, -4, -20)),
        same_tx=st.booleans(),
        lean=st.booleans(),
        fault=st.integers(0, 11),
    )


def histories() -> st.SearchStrategy[tuple[int, bool, list[Step]]]:
    """(number of keys, whether before images are present, steps)."""
    several = st.integers(1, 36).flatmap(lambda many: st.lists(steps(), min_size=many, max_size=many))
    return st.tuples(st.integers(1, 6), st.booleans(), several)


def draw(count: int, from_seed: int, one_log: bool = False) -> list[Case]:
    """Draw `count` cases. The same seed draws the same cases. With `one_log`, no two cases share a position."""
    cases: list[Case] = []

    @seed(from_seed)
    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None)
    @given(histories())
    def collect(history: tuple[int, bool, list[Step]]) -> None:
        cases.append(Player(len(cases), count if one_log else 1, *history).play())

    collect()
    return cases


class Player:
    """Applies the steps of a history, and records what a consumer receives."""

    def __init__(self, number: int, stride: int, keys: int, with_before: bool, what: list[Step]) -> None:
        self.case, self.keys, self.with_before, self.what = Case(number), keys, with_before, what
        self.stride, self.rows = stride, dict[int, Row]()
        self.past: list[dict[int, Row]] = [{}]
        self.place, self.now, self.tx, self.order, self.offset = 16, NOON, 1, 0, 0
        self.by_offset = stride == 1 and number % 4 == 3  # only offsets give the order in a transaction
        self.by_image = stride == 1 and number % 4 == 1  # only ops and images do

    def play(self) -> Case:
        for step in self.what:
            self.now += step.seconds * SECOND
            # The changes of a compressed transaction share a position. Key changes get a new position, because the
            # delete of a key that another row took is ordered before all changes at the position of that insert.
            self.place += not (
                (self.by_offset or self.by_image) and step.same_tx and step.kind not in ("rekey", "swap")
            )
            if not step.same_tx:
                self.tx, self.order = self.tx + 1, 0
            getattr(self, step.kind)(step, step.key % self.keys)
            self.past.append({key: dict(row) for key, row in self.rows.items()})
        if self.by_offset:
            self.resend()
        return self.case

    def resend(self) -> None:
        """Deliver the position with the most changes a second time, from one of them on, as after a restart within
        it."""
        there: dict[str, list[Row]] = {}
        for change in self.case.changes:
            if change["op"] != "read":
                there.setdefault(change["position"], []).append(change)
        most = max(there.values(), key=len, default=[])
        for number, change in enumerate(most[self.case.number // 4 % 3 :]):
            redelivered = {"ingest_ts": change["ingest_ts"] + 60 * SECOND, "kafka_offset": 2_000 + number}
            self.case.changes.append(change | redelivered)

    def insert(self, step: Step, key: int) -> None:
        self.rows[key] = self.row(key, step.value, step.other, step.value)
        self.put(step, "insert", key, self.rows[key], carried=None if step.fault != 5 else {"a", "b"})

    def update(self, step: Step, key: int) -> None:
        old = self.rows.get(key) or self.row(key, 0, 0, 0)
        new = old | self.column_value(("a", "b", "c", "a")[step.other % 4], step.value)
        self.rows[key] = new
        carried = {"a"} | {name for name in "bc" if new[name] != old[name]}
        self.put(step, "update", key, new, carried=carried if step.lean else None, before=old)

    def delete(self, step: Step, key: int) -> None:
        old = self.rows.pop(key, None) or self.row(key, 0, 0, 0)
        self.put(step, "delete", key, old, before=old)

    def truncate(self, step: Step, key: int) -> None:
        if step.other < 3:
            self.rows.clear()
            self.put(step, "truncate", None, None)

    def rekey(self, step: Step, key: int) -> None:
        self.move(step, key, step.other % self.keys, self.rows.pop(key, None) or self.row(key, 1, 1, step.value))

    def swap(self, step: Step, key: int) -> None:
        """key -> other -> the next one, in one transaction. Each delete has the row from before the transaction."""
        second, third = step.other % self.keys, (step.other + 1) % self.keys
        old = [self.rows.pop(k, None) or self.row(k, k, step.value, 1) for k in (key, second)]
        if len({key, second, third}) == 3:
            self.move(step, key, second, old[0])
            self.place += 1
            self.move(step, second, third, old[1])

    def move(self, step: Step, key: int, target: int, old: Row) -> None:
        if key == target:
            return
        new = self.row(target, old["a"], 0, 0) | {"b": old["b"], "c": old["c"]}
        if step.fault == 3:
            new |= self.column_value("b", step.value)
        self.rows[target] = new
        self.put(step, "delete", key, old, before=old, new_key=target)
        self.put(step, "insert", target, new, carried={"a", "b"} if step.lean else None, old_key=key)

    def window(self, step: Step, key: int) -> None:
        """Open a window, or close the open one."""
        if self.case.windows and self.case.windows[-1][2] is None:
            self.case.windows[-1] = (*self.case.windows[-1][:2], self.position(), self.now)
        else:
            self.case.windows.append((self.position(), self.now, None, None))

    def read(self, step: Step, key: int) -> None:
        """A READ of the current state or of one a few steps ago, at the current position or at one a few steps ago."""
        seen = self.past[max(0, len(self.past) - 1 - (step.fault % 4))].get(key) or self.row(key, step.value, 0, 0)
        place = None if step.fault >= 10 else self.position(-(step.other % 3))
        at = self.now - (0, 0, 5, 12)[step.value] * SECOND + self.place  # no two READs have the same time
        columns = {"a", "c"} if step.lean and step.fault == 7 else None
        self.put(step, "read", key, seen, carried=columns, place=place, at=at)

    def row(self, key: int, a: int, b: int, c: int) -> Row:
        return {"case": self.case.number, "k": key, "a": a, **self.column_value("b", b), **self.column_value("c", c)}

    def column_value(self, column: str, value: int) -> Row:
        return {column: value if column == "a" else f"{column}{value}"}

    def position(self, back: int = 0) -> str:
        place = (self.place + back) * self.stride + (self.case.number if self.stride > 1 else 0)
        return f"0000-{place:016X}-{place:016X}"

    def put(
        self,
        step: Step,
        op: str,
        key: int | None,
        row: Row | None,
        carried: set[str] | None = None,
        before: Row | None = None,
        old_key: int | None = None,
        new_key: int | None = None,
        place: str | None = "here",
        at: int | None = None,
    ) -> None:
        """Record a change as delivered: perhaps not at all, perhaps twice."""
        streamed = op != "read"
        self.order, self.offset = self.order + streamed, self.offset + 1
        present = None if carried is None else carried | {*KEYS}
        delivered = row and {name: row[name] if present is None or name in present else None for name in COLUMNS}
        stamped = self.now if at is None else at
        change = {
            "key": self.named(key),
            "op": op,
            "row": delivered,
            "present": present,
            "before": before if self.with_before and streamed else None,
            "position": self.position() if place == "here" else place,
            "commit_ts": stamped,
            "ingest_ts": stamped + step.lag * SECOND,
            "tx_id": str(self.tx) if streamed else None,
            "tx_order": self.order if streamed and not (self.by_offset or self.by_image) else None,
            "old_key": self.named(old_key),
            "new_key": self.named(new_key),
            "content": zlib.crc32(repr((op, delivered)).encode()),
        }
        if step.fault == 0 and streamed:
            return
        self.case.changes.append(change)
        if self.by_offset:
            change |= {"kafka_partition": 0, "kafka_offset": self.offset}
        if step.fault == 1:
            copied = {"kafka_offset": 1_000 + self.offset} if self.by_offset else {}
            # Absent columns can become nulls, but not in a row that takes them from another key.
            copied |= {"present": None} if step.value % 2 and old_key is None else {}
            self.case.changes.append(change | {"ingest_ts": change["ingest_ts"] + 30 * SECOND} | copied)

    def named(self, key: int | None) -> tuple[int, int] | None:
        return None if key is None else (self.case.number, key)
