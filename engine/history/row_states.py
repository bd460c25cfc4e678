"""What is known of a row after each of its changes."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import interval, is_guarded, never_null
from siltstone.engine.ordering.chronology import chronology, latest_known, per_key, so_far, until_before, whole_key


def is_gone(of: str = "") -> Column:
    """True for a change (or a tombstone) after which there is no row; of another one than the row's own: `of` it."""
    return F.col(f"{of}op").isin(names.OP_DELETE, names.OP_TRUNCATE)


def is_streamed() -> Column:
    """True for a change that came from the source's log."""
    return ~F.col("is_read") & ~F.col("is_base")


def tells(name: str) -> Column:
    """True when a change says what a READ beside it cannot know better: the column's value, be it the one that the row
    had under its old key, or that the row is gone."""
    takes_over = (F.col("op") == names.OP_INSERT) & F.col("old_key").isNotNull()
    whole = F.col("op").isin(names.OP_DELETE, names.OP_TRUNCATE) | takes_over | F.col("present").isNull()
    return F.col("is_base") | whole | F.array_contains("present", name)


def carries(name: str) -> Column:
    """True when a change says what is in the column, be it that nothing is known of it: a new row owes nothing to an
    old one, and what an insert lacks is what the READ of that row can tell."""
    return tells(name) | (F.col("op") == names.OP_INSERT)


def supersede_reads(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Mark the READs, and of each READ the columns, that a streamed change inside its window supersedes.

    Needs: the columns of `mark_redeliveries`.
    Gives: the same columns, then stream_ts (the greatest commit time streamed so far), is_superseded, and
        superseded_<i> for each followed column (only where READs occur).
    Rows: 1:1.

        READ of key 7, window closes at 90, low_ts 12:00
        streamed at 40, 11:10            before the window: the READ is ordinary evidence
        streamed at 80, 12:01            inside: the READ is superseded
        streamed at 80, 12:01, only col  inside, but carries no other column: those take the READ's value in place
        streamed at 95                   after the window: the READ stands before it
        READ without a position, of 12:10: its window is [12:10 - guard, 12:10 + skew], whatever the positions are
        READ without position or time: it yields to every streamed change
    """
    window = so_far()
    streamed_ts = F.when(is_streamed() & ~F.col("is_again"), F.col("ts")).otherwise(F.col("base_stream_ts"))
    added = {"stream_ts": F.max(streamed_ts).over(window)}
    if rules.keyless:  # decided for all equal rows together, by `number_copies`
        return rows.withColumns(added | {"is_superseded": F.col("is_outnumbered")})
    if not rules.reads:
        return rows.withColumns(added)
    at = F.when(is_streamed() | F.col("base_stream_ts").isNotNull(), F.coalesce("base_last", "position"))
    added["_stream_position"] = F.max(at).over(window)
    added["_any_streamed"] = F.max(streamed_ts.isNotNull()).over(whole_key())
    for index, name in enumerate(rules.followed):
        added[f"_carried_ts_{index}"] = F.max(F.when(tells(name), streamed_ts)).over(window)
        added[f"_carried_position_{index}"] = F.max(F.when(tells(name), at)).over(window)
    is_read = F.col("is_read") & ~F.col("is_base")
    yields = F.col("position").isNull() & F.col("commit_ts").isNull() & F.col("_any_streamed")
    if rules.guarded:
        added |= {f"_near_{name}": near(value, rules) for name, value in told_at(streamed_ts, rules).items()}

    def superseded(name: str, ts: str, position: str) -> Column:
        held = inside(ts, position)
        if rules.guarded:
            by_guard = never_null(F.col(f"_near_{name}") >= F.col("low_ts"))
            held = F.when(is_guarded(), by_guard).otherwise(held)
        # A second copy can bear another time of processing, and with it another window: the first one's counts.
        return is_read & (held | yields | F.col("is_again"))

    verdicts = {"is_superseded": superseded("any", "stream_ts", "_stream_position")}
    for index in range(len(rules.followed)):
        verdicts[f"superseded_{index}"] = superseded(str(index), f"_carried_ts_{index}", f"_carried_position_{index}")
    temporary = [name for name in added if name.startswith("_")]
    return rows.withColumns(added).withColumns(verdicts).drop(*temporary)


def told_at(streamed_ts: Column, rules: FoldRules) -> dict[str, Column]:
    """When something was streamed at all, and when each followed column was told."""
    told = {str(index): F.when(tells(name), streamed_ts) for index, name in enumerate(rules.followed)}
    return {"any": streamed_ts, **told}


def near(streamed_ts: Column, rules: FoldRules) -> Column:
    """For a READ that has only a time: the greatest streamed time that is not later than its window, wherever it is."""
    end = F.when(is_guarded(), F.col("ts") + interval(rules.skew)).otherwise(streamed_ts)
    by_time = per_key().orderBy(F.unix_micros(end)).rangeBetween(Window.unboundedPreceding, 0)
    return F.max(F.when(~is_guarded(), streamed_ts)).over(by_time)


def inside(streamed_ts: str, streamed_position: str) -> Column:
    """True when a streamed change up to here lies inside the READ's window: by time, or by the window's opening."""
    by_time = never_null(F.col(streamed_ts) >= F.col("low_ts"))
    return by_time | never_null(F.col(streamed_position) >= F.col("low_position"))


def row_before(rules: FoldRules) -> list[str]:
    """What `carry_state` asks of the row before: its own state, where each change says all of it."""
    return ["op", "row", "rescued"] if tells_all(rules) else []


def tells_all(rules: FoldRules) -> bool:
    """Whether each change alone says all that is known of the row after it."""
    return not rules.reads and not rules.followed and not rules.truncates


def carry_state(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Say what is known of the row after each change, and before it.

    Needs: the columns of `supersede_reads`; _previous as `look_back` gives it.
    Gives: the same columns, then is_live, solid (struct of the solid columns and rescued; null when gone), for
        each followed column state_<i> (struct known, value), and before_state (struct of the same before the change,
        null for the first row of a key).
    Rows: 1:1.

        op      row            present  state after
        read    a=1, b=x                a=1, b=x
        update  a=2, b=null    [a]      a=2, b=x         b was not sent
        update  a=2, b=null             a=2, b=null      b was sent, and is null
        delete                          gone
        read    a=2, b=y                gone             where a is superseded: what is left tells nothing of a gone row
        insert  a=3, b=null    [a]      a=3, b unknown   a new row owes nothing to the old one
    """
    if tells_all(rules):
        before = {"is_live": ~is_gone("_previous."), "solid": own_solid(rules, "_previous.")["held"]}
        return with_state_before(rows.withColumns({"is_live": ~is_gone(), "solid": own_solid(rules)["held"]}), before)
    counts = ~F.col("is_superseded") if rules.reads else F.lit(True)
    if rules.truncates:
        # A truncate is nothing to a key never seen: the key stays unseen.
        is_truncate = F.col("op") == names.OP_TRUNCATE
        rows = rows.withColumn("_seen", F.max(counts & ~is_truncate).over(so_far()))
        counts = counts & (~is_truncate | F.col("_seen"))
    own = {"is_live": ~is_gone(), "solid": own_solid(rules)}
    now = {name: latest_known(value, counts) for name, value in own.items()}
    if not rules.followed:
        before = {f"_before_{name}": latest_known(value, counts, until_before()) for name, value in own.items()}
        known = rows.withColumns(now | before).withColumn("solid", F.col("solid")["held"])
        return with_state_before(known, {"is_live": F.col("_before_is_live"), "solid": F.col("_before_solid")["held"]})
    known = rows.withColumns(now).withColumn("solid", F.col("solid")["held"])
    states = {}
    of_gone_row = F.col("is_superseded") & ~F.coalesce("is_live", F.lit(True))
    for index, name in enumerate(rules.followed):
        told = carries(name)
        if rules.reads:
            told = told & ~F.col(f"superseded_{index}") & ~of_gone_row
        states[f"state_{index}"] = F.coalesce(latest_known(own_state(name), told), never_told(name))
    # One look at the row before: a second one at each followed column would be planned for as long as the first.
    just_before = F.lag(F.struct("is_live", "solid", *states)).over(chronology())
    return known.withColumns(states).withColumn("before_state", just_before)


def with_state_before(rows: DataFrame, state: Mapping[str, Column]) -> DataFrame:
    """The state before each row as one struct; null where there is no row before."""
    fields = F.struct(*[value.alias(name) for name, value in state.items()])
    return rows.withColumn("before_state", F.when(F.col("_previous").isNotNull(), fields))


def own_solid(rules: FoldRules, of: str = "") -> Column:
    """The solid columns as a change gives them, boxed: null inside when the row is gone."""
    row = F.col(f"{of}row")
    solid = F.struct(*[row[name].alias(name) for name in rules.solid], F.col(f"{of}rescued").alias(names.RESCUED))
    return F.struct(F.when(~is_gone(of), solid).alias("held"))


def never_told(name: str) -> Column:
    """The state of a followed column before any change says something of it."""
    return F.struct(F.lit(False).alias("known"), F.when(F.lit(False), F.col("row")[name]).alias("value"))


def shown(state: Column, name: str, rules: FoldRules) -> Column:
    """What a version shows of a followed column: its value; its default, or null, while nothing is known of it."""
    default = rules.defaults.get(name)
    return state["value"] if default is None else F.when(state["known"], state["value"]).otherwise(F.lit(default))


def own_state(name: str) -> Column:
    """What one change says of one followed column: is it known, and what is it."""
    in_base = ~F.array_contains(F.coalesce("base_unknown", F.array().cast("array<string>")), name)
    in_change = F.col("present").isNull() | F.array_contains("present", name)
    known = ~is_gone() & F.when(F.col("is_base"), in_base).otherwise(in_change)
    return F.struct(known.alias("known"), F.when(known, F.col("row")[name]).alias("value"))
