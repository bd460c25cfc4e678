"""Profile the changes to fold in one pass: which rules the fold needs, and how far the marker moves."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import reduce
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.fold.key_change_links import computed_links
from siltstone.engine.frames import checkpointed
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import change_rows, is_guarded, never_null
from siltstone.engine.history.partial_key_changes import is_lone_insert, is_older, with_links
from siltstone.engine.ordering.snapshot_windows import attach_windows, chunk_windows
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE, WINDOW_OPEN
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.spec.renamed_names import new_names, renamed
from siltstone.engine.table.retracted import retracted_of

Ordered = TypeVar("Ordered", str, int)


def profile_batch(context: FoldContext, new: DataFrame, windows: DataFrame | None) -> tuple[DataFrame, FoldRules]:
    """Place the changes in order, choose the rules for this fold, and advance the target marker.

    Needs: new: the changes to fold.
    Gives: the output of `change_rows`. It is read here, then for the keys and then for the timeline. Each reader reads
        only the columns that it needs, which costs less than keeping all of them.
    """
    rules = fold_rules(context)
    placed = place_changes(new, windows, rules)
    seen = placed.agg(*counts(context)).first()
    assert seen is not None
    links = computed_links(new) if seen["lone"] and not context.keyless else None
    if links is not None:
        placed = place_changes(with_links(new, links), windows, rules)
    context.changes = seen["changes"]
    sources = tuple(sorted({*context.folded.sources, *seen["sources"]}))
    partial = tuple(sorted({*rules.partial, *(seen["lacking"] or ())}))
    known = (context.folded.close, context.folded.close_ts)
    met = (seen["place"]["position"], seen["place"]["close_ts"]) if seen["place"] is not None else (None, None)
    close, close_ts = max(known, met, key=lambda place: (place[0] or "", place[1] or 0))
    context.target = replace(
        context.target,
        partial=partial,
        sources=sources,
        close=close,
        close_ts=close_ts,
        read_ts=greatest(context.folded.read_ts, seen["read_ts"]),
        truncate=greatest(context.folded.truncate, seen["truncate"]),
        truncate_ts=greatest(context.folded.truncate_ts, seen["truncate_ts"]),
        partial_inserts=greatest(context.folded.partial_inserts, seen["partial_inserts_at"]),
    )
    kinds = ("reads", "guarded", "swaps", "truncates", "partial_inserts", "split_halves")
    occurs = {name: seen[name] > 0 for name in kinds}
    if links is not None:
        occurs |= {"swaps": True, "partial_inserts": True}
    return placed, replace(rules, partial=partial, **occurs)


def place_changes(new: DataFrame, windows: DataFrame | None, rules: FoldRules) -> DataFrame:
    """The changes in order. With windows, the result of the join is computed once."""
    placed = change_rows(attach_windows(new, windows, rules.margin), rules)
    return placed if windows is None else placed.transform(checkpointed, eager=False)


def counts(context: FoldContext) -> list[Column]:
    """The aggregates of the profile. `place`: the greatest position of a READ, and the latest READ's time there."""
    is_truncate = F.col("op") == names.OP_TRUNCATE
    carries_row = F.col("op").isin(names.OP_READ, names.OP_INSERT, names.OP_UPDATE) & F.col("present").isNotNull()
    columns = F.array(*[F.lit(name) for name in context.row.names])
    is_placed = F.col("is_read") & F.col("position").isNotNull()
    is_lone = is_lone_insert(context.keys[:1])  # after `change_rows`, an old key is complete or null
    is_partial_insert = F.col("old_key").isNotNull() & F.col("present").isNotNull()
    return [
        F.count("*").alias("changes"),
        F.collect_set("source").alias("sources"),
        F.count_if("is_read").alias("reads"),
        F.count_if(is_guarded()).alias("guarded"),
        F.max(F.when(is_guarded(), F.unix_micros("ts"))).alias("read_ts"),
        F.count_if(F.col("new_key").isNotNull()).alias("swaps"),  # an upper bound: the before image is not read here
        F.count_if(is_partial_insert).alias("partial_inserts"),
        F.max(F.when(is_partial_insert | is_lone, F.col("position"))).alias("partial_inserts_at"),
        F.count_if(is_lone).alias("lone"),
        F.count_if(is_lone | never_null(is_older(context.folded.partial_inserts))).alias("split_halves"),
        F.array_distinct(F.flatten(F.collect_set(F.when(carries_row, F.array_except(columns, "present"))))).alias(
            "lacking"
        ),
        F.count_if(is_truncate).alias("truncates"),
        F.max(F.when(is_truncate, F.col("position"))).alias("truncate"),
        F.max(F.when(is_truncate, F.unix_micros("commit_ts"))).alias("truncate_ts"),
        F.max(F.when(is_placed, F.struct("position", F.unix_micros("commit_ts").alias("close_ts")))).alias("place"),
    ]


def fold_rules(context: FoldContext) -> FoldRules:
    """The spec's settings in the form that the fold uses. What occurs among the changes is not known yet."""
    columns, by_old = tuple(context.row.names), new_names(context.spec)
    track = context.spec.history.track
    refuse_unknown_tracked(context.spec, columns)
    listed = {"all": columns, "columns": track.columns, "except": tuple(c for c in columns if c not in track.columns)}
    return FoldRules(
        keys=context.keys,
        keyless=context.keyless,
        columns=columns,
        tracked=listed[track.mode],
        partial=tuple(sorted({*(renamed(name, by_old) for name in context.folded.partial), *context.rows.since})),
        defaults=default_values(context.spec, context.row),
        guard=context.spec.snapshot.guard,
        skew=context.spec.snapshot.skew,
        margin=context.spec.snapshot.margin,
    )


def default_values(spec: TableSpec, row: T.StructType) -> dict[str, Column]:
    """The defaults of columns, each cast to its column's type: a double default would turn a decimal into a double."""
    declared = {name: column.default for name, column in (spec.columns or {}).items() if name in row.names}
    return {n: F.lit(str(value)).cast(row[n].dataType) for n, value in declared.items() if value is not None}


def refuse_unknown_tracked(spec: TableSpec, columns: Sequence[str]) -> None:
    """Check that history.track names columns of the table: a misspelt name would lose versions or add wrong ones.

    Raises: SpecError.
    """
    known = {*columns, *(spec.columns or ())}
    unknown = [name for name in spec.history.track.columns if name not in known]
    if unknown:
        near = [found for name in unknown for found in get_close_matches(name, columns, n=1)]
        suggestion = f"did you mean {', '.join(near)}? " if near else ""
        raise SpecError(
            f"Cannot fold {spec.target.history}: history.track names {', '.join(unknown)}, and {spec.table} has no such"
            " column.",
            f"{suggestion}declare a column that the source adds later under columns",
        )


def greatest(one: Ordered | None, other: Ordered | None) -> Ordered | None:
    """The greater of two values, either of which may be None."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def known_windows(context: FoldContext) -> DataFrame | None:
    """The snapshot windows defined by markers. None if there are no markers."""
    markers = markers_of(context)
    return chunk_windows(markers) if markers is not None and markers.limit(1).count() else None


def markers_of(context: FoldContext) -> DataFrame | None:
    """The snapshot window markers that this fold may use. None if there are no control events. Rows: filters."""
    if context.rows.control is None:
        return None
    is_marker = F.col("kind").isin(WINDOW_OPEN, WINDOW_CLOSE)
    return context.rows.control.where(is_marker & (F.col("batch") <= context.target.control_batch))


def keys_to_reconsider(context: FoldContext, everything: DataFrame) -> DataFrame | None:
    """Keys whose folded changes now count differently: by a new window or a retraction. None if there are none.

    Rows: one per key.
    """
    parts = [
        part for part in (keys_in_new_windows(context, everything), keys_with_retractions(context)) if part is not None
    ]
    return reduce(DataFrame.unionByName, parts).distinct() if parts else None


def keys_with_retractions(context: FoldContext) -> DataFrame | None:
    """Keys with a folded change that was retracted since; all keys if it was a truncate. None if there are none.

    Rows: one per key.
    """
    if context.retracted_places is None or context.target.control_batch == context.folded.control_batch:
        return None
    fresh = context.retracted_places.where(F.col("control_batch") > context.folded.control_batch)
    if fresh.isEmpty():
        return None  # saves a scan of all changes
    folded = context.all_changes_up_to_target().where(F.col("batch") <= context.folded.batch)
    concerned = retracted_of(folded, fresh).select("key", "op").distinct().transform(checkpointed)
    if concerned.isEmpty():
        return None
    if not concerned.where(F.col("op") == names.OP_TRUNCATE).isEmpty():
        concerned = folded.where(F.col("op") != names.OP_TRUNCATE)
    return concerned.select("key").distinct()


def keys_in_new_windows(context: FoldContext, everything: DataFrame) -> DataFrame | None:
    """Keys of folded READs whose window has become known only now. None if there are none.

    Rows: one per key.
    """
    if context.folded.close is None or context.target.control_batch == context.folded.control_batch:
        return None
    markers = markers_of(context)
    assert markers is not None  # the batch of control events has moved
    fresh = markers.where(F.col("batch") > context.folded.control_batch)
    touched = chunk_windows(markers).join(
        fresh.select(F.regexp_replace("event_id", "-(open|close)$", "").alias("window_id")).distinct(), "window_id"
    )
    reaching = touched.where(F.col("open_position") <= F.lit(context.folded.close)).select(
        F.col("source").alias("of"), "open_position", "close_position"
    )
    if not reaching.limit(1).count():
        return None
    reads = everything.where((F.col("batch") <= context.folded.batch) & (F.col("origin") == names.ORIGIN_SNAPSHOT))
    within = (F.col("source") == F.col("of")) & F.col("position").between(
        F.col("open_position"), F.col("close_position")
    )
    return reads.join(F.broadcast(reaching), on=within, how="left_semi").select("key").distinct()
