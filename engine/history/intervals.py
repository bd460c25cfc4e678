"""Versions as half-open intervals that tile time."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.classify import UPDATED
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.row_states import is_gone, is_streamed, shown
from siltstone.engine.ordering.chronology import chronology, latest_known, so_far, whole_key

KEEP = "keep"
CLOSE = "close"
TOUCH = "touch"
OPEN = "open"


def build_versions(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Give every version its interval and its final state.

    Needs: the columns of `judge`.
    Gives: key, is_late (the same on all rows of a key), is_base, is_copy, is_read, op, place, position, own_position,
        content_hash, batch, new_key, outcome, given_up (the followed columns' state that a key change takes along),
        action (null, or at the last row of a version: keep, close, touch, open) and version (a history row's columns
        as a struct, null where action is).
    Rows: 1:1.

        position  commit time  opens   valid_from  valid_to
        10        12:00        yes     12:00       12:05
        20        12:03        no      (in place)
        30        12:05        yes     12:05       12:05     zero width: kept, never seen by an as-of query
        40        12:01        yes     12:05       null      order wins over time: clamped to its predecessor
    """
    ended = rows.withColumns(around())
    is_last = F.col("_opening").isNotNull() & F.coalesce(F.col("_next.opens"), F.lit(True))
    return ended.select(
        "key",
        "is_late",
        "is_base",
        "is_copy",
        "is_read",
        "op",
        "place",
        "position",
        "own_position",
        "content_hash",
        "batch",
        "new_key",
        "outcome",
        given_up(rules).alias("given_up"),
        F.when(is_last, action()).alias("action"),
        F.when(is_last, version(rules)).alias("version"),
    )


def around() -> dict[str, Column]:
    """What the rows around each one say, in one window: the opening change of the current version, its clamped start,
    what the version has seen; the row after it; and whether any row of the key reaches back."""
    window = so_far()
    opens = F.col("opens")
    # A truncate that finds no live row leaves no trace on the key: the table's marker remembers it for all keys.
    traced = is_streamed() & (F.col("op") != names.OP_TRUNCATE)
    touches = ~F.col("is_base") & (traced | opens | (F.col("outcome") == UPDATED))
    seen = F.when(F.col("is_base"), F.col("base_last")).when(traced | opens, F.col("position"))
    streamed_ts = F.when(F.col("is_base"), F.col("base_stream_ts")).when(
        is_streamed() & ~F.col("is_again") & (traced | opens), F.col("ts")
    )
    op = F.when(is_gone(), names.OP_DELETE).otherwise(F.col("op"))
    opening = F.struct("is_base", op.alias("op"), "commit_ts", "own_position", "content_hash")
    return {
        "_opening": latest_known(opening, opens),
        "_valid_from": F.max(F.when(opens, F.col("ts"))).over(window),
        "_last_position": F.max(seen).over(window),
        "_last_stream_ts": F.max(streamed_ts).over(window),
        "_touched": F.max(touches).over(window),
        "_next": F.lead(F.struct("opens", "ts")).over(chronology()),
        "is_late": F.max("reaches_back").over(whole_key()),
    }


def action() -> Column:
    """What the version asks of the history table."""
    return (
        F.when(~F.col("_opening.is_base"), OPEN)
        .when(F.col("_next").isNotNull(), CLOSE)
        .when(F.col("_touched"), TOUCH)
        .otherwise(KEEP)
    )


def version(rules: FoldRules) -> Column:
    """One history row, without the batch that writes it."""
    live = F.col("is_live")
    unknown = F.array_compact(
        F.array(*[F.when(live & ~F.col(f"state_{i}.known"), name) for i, name in enumerate(rules.followed)])
    )
    is_open = F.col("_next").isNull()
    return F.struct(
        *[column_value(name, rules).alias(name) for name in rules.columns],
        *([F.col("key")[names.COPY].alias(names.COPY)] if rules.keyless else []),
        F.col("_valid_from").alias(names.VALID_FROM),
        # The next version begins when its change was made, but never before this one.
        F.when(~is_open, F.greatest("_valid_from", "_next.ts")).alias(names.VALID_TO),
        (is_open & live).alias(names.IS_CURRENT),
        F.col("_opening.op").alias(names.OP),
        F.col("_opening.commit_ts").alias(names.COMMIT_TS),
        F.col("_opening.own_position").alias(names.POSITION),
        F.col("_opening.content_hash").alias(names.CHANGE_HASH),
        F.col("_last_position").alias(names.LAST_POSITION),
        F.col("_last_stream_ts").alias(names.STREAM_TS),
        (F.when(F.size(unknown) > 0, unknown) if rules.followed else F.lit(None).cast("array<string>")).alias(
            names.UNKNOWN
        ),
        F.col("solid")[names.RESCUED].alias(names.RESCUED),
    )


def given_up(rules: FoldRules) -> Column:
    """What the delete half of a key change leaves to the insert half: the partial columns as they stood before it.

    A second copy of the half finds the row gone, and leaves nothing.
    """
    if not rules.followed:
        return F.lit(None).cast("string")
    states = F.struct(*[F.col(f"before_state.state_{i}").alias(name) for i, name in enumerate(rules.followed)])
    return F.when((F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull() & ~F.col("is_again"), states)


def column_value(name: str, rules: FoldRules) -> Column:
    """A column's value in the version: from the key, from what all changes carry, or from who told it last."""
    if name in rules.keys:
        return F.col("key")[name]
    if name in rules.solid:
        return F.col("solid")[name]
    return F.when(F.col("is_live"), shown(F.col(f"state_{rules.followed.index(name)}"), name, rules))
