"""The engine's fold gives the oracle's rows, whatever a source did and however it was delivered."""

import pytest
from pyspark.sql import SparkSession

from tests import oracle
from tests.property.engine_fold import fold, judged_by_oracle
from tests.property.histories import COLUMNS, KEYS, SECOND, Case, draw
from tests.property.profile import DRAWN, SEED

RULES = {
    "all columns tracked": oracle.Rules(COLUMNS, KEYS, defaults={"c": "seven"}),
    "two columns tracked": oracle.Rules(COLUMNS, KEYS, tracked=("case", "k", "a", "c"), guard=20 * SECOND),
}


def failing(spark: SparkSession, cases: list[Case], rules: oracle.Rules) -> list[Case]:
    """The cases the engine folds otherwise than the oracle."""
    found = fold(spark, cases, rules)
    return [case for case in cases if found[case.number] != judged_by_oracle(case, rules)]


def shrunk(spark: SparkSession, case: Case, rules: oracle.Rules) -> Case:
    """A smaller case that still fails: changes and windows are left out one by one, all variants in one fold."""
    while smaller := failing(spark, variants(case), rules):
        case = smaller[0]
    return case


def variants(case: Case) -> list[Case]:
    pieces = [(case.changes[:i] + case.changes[i + 1 :], case.windows) for i in range(len(case.changes))]
    pieces += [(case.changes, case.windows[:i] + case.windows[i + 1 :]) for i in range(len(case.windows))]
    return [Case(n, [moved(c, n) for c in changes], windows) for n, (changes, windows) in enumerate(pieces)]


def moved(change: dict, number: int) -> dict:
    """The change as one of the case of that number."""
    keys = {name: change[name] and (number, change[name][1]) for name in ("key", "old_key", "new_key")}
    images = {name: change[name] and change[name] | {"case": number} for name in ("row", "before")}
    return change | keys | images


def story(case: Case, found: list, expected: list) -> str:
    lines = [*sorted(map(str, case.changes)), f"windows {case.windows}", "engine:", *map(str, found)]
    return "\n".join([*lines, "oracle:", *map(str, expected)])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_engine_folds_every_drawn_history_as_the_oracle_does(spark: SparkSession, rules: oracle.Rules) -> None:
    cases = draw(DRAWN, SEED)
    wrong = failing(spark, cases, rules)
    if wrong:
        case = shrunk(spark, min(wrong, key=lambda case: len(case.changes)), rules)
        found = fold(spark, [case], rules)[case.number]
        pytest.fail(f"{len(wrong)} of {len(cases)} differ\n{story(case, found, judged_by_oracle(case, rules))}")
