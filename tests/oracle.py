"""The judge: the fold of DESIGN.md in plain Python, one function a rule, as short as it stays obvious.

A change is a dict: key (tuple; None: truncate), op, row, present (None: all of row, or a set of columns), before (dict
or None), position (str; None: only a READ), commit_ts and ingest_ts (microseconds), tx_id, tx_order, old_key, new_key
(tuple or None), content (orderable). A window: (open_position, open_ts, close_position, close_ts), None = still open.
"""

from dataclasses import dataclass, field
from itertools import groupby, pairwise

SECOND = 1_000_000


@dataclass(frozen=True)
class Rules:
    columns: tuple  # all columns
    keys: tuple
    tracked: tuple | None = None  # None: all
    defaults: dict = field(default_factory=dict)
    guard: int = 900 * SECOND
    margin: int = 10 * SECOND
    skew: int = 5 * SECOND


def fold(changes, windows, rules):
    """History rows (by key, then in order) and latest rows."""
    source = Source(changes, windows, rules)
    history = [row for key in sorted(source.own) for row in source.versions(key)]
    return history, [row for row in history if row["_is_current"]]


def unique(changes, skew):
    """Identity is (key, position, op, content), without a position the time; of redeliveries one stands for all: of
    READs the earliest, of deletes the half of a key change, of what is left the one that was processed first. It knows
    the offsets of all, and carries the columns of all."""

    def identity(c):
        return (
            str(c["key"]),
            c["position"] or "",
            c["op"],
            c["content"],
            c["position"] is None and (c["commit_ts"] or 0),
        )

    def first(c):
        at = c["op"] == "read" and time_of(c, skew)
        return at, not c["new_key"], tx_order(c), c["ingest_ts"], c["commit_ts"] or 0

    def stood(same):
        starts = [c["before"] for c in same if c["before"] is not None]
        offsets = sorted({offset(c)[1] for c in same if c["op"] != "read" and not offset(c)[0]})
        told = [c["present"] for c in same]
        start = starts[0] if starts and all(each == starts[0] for each in starts) else None
        whole = {"offsets": offsets, "present": None if None in told else set().union(*told)}
        return same[0] | whole | {"starts": start}

    ordered = sorted(changes, key=lambda c: (identity(c), first(c)))
    return [stood(list(same)) for _, same in groupby(ordered, identity)]


def settled(streamed):
    """Each change at the last of its offsets that is a change of its own: what a source sends again stands beside its
    original, what happened again at one position where it happened last."""
    copies = sorted(((at, n) for n, c in enumerate(streamed) for at in c["offsets"]))
    stands, behind = {}, {}
    for at, n in copies:
        change = streamed[n]
        previous, counts = behind.get(change["position"], (None, None))
        if at == change["offsets"][0]:
            counts = None
        elif counts is None:  # of copies right behind each other the first decides for all
            counts = follows(change, previous)
        if counts is not False:
            stands[n] = at
        behind[change["position"]] = change, counts
    return [change | {"kafka_offset": stands.get(n)} for n, change in enumerate(streamed)]


def follows(change, previous):
    """A row is inserted where there is none, and the image before a change is the row as it was."""
    is_gone = previous["op"] in ("delete", "truncate")
    if change["op"] == "insert":
        return is_gone
    return not is_gone and change["before"] is not None and carried(previous) == change["before"]


GONE = "no row"
MOST_CHAINED = 16


def start_of(change):
    """The state that a change starts from; None where it is not known."""
    return GONE if change["op"] == "insert" else change["starts"] if change["op"] in ("update", "delete") else None


def end_of(change):
    """The state that a change leaves the row in; None where it does not carry all of it."""
    return GONE if change["op"] in ("delete", "truncate") else change["row"] if change["present"] is None else None


def by_op(change):
    return ("insert", "update", "truncate", "delete").index(change["op"]), change["content"]


def chained(tied):
    """Changes of which nothing but ops and images tells the order, from the end: nothing starts from the last one, and
    before each stands one that ends where it starts. What leads on from a row of before comes first, else by op."""
    if len(tied) > MOST_CHAINED or all(start_of(c) in (None, GONE) for c in tied):
        return sorted(tied, key=by_op)
    old, ordered, left = old_lives(tied), [], sorted(tied, key=by_op)
    while left:
        start = start_of(ordered[0]) if ordered else None
        fitting = [c for c in left if start is not None and end_of(c) == start]
        last = [c for c in left if not any(leads(c, other) for other in left)]
        chosen = max(fitting or last or left, key=lambda c: (by_op(c) not in old, by_op(c)))
        left.remove(chosen)
        ordered.insert(0, chosen)
    return ordered


def leads(change, other):
    return other is not change and end_of(change) is not None and end_of(change) == start_of(other)


def old_lives(tied):
    """The changes that start from a row which none of them made, and those that lead on from these, row by row."""
    rows = [c for c in tied if start_of(c) not in (None, GONE)]
    old = [c for c in rows if not any(leads(other, c) for other in tied)]
    for change in old:
        old += [c for c in rows if c not in old and leads(change, c)]
    return {by_op(c) for c in old}


def with_turns(streamed):
    """Changes at one position that neither the transaction nor the partition orders, numbered in their chain."""

    def place(c):
        return c["position"], bool(c["op"] == "delete" and c["new_key"])

    tied = [c for c in streamed if c["tx_order"] is None and c.get("kafka_offset") is None]
    rest = [c | {"turn": 0} for c in streamed if c not in tied]
    groups = [chained(list(group)) for _, group in groupby(sorted(tied, key=place), place)]
    return rest + [c | {"turn": turn} for group in groups for turn, c in enumerate(group)]


def tx_order(change):
    return change["tx_order"] is None, change["tx_order"] or 0


def offset(change):
    """Where it stands in its partition, where nothing tells the order in its transaction."""
    told = change.get("kafka_offset") if change["tx_order"] is None else None
    return told is None, told or 0


def time_of(change, skew):
    """The commit time; one from the future is replaced by the event's own processing time plus the allowed skew."""
    return change["ingest_ts"] if change["commit_ts"] is None else min(change["commit_ts"], change["ingest_ts"] + skew)


def carried(change):
    return {c: v for c, v in (change["row"] or {}).items() if change["present"] is None or c in change["present"]}


def in_order(streamed):
    """Position; then the delete half of a key change; then order in the transaction, or the offset, or the chain of
    images; then content."""
    ordered = []
    for change in sorted(with_turns(settled(streamed)), key=order):
        ordered.insert(place_in_transaction(change, ordered), change)
    return ordered


def order(c):
    gives_up = c["op"] == "delete" and c["new_key"]
    return c["position"], not gives_up, tx_order(c), offset(c), c["turn"], c["content"]


def place_in_transaction(change, ordered):
    """A key change's delete of another row than its transaction inserted under that key goes before that insert: the
    first one, for then the row from before is gone."""
    image = {}
    if change["op"] == "delete" and change["new_key"] and change["before"] and change["tx_id"] is not None:
        for place, earlier in reversed(list(enumerate(ordered))):
            if earlier["tx_id"] != change["tx_id"] or earlier["op"] not in ("insert", "update"):
                break
            image = carried(earlier) | image
            if earlier["op"] == "insert":
                same = all(change["before"].get(c, v) == v for c, v in image.items())
                is_gone = place > 0 and ordered[place - 1]["position"] > earlier["position"]
                return len(ordered) if same or is_gone else place
    return len(ordered)


def window_of(read, windows, skew):
    """Where a READ's window opens ('~': unknown) and closes, and the earliest time known of it."""
    holding = [w for w in windows if w[2] is not None and w[0] <= read["position"] <= w[2]]
    opened, open_ts, close, _ = max(holding, key=lambda w: (w[2], w[0]), default=("~", None, read["position"], None))
    at = time_of(read, skew)
    return opened, close, at if open_ts is None else min(at, open_ts)


def superseding(read, stream, windows, rules):
    """The streamed changes that the READ's window contains; a READ without position and time yields to all."""
    if read["position"] is None:
        at = time_of(read, rules.skew)
        inside = [c for c in stream if at - rules.guard <= time_of(c, rules.skew) <= at + rules.skew]
        return stream if read["commit_ts"] is None else inside
    opened, close, since = window_of(read, windows, rules.skew)
    before = [c for c in stream if c["position"] <= close]
    return [c for c in before if time_of(c, rules.skew) >= since - rules.margin or c["position"] >= opened]


def place_of(read, stream, windows, rules):
    """How many streamed changes stand before a READ, less one, and the close of its window ('~': after all others).

    Without a position: all before the first one, in order, that is later than the window; without a time, none.
    """
    if read["position"] is None and read["commit_ts"] is None:
        return -1, ""
    if read["position"] is None:
        end = time_of(read, rules.skew) + rules.skew
        return next((n for n, c in enumerate(stream) if time_of(c, rules.skew) > end), len(stream)) - 1, "~"
    close = window_of(read, windows, rules.skew)[1]
    return max((n for n, c in enumerate(stream) if c["position"] <= close), default=-1), close


def left_of(read, superseders):
    """The columns of a READ that no superseding change carries: a delete and a truncate carry all, and so does an
    insert that takes over what another key leaves."""
    taken = {column for change in superseders for column in carried(change)}
    whole = any(c["op"] in ("delete", "truncate") or (c["op"] == "insert" and c["old_key"]) for c in superseders)
    return {} if whole else {c: v for c, v in carried(read).items() if c not in taken}


class Source:
    """All changes of one table; keys depend on each other by truncates and key changes only."""

    def __init__(self, changes, windows, rules):
        self.windows, self.rules, self.own, changes = windows, rules, {}, unique(changes, rules.skew)
        for change in changes:
            if change["key"] is not None:
                self.own.setdefault(change["key"], []).append(change)
        self.truncates = [c for c in changes if c["key"] is None]

    def sequence(self, key):
        """The key's changes in order: (change, the columns of it that count, superseded?)."""
        stream = in_order([c for c in self.own[key] if c["op"] != "read"] + self.truncates)
        steps = [((n,), c, carried(c), False) for n, c in enumerate(stream)]
        for read in (c for c in self.own[key] if c["op"] == "read"):
            winners = superseding(read, stream, self.windows, self.rules)
            after, close = place_of(read, stream, self.windows, self.rules)
            place = after, close, read["position"] or "", time_of(read, self.rules.skew), read["content"]
            steps.append((place, read, left_of(read, winners), bool(winners)))
        return [step[1:] for step in sorted(steps, key=lambda step: step[0])]

    def states(self, key):
        """(change, the known columns before it and after it, live after it?, ever opened?, does it open a version?)."""
        known, live, opened = {}, False, False
        for change, columns, superseded in self.sequence(key):
            before, opens = known, False
            if change["op"] in ("delete", "truncate"):
                opens = live or (not opened and change["op"] == "delete")
                known, live = {}, False
            elif superseded:
                known = known | columns if live or not opened else known
            else:
                base = self.old_state(change) if change["op"] == "insert" else known
                opens = not live or self.differs(known, base | columns, change["op"] == "read")
                known, live = base | columns, True
            opened = opened or opens
            yield change, before, known, live, opened, opens

    def old_state(self, insert):
        """What the old key of a key change knew just before the delete half, its key apart; without one, nothing."""

        def is_half(c):
            return c["op"] == "delete" and (c["position"], c["new_key"]) == (insert["position"], insert["key"])

        if not any(map(is_half, self.own.get(insert["old_key"], ()))):
            return {}
        state = next(before for change, before, *_ in self.states(insert["old_key"]) if is_half(change))
        return {c: v for c, v in state.items() if c not in self.rules.keys}

    def differs(self, known, new, is_read):
        """On the tracked columns as they are shown; a READ only fills what was unknown."""
        compared = [c for c in self.rules.tracked or self.rules.columns if c in known or not is_read]
        shown = self.rules.defaults
        return any(known.get(c, shown.get(c)) != new.get(c, shown.get(c)) for c in compared)

    def versions(self, key):
        """Half-open intervals that tile time; what changes in place changes the version it finds open."""
        rows = []
        for change, _, known, live, opened, opens in self.states(key):
            if opens:
                since = time_of(change, self.rules.skew)
                row = {"_valid_from": max(since, rows[-1]["_valid_from"]) if rows else since}
                row |= {"_op": change["op"] if live else "delete", "_commit_ts": change["commit_ts"]}
                rows.append(row | {"_position": change["position"]})
            if opened:
                rows[-1] |= self.image(key, known, live)
        for row, following in pairwise([*rows, None]):
            row["_valid_to"] = following and following["_valid_from"]
            row["_is_current"] = following is None and row["_op"] != "delete"
        return rows

    def image(self, key, known, live):
        names = dict(zip(self.rules.keys, key, strict=True))
        row = {c: known.get(c, self.rules.defaults.get(c)) if live else None for c in self.rules.columns} | names
        return row | {"_unknown": [c for c in self.rules.columns if live and c not in known and c not in names]}
