"""Faults in a stream: what each one removes, repeats or moves, and which check must find it where.

Plain Python. A fault that the remaining events do not show has the reason in `why_not`: for example, a dropped change
without a before image or a transaction cannot be detected.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.quality.fault_streams import Event, Key, Stream

DROP_CHANGE, DROP_END, DROP_CHUNK, SWAP = "drop a change", "drop a transaction's end", "drop a chunk", "swap two events"
DROP_TX = "drop a transaction"
CONTRADICTIONS = ("chain_break", "orphan", "double_insert")
REPEAT, DROP_LOG, STOP_BEATS, DELAY = "repeat a file", "drop a log file", "stop a heartbeat", "delay a partition"


@dataclass(frozen=True)
class Fault:
    """One fault: the checks, one of which must find it (none: `why_not`), and all that it affects."""

    kind: str
    checks: tuple[str, ...]
    tables: frozenset[str]
    keys: frozenset[Key] = frozenset()
    txs: frozenset[str] = frozenset()
    why_not: str | None = None
    whole: bool = False  # a fault of the source: findings without a key or a transaction belong to it, too
    span: tuple[str, str] | None = None  # of the log: findings without a key that enclose it belong to it, too


@dataclass
class Faulty:
    """A stream with faults, as the delivered batches of lines."""

    batches: list[list[Event]]
    faults: list[Fault] = field(default_factory=list)


def touched(
    kind: str, checks: Sequence[str], events: Iterable[Event], why_not: str | None = None, whole: bool = False
) -> Fault:
    """A fault that removed or moved these events."""
    listed = list(events)
    return Fault(
        kind,
        () if why_not else tuple(checks),
        frozenset(e.table for e in listed if e.table),
        frozenset(key for e in listed for key in (e.key, *e.others) if key),
        frozenset(e.tx for e in listed if e.tx),
        why_not,
        whole,
    )


class Injector:
    """Injects single faults into one copy of a stream, each on separate keys and transactions."""

    def __init__(self, stream: Stream, seed: int) -> None:
        self.stream = stream
        self.events: list[Event | None] = list(stream.events)
        self.random = random.Random(seed)
        self.taken: set[object] = set()
        self.faults: list[Fault] = []
        self.newest = max(event.at for event in stream.events) - 2 * stream.grace.total_seconds()

    def free(self, events: Iterable[Event]) -> bool:
        return not self.marks(events) & self.taken

    def take(self, fault: Fault, events: Iterable[Event]) -> None:
        self.taken |= self.marks(events)
        self.faults.append(fault)

    def marks(self, events: Iterable[Event]) -> set[object]:
        """The keys and transactions of some events."""
        listed = list(events)
        keys: set[object] = {(e.table, key) for e in listed for key in (e.key, *e.others) if key}
        return keys | {e.tx for e in listed if e.tx}

    def changes(self) -> list[int]:
        """The indexes of changes of declared tables that can be modified, in random order."""
        found = [
            n
            for n, e in enumerate(self.stream.events)
            if e.kind == "change" and e.alone and e.table in self.stream.tables and e.at < self.newest
        ]
        self.random.shuffle(found)
        return found

    def drop_changes(self, number: int) -> None:
        """Remove single changes."""
        for n in self.changes():
            event = self.stream.events[n]
            if number == 0:
                return
            if self.free([event]) and self.events[n] is not None:
                checks, why_not = self.seen_by(n)
                self.take(touched(DROP_CHANGE, checks, [event], why_not), [event])
                self.events[n] = None
                number -= 1

    def seen_by(self, n: int) -> tuple[tuple[str, ...], str | None]:
        """What shows that a change is missing: its transaction, or the next change of its key."""
        event = self.stream.events[n]
        if event.tx is not None:
            alone = [e for e in self.stream.events if e.tx == event.tx and e.kind in ("change", "end")] == [event]
            if not alone:
                return ("incomplete_transaction",), None
        if self.is_shown_by_next(n):
            return CONTRADICTIONS, None
        return (), "neither its transaction nor the next change of its key shows it"

    def is_shown_by_next(self, n: int) -> bool:
        """Whether the next change of the key contradicts the remaining changes, by its before image or its op."""
        event, events = self.stream.events[n], self.stream.events
        mine = [e for e in events[n + 1 :] if e.table == event.table and (e.op == "t" or e.key == event.key)]
        following = next((e for e in mine if e.kind == "change"), None)
        if following is None or following.op == "t":
            return False
        if event.op == "d" or self.stream.has_befores:
            return True
        is_first = not any(e.table == event.table and e.key == event.key for e in events[:n])
        return event.op == "c" and (following.op == "u" or is_first)

    def drop_ends(self, number: int) -> None:
        """Remove the end of transactions: the end message, or the last change that has it."""
        of_tx = defaultdict(list)
        for n, event in enumerate(self.stream.events):
            if event.tx is not None:
                of_tx[event.tx].append(n)
        listed = list(of_tx)
        self.random.shuffle(listed)
        for tx in listed:
            places = of_tx[tx]
            whole = [self.stream.events[n] for n in places]
            mine = [n for n in places if self.stream.events[n].kind == "change"]
            declared = [n for n in mine if self.stream.events[n].table in self.stream.tables]
            ends = [n for n in places if self.stream.events[n].kind == "end"]
            if number == 0:
                return
            if len(declared) < 2 or declared != mine or whole[-1].at > self.newest or not self.free(whole):
                continue
            if any(e.op == "t" for e in whole):
                continue
            dropped = [*ends, *(declared[-1:] if number % 2 or not ends else [])]
            self.take(touched(DROP_END, ("incomplete_transaction",), whole), whole)
            for n in dropped:
                self.events[n] = None
            number -= 1

    def drop_transactions(self, number: int) -> None:
        """Remove whole transactions with their begin and end; no two neighbours."""
        of_tx = defaultdict(list)
        for n, event in enumerate(self.stream.events):
            if event.tx is not None:
                of_tx[event.tx].append(n)
        listed, gone = list(of_tx.values()), set[int]()
        order = list(range(1, len(listed) - 1))
        self.random.shuffle(order)
        for at in order:
            whole = [self.stream.events[n] for n in listed[at]]
            if number == 0:
                return
            declared = [n for n in listed[at] if self.stream.events[n].table in self.stream.tables]
            is_free = self.free(whole) and not gone & {at - 1, at + 1}
            if not declared or whole[-1].at > self.newest or not is_free or any(e.op == "t" for e in whole):
                continue
            self.take(self.lost(whole, declared), whole)
            gone.add(at)
            for n in listed[at]:
                self.events[n] = None
            number -= 1

    def lost(self, whole: Sequence[Event], declared: Sequence[int]) -> Fault:
        """A removed transaction: other transactions show it, or the next change of one of its keys, or nothing."""
        if self.stream.names_transactions:
            places = [event.place for event in whole if event.place]
            return replace(touched(DROP_TX, ("log_gap",), whole), span=(min(places), max(places)))
        is_detectable = any(self.is_shown_by_next(n) for n in declared)
        why = None if is_detectable else "neither the next transaction nor the next change of its keys shows it"
        return touched(DROP_TX, CONTRADICTIONS, whole, why)

    def drop_chunks(self, number: int) -> None:
        """Remove the READs of single windows; the markers stay."""
        chunks = defaultdict(list)
        for n, event in enumerate(self.stream.events):
            if event.kind == "read" and event.chunk and event.table in self.stream.tables:
                chunks[event.chunk].append(n)
        listed = [places for places in chunks.values() if len(places) >= 4]
        self.random.shuffle(listed)
        reasons = {places[0]: self.hidden(places) for places in listed}
        seen = [places for places in listed if reasons[places[0]] is None]
        unseen = [places for places in listed if reasons[places[0]] is not None]
        for places in [*seen[:number], *unseen[:1]]:
            events = [self.stream.events[n] for n in places]
            why = reasons[places[0]]
            self.take(touched(DROP_CHUNK, ("ghost_row", "short_snapshot"), events, why, whole=True), [])
            for n in places:
                self.events[n] = None

    def hidden(self, places: Sequence[int]) -> str | None:
        """Why a missing chunk cannot be detected; None if it can be."""
        if any("total_rows_scanned" in event.line for event in self.stream.events):
            return None
        table, later = self.stream.events[places[0]].table, self.stream.events[places[0] :]
        if any(event.table == table and event.op == "t" for event in later):
            return "no notice has the number of rows of the snapshot, and the table was emptied afterwards"
        if self.ghosts(places):
            return None
        return "no notice has the number of rows of the snapshot, and every row of the chunk has a later change"

    def ghosts(self, places: Sequence[int]) -> list[Key]:
        """The keys of a chunk that existed before the snapshot and have no change after its begin."""
        first = self.stream.events[places[0]]
        begin = self.begin_of(first)
        keys = {self.stream.events[n].key for n in places}
        last: dict[Key, Event] = {}
        changed = set()
        for event in self.stream.events:
            if event.table != first.table or event.key not in keys or event.key is None:
                continue
            if event.kind == "change" and event.at >= begin - 1:
                changed.add(event.key)
            elif event.at < begin - 1:
                last[event.key] = event
        return [key for key, event in last.items() if event.op != "d" and key not in changed]

    def begin_of(self, first: Event) -> float:
        """The begin of the snapshot: its windows follow each other without a pause of many seconds."""
        windows = sorted({e.at for e in self.stream.events if e.kind == "window"})
        begin = max((at for at in windows if at <= first.at), default=first.at)
        for at in reversed([at for at in windows if at <= begin]):
            if begin - at > 5:
                break
            begin = at
        return begin - 1

    def swap(self, number: int) -> None:
        """Swap two neighbours of one lane."""
        lanes = defaultdict(list)
        for n, event in enumerate(self.stream.events):
            if event.kind == "change" and event.table in self.stream.tables:
                lanes[event.lane].append(n)
        pairs = [(a, b) for places in lanes.values() for a, b in pairwise(places)]
        self.random.shuffle(pairs)
        for a, b in pairs:
            one, other = self.stream.events[a], self.stream.events[b]
            if number == 0:
                return
            same = (
                (one.place is not None and one.place == other.place)
                or one.key == other.key
                or one.key is None
                or other.key is None
            )
            whole = None in (self.events[a], self.events[b])
            if same or whole or not (one.alone and other.alone) or not self.free([one, other]):
                continue
            why = (
                "events are ordered by their place: after a swap, the order is different" if one.place is None else None
            )
            self.take(touched(SWAP, ("positions_backwards",), [one, other], why), [one, other])
            self.events[a], self.events[b] = other, one
            number -= 1

    def result(self) -> Faulty:
        return Faulty([[event for event in self.events if event is not None]], self.faults)


def singles(stream: Stream, seed: int, number: int) -> Faulty:
    """Many small faults at once, at separate places."""
    injector = Injector(stream, seed)
    injector.drop_chunks(max(1, number // 10))
    injector.drop_ends(number // 3)
    injector.swap(number // 3)
    injector.drop_changes(number)
    return injector.result()


def losses(stream: Stream, seed: int, number: int) -> Faulty:
    """Some whole transactions are missing."""
    injector = Injector(stream, seed)
    injector.drop_transactions(number)
    return injector.result()


def repeat_file(stream: Stream, seed: int) -> Faulty:
    """A third of the stream is delivered twice, the second time in a separate file.

    Canal orders events by their place, so in another place the same event is a new one and contradicts earlier changes.
    A repeated truncate also removes the rows of all other keys.
    """
    events, third = list(stream.events), len(stream.events) // 3
    repeated = events[third : 2 * third]
    is_known = stream.name != "canal"
    emptied = set() if is_known else {event.table for event in repeated if event.op == "t"}
    affected = [*repeated, *(event for event in events if event.table in emptied)]
    found = touched(REPEAT, ("duplicates",) if is_known else (*CONTRADICTIONS, "time_against_order"), affected)
    return Faulty([events, repeated], [replace(found, tables=frozenset(stream.tables))])


def drop_log(stream: Stream, seed: int) -> Faulty:
    """All events of two log files are missing."""
    counted = Counter(e.log for e in stream.events if e.log is not None)
    inner = sorted(sorted(counted)[1:-1], key=lambda number: counted[number])
    lost = {inner[0], next(number for number in inner if abs(number - inner[0]) > 1)}
    gone = [e for e in stream.events if e.log in lost]
    txs = {e.tx for e in gone if e.tx} - {
        e.tx for e in stream.events if e.tx and e.kind not in ("begin", "end") and e.log not in lost
    }
    gone += [e for e in stream.events if e.kind in ("begin", "end") and e.tx in txs]
    left = {id(e) for e in gone}
    faults = [
        touched(DROP_LOG, ("log_gap",), [e for e in gone if e.log in (number, None)], whole=True) for number in lost
    ]
    return Faulty([[e for e in stream.events if id(e) not in left]], faults)


def stop_beats(stream: Stream, seed: int) -> Faulty:
    """No heartbeat arrives for longer than `grace`."""
    times = sorted({e.at for e in stream.events if e.kind == "heartbeat"})
    begin = times[len(times) // 3]
    end = begin + 3 * stream.grace.total_seconds()
    left = [e for e in stream.events if e.kind != "heartbeat" or not begin < e.at < end]
    return Faulty([left], [touched(STOP_BEATS, ("stalled_source",), [], whole=True)])


def delay(stream: Stream, seed: int) -> Faulty:
    """From the middle on, one partition arrives a batch later than the others."""
    half = sorted(e.at for e in stream.events)[len(stream.events) // 2]
    partitions = sorted({e.partition for e in stream.events if e.partition is not None})
    late = [e for e in stream.events if e.partition == partitions[-1] and e.at > half]
    held = {id(e) for e in late}
    checks = ("stalled_source",) if stream.name == "spanner" else ("incomplete_transaction",)
    fault = touched(DELAY, checks, late, whole=True)
    return Faulty([[e for e in stream.events if id(e) not in held], late], [fault])


BULK: dict[str, tuple[Callable[[Stream, int], Faulty], ...]] = {
    "postgresql": (repeat_file, stop_beats),
    "mariadb": (repeat_file, drop_log, delay),
    "canal": (repeat_file,),
    "spanner": (repeat_file, delay),
    "shareplex": (repeat_file,),
}
