"""Which gaps the checked changes can heal."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.names import EVERY_BATCH
from siltstone.engine.schema.control_kinds import LOG_FILE, TRANSACTION_LEDGER, WINDOW_CLOSE, WINDOW_OPEN
from siltstone.engine.schema.gap_record import Gap
from siltstone.quality import catalogue
from siltstone.quality.scope import Tables, checked_changes

UNFINISHED = (catalogue.OPEN_WINDOW, catalogue.INCOMPLETE_TRANSACTION)


def not_healable(tables: Tables, book: Sequence[Gap]) -> frozenset[str]:
    """The gaps that no pass over these tables can heal: it does not see the changes that they are about.

    While batches of changes are not folded, these are all gaps. A snapshot whose READs can have been removed is not
    checked.
    """
    return frozenset(
        gap.gap_id
        for gap in book
        if tables.has_unfolded
        or (gap.check == catalogue.SHORT_SNAPSHOT and tables.can_lack_changes_of(gap.committed_from))
    )


def can_heal(tables: Tables, since: int, gaps: Sequence[Gap]) -> bool:
    """Whether the batches after `since` can heal one of these gaps.

    They can if they hold a change or a control event from before the end of a gap. They also can if they hold, at any
    position, the close of a window that was not closed, or more of a transaction that was incomplete.
    """
    highest = highest_end(gaps)
    if highest is None:
        return True
    if not checked_changes(tables.changes, since).where(F.col("position") <= highest).isEmpty():
        return True
    control_since = tables.control_before(since)
    if tables.control is None or control_since == EVERY_BATCH:
        return tables.control is not None
    new = tables.control.where(F.col("batch") > control_since)
    old = tables.control.where(F.col("batch") <= control_since)
    return has_earlier_rows(new, gaps, highest) or has_continuations(new, old, gaps)


def highest_end(gaps: Sequence[Gap]) -> str | None:
    """The greatest end position of the gaps; None if one of them has no position, or if there are no gaps."""
    ends = [gap.position_to or gap.position_from for gap in gaps]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def has_earlier_rows(new: DataFrame, gaps: Sequence[Gap], highest: str) -> bool:
    """Whether one of these control rows has a position before the end of one of the gaps.

    Every batch repeats the name of its current log file. Such a row counts only for gaps of the check log_gap.
    """
    of_logs = highest_end([gap for gap in gaps if gap.check == catalogue.LOG_GAP])
    is_file, is_earlier = F.col("kind") == LOG_FILE, F.col("position") <= highest
    is_missing_file = F.lit(False) if of_logs is None else F.col("position") < of_logs
    return not new.where(F.when(is_file, is_missing_file).otherwise(is_earlier)).isEmpty()


def has_continuations(new: DataFrame, old: DataFrame, gaps: Sequence[Gap]) -> bool:
    """Whether new control rows continue the window or transaction of a gap, which an old row at the gap's end names."""
    ends = {gap.position_to or gap.position_from for gap in gaps if gap.check in UNFINISHED}
    if not ends:
        return False
    window_id = F.regexp_replace("event_id", "-(open|close)$", "")
    name = F.when(F.col("kind") == TRANSACTION_LEDGER, F.col("tx_id")).otherwise(window_id).alias("name")
    more = new.where(F.col("kind").isin(WINDOW_CLOSE, TRANSACTION_LEDGER)).select("kind", name)
    opened = old.where(F.col("kind").isin(WINDOW_OPEN, TRANSACTION_LEDGER) & F.col("position").isin(sorted(ends)))
    return not more.join(F.broadcast(opened.select(name)), on="name", how="left_semi").isEmpty()
