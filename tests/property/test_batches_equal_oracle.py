"""The whole engine gives the oracle's rows for drawn histories, in several batches with late changes."""

import random
from dataclasses import replace
from itertools import chain

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import EQUAL, REBUILT
from siltstone.engine.run import catch_up, rebuild, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests import oracle
from tests.property.delivered import TYPES, event_line, window_lines
from tests.property.engine_fold import comparable, ordered
from tests.property.histories import COLUMNS, KEYS, SECOND, Case, Row, draw

RULES = oracle.Rules(COLUMNS, KEYS, defaults={"c": "seven"}, guard=20 * SECOND)


def drawn_spec(project: ProjectSpec) -> TableSpec:
    return table_spec(
        {
            "table": "drawn.rows",
            "source": {"format": "debezium-json", "path": str(project.root / "events" / "*.jsonl")},
            "keys": list(KEYS),
            "columns": {c: {"type": t, "default": "seven"} if c in RULES.defaults else t for c, t in TYPES.items()},
            "snapshot": {"guard": "20s"},
            "target": {"latest": f"{project.namespace}.rows", "history": f"{project.namespace}.rows_history"},
        },
        project,
    )


def stored(spark: SparkSession, spec: TableSpec) -> list[Row]:
    """The rows of history. Latest must have exactly its open live rows."""
    latest = spark.table(f"lake.{spec.target.latest}")
    opened = spark.table(f"lake.{spec.target.history}").where("_valid_to IS NULL AND _is_current")
    assert sorted(map(repr, opened.select(*latest.columns).collect())) == sorted(map(repr, latest.collect()))
    return ordered([comparable(row.asDict()) for row in spark.table(f"lake.{spec.target.history}").collect()])


def folded(spark: SparkSession, project: ProjectSpec, batches: list[list[str]]) -> list[Row]:
    """The rows of history after a run for each batch of lines."""
    events, spec = project.root / "events", drawn_spec(project)
    events.mkdir()
    for number, batch in enumerate(batches):
        (events / f"{number:03}.jsonl").write_text("".join(batch))
        report = catch_up(project, [spec], spark)
        assert report.exit_code == 0, report.tables
        assert report.sources[0].rejected == 0
    return stored(spark, spec)


def as_one_table(cases: list[Case]) -> list[Case]:
    """Make the cases fit into one table: a connector has one open window at a time, so one case keeps its windows. A
    truncate ends every row, so few cases keep theirs."""
    windowed = max(cases, key=lambda case: sum(closed is not None for _, _, closed, _ in case.windows))
    for case in cases:
        if case.number % 10:
            case.changes = [c for c in case.changes if c["op"] != "truncate"]
        if case is not windowed:
            case.windows = []
    return cases


def expected(cases: list[Case]) -> list[Row]:
    """The oracle's rows. All cases are one table: a truncate of one ends the rows of the others too."""
    changes = [change for case in cases for change in case.changes]
    windows = [window for case in cases for window in case.windows]
    return ordered([comparable(row) for row in oracle.fold(changes, windows, RULES)[0]])


def test_a_late_change_retracts_a_read_that_was_folded_before(spark: SparkSession, project: ProjectSpec) -> None:
    read = change("read", 0x30, 200, 1)
    late = change("update", 0x20, 199, 2)
    case = Case(0, [read, late])
    assert folded(spark, project, [[event_line(read)], [event_line(late)]]) == expected([case])


@pytest.mark.slow
def test_a_repeated_read_keeps_the_place_of_its_first_delivery(spark: SparkSession, project: ProjectSpec) -> None:
    reads = [change("read", 0x30, at, a) for at, a in ((200, 1), (230, 2), (260, 1), (290, 2))]
    rows = folded(
        spark, project, [[event_line(read) for read in reads[:2]], *[[event_line(read)] for read in reads[2:]]]
    )
    assert [row["a"] for row in rows] == [1, 2]
    assert rows == expected([Case(0, reads)])


@pytest.mark.slow
def test_any_split_into_batches_gives_the_rows_of_the_oracle(spark: SparkSession, project: ProjectSpec) -> None:
    """Most lines arrive in log order, one in eight in a random batch. `verify` and `rebuild` give the same rows."""
    cases, count = as_one_table(draw(30, 7, one_log=True)), 3
    chance = random.Random(7)
    arrivals = [(c["position"] or "", event_line(c)) for case in cases for c in case.changes]
    arrivals += [(window[0], line) for case in cases for window in case.windows for line in window_lines(window)]
    batches: list[list[str]] = [[] for _ in range(count)]
    for rank, (_, line) in enumerate(sorted(arrivals)):
        in_turn = rank * count // len(arrivals)
        batches[chance.randrange(count) if chance.random() < 0.125 else in_turn].append(line)
    found, wanted = folded(spark, project, batches), expected(cases)
    wrong = [row for row in found if row not in wanted] + [row for row in wanted if row not in found]
    assert wrong == []
    (verified,) = verify(project, [drawn_spec(project)], spark, sample=None, seed=11)
    assert verified.status == EQUAL, verified
    (table,) = rebuild(project, [drawn_spec(project)], spark).tables
    assert table.status == REBUILT, table.error
    assert stored(spark, drawn_spec(project)) == wanted


def change(op: str, place: int, seconds: int, a: int) -> Row:
    """A complete change of one row, alone in its transaction."""
    at = seconds * SECOND
    return {
        "key": (0, 1),
        "op": op,
        "row": {"case": 0, "k": 1, "a": a, "b": "b0", "c": "c0"},
        "present": None,
        "before": None,
        "position": f"0000-{place:016X}-{place:016X}",
        "commit_ts": at,
        "ingest_ts": at,
        "tx_id": None if op == "read" else "1",
        "tx_order": None if op == "read" else 1,
        "old_key": None,
        "new_key": None,
        "content": a,
    }


def changes_at_one_position(key: int) -> list[Row]:
    """Changes of one row whose order only offsets give, and a second delivery of all of them."""
    ops = [("insert", 1), ("update", 2), ("delete", 2), ("insert", 3), ("update", 4), ("update", key)][: 3 + key % 4]
    changes = []
    for number, (op, a) in enumerate(ops):
        row = {"case": 0, "k": key, "a": a, "b": "b0", "c": "c0"}
        place = {"kafka_partition": 0, "kafka_offset": 100 * key + number}
        changes.append(change(op, 20, 20, a) | {"key": (0, key), "row": row, "tx_id": None, "tx_order": None} | place)
    return changes + [each | {"kafka_offset": 10_000 + each["kafka_offset"]} for each in changes]


@pytest.mark.slow
def test_offsets_give_the_order_at_one_position(spark: SparkSession, project: ProjectSpec) -> None:
    earlier = [change("insert", 10, 10, 7) | {"key": (0, key), "tx_id": None, "tx_order": None} for key in (1, 2)]
    for each in earlier:
        each["row"] = each["row"] | {"k": each["key"][1]}
    tied = [each for key in range(1, 9) for each in changes_at_one_position(key)]
    wanted = ordered([comparable(row) for row in oracle.fold([*earlier, *tied], [], RULES)[0]])
    assert {row["a"] for row in wanted if row["_valid_to"] is None and row["_op"] != "delete"} == {3, 4, 7}
    lines = [[event_line(each) for each in part] for part in (earlier, tied[::2], tied[1::2])]
    shuffled = random.Random(3).sample([line for part in lines for line in part], sum(map(len, lines)))
    deliveries = ([list(chain(*lines))], lines, lines[::-1], [shuffled[:30], shuffled[30:50], shuffled[50:]])
    for number, batches in enumerate(deliveries):
        root = project.root / f"{number}"
        root.mkdir()
        other = replace(project, root=root, namespace=f"{project.namespace}_{number}")
        assert folded(spark, other, batches) == wanted, number
