"""Positions of Debezium's connectors in the notation of their databases. `debezium_positions` describes the layouts.

The position of a READ is after all changes of a commit: it is shown as that commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siltstone.engine.decode.position_text import (
    binlog_place,
    lsn_of_three_parts,
    lsn_of_two_parts,
    segments,
    within_commit,
)


def postgresql(position: str, _source: str) -> str | None:
    """The LSN of the change; the LSN of the commit, if the position has only that."""
    found = segments(position, 16, 16, 16)
    return lsn_of_two_parts(found[:2][-1]) if found else None


def binlog(position: str, _source: str) -> str | None:
    """File, position in it, and the number of the row in the event, unless it is the first row."""
    found = segments(position, 8, 16, 8)
    return binlog_place(found[0], found[1:]) if found else None


def oracle(position: str, _source: str) -> str | None:
    """The SCN of the change, and the SCN of its commit."""
    commit, *rest = segments(position, 16, 16, 24, 8, 4) or [""]
    if not commit:
        return None
    own = int(rest[0] if rest else commit, 16)
    return within_commit(f"SCN {own}", f"SCN {int(commit, 16) or own}")


def sqlserver(position: str, _source: str) -> str | None:
    """The LSN of the change, and the LSN of its commit."""
    return _in_commit(segments(position, 20, 20, 8), lsn_of_three_parts)


def db2(position: str, _source: str) -> str | None:
    """The LSN of the change, and the LSN of its commit."""
    return _in_commit(segments(position, 32, 32), lambda lsn: f"{lsn[:8]}:{lsn[8:16]}:{lsn[16:]}".lower())


def informix(position: str, _source: str) -> str | None:
    """The LSN of the change, and the LSN of its commit."""
    return _in_commit(segments(position, 16, 16), lambda lsn: str(int(lsn, 16)))


def vitess(position: str, _source: str) -> str | None:
    """The number of transactions of the shard up to this one, and the number of the change in it."""
    epoch, rank, order = [*segments(position, 8, 16, 8), "", "", ""][:3]
    if not rank:
        return None
    began = f"{int(epoch, 16)}/" if int(epoch, 16) else ""
    return f"transaction {began}{int(rank, 16)}" + (f" change {int(order, 16)}" if order.strip("0F") else "")


def yugabytedb(position: str, _source: str) -> str | None:
    """Term and index of the operation, and the write in it."""
    _, term, index, write = [*segments(position, 16, 16, 16, 8), "", "", "", ""][:4]
    if not index:
        return None
    return f"{int(term, 16)}:{int(index, 16)}" + (f"::{int(write, 16)}" if write.strip("F") else "")


def mongodb(position: str, _source: str) -> str | None:
    """The cluster's time."""
    millis, number = [*segments(position, 16, 8), "", ""][:2]
    if not number:
        return None
    seconds, rest = divmod(int(millis, 16), 1_000)
    return f"Timestamp({seconds}{f'.{rest:03d}' if rest else ''}, {int(number, 16)})"


def _in_commit(found: Sequence[str], written: Callable[[str], str]) -> str | None:
    """The LSN of a change and the LSN of its commit; only the latter, if the position has no more."""
    if not found:
        return None
    commit, own = found[0], found[:2][-1]
    return written(commit) if not own.strip("F") else within_commit(written(own), written(commit))
