"""The oracle: the fold in plain Python, one function for each rule, as short as it stays clear.

A change is a dict: key (tuple; None: truncate), op, row, present (None: all of row, or a set of columns), before (dict
or None), position (str; None: only a READ), commit_ts and ingest_ts (microseconds), tx_id, tx_order, old_key, new_key
(tuple or None), content (orderable). A window is (open_position, open_ts, close_position, close_ts); None: still open.
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


def without_redeliveries(changes, skew):
    """Each change once. Its identity is (key, position, op, content), and its time if it has no position. Of
    redelivered READs the earliest counts, of deletes the half of a key change, otherwise the change that was processed
    first. It has the offsets and the columns of all."""

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

    def merged(same):
        starts = [c["before"] for c in same if c["before"] is not None]
        offsets = sorted({offset(c)[1] for c in same if c["op"] != "read" and not offset(c)[0]})
        presents = [c["present"] for c in same]
        start = starts[0] if starts and all(each == starts[0] for each in starts) else None
        whole = {"offsets": offsets, "present": None if None in presents else set().union(*presents)}
        return same[0] | whole | {"starts": start}

    ordered = sorted(changes, key=lambda c: (identity(c), first(c)))
    return [merged(list(same)) for _, same in groupby(ordered, identity)]


def with_last_offset(streamed):
    """Each change with the last of its offsets that is not a redelivery. A redelivered change stays next to its
    original. A change that happened twice at one position counts where it happened last."""
    copies = sorted(((at, n) for n, c in enumerate(streamed) for at in c["offsets"]))
    last_offsets, previous_at = {}, {}
    for at, n in copies:
        change = streamed[n]
        previous, counts = previous_at.get(change["position"], (None, None))
        if at == change["offsets"][0]:
            counts = None
        elif counts is None:  # the first of consecutive copies decides for all
            counts = follows(change, previous)
        if counts is not False:
            last_offsets[n] = at
        previous_at[change["position"]] = change, counts
    return [change | {"kafka_offset": last_offsets.get(n)} for n, change in enumerate(streamed)]


def follows(change, previous):
    """Whether a change can follow another: an insert needs an absent row, others need the row of their before image."""
    is_gone = previous["op"] in ("delete", "truncate")
    if change["op"] == "insert":
        return is_gone
    return not is_gone and change["before"] is not None and carried(previous) == change["before"]


GONE = "no row"
MOST_CHAINED = 16


def start_of(change):
    """The state from which a change starts; None: unknown."""
    return GONE if change["op"] == "insert" else change["starts"] if change["op"] in ("update", "delete") else None


def end_of(change):
    """The state in which a change leaves the row; None: the change does not have all of it."""
    return GONE if change["op"] in ("delete", "truncate") else change["row"] if change["present"] is None else None


def by_op(change):
    return ("insert", "update", "truncate", "delete").index(change["op"]), change["content"]


def in_chain(tied):
    """Changes that only their ops and images order. The chain is built from its end: no change starts from the state of
    the last one, and each change ends in the state from which the next one starts. Changes that continue an old row
    come first. Otherwise the op decides."""
    if len(tied) > MOST_CHAINED or all(start_of(c) in (None, GONE) for c in tied):
        return sorted(tied, key=by_op)
    old, ordered, left = of_old_rows(tied), [], sorted(tied, key=by_op)
    while left:
        start = start_of(ordered[0]) if ordered else None
        fitting = [c for c in left if start is not None and end_of(c) == start]
        last = [c for c in left if not any(is_followed_by(c, other) for other in left)]
        chosen = max(fitting or last or left, key=lambda c: (by_op(c) not in old, by_op(c)))
        left.remove(chosen)
        ordered.insert(0, chosen)
    return ordered


def is_followed_by(change, other):
    return other is not change and end_of(change) is not None and end_of(change) == start_of(other)


def of_old_rows(tied):
    """The changes that start from a row that none of them made, and the changes that continue such a row."""
    rows = [c for c in tied if start_of(c) not in (None, GONE)]
    old = [c for c in rows if not any(is_followed_by(other, c) for other in tied)]
    for change in old:
        old += [c for c in rows if c not in old and is_followed_by(change, c)]
    return {by_op(c) for c in old}


def with_turns(streamed):
    """Changes at one position that neither the transaction nor the partition orders, numbered in their chain."""

    def place(c):
        return c["position"], bool(c["op"] == "delete" and c["new_key"])

    tied = [c for c in streamed if c["tx_order"] is None and c.get("kafka_offset") is None]
    rest = [c | {"turn": 0} for c in streamed if c not in tied]
    groups = [in_chain(list(group)) for _, group in groupby(sorted(tied, key=place), place)]
    return rest + [c | {"turn": turn} for group in groups for turn, c in enumerate(group)]


def tx_order(change):
    return change["tx_order"] is None, change["tx_order"] or 0


def offset(change):
    """The offset in the partition, if the transaction gives no order."""
    known = change.get("kafka_offset") if change["tx_order"] is None else None
    return known is None, known or 0


def time_of(change, skew):
    """The commit time. A time in the future is replaced by the processing time of the event plus the allowed skew."""
    return change["ingest_ts"] if change["commit_ts"] is None else min(change["commit_ts"], change["ingest_ts"] + skew)


def carried(change):
    return {c: v for c, v in (change["row"] or {}).items() if change["present"] is None or c in change["present"]}


def in_order(streamed):
    """The order: position; then the delete half of a key change; then the order in the transaction, the offset, or the
    chain of images; then content."""
    ordered = []
    for change in sorted(with_turns(with_last_offset(streamed)), key=order):
        ordered.insert(place_in_transaction(change, ordered), change)
    return ordered


def order(c):
    gives_up = c["op"] == "delete" and c["new_key"]
    return c["position"], not gives_up, tx_order(c), offset(c), c["turn"], c["content"]


def place_in_transaction(change, ordered):
    """The place of a key change's delete. If its transaction inserted another row under that key, the delete goes
    before that insert. Only the first such delete does, because the old row is gone then."""
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
    """The open position ('~': unknown) and the close position of a READ's window, and its earliest known time."""
    holding = [w for w in windows if w[2] is not None and w[0] <= read["position"] <= w[2]]
    opened, open_ts, close, _ = max(holding, key=lambda w: (w[2], w[0]), default=("~", None, read["position"], None))
    at = time_of(read, skew)
    return opened, close, at if open_ts is None else min(at, open_ts)


def superseding(read, stream, windows, rules):
    """The streamed changes inside a READ's window. A READ without position and time yields to all changes."""
    if read["position"] is None:
        at = time_of(read, rules.skew)
        inside = [c for c in stream if at - rules.guard <= time_of(c, rules.skew) <= at + rules.skew]
        return stream if read["commit_ts"] is None else inside
    opened, close, since = window_of(read, windows, rules.skew)
    before = [c for c in stream if c["position"] <= close]
    return [c for c in before if time_of(c, rules.skew) >= since - rules.margin or c["position"] >= opened]


def place_of(read, stream, windows, rules):
    """How many streamed changes are before a READ, minus one, and the close of its window ('~': after all others).

    Without a position, these are all changes before the first one that is later than the window. Without a time, none.
    """
    if read["position"] is None and read["commit_ts"] is None:
        return -1, ""
    if read["position"] is None:
        end = time_of(read, rules.skew) + rules.skew
        return next((n for n, c in enumerate(stream) if time_of(c, rules.skew) > end), len(stream)) - 1, "~"
    close = window_of(read, windows, rules.skew)[1]
    return max((n for n, c in enumerate(stream) if c["position"] <= close), default=-1), close


def columns_left(read, superseders):
    """The columns of a READ that no superseding change has. A delete and a truncate have all columns, and so does an
    insert that takes values from another key."""
    taken = {column for change in superseders for column in carried(change)}
    whole = any(c["op"] in ("delete", "truncate") or (c["op"] == "insert" and c["old_key"]) for c in superseders)
    return {} if whole else {c: v for c, v in carried(read).items() if c not in taken}


class Source:
    """All changes of one table. Keys depend on each other only by truncates and key changes."""

    def __init__(self, changes, windows, rules):
        self.windows, self.rules, self.own, changes = windows, rules, {}, without_redeliveries(changes, rules.skew)
        for change in changes:
            if change["key"] is not None:
                self.own.setdefault(change["key"], []).append(change)
        self.truncates = [c for c in changes if c["key"] is None]

    def sequence(self, key):
        """The key's changes in order: (change, its columns that count, superseded?)."""
        stream = in_order([c for c in self.own[key] if c["op"] != "read"] + self.truncates)
        steps = [((n,), c, carried(c), False) for n, c in enumerate(stream)]
        for read in (c for c in self.own[key] if c["op"] == "read"):
            winners = superseding(read, stream, self.windows, self.rules)
            after, close = place_of(read, stream, self.windows, self.rules)
            place = after, close, read["position"] or "", time_of(read, self.rules.skew), read["content"]
            steps.append((place, read, columns_left(read, winners), bool(winners)))
        return [step[1:] for step in sorted(steps, key=lambda step: step[0])]

    def states(self, key):
        """(change, known columns before it, known columns after it, live after it?, ever opened?, opens a version?)."""
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
        """The known columns of a key change's old key before its delete half, without the key. Without a delete:
        nothing."""

        def is_half(c):
            return c["op"] == "delete" and (c["position"], c["new_key"]) == (insert["position"], insert["key"])

        if not any(map(is_half, self.own.get(insert["old_key"], ()))):
            return {}
        state = next(before for change, before, *_ in self.states(insert["old_key"]) if is_half(change))
        return {c: v for c, v in state.items() if c not in self.rules.keys}

    def differs(self, known, new, is_read):
        """Whether the tracked columns differ as they are shown. A READ only fills unknown columns."""
        compared = [c for c in self.rules.tracked or self.rules.columns if c in known or not is_read]
        shown = self.rules.defaults
        return any(known.get(c, shown.get(c)) != new.get(c, shown.get(c)) for c in compared)

    def versions(self, key):
        """The versions: half-open intervals without gaps. A change in place changes the open version."""
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
