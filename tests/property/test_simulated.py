"""The fold of simulated databases: the tables have the true rows, and READs win if a change was lost.

The true rows come from the database. The rows of the oracle must also be the same.
"""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests import oracle
from tests.property.batched import fold_in_batches
from tests.property.engine_fold import fold, folded_by_oracle
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
    Simulation,
    has_no_gaps,
    rules_of,
    simulate,
)

RULES = oracle.Rules(COLUMNS, KEYS, guard=GUARD, margin=MARGIN)
MARKED = (MARKERS, RESOLVED, POSITIONS)


def cases_of(simulations: list[Simulation]) -> list[Case]:
    return [simulation.case for simulation in simulations]


def with_untrue_history(simulations: list[Simulation], found: dict[int, list[Row]]) -> list[Simulation]:
    """The simulations whose history differs from that of the database."""
    return [simulation for simulation in simulations if not simulation.has_true_images(found[simulation.case.number])]


def with_wrong_winner(simulations: list[Simulation], found: dict[int, list[Row]]) -> list[tuple[int, str, int, bool]]:
    """The drifting simulations whose key does not end with the row of the winner, which is the READ or the stream."""
    wrong = []
    for simulation in simulations:
        drift = simulation.drift
        assert drift is not None
        last = [row for row in found[simulation.case.number] if row["k"] == drift.key][-1]
        wins = drift.wins(simulation.way)
        is_of_read = (last["a"], last["b"], last["c"]) == drift.read and last["_op"] == "read"
        is_of_stream = (last["a"], last["b"], last["c"]) == drift.streamed and last["_op"] != "read"
        if not (is_of_read if wins else is_of_stream):
            wrong.append((simulation.case.number, simulation.way, drift.wait, wins))
    return wrong


def described(simulation: Simulation, found: dict[int, list[Row]]) -> str:
    """A simulation with wrong rows, as text."""
    changes = sorted(simulation.case.changes, key=lambda c: (c["key"] or (), c["position"] or "", c["commit_ts"]))
    lines = [
        f"{simulation.way} {simulation.drift}",
        f"windows {simulation.case.windows}",
        *map(str, changes),
        "engine:",
    ]
    truth = [f"truth of {key} from {simulation.first[key]}: {images}" for key, images in simulation.truth.items()]
    return "\n".join([*lines, *map(str, found[simulation.case.number]), *truth])


def different_from_oracle(simulations: list[Simulation], found: dict[int, list[Row]]) -> list[Simulation]:
    return [s for s in simulations if found[s.case.number] != folded_by_oracle(s.case, rules_of(s.way, RULES))]


def test_history_has_the_true_images_of_the_database(spark: SparkSession) -> None:
    simulations = simulate(SIMULATED, SEED, truncates=True)
    found = fold(spark, cases_of(simulations), RULES)
    wrong = with_untrue_history(simulations, found)
    assert not wrong, f"{len(wrong)} of {len(simulations)}\n{described(min(wrong, key=size), found)}"
    differing = different_from_oracle(simulations, found)
    assert not differing, f"{len(differing)} of {len(simulations)}\n{described(min(differing, key=size), found)}"
    assert all(map(has_no_gaps, found.values()))


def test_a_read_wins_if_a_change_was_lost_and_its_window_has_no_other(spark: SparkSession) -> None:
    simulations = simulate(DRIFTING, SEED, drifting=True)
    found = fold(spark, cases_of(simulations), RULES)
    wrong = with_wrong_winner(simulations, found)
    assert wrong == [], described(simulations[wrong[0][0]], found)
    assert different_from_oracle(simulations, found) == []
    drifts = {
        (simulation.drift.wait, simulation.drift.wins(simulation.way))
        for simulation in simulations
        if simulation.drift and simulation.drift.gap
    }
    assert {wait for wait, wins in drifts if wins} == {15, 3_600}
    assert {wait for wait, wins in drifts if not wins} >= {0, 5}
    assert {
        simulation.drift.wait for simulation in simulations if simulation.drift and simulation.drift.gap is None
    } == set(WAITS)


@pytest.mark.slow
def test_history_is_wrong_without_the_margin(spark: SparkSession) -> None:
    simulations = simulate(150, SEED, ways=MARKED)
    found = fold(spark, cases_of(simulations), replace(RULES, margin=0))
    assert with_untrue_history(simulations, found)


@pytest.mark.slow
def test_no_drift_is_healed_if_reads_never_win(spark: SparkSession) -> None:
    simulations = simulate(30, SEED, ways=MARKED, drifting=True)
    found = fold(spark, cases_of(simulations), replace(RULES, margin=10**6 * SECOND))
    lost = {simulations[number].case.number for number, _, _, wins in with_wrong_winner(simulations, found) if wins}
    # A READ always wins if the stream had no change of its key.
    yielding = [simulation for simulation in simulations if streams_drifting_key(simulation)]
    assert lost == {
        simulation.case.number for simulation in yielding if simulation.drift and simulation.drift.wins(simulation.way)
    }


def streams_drifting_key(simulation: Simulation) -> bool:
    """Whether the stream had a change of the key that drifts."""
    key = simulation.drift and simulation.drift.key
    return any(c["op"] != "read" and (c["key"] is None or c["key"][1] == key) for c in simulation.case.changes)


@pytest.mark.slow
def test_history_is_wrong_without_the_guard(spark: SparkSession) -> None:
    simulations = simulate(200, SEED, ways=STAMPED_EARLY)
    found = fold(spark, cases_of(simulations), replace(RULES, guard=0, margin=0))
    assert with_untrue_history(simulations, found)


@pytest.mark.parametrize("way", WAYS if FULL else [MARKERS, pytest.param(TIMES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("batches", SPLITS)
def test_any_split_into_batches_gives_the_same_history(
    spark: SparkSession, project: ProjectSpec, way: str, batches: int
) -> None:
    many, drifting = BATCHED
    simulations = simulate(many, SEED, ways=[way]) + simulate(drifting, SEED, [way], drifting=True, number_from=many)
    found, steps = fold_in_batches(spark, project, cases_of(simulations), RULES, batches, SEED)
    differing = different_from_oracle(simulations, found)
    assert not differing, f"{len(differing)} of {len(simulations)}\n{described(min(differing, key=size), found)}"
    assert all(map(has_no_gaps, found.values()))
    assert sum(step.outcomes.get("healed", 0) for step in steps)


@pytest.mark.slow
@pytest.mark.parametrize("batches", SPLITS)
def test_key_changes_keep_their_values_if_their_halves_arrive_apart(
    spark: SparkSession, project: ProjectSpec, batches: int
) -> None:
    simulations = simulate(sum(BATCHED), SEED, ways=[POSITIONS], reads=False)
    found, _ = fold_in_batches(spark, project, cases_of(simulations), RULES, batches, SEED)
    wrong = [*with_untrue_history(simulations, found), *different_from_oracle(simulations, found)]
    assert not wrong, f"{len(wrong)} of {len(simulations)}\n{described(min(wrong, key=size), found)}"


def size(simulation: Simulation) -> int:
    return len(simulation.case.changes)
