"""Whether something has come that can heal gaps of which a person said that they are known."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.names import EVERY_BATCH
from siltstone.engine.schema.control_kinds import LOG_FILE, TRANSACTION_LEDGER, WINDOW_CLOSE, WINDOW_OPEN
from siltstone.engine.schema.gap_record import Gap
from siltstone.quality import catalogue
from siltstone.quality.scope import Tables, judged

UNFINISHED = (catalogue.OPEN_WINDOW, catalogue.INCOMPLETE_TRANSACTION)


def reaches_back(tables: Tables, since: int, gaps: Sequence[Gap]) -> bool:
    """Whether the judged batches hold something from before the end of one of these gaps, or the rest of one.

    That is a change or what the source tells beside its changes; or, wherever it stands, the close of a window that
    stayed open, or more of a transaction that stayed incomplete.
    """
    highest = highest_end(gaps)
    if highest is None:
        return True
    if not judged(tables.changes, since).where(F.col("position") <= highest).isEmpty():
        return True
    told_since = tables.control_before(since)
    if tables.control is None or told_since == EVERY_BATCH:
        return tables.control is not None
    new, old = (tables.control.where(is_of) for is_of in (F.col("batch") > told_since, F.col("batch") <= told_since))
    return are_told(new, gaps, highest) or are_continued(new, old, gaps)


def highest_end(gaps: Sequence[Gap]) -> str | None:
    """The position at which the last of the gaps ends; None where that of one is not known, or there is none."""
    ends = [gap.position_to or gap.position_from for gap in gaps]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def are_told(new: DataFrame, gaps: Sequence[Gap], highest: str) -> bool:
    """Whether one of these control rows stands before the end of one of the gaps.

    Each batch tells once more of the file that it is in, which says something of files that are left out only.
    """
    of_logs = highest_end([gap for gap in gaps if gap.check == catalogue.LOG_GAP])
    is_file, stands_before = F.col("kind") == LOG_FILE, F.col("position") <= highest
    is_missing_file = F.lit(False) if of_logs is None else F.col("position") < of_logs
    return not new.where(F.when(is_file, is_missing_file).otherwise(stands_before)).isEmpty()


def are_continued(new: DataFrame, old: DataFrame, gaps: Sequence[Gap]) -> bool:
    """Whether new control rows continue a window or a transaction that a gap is of: old rows stand at its end."""
    ends = {gap.position_to or gap.position_from for gap in gaps if gap.check in UNFINISHED}
    if not ends:
        return False
    window_id = F.regexp_replace("event_id", "-(open|close)$", "")
    name = F.when(F.col("kind") == TRANSACTION_LEDGER, F.col("tx_id")).otherwise(window_id).alias("name")
    more = new.where(F.col("kind").isin(WINDOW_CLOSE, TRANSACTION_LEDGER)).select("kind", name)
    opened = old.where(F.col("kind").isin(WINDOW_OPEN, TRANSACTION_LEDGER) & F.col("position").isin(sorted(ends)))
    return not more.join(F.broadcast(opened.select(name)), on="name", how="left_semi").isEmpty()
