"""The engine's fold gives the oracle's rows for any history and any delivery."""

import pytest
from pyspark.sql import SparkSession

from tests import oracle
from tests.property.engine_fold import fold, folded_by_oracle
from tests.property.histories import COLUMNS, KEYS, SECOND, Case, draw
from tests.property.profile import DRAWN, SEED

RULES = {
    "all columns tracked": oracle.Rules(COLUMNS, KEYS, defaults={"c": "seven"}),
    "two columns tracked": oracle.Rules(COLUMNS, KEYS, tracked=("case", "k", "a", "c"), guard=20 * SECOND),
}


def failing(spark: SparkSession, cases: list[Case], rules: oracle.Rules) -> list[Case]:
    """The cases for which the engine and the oracle give different rows."""
    found = fold(spark, cases, rules)
    return [case for case in cases if found[case.number] != folded_by_oracle(case, rules)]


def shrunk(spark: SparkSession, case: Case, rules: oracle.Rules) -> Case:
    """A smaller case that still fails. Changes and windows are removed one by one, and one fold tries all variants."""
    while smaller := failing(spark, variants(case), rules):
        case = smaller[0]
    return case


def variants(case: Case) -> list[Case]:
    pieces = [(case.changes[:i] + case.changes[i + 1 :], case.windows) for i in range(len(case.changes))]
    pieces += [(case.changes, case.windows[:i] + case.windows[i + 1 :]) for i in range(len(case.windows))]
    return [Case(n, [renumbered(c, n) for c in changes], windows) for n, (changes, windows) in enumerate(pieces)]


def renumbered(change: dict, number: int) -> dict:
    """The change with another case number."""
    keys = {name: change[name] and (number, change[name][1]) for name in ("key", "old_key", "new_key")}
    images = {name: change[name] and change[name] | {"case": number} for name in ("row", "before")}
    return change | keys | images


def described(case: Case, found: list, expected: list) -> str:
    lines = [*sorted(map(str, case.changes)), f"windows {case.windows}", "engine:", *map(str, found)]
    return "\n".join([*lines, "oracle:", *map(str, expected)])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_engine_gives_the_rows_of_the_oracle_for_drawn_histories(spark: SparkSession, rules: oracle.Rules) -> None:
    cases = draw(DRAWN, SEED)
    wrong = failing(spark, cases, rules)
    if wrong:
        case = shrunk(spark, min(wrong, key=lambda case: len(case.changes)), rules)
        found = fold(spark, [case], rules)[case.number]
        pytest.fail(f"{len(wrong)} of {len(cases)} differ\n{described(case, found, folded_by_oracle(case, rules))}")
