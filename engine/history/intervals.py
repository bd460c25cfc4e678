"""Build versions: half-open intervals that cover time without gap or overlap."""

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

    Needs: the columns of `classify`.
    Gives: key, is_late (the same on all rows of a key), is_base, is_copy, is_read, op, place, position, own_position,
        content_hash, batch, new_key, outcome, given_up (the state of the partly present columns that a key change
        moves to the new key), action (on the last row of a version: keep, close, touch or open; null on all others)
        and version (the columns of a history row as a struct; null where action is null).
    Rows: 1:1.

        position  commit time  opens   valid_from  valid_to
        10        12:00        yes     12:00       12:05
        20        12:03        no      (updates the version in place)
        30        12:05        yes     12:05       12:05     empty interval: stored, but no as-of query sees it
        40        12:01        yes     12:05       null      order wins over time: it starts when 30 does, not before
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
    """The facts from the other rows of the key, all from one window.

    They are the opening change of the current version and its clamped start; the last position, the last streamed time
    and the changes that the version includes; the row after this one; and whether any row of the key is late.
    """
    window = so_far()
    opens = F.col("opens")
    # A truncate that finds no live row does not change the key. The table's marker records it for all keys.
    traced = is_streamed() & (F.col("op") != names.OP_TRUNCATE)
    touches = ~F.col("is_base") & (traced | opens | (F.col("outcome") == UPDATED))
    seen = F.when(F.col("is_base"), F.col("base_last")).when(traced | opens, F.col("position"))
    streamed_ts = F.when(F.col("is_base"), F.col("base_stream_ts")).when(
        is_streamed() & ~F.col("is_redelivery") & (traced | opens), F.col("ts")
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
    """How to write the version to the history table."""
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
        F.array(*[F.when(live & ~F.col(f"state_{i}.known"), name) for i, name in enumerate(rules.partly_present)])
    )
    is_open = F.col("_next").isNull()
    return F.struct(
        *[column_value(name, rules).alias(name) for name in rules.columns],
        *([F.col("key")[names.COPY].alias(names.COPY)] if rules.keyless else []),
        F.col("_valid_from").alias(names.VALID_FROM),
        # A version ends when the change of the next one was committed, but never before it starts.
        F.when(~is_open, F.greatest("_valid_from", "_next.ts")).alias(names.VALID_TO),
        (is_open & live).alias(names.IS_CURRENT),
        F.col("_opening.op").alias(names.OP),
        F.col("_opening.commit_ts").alias(names.COMMIT_TS),
        F.col("_opening.own_position").alias(names.POSITION),
        F.col("_opening.content_hash").alias(names.CHANGE_HASH),
        F.col("_last_position").alias(names.LAST_POSITION),
        F.col("_last_stream_ts").alias(names.STREAM_TS),
        (F.when(F.size(unknown) > 0, unknown) if rules.partly_present else F.lit(None).cast("array<string>")).alias(
            names.UNKNOWN
        ),
        F.col("always_present")[names.RESCUED].alias(names.RESCUED),
    )


def given_up(rules: FoldRules) -> Column:
    """The state that the delete half of a key change passes to the insert half: its partly present columns.

    A redelivered delete finds no row and passes nothing.
    """
    if not rules.partly_present:
        return F.lit(None).cast("string")
    states = F.struct(*[F.col(f"before_state.state_{i}").alias(name) for i, name in enumerate(rules.partly_present)])
    return F.when((F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull() & ~F.col("is_redelivery"), states)


def column_value(name: str, rules: FoldRules) -> Column:
    """A column's value in the version: from the key, from the newest change, or from the newest that carries it."""
    if name in rules.keys:
        return F.col("key")[name]
    if name in rules.always_present:
        return F.col("always_present")[name]
    return F.when(F.col("is_live"), shown(F.col(f"state_{rules.partly_present.index(name)}"), name, rules))
