"""A simulated database through the fold: the tables hold what was true, and READs win where a change was lost.

The story's truth is the database's own; the oracle is asked too, row for row.
"""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests import oracle
from tests.property.batched import fold_in_batches
from tests.property.engine_fold import fold, judged_by_oracle
from tests.property.histories import COLUMNS, KEYS, SECOND, Case, Row
from tests.property.profile import BATCHED, DRIFTING, FULL, SEED, SIMULATED, SPLITS
from tests.property.simulated import (
    GUARD,
    MARGIN,
    MARKERS,
    POSITIONS,
    RESOLVED,
    STAMPED_EARLY,
    TIMES,
    WAITS,
    WAYS,
    Story,
    rules_of,
    stories,
    tiled,
)

RULES = oracle.Rules(COLUMNS, KEYS, guard=GUARD, margin=MARGIN)
MARKED = (MARKERS, RESOLVED, POSITIONS)


def cases_of(told: list[Story]) -> list[Case]:
    return [story.case for story in told]


def untrue(told: list[Story], found: dict[int, list[Row]]) -> list[Story]:
    """The stories whose history is not what the database went through."""
    return [story for story in told if not story.tells_truth(found[story.case.number])]


def undecided(told: list[Story], found: dict[int, list[Row]]) -> list[tuple[int, str, int, bool]]:
    """The stories that end with a lost change, and whose key does not end as its last READ, or the stream, has it."""
    wrong = []
    for story in told:
        drift = story.drift
        assert drift is not None
        last = [row for row in found[story.case.number] if row["k"] == drift.key][-1]
        wins = drift.wins(story.way)
        told_by_read = (last["a"], last["b"], last["c"]) == drift.read and last["_op"] == "read"
        told_by_stream = (last["a"], last["b"], last["c"]) == drift.told and last["_op"] != "read"
        if not (told_by_read if wins else told_by_stream):
            wrong.append((story.case.number, story.way, drift.wait, wins))
    return wrong


def explained(story: Story, found: dict[int, list[Row]]) -> str:
    """A story that came out wrong, as text."""
    changes = sorted(story.case.changes, key=lambda c: (c["key"] or (), c["position"] or "", c["commit_ts"]))
    lines = [f"{story.way} {story.drift}", f"windows {story.case.windows}", *map(str, changes), "engine:"]
    truth = [f"truth of {key} from {story.first[key]}: {images}" for key, images in story.truth.items()]
    return "\n".join([*lines, *map(str, found[story.case.number]), *truth])


def unlike_oracle(told: list[Story], found: dict[int, list[Row]]) -> list[Story]:
    return [s for s in told if found[s.case.number] != judged_by_oracle(s.case, rules_of(s.way, RULES))]


def test_history_is_what_the_database_went_through(spark: SparkSession) -> None:
    told = stories(SIMULATED, SEED, truncates=True)
    found = fold(spark, cases_of(told), RULES)
    wrong = untrue(told, found)
    assert not wrong, f"{len(wrong)} of {len(told)}\n{explained(min(wrong, key=size), found)}"
    differing = unlike_oracle(told, found)
    assert not differing, f"{len(differing)} of {len(told)}\n{explained(min(differing, key=size), found)}"
    assert all(map(tiled, found.values()))


def test_a_read_wins_where_a_change_was_lost_and_nothing_else_lies_in_its_window(spark: SparkSession) -> None:
    told = stories(DRIFTING, SEED, drifting=True)
    found = fold(spark, cases_of(told), RULES)
    wrong = undecided(told, found)
    assert wrong == [], explained(told[wrong[0][0]], found)
    assert unlike_oracle(told, found) == []
    drifts = {(story.drift.wait, story.drift.wins(story.way)) for story in told if story.drift and story.drift.gap}
    assert {wait for wait, wins in drifts if wins} == {15, 3_600}
    assert {wait for wait, wins in drifts if not wins} >= {0, 5}
    assert {story.drift.wait for story in told if story.drift and story.drift.gap is None} == set(WAITS)


@pytest.mark.slow
def test_without_the_margin_the_truth_is_lost(spark: SparkSession) -> None:
    told = stories(150, SEED, ways=MARKED)
    found = fold(spark, cases_of(told), replace(RULES, margin=0))
    assert untrue(told, found)


@pytest.mark.slow
def test_where_reads_never_win_no_drift_is_healed(spark: SparkSession) -> None:
    told = stories(30, SEED, ways=MARKED, drifting=True)
    found = fold(spark, cases_of(told), replace(RULES, margin=10**6 * SECOND))
    lost = {told[number].case.number for number, _, _, wins in undecided(told, found) if wins}
    # A READ wins in any case where nothing was ever streamed of its key.
    yielding = [story for story in told if streamed_of_drift(story)]
    assert lost == {story.case.number for story in yielding if story.drift and story.drift.wins(story.way)}


def streamed_of_drift(story: Story) -> bool:
    """Whether the stream told anything of the key that a story ends with."""
    key = story.drift and story.drift.key
    return any(c["op"] != "read" and (c["key"] is None or c["key"][1] == key) for c in story.case.changes)


@pytest.mark.slow
def test_without_the_guard_the_truth_is_lost(spark: SparkSession) -> None:
    told = stories(200, SEED, ways=STAMPED_EARLY)
    found = fold(spark, cases_of(told), replace(RULES, guard=0, margin=0))
    assert untrue(told, found)


@pytest.mark.parametrize("way", WAYS if FULL else [MARKERS, pytest.param(TIMES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("batches", SPLITS)
def test_any_split_into_batches_gives_the_same(
    spark: SparkSession, project: ProjectSpec, way: str, batches: int
) -> None:
    many, drifting = BATCHED
    told = stories(many, SEED, ways=[way]) + stories(drifting, SEED, [way], drifting=True, number_from=many)
    found, steps = fold_in_batches(spark, project, cases_of(told), RULES, batches, SEED)
    differing = unlike_oracle(told, found)
    assert not differing, f"{len(differing)} of {len(told)}\n{explained(min(differing, key=size), found)}"
    assert all(map(tiled, found.values()))
    assert sum(step.outcomes.get("healed", 0) for step in steps)


@pytest.mark.slow
@pytest.mark.parametrize("batches", SPLITS)
def test_key_changes_whose_halves_come_apart_carry_their_values(
    spark: SparkSession, project: ProjectSpec, batches: int
) -> None:
    told = stories(sum(BATCHED), SEED, ways=[POSITIONS], reads=False)
    found, _ = fold_in_batches(spark, project, cases_of(told), RULES, batches, SEED)
    wrong = [*untrue(told, found), *unlike_oracle(told, found)]
    assert not wrong, f"{len(wrong)} of {len(told)}\n{explained(min(wrong, key=size), found)}"


def size(story: Story) -> int:
    return len(story.case.changes)
