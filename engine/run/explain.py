"""Explain a key's versions: each change of the key, where it came from, and its outcome."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.applied_settings import check_settings
from siltstone.engine.fold.base_states import versions_since_bases
from siltstone.engine.fold.batch_profile import fold_rules, known_windows
from siltstone.engine.fold.context import FoldContext, open_folded
from siltstone.engine.fold.key_change_links import linked
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.fold.planning import light_planning
from siltstone.engine.fold.recompute_keys import all_rows_of, fold_with_links, keys_to_recompute, rules_for_old_changes
from siltstone.engine.fold.shown_positions import log_files
from siltstone.engine.frames import checkpointed
from siltstone.engine.history import classify
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import interval, key_of, order_ties
from siltstone.engine.json_text import KEEP_NULLS, exact_json
from siltstone.engine.names import PLACE, quoted
from siltstone.engine.ordering.chronology import chronology, sortable
from siltstone.engine.plain_values import iso_timestamp
from siltstone.engine.report import ExplainedChange, ExplainedVersion, Explanation
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec.model import ProjectSpec, TableSpec

Shown = Callable[[Row, str | None], str | None]
"""Formats a position in the notation of a change's source."""
NOT_FOLDED = "not folded yet"
WITHDRAWN = "withdrawn"
BEFORE_BASE = "it belongs before the changes that are kept (`retain_changes`)"
LATE = "it arrived later than `lateness` or `retain_changes` allows"
ORDERED_BY = ("rank", "tx_order", "offset", "turn", "ingest_ts", "ts", "low_ts", "low_position")
SOURCE_COLUMNS = (
    "op", "source", "position", "commit_ts", "batch", "file", "line", "channel", "kafka_partition", "kafka_offset",
    "event_id", "too_late", "retracted_by",
)  # fmt: skip


def explain(project: ProjectSpec, spec: TableSpec, spark: SparkSession, key: Mapping[str, str | None]) -> Explanation:
    """Explain what opened each version of one key, and what was not applied and why. Writes nothing.

    `key`: a value, as text, for each key column; None: null.

    Raises: SpecError: the table was never folded, or not with these settings; `key` is not one key of it.
    """
    set_fold_conf(spark)
    check_settings(spark, project, spec)
    context = open_folded(spark, project, spec)
    if context is None:
        raise SpecError(
            f"Cannot explain a key of {spec.table}: nothing is folded yet.", "run `siltstone catch-up` first"
        )
    part = Part(key)
    part.whole_key(context.keys, spec.table)
    with light_planning(spark, context.is_small(), project.spark.conf):
        return explain_key(context, part)


def explain_key(context: FoldContext, part: Part) -> Explanation:
    """Fold one key, and the keys that are linked with it, change by change."""
    key_type = context.rows.changes.schema["key"].dataType
    assert isinstance(key_type, T.StructType)
    test = part.condition(context.spark, key_type)
    is_mine, is_truncate = test(lambda name: F.col("key")[name]), F.col("op") == names.OP_TRUNCATE
    table = context.rows.history.where(test(lambda name: F.col(quoted(name))))
    rules = rules_for_old_changes(context, fold_rules(context))
    everything = linked(context, context.changes_up_to_target())
    explicable = versions_since_bases(context, table, rules)
    stored = {tuple(row) for row in explicable.select(*identity_of(lambda name: F.col(name))).collect()}
    requested = everything.where(is_mine).select("key").unionByName(table.select(key_of(rules).alias("key")))
    keys = keys_to_recompute(requested.distinct().transform(checkpointed), everything, rules)
    numbered = numbered_changes(with_retractions(context.rows.changes, context.retracted_places), keys)
    is_valid = ~F.col("too_late") & F.col("retracted_by").isNull()
    folded = numbered.where((F.col("real_batch") <= context.folded.batch) & is_valid).drop("retracted_by")
    rows = all_rows_of(context, linked(context, folded), keys, known_windows(context), rules)
    rows = order_ties(rows, rules).transform(checkpointed)
    reconciled = (
        fold_with_links(rows, rules).where(is_mine).drop("key", "is_base", "is_copy", "is_read", "op", "content_hash")
    )
    placed = rows.where(is_mine).select("key", "is_base", "is_read", "op", "content_hash", *ORDERED_BY, "batch")
    joined = reconciled.join(placed, on="batch", how="inner")  # each number is one change of the key
    found = in_order(joined, rules).collect()
    sources = {row["id"]: row for row in numbered.where(is_mine | is_truncate).select(*source_columns()).collect()}
    return explanation(context, part, found, sources, stored, notations(context, sources.values()))


def with_retractions(changes: DataFrame, places: DataFrame | None) -> DataFrame:
    """Add `retracted_by` to the changes: the batch of control events that retracted them, or null.

    Rows: 1:1.
    """
    if places is None:
        return changes.withColumn("retracted_by", F.lit(None).cast("bigint"))
    retracted = places.select(*PLACE, F.coalesce("control_batch", F.lit(0)).alias("retracted_by"))
    joined = changes.join(F.broadcast(retracted), on=PLACE, how="left")  # one row per line
    return joined.select(*changes.columns, "retracted_by")


def numbered_changes(changes: DataFrame, keys: DataFrame) -> DataFrame:
    """The changes of some keys, and all truncates, each with a unique number in place of its batch.

    The fold passes `batch` through, and uses it only to decide which of two copies arrived first. The number keeps that
    order.

    Gives: the same columns, then real_batch. Computed. Rows: filters.
    """
    is_truncate = F.col("op") == names.OP_TRUNCATE
    mine = changes.where(~is_truncate).join(F.broadcast(keys), on="key", how="left_semi")
    mine = mine.unionByName(changes.where(is_truncate).select(*mine.columns))
    arrival = Window.orderBy("batch", "file", "line", "kafka_partition", "kafka_offset", "position", "op")
    number = F.row_number().over(arrival).cast("bigint")
    return (
        mine.select("*", F.col("batch").alias("real_batch"), number.alias("_number"))
        .select(
            *[F.col("_number").alias("batch") if name == "batch" else F.col(name) for name in mine.columns],
            "real_batch",
        )
        .transform(checkpointed)
    )


def source_columns() -> list[Column]:
    """The columns that describe the event of a change, under their names in the report."""
    renamed = {"batch": F.col("real_batch").alias("batch"), "commit_ts": micros("commit_ts")}
    return [F.col("batch").alias("id"), *[renamed.get(name, F.col(name)) for name in SOURCE_COLUMNS]]


def micros(name: str) -> Column:
    """A time in microseconds: Python's datetime has a smaller range of years."""
    return F.unix_micros(name).alias(name)


def identity_of(column: Callable[[str], Column]) -> list[Column]:
    """The columns that identify a version: its interval, and the change that opened it."""
    times = [F.unix_micros(column(name)).alias(name) for name in (names.VALID_FROM, names.VALID_TO)]
    return times + [column(name).alias(name) for name in (names.OP, names.POSITION, names.CHANGE_HASH)]


def in_order(reconciled: DataFrame, rules: FoldRules) -> DataFrame:
    """The reconciled changes of one key in fold order. The last change of each version carries the version.

    Gives: id, outcome, turn, is_read, op, position, low_position, ts, low_ts, high_ts (microseconds), version
        (JSON text), identity.
    """
    swapped = ~F.col("is_read") & ~F.col("position").eqNullSafe(F.col("own_position"))
    # A delete that `undo_key_swaps` moved comes before the insert whose position it took.
    turned = sortable(reconciled.withColumn("rank", F.when(swapped, -1).otherwise(F.col("rank"))))
    row = exact_json(F.col("version"), reconciled.schema["version"].dataType, KEEP_NULLS)
    return turned.select(
        F.col("batch").alias("id"),
        "outcome",
        F.row_number().over(chronology()).alias("turn"),
        "is_read",
        "op",
        "position",
        "low_position",
        micros("ts"),
        micros("low_ts"),
        F.unix_micros(F.col("ts") + interval(rules.skew)).alias("high_ts"),
        F.when(F.col("version").isNotNull(), row).alias("version"),
        F.struct(*identity_of(lambda name: F.col("version")[name])).alias("identity"),
    ).orderBy("turn")


def explanation(
    context: FoldContext,
    part: Part,
    found: Sequence[Row],
    sources: Mapping[int, Row],
    stored: set[tuple[Any, ...]],
    shown: Shown,
) -> Explanation:
    """Combine the fold's results with the events."""
    changes, versions, number, maker = [], [], 0, ""
    for place, row in enumerate(found):
        if row["outcome"] in (classify.OPENED, classify.HEALED):
            number += 1
        outcome, why = reason(row, place, found, sources, shown)
        applied = row["outcome"] in (classify.OPENED, classify.HEALED, classify.UPDATED)
        change = explained(
            sources[row["id"]], outcome, why, number if applied else None, is_late(place, found, sources), shown
        )
        maker = change.place if row["outcome"] in (classify.OPENED, classify.HEALED) else maker
        changes.append(change)
        if row["version"] is not None:
            versions.append(
                ExplainedVersion(
                    number=number,
                    valid_from=iso(row["identity"][names.VALID_FROM]) or "",
                    valid_to=iso(row["identity"][names.VALID_TO]),
                    op=row["identity"][names.OP],
                    made_by=maker,
                    in_table=tuple(row["identity"]) in stored,
                    row={name: json.loads(row["version"], parse_float=str)[name] for name in context.row.names},
                )
            )
    folded = {row["id"] for row in found}
    for number_of, source in sorted(sources.items()):
        if number_of not in folded and source["too_late"]:
            changes.append(explained(source, classify.TOO_LATE, LATE, None, True, shown))
        elif number_of not in folded and source["retracted_by"] is not None:
            changes.append(explained(source, classify.REDELIVERED, "the source only resent it", None, False, shown))
        elif number_of not in folded and source["batch"] > context.folded.batch:
            changes.append(explained(source, NOT_FOLDED, "the next catch-up folds its batch", None, False, shown))
        elif number_of not in folded and context.is_trimmed and source["op"] != names.OP_TRUNCATE:
            changes.append(explained(source, classify.TOO_LATE, BEFORE_BASE, None, True, shown))
    return Explanation(
        context.spec.table, dict(part.values), context.folded.batch, tuple(versions), tuple(changes), len(stored)
    )


def explained(source: Row, outcome: str, why: str, version: int | None, late: bool, shown: Shown) -> ExplainedChange:
    """The report of one change, with the columns of its event."""
    left_out = ("source", "too_late", "retracted_by", "commit_ts")
    values = {name: source[name] for name in SOURCE_COLUMNS if name not in left_out}
    return ExplainedChange(
        outcome=outcome,
        why=why,
        version=version,
        late=late,
        commit_ts=iso(source["commit_ts"]),
        shown_position=shown(source, source["position"]),
        **values,
    )


def notations(context: FoldContext, sources: Iterable[Row]) -> Shown:
    """A function that formats a position in the notation of a change's source."""
    named = {row["source"] or "" for row in sources}
    files = log_files(context.rows.control, named)
    known = {source: Notation.of([source], files) for source in named}
    return lambda source, position: known[source["source"] or ""].shown(position)


def is_late(place: int, found: Sequence[Row], sources: Mapping[int, Row]) -> bool:
    """Whether a change that is after this one in order arrived before it."""
    batch = sources[found[place]["id"]]["batch"]
    if found[place]["outcome"] == classify.REDELIVERED:
        return False
    after = (row for row in found[place + 1 :] if row["outcome"] != classify.REDELIVERED)
    return any(sources[row["id"]]["batch"] < batch for row in after)


def reason(row: Row, place: int, found: Sequence[Row], sources: Mapping[int, Row], shown: Shown) -> tuple[str, str]:
    """The outcome of one change, and the reason for it."""
    outcome, is_read = row["outcome"], row["is_read"]
    if outcome == classify.SUPERSEDED:
        return superseded(row, place, found, sources, shown)
    if outcome == classify.OPENED:
        gone = row["op"] in (names.OP_DELETE, names.OP_TRUNCATE)
        return outcome, "the row is gone" if gone else "it opens a version"
    if outcome == classify.ABSORBED:
        return outcome, absorbed_because(row["op"])
    reasons = {
        classify.HEALED: "the READ differs from the state that the stream had given before it: a change was missed",
        classify.UPDATED: "the READ has values that were unknown"
        if is_read
        else "the columns that differ are not tracked, or were unknown and shown as they are now",
        classify.REDELIVERED: "the change directly before it is the same change",
    }
    return outcome, reasons[outcome]


def absorbed_because(op: str) -> str:
    """Why a change has no effect."""
    if op in (names.OP_DELETE, names.OP_TRUNCATE):
        return "there is no row for it to end"
    if op == names.OP_READ:
        return "the READ confirms what is known"
    return "its values are already known; only its position is recorded"


def superseded(row: Row, place: int, found: Sequence[Row], sources: Mapping[int, Row], shown: Shown) -> tuple[str, str]:
    """The outcome of a superseded READ, and the streamed change inside its window that supersedes it.

    The outcome is `withdrawn` if that change arrived in a later batch.
    """
    others = found if row["position"] is None else found[:place]  # a window by time alone can contain any position
    yields_to = [other for other in others if not other["is_read"] and inside(other, row)]
    streamed = [sources[other["id"]] for other in yields_to if other["outcome"] != classify.REDELIVERED]
    if not streamed:
        return classify.SUPERSEDED, "a streamed change lies inside its window"
    first = min(streamed, key=lambda source: source["batch"])
    end = f"position {shown(first, row['position'])}" if row["position"] else iso(row["high_ts"])
    window = f"from {iso(row['low_ts'])} to {end}" if row["low_ts"] is not None else "unknown"
    why = f"the streamed {first['op']} at {shown(first, first['position'])} lies inside its window ({window})"
    if first["batch"] > sources[row["id"]]["batch"]:
        return WITHDRAWN, f"{why}; it arrived in batch {first['batch']}"
    return classify.SUPERSEDED, why


def inside(streamed: Row, read: Row) -> bool:
    """The rule of `supersede_reads`, to find the same change."""
    if read["low_ts"] is None:
        return True  # nothing is known of the READ
    if read["position"] is None:
        return bool(read["low_ts"] <= streamed["ts"] <= read["high_ts"])
    in_marked = read["low_position"] is not None and streamed["position"] >= read["low_position"]
    return in_marked or bool(streamed["ts"] >= read["low_ts"])


def iso(microseconds: int | None) -> str | None:
    """A time as ISO 8601, UTC."""
    return None if microseconds is None else iso_timestamp(microseconds, "Z")
