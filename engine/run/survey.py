"""One look over what is to be folded: which rules it needs, and how far the marker moves."""

from dataclasses import replace
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.history.rules import FoldRules
from engine.ordering.windows import WINDOW_CLOSE, WINDOW_OPEN, attach_windows, chunk_windows
from engine.run.folding import Folding
from engine.table.ledger import read_ledger

Ordered = TypeVar("Ordered", str, int)


def survey(work: Folding, new: DataFrame, windows: DataFrame | None) -> FoldRules:
    """The rules for this fold; the target marker learns of READs, truncates and partial columns.

    Needs: new: the changes to fold.
    """
    seen = new.agg(*counts(work)).first()
    assert seen is not None
    work.changes = seen["changes"]
    partial = tuple(sorted({*work.folded.partial, *(seen["lacking"] or ())}))
    work.target = replace(
        work.target,
        partial=partial,
        truncate=greatest(work.folded.truncate, seen["truncate"]),
        truncate_ts=greatest(work.folded.truncate_ts, seen["truncate_ts"]),
    )
    rules = fold_rules(work, partial, reads=seen["reads"] > 0, swaps=seen["swaps"] > 0, truncates=seen["truncates"] > 0)
    if rules.reads:
        move_close(work, new, windows, rules)
    return rules


def counts(work: Folding) -> list[Column]:
    """What the survey counts, in one pass over few columns."""
    is_truncate = F.col("op") == names.OP_TRUNCATE
    carries_row = F.col("op").isin(names.OP_READ, names.OP_INSERT, names.OP_UPDATE) & F.col("present").isNotNull()
    columns = F.array(*[F.lit(name) for name in work.row.names])
    return [
        F.count("*").alias("changes"),
        F.count_if(F.col("origin") == names.ORIGIN_SNAPSHOT).alias("reads"),
        F.count_if(F.col("new_key").isNotNull() & F.col("before").isNotNull()).alias("swaps"),
        F.array_distinct(F.flatten(F.collect_set(F.when(carries_row, F.array_except(columns, "present"))))).alias(
            "lacking"
        ),
        F.count_if(is_truncate).alias("truncates"),
        F.max(F.when(is_truncate, F.col("position"))).alias("truncate"),
        F.max(F.when(is_truncate, F.unix_micros("commit_ts"))).alias("truncate_ts"),
    ]


def fold_rules(work: Folding, partial: tuple[str, ...], reads: bool, swaps: bool, truncates: bool) -> FoldRules:
    """The spec's settings as the fold takes them."""
    columns = tuple(work.row.names)
    track = work.spec.history.track
    listed = {"all": columns, "columns": track.columns, "except": tuple(c for c in columns if c not in track.columns)}
    declared = work.spec.columns or {}
    defaults = {name: column.default for name, column in declared.items() if column.default is not None}
    return FoldRules(
        keys=work.keys,
        columns=columns,
        tracked=listed[track.mode],
        partial=partial,
        defaults=defaults,
        skew=work.spec.snapshot.skew,
        margin=work.spec.snapshot.margin,
        reads=reads,
        swaps=swaps,
        truncates=truncates,
    )


def move_close(work: Folding, new: DataFrame, windows: DataFrame | None, rules: FoldRules) -> None:
    """The greatest place a READ takes, and the latest READ at that place."""
    reads = attach_windows(new.where(F.col("origin") == names.ORIGIN_SNAPSHOT), windows, rules.margin)
    place = F.max(F.struct("close", F.unix_micros("commit_ts").alias("close_ts"))).alias("place")
    row = reads.where(F.col("close").isNotNull()).agg(place).first()
    found = row["place"] if row is not None else None
    if found is None:
        return
    known = (work.folded.close or "", work.folded.close_ts or 0)
    close, close_ts = max(known, (found["close"], found["close_ts"] or 0))
    work.target = replace(work.target, close=close, close_ts=close_ts)


def greatest(one: Ordered | None, other: Ordered | None) -> Ordered | None:
    """The greater of two values of which either may be missing."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def known_windows(work: Folding) -> DataFrame | None:
    """The snapshot windows that markers tell of, None when there are no markers."""
    control = read_ledger(work.spark, work.project, names.CONTROL)
    if control is None:
        return None
    markers = control.where(
        F.col("kind").isin(WINDOW_OPEN, WINDOW_CLOSE) & (F.col("batch") <= work.target.control_batch)
    )
    return chunk_windows(markers) if markers.limit(1).count() else None


def keys_with_news(work: Folding, everything: DataFrame) -> DataFrame | None:
    """Keys of folded READs whose window has become known only now. None when there are none.

    Rows: one a key.
    """
    if work.folded.close is None or work.target.control_batch == work.folded.control_batch:
        return None
    control = read_ledger(work.spark, work.project, names.CONTROL)
    assert control is not None  # its batch has moved
    markers = control.where(
        F.col("kind").isin(WINDOW_OPEN, WINDOW_CLOSE) & (F.col("batch") <= work.target.control_batch)
    )
    fresh = markers.where(F.col("batch") > work.folded.control_batch)
    touched = chunk_windows(markers).join(
        fresh.select(F.regexp_replace("event_id", "-(open|close)$", "").alias("window_id")).distinct(), "window_id"
    )
    reaching = touched.where(F.col("open_position") <= F.lit(work.folded.close)).select(
        F.col("source").alias("of"), "open_position", "close_position"
    )
    if not reaching.limit(1).count():
        return None
    reads = everything.where((F.col("batch") <= work.folded.batch) & (F.col("origin") == names.ORIGIN_SNAPSHOT))
    within = (F.col("source") == F.col("of")) & F.col("position").between(
        F.col("open_position"), F.col("close_position")
    )
    return reads.join(F.broadcast(reaching), on=within, how="left_semi").select("key").distinct()
