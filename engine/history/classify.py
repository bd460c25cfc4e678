"""Classify each change: it opens a version, updates the open one in place, or changes nothing."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.row_states import is_gone, sets_state, shown

OPENED = "opened"
HEALED = "healed"
UPDATED = "updated"
ABSORBED = "absorbed"
SUPERSEDED = "superseded"
REDELIVERED = "redelivered"
TOO_LATE = "too_late"
OUTCOMES = (OPENED, HEALED, UPDATED, ABSORBED, SUPERSEDED, REDELIVERED, TOO_LATE)


def classify(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Compare the state after each change with the state before it.

    Needs: the columns of `carry_state`.
    Gives: the same columns, then opens (a version starts here; true for base rows) and outcome (null for base rows).
    Rows: 1:1.

        before        change           opens  outcome
        no row        insert a=1       yes    opened
        a=1           update a=1       no     absorbed     only the version's last position moves
        a=1           READ a=2         yes    healed       the stream missed a change; the READ repairs it
        a=1, b ?      READ a=1, b=x    no     updated      b was unknown; the READ has its value
        a=1, b ?      update b=null    no     updated      b was unknown and shown as null
        deleted       delete           no     absorbed
        never seen    delete           yes    opened       a tombstone
    """
    was_live = F.col("before_state.is_live")
    never_seen = was_live.isNull()
    appears = never_seen | ~was_live | differs(rules)
    alive = ~F.col("is_superseded") & appears if rules.reads else appears
    opens = (
        F.when(F.col("is_base"), True)
        .when(F.col("op") == names.OP_DELETE, never_seen | was_live)
        .when(F.col("op") == names.OP_TRUNCATE, ~never_seen & was_live)
        .otherwise(alive)
    )
    return rows.withColumn("opens", opens).withColumn("outcome", outcome(rules))


def differs(rules: FoldRules) -> Column:
    """True if a tracked column changed. Null-safe, and NaN equals NaN.

    Rescued values (`_rescued`) are not compared: a READ renders them differently from the stream.
    """
    always_present = [name for name in rules.always_present if name in rules.tracked]
    now = F.struct(*[F.col("always_present")[name] for name in always_present])
    then = F.struct(*[F.col("before_state.always_present")[name] for name in always_present])
    changed = ~now.eqNullSafe(then) if always_present else F.lit(False)
    for index, name in enumerate(rules.partly_present):
        if name in rules.tracked:
            changed = changed | partly_present_differs(index, name, rules)
    return changed


def partly_present_differs(index: int, name: str, rules: FoldRules) -> Column:
    """True if this change sets the column to a value that differs from the one shown before.

    The first value of an unknown column is no difference if a READ brings it, or if the version already shows the same
    value: null, or the column's default.
    """
    now, then = F.col(f"state_{index}"), F.col(f"before_state.state_{index}")
    differs = ~shown(now, name, rules).eqNullSafe(shown(then, name, rules))
    return sets_state(name) & differs & (~F.col("is_read") | then["known"])


def outcome(rules: FoldRules) -> Column:
    """The outcome of each change. Every change has exactly one."""
    states = ["always_present", *(f"state_{index}" for index in range(len(rules.partly_present)))]
    now = F.struct(*[F.col(name) for name in states])
    then = F.struct(*[F.col(f"before_state.{name}").alias(name) for name in states])
    opened = F.when(F.col("is_read") & F.col("before_state.is_live").isNotNull(), HEALED).otherwise(OPENED)
    superseded = F.col("is_superseded") if rules.reads else F.lit(False)
    return (
        F.when(F.col("is_base"), None)
        .when(F.col("is_redelivery"), REDELIVERED)
        .when(F.col("opens"), opened)
        .when(~now.eqNullSafe(then) & ~is_gone(), UPDATED)
        .when(superseded, SUPERSEDED)
        .otherwise(ABSORBED)
    )
