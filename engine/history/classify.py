"""What each change does: open a version, update the open one in place, or nothing."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.row_states import carries, is_gone, shown

OPENED = "opened"
HEALED = "healed"
UPDATED = "updated"
ABSORBED = "absorbed"
SUPERSEDED = "superseded"
REDELIVERED = "redelivered"
TOO_LATE = "too_late"
OUTCOMES = (OPENED, HEALED, UPDATED, ABSORBED, SUPERSEDED, REDELIVERED, TOO_LATE)


def judge(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Compare the state after each change with the state before it.

    Needs: the columns of `carry_state`.
    Gives: the same columns, then opens (a version starts here; true for base rows) and outcome (null for base rows).
    Rows: 1:1.

        before        change           opens  outcome
        nothing       insert a=1       yes    opened
        a=1           update a=1       no     absorbed     remembered: the version's last position moves
        a=1           READ a=2         yes    healed       the stream missed a change
        a=1, b ?      READ a=1, b=x    no     updated      the READ tells what was unknown
        a=1, b ?      update b=null    no     updated      it was unknown, and seen as null
        gone          delete           no     absorbed     (a key never seen: yes, a tombstone)
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
    """True when the tracked columns changed. Null-safe, NaN equals NaN.

    What could not be stored in a column (`_rescued`) does not decide: a READ renders it differently from the stream.
    """
    solid = [name for name in rules.solid if name in rules.tracked]
    now = F.struct(*[F.col("solid")[name] for name in solid])
    then = F.struct(*[F.col("before_state.solid")[name] for name in solid])
    changed = ~now.eqNullSafe(then) if solid else F.lit(False)
    for index, name in enumerate(rules.followed):
        if name in rules.tracked:
            changed = changed | followed_differs(index, name, rules)
    return changed


def followed_differs(index: int, name: str, rules: FoldRules) -> Column:
    """True when a column told by this change is seen to be another than before. What a READ tells first is no
    difference, nor is what was unknown and shown as the same: a null, or the column's default."""
    now, then = F.col(f"state_{index}"), F.col(f"before_state.state_{index}")
    differs = ~shown(now, name, rules).eqNullSafe(shown(then, name, rules))
    return carries(name) & differs & (~F.col("is_read") | then["known"])


def outcome(rules: FoldRules) -> Column:
    """The one outcome of each change."""
    states = ["solid", *(f"state_{index}" for index in range(len(rules.followed)))]
    now = F.struct(*[F.col(name) for name in states])
    then = F.struct(*[F.col(f"before_state.{name}").alias(name) for name in states])
    opened = F.when(F.col("is_read") & F.col("before_state.is_live").isNotNull(), HEALED).otherwise(OPENED)
    superseded = F.col("is_superseded") if rules.reads else F.lit(False)
    return (
        F.when(F.col("is_base"), None)
        .when(F.col("is_again"), REDELIVERED)
        .when(F.col("opens"), opened)
        .when(~now.eqNullSafe(then) & ~is_gone(), UPDATED)
        .when(superseded, SUPERSEDED)
        .otherwise(ABSORBED)
    )
