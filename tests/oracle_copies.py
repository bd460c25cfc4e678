"""The oracle for tables without a key. It counts images, with one rule for each op.

The other rules are in `tests/oracle.py`. Changes have the same form. The key is the whole row, and an update to another
row is a delete and an insert. `content` distinguishes equal rows at one position.
"""

from itertools import groupby, pairwise

from tests.oracle import Source, order, place_of, superseding, time_of, window_of, with_last_offset, with_turns

ALL = 1 << 40


def fold_copies(changes, windows, rules):
    """History rows. The rows of one image and copy are together and in order."""
    source = Source(changes, windows, rules)
    return [row for key in sorted(source.own, key=repr) for row in Copies(source, key).rows()]


class Copies:
    """One image: how many copies of it there are after each change, and the versions of each copy."""

    def __init__(self, source, key):
        self.source, self.key, self.rules, self.versions = source, key, source.rules, {}

    def rows(self):
        count = 0
        for change, nth in self.sequence():
            count = getattr(self, change["op"])(change, nth, count)
        return [row for copy in sorted(self.versions) for row in self.with_ends(copy)]

    def insert(self, change, nth, count):
        self.begin(change, count + 1, "insert")
        return count + 1

    def delete(self, change, nth, count):
        if count or 1 not in self.versions:
            self.begin(change, max(count, 1), "delete")
        return max(count - 1, 0)

    def truncate(self, change, nth, count):
        for copy in range(1, count + 1):
            self.begin(change, copy, "delete")
        return 0

    def update(self, change, nth, count):
        """An update without a change shows that there is a row."""
        if not count:
            self.begin(change, 1, "update")
        return max(count, 1)

    def read(self, change, nth, count):
        """The nth of equal READs shows that there are at least n rows."""
        if nth > count:
            self.begin(change, nth, "read")
        return max(count, nth)

    def begin(self, change, copy, op):
        since = time_of(change, self.rules.skew)
        rows = self.versions.setdefault(copy, [])
        since = max(since, rows[-1]["_valid_from"]) if rows else since
        rows.append({"_copy": copy, "_valid_from": since, "_op": op, "_position": change["position"]})

    def with_ends(self, copy):
        rows = self.versions[copy]
        for row, following in pairwise([*rows, None]):
            row["_valid_to"] = following and following["_valid_from"]
            row["_is_current"] = following is None and row["_op"] != "delete"
        return [row | {"key": self.key} for row in rows]

    def sequence(self):
        """The changes in order, without the READs that may have missed a delete in their window."""
        own = self.source.own[self.key]
        streamed = [c for c in own if c["op"] != "read"] + self.source.truncates
        stream = sorted(with_turns(with_last_offset(streamed)), key=order)
        steps = [((n,), c, None) for n, c in enumerate(stream)]
        reads = sorted((c for c in own if c["op"] == "read"), key=self.group_of)
        for _, group in groupby(reads, self.group_of):
            equal = sorted(group, key=lambda c: c["content"])
            for nth, read in enumerate(equal[: max(0, len(equal) - self.maybe_deleted(equal[0], stream))], 1):
                after, close = place_of(read, stream, self.source.windows, self.rules)
                at = time_of(read, self.rules.skew)
                steps.append(((after, close, read["position"] or "", at, read["content"]), read, nth))
        return [step[1:] for step in sorted(steps, key=lambda step: step[0])]

    def group_of(self, read):
        """What equal READs of one query have in common."""
        at = time_of(read, self.rules.skew)
        timed = read["position"] is None
        return (
            "" if timed else window_of(read, self.source.windows, self.rules.skew)[1],
            read["position"] or "",
            timed * at,
        )

    def maybe_deleted(self, read, stream):
        """How many rows of the image may have been deleted after the READ."""
        inside = superseding(read, stream, self.source.windows, self.rules)
        if read["position"] is None and read["commit_ts"] is None and stream:
            return ALL
        return sum(ALL if c["op"] == "truncate" else 1 for c in inside if c["op"] in ("delete", "truncate"))
