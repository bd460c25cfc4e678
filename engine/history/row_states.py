"""The known state of a row after each of its changes."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import interval, is_guarded, never_null
from siltstone.engine.ordering.chronology import chronology, latest_known, per_key, so_far, until_before, whole_key


def is_gone(of: str = "") -> Column:
    """True for a change (or a tombstone) after which there is no row. `of`: the prefix of another change's columns."""
    return F.col(f"{of}op").isin(names.OP_DELETE, names.OP_TRUNCATE)


def is_streamed() -> Column:
    """True for a change from the log of the source."""
    return ~F.col("is_read") & ~F.col("is_base")


def reports_value(name: str) -> Column:
    """True if a change reports the column, so that a READ in the same window has nothing to add.

    The change carries the column's value, takes it over from the row's old key, or removes the row.
    """
    takes_over = (F.col("op") == names.OP_INSERT) & F.col("old_key").isNotNull()
    whole = F.col("op").isin(names.OP_DELETE, names.OP_TRUNCATE) | takes_over | F.col("present").isNull()
    return F.col("is_base") | whole | F.array_contains("present", name)


def sets_state(name: str) -> Column:
    """True if a change sets the state of the column, even to unknown.

    An insert makes a new row, which takes no value from an earlier row of the key. A column that the insert lacks is
    unknown until a READ of the row brings it.
    """
    return reports_value(name) | (F.col("op") == names.OP_INSERT)


def supersede_reads(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Mark the READs that a streamed change inside their window supersedes: as a whole, and per column.

    Needs: the columns of `mark_redeliveries`.
    Gives: the same columns, then stream_ts (the greatest streamed commit time so far), is_superseded, and
        superseded_<i> for each partly present column (only if READs occur).
    Rows: 1:1.

        READ of key 7, window closes at 90, low_ts 12:00

        streamed at 40, 11:10            before the window: the READ counts
        streamed at 80, 12:01            inside the window: the READ is superseded
        streamed at 80, 12:01, only a    inside the window: a is superseded, the other columns take the READ's values
        streamed at 95                   after the window: the READ comes before this change

        The window of a READ of 12:10 without a position is [12:10 - guard, 12:10 + skew], whatever the positions are.
        Every streamed change supersedes a READ without position and time.
    """
    window = so_far()
    streamed_ts = F.when(is_streamed() & ~F.col("is_redelivery"), F.col("ts")).otherwise(F.col("base_stream_ts"))
    added = {"stream_ts": F.max(streamed_ts).over(window)}
    if rules.keyless:  # decided for all equal rows together, by `number_duplicate_rows`
        return rows.withColumns(added | {"is_superseded": F.col("is_outnumbered")})
    if not rules.reads:
        return rows.withColumns(added)
    at = F.when(is_streamed() | F.col("base_stream_ts").isNotNull(), F.coalesce("base_last", "position"))
    added["_stream_position"] = F.max(at).over(window)
    added["_any_streamed"] = F.max(streamed_ts.isNotNull()).over(whole_key())
    for index, name in enumerate(rules.partly_present):
        added[f"_carried_ts_{index}"] = F.max(F.when(reports_value(name), streamed_ts)).over(window)
        added[f"_carried_position_{index}"] = F.max(F.when(reports_value(name), at)).over(window)
    is_read = F.col("is_read") & ~F.col("is_base")
    yields = F.col("position").isNull() & F.col("commit_ts").isNull() & F.col("_any_streamed")
    if rules.guarded:
        added |= {f"_near_{name}": near(value, rules) for name, value in reported_times(streamed_ts, rules).items()}

    def superseded(name: str, ts: str, position: str) -> Column:
        held = inside(ts, position)
        if rules.guarded:
            by_guard = never_null(F.col(f"_near_{name}") >= F.col("low_ts"))
            held = F.when(is_guarded(), by_guard).otherwise(held)
        # A redelivered READ can have another processing time, and so another window. Only the first copy counts.
        return is_read & (held | yields | F.col("is_redelivery"))

    verdicts = {"is_superseded": superseded("any", "stream_ts", "_stream_position")}
    for index in range(len(rules.partly_present)):
        verdicts[f"superseded_{index}"] = superseded(str(index), f"_carried_ts_{index}", f"_carried_position_{index}")
    temporary = [name for name in added if name.startswith("_")]
    return rows.withColumns(added).withColumns(verdicts).drop(*temporary)


def reported_times(streamed_ts: Column, rules: FoldRules) -> dict[str, Column]:
    """The time of a streamed change, and for each partly present column the time of a change that reports it."""
    by_column = {str(i): F.when(reports_value(name), streamed_ts) for i, name in enumerate(rules.partly_present)}
    return {"any": streamed_ts, **by_column}


def near(streamed_ts: Column, rules: FoldRules) -> Column:
    """For a READ that has only a time: the greatest streamed time up to the end of its window, at any position."""
    end = F.when(is_guarded(), F.col("ts") + interval(rules.skew)).otherwise(streamed_ts)
    by_time = per_key().orderBy(F.unix_micros(end)).rangeBetween(Window.unboundedPreceding, 0)
    return F.max(F.when(~is_guarded(), streamed_ts)).over(by_time)


def inside(streamed_ts: str, streamed_position: str) -> Column:
    """True if an earlier streamed change is inside the READ's window, by its time or by its position."""
    by_time = never_null(F.col(streamed_ts) >= F.col("low_ts"))
    return by_time | never_null(F.col(streamed_position) >= F.col("low_position"))


def row_before(rules: FoldRules) -> list[str]:
    """The columns that `carry_state` reads from the row before, if that change alone gives its state."""
    return ["op", "row", "rescued"] if has_complete_changes(rules) else []


def has_complete_changes(rules: FoldRules) -> bool:
    """Whether each change alone gives the whole state of the row after it."""
    return not rules.reads and not rules.partly_present and not rules.truncates


def carry_state(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Compute the known state of the row after each change, and before it.

    Needs: the columns of `supersede_reads`; _previous as `look_back` gives it.
    Gives: the same columns, then is_live; always_present (struct of the columns that every change carries, and
        rescued; null if the row is deleted); for each partly present column state_<i> (struct known, value); and
        before_state (struct of these before the change, null for the first row of a key).
    Rows: 1:1.

        op      row            present  state after
        read    a=1, b=x                a=1, b=x
        update  a=2, b=null    [a]      a=2, b=x         the update does not carry b: b keeps its value
        update  a=2, b=null             a=2, b=null      the update carries b, and b is null
        delete                          deleted
        read    a=2, b=y                deleted          if a is superseded: b alone does not make a row
        insert  a=3, b=null    [a]      a=3, b unknown   a new row takes no value from the old one
    """
    if has_complete_changes(rules):
        before = {
            "is_live": ~is_gone("_previous."),
            "always_present": always_present_values(rules, "_previous.")["held"],
        }
        return with_state_before(
            rows.withColumns({"is_live": ~is_gone(), "always_present": always_present_values(rules)["held"]}), before
        )
    counts = ~F.col("is_superseded") if rules.reads else F.lit(True)
    if rules.truncates:
        # A truncate does not concern a key that was never seen.
        is_truncate = F.col("op") == names.OP_TRUNCATE
        rows = rows.withColumn("_seen", F.max(counts & ~is_truncate).over(so_far()))
        counts = counts & (~is_truncate | F.col("_seen"))
    own = {"is_live": ~is_gone(), "always_present": always_present_values(rules)}
    now = {name: latest_known(value, counts) for name, value in own.items()}
    if not rules.partly_present:
        before = {f"_before_{name}": latest_known(value, counts, until_before()) for name, value in own.items()}
        known = rows.withColumns(now | before).withColumn("always_present", F.col("always_present")["held"])
        return with_state_before(
            known, {"is_live": F.col("_before_is_live"), "always_present": F.col("_before_always_present")["held"]}
        )
    known = rows.withColumns(now).withColumn("always_present", F.col("always_present")["held"])
    states = {}
    of_gone_row = F.col("is_superseded") & ~F.coalesce("is_live", F.lit(True))
    for index, name in enumerate(rules.partly_present):
        has_state = sets_state(name)
        if rules.reads:
            has_state = has_state & ~F.col(f"superseded_{index}") & ~of_gone_row
        states[f"state_{index}"] = F.coalesce(latest_known(own_state(name), has_state), unknown_state(name))
    # One expression for all columns of the row before: with one per column, planning would take that much longer.
    just_before = F.lag(F.struct("is_live", "always_present", *states)).over(chronology())
    return known.withColumns(states).withColumn("before_state", just_before)


def with_state_before(rows: DataFrame, state: Mapping[str, Column]) -> DataFrame:
    """The state before each row as one struct; null if there is no row before."""
    fields = F.struct(*[value.alias(name) for name, value in state.items()])
    return rows.withColumn("before_state", F.when(F.col("_previous").isNotNull(), fields))


def always_present_values(rules: FoldRules, of: str = "") -> Column:
    """The always present columns of a change in a struct `held`, which is null if the row is deleted."""
    row = F.col(f"{of}row")
    always_present = F.struct(
        *[row[name].alias(name) for name in rules.always_present], F.col(f"{of}rescued").alias(names.RESCUED)
    )
    return F.struct(F.when(~is_gone(of), always_present).alias("held"))


def unknown_state(name: str) -> Column:
    """The state of a partly present column before any change sets it."""
    return F.struct(F.lit(False).alias("known"), F.when(F.lit(False), F.col("row")[name]).alias("value"))


def shown(state: Column, name: str, rules: FoldRules) -> Column:
    """The value of a partly present column in a version. An unknown value shows as the default, or as null."""
    default = rules.defaults.get(name)
    return state["value"] if default is None else F.when(state["known"], state["value"]).otherwise(F.lit(default))


def own_state(name: str) -> Column:
    """The state of a partly present column in one change: is it known, and its value."""
    in_base = ~F.array_contains(F.coalesce("base_unknown", F.array().cast("array<string>")), name)
    in_change = F.col("present").isNull() | F.array_contains("present", name)
    known = ~is_gone() & F.when(F.col("is_base"), in_base).otherwise(in_change)
    return F.struct(known.alias("known"), F.when(known, F.col("row")[name]).alias("value"))
