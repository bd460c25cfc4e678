"""Fold many cases batch by batch in memory, as runs fold a table. Each step continues from the previous one."""

import random
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from siltstone.engine.fold.context import FoldContext
from siltstone.engine.fold.fold_inputs import Rows
from siltstone.engine.fold.publish import fold_difference
from siltstone.engine.frames import local_frame
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.run.verify import applied, empty_history
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.ledger import ledger_schema
from tests import oracle
from tests.property.delivered import TYPES
from tests.property.engine_fold import CHANGES, ROW, comparable, encoded, moment, ordered, source_of
from tests.property.histories import KEYS, SECOND, Case, Row

ONE_IN = 8  # one change in this many is delivered twice, one in another batch (halves of key changes: one in two)


def batched_spec(project: ProjectSpec, rules: oracle.Rules) -> TableSpec:
    """A spec with the oracle's rules. It reads nothing from its source."""
    seconds = {"guard": rules.guard, "skew": rules.skew, "margin": rules.margin}
    return table_spec(
        {
            "table": "drawn.rows",
            "source": {
                "format": "debezium-json",
                "path": "nowhere.jsonl",
                "several": "one_log",
            },  # one source for each case
            "keys": list(KEYS),
            "columns": dict(TYPES),
            "snapshot": {name: f"{micros // SECOND}s" for name, micros in seconds.items()},
        },
        project,
    )


def fold_in_batches(
    spark: SparkSession, project: ProjectSpec, cases: Sequence[Case], rules: oracle.Rules, count: int, seed: int
) -> tuple[dict[int, list[Row]], list[FoldContext]]:
    """History rows by case after `count` batches, and the context of each step.

    Changes arrive shuffled, some twice, some in another batch. Some steps are lost, as by a crash before they are
    published. The next step then folds their batch too.
    """
    chance = random.Random(seed)
    changes, control = delivered(spark, cases, count, chance)
    kept = [batch for batch in range(1, count) if chance.random() >= 1 / ONE_IN]
    rows, steps = fold_steps(spark, project, changes, control, rules, [*kept, count])
    found: dict[int, list[Row]] = {case.number: [] for case in cases}
    for row in rows:
        found[row["case"]].append(row)
    return {number: ordered(rows) for number, rows in found.items()}, steps


def fold_steps(
    spark: SparkSession,
    project: ProjectSpec,
    changes: DataFrame,
    control: DataFrame,
    rules: oracle.Rules,
    batches: Sequence[int],
) -> tuple[list[Row], list[FoldContext]]:
    """History rows after a fold up to each of these batches, and the context of each fold."""
    spec = batched_spec(project, rules)
    start = FoldContext(spark, project, spec, KEYS, ROW, Rows(changes, changes, control), Folded(), Folded())
    history, folded, steps = empty_history(start), Folded(), list[FoldContext]()
    for batch in batches:
        target = replace(folded, batch=batch, control_batch=batch)
        step = replace(start, rows=Rows(changes, history, control), folded=folded, target=target)
        step = replace(step, outcomes={}, versions={}, seconds={})
        difference = fold_difference(step)
        if difference is not None:
            history, folded = applied(step, history, difference), step.target
            steps.append(step)
    return [comparable(row.asDict()) for row in history.collect()], steps


def delivered(
    spark: SparkSession, cases: Sequence[Case], count: int, chance: random.Random
) -> tuple[DataFrame, DataFrame]:
    """The changes and the window markers, each with the batch in which it arrives."""
    turns = sorted(c["position"] for case in cases for c in case.changes if c["position"]) or [""]
    cuts = [turns[len(turns) * n // count] for n in range(1, count)]

    def batch(place: str | None, is_half: bool = False) -> int:
        if chance.random() < 1 / (2 if is_half else ONE_IN):
            return chance.randint(1, count)
        return 1 + sum((place or chance.choice(turns)) >= cut for cut in cuts)

    changes = [change for case in cases for change in case.changes]
    halves = {change["position"] for change in changes if change["old_key"] or change["new_key"]}
    rows = [copy for case in cases for change in case.changes for copy in copies(case, change, chance)]
    chance.shuffle(rows)
    dealt = [row | {"batch": batch(row["position"], row["position"] in halves), "too_late": False} for row in rows]
    marks = [mark | {"batch": batch(mark["position"])} for case in cases for mark in markers(case)]
    return local_frame(spark, dealt, CHANGES), local_frame(spark, marks, ledger_schema("control"))


def copies(case: Case, change: Row, chance: random.Random) -> list[Row]:
    """The change as it is delivered: once, or a second time much later."""
    row = encoded(case.number, change, change["key"])
    redelivered = row | {"ingest_ts": moment(change["ingest_ts"] + 30 * SECOND)}
    return [row, redelivered] if chance.random() < 1 / ONE_IN else [row]


def markers(case: Case) -> list[Row]:
    """The control events of the windows of a case."""
    return [
        {
            "source": source_of(case),
            "kind": f"window_{side}",
            "event_id": f"{window[0]}-{side}",
            "position": place,
            "commit_ts": moment(at),
        }
        for window in case.windows
        for side, place, at in (("open", *window[:2]), ("close", *window[2:]))
        if place is not None and at is not None
    ]
