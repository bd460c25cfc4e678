"""The cases of Spark AutoCDC, and the worked example of Databricks, as plain rows through the whole engine.

Many cases share a table, with the name of the case in the key. Each batch of a case arrives in its own run.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.report import RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project
from tests.recordings import DATA

SCD2 = DATA / "scd2"
Case = dict[str, Any]
Version = tuple[Any, ...]
needs_cases = pytest.mark.skipif(not SCD2.is_dir(), reason=f"the cases are missing: {SCD2}")
pytestmark = needs_cases

KINDS: Mapping[str, Mapping[str, Any]] = {
    "value": {"keys": ["case", "id"], "columns": {"value": "string"}},
    "value_any_tie": {"keys": ["case", "id"], "columns": {"value": "string"}, "ties": "order"},
    "value_upsert_tie": {"keys": ["case", "id"], "columns": {"value": "string"}, "ties": "upsert"},
    "score": {"keys": ["case", "id"], "columns": {"name": "string", "score": "int"}, "track": ["name"]},
    "place": {"keys": ["case", "country", "city"], "columns": {"population": "string"}},
    "part": {"keys": ["case", "id"], "columns": {"value": "string", "other": "string"}},
}
TYPES = {"case": "string", "id": "int", "country": "string", "city": "string"}
FLAGS = {"seq", "is_delete"}
A_TIE = "upsert and delete same seq: delete wins (Spark)"


def cases() -> list[Case]:
    files = [SCD2 / f"spark_autocdc_{suite}_cases.jsonl" for suite in ("scd2", "scd1")]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def kind_of(case: Case) -> str:
    names = {name for batch in case["batches"] for row in batch for name in row}
    return "part" if case.get("partial") else "score" if "score" in names else "place" if "city" in names else "value"


def name_of(case: Case) -> str:
    return f"{case['suite']}: {case['name']}"


class Autocdc:
    """One project with a table for each kind of case."""

    def __init__(self, spark: SparkSession, project: ProjectSpec) -> None:
        self.spark, self.project = spark, project

    def spec(self, table: str, keys: Sequence[str], columns: Mapping[str, str] | None, **more: Any) -> TableSpec:
        source = {"format": "rows", "path": f"in/{table}/*.jsonl", "sequence_by": "seq", "delete_when": "is_delete"}
        source |= {"columns": {"except": ["seq", "is_delete"]}} | more.pop("source", {})
        target = {"latest": f"{self.project.namespace}.{table}", "history": f"{self.project.namespace}.{table}_h"}
        values = {"table": f"cdc.{table}", "source": source, "keys": list(keys), "target": target}
        return table_spec(values | ({"columns": dict(columns)} if columns else {}) | more, self.project)

    def deliver(self, table: str, number: int, rows: Sequence[Case]) -> None:
        folder = self.project.root / "in" / table
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:02}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def run(self, *specs: TableSpec) -> RunReport:
        return catch_up(self.project, specs, self.spark)

    def run_successfully(self, *specs: TableSpec) -> None:
        report = self.run(*specs)
        assert [table.error for table in report.tables] == [None] * len(specs)

    def rows(self, spec: TableSpec, history: bool = False) -> list[Case]:
        name = spec.target.history if history else spec.target.latest
        found = self.spark.table(f"lake.{name}")
        if history:
            times = {"start_at": F.unix_micros("_valid_from"), "end_at": F.unix_micros("_valid_to")}
            found = found.where("_op <> 'delete' AND _valid_from <=> _valid_to = false").withColumns(times)
        return [row.asDict() for row in found.collect()]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Autocdc:
    return Autocdc(spark, a_project(catalog, tmp_path_factory.mktemp("rows"), "autocdc"))


@pytest.fixture(scope="module")
def case_specs(engine: Autocdc) -> dict[str, TableSpec]:
    """Deliver all cases, each batch with its own run. Gives the spec of each kind of case.

    For the other settings of `ties`, all batches arrive in one run.
    """
    batches: dict[tuple[str, int], list[Case]] = defaultdict(list)
    for case in cases():
        if "expected" in case:
            continue
        for number, batch in enumerate(case["batches"]):
            rows = [{"case": name_of(case)} | row for row in batch]
            batches[kind_of(case), number] += rows
            if kind_of(case) == "value":
                for other in ("value_any_tie", "value_upsert_tie"):
                    batches[other, 0] += rows
    specs = {}
    for kind, settings in KINDS.items():
        more: dict[str, Any] = {"source": {"ties": settings["ties"]}} if "ties" in settings else {}
        more |= {"history": {"track": settings["track"]}} if "track" in settings else {}
        types = {key: TYPES[key] for key in settings["keys"]} | dict(settings["columns"])
        specs[kind] = engine.spec(kind, settings["keys"], types, **more)
    for number in range(max(number for _, number in batches) + 1):
        due = [kind for kind in KINDS if (kind, number) in batches]
        for kind in due:
            engine.deliver(kind, number, batches[kind, number])
        engine.run_successfully(*[specs[kind] for kind in due])
    return specs


def versions(rows: Sequence[Case], columns: Sequence[str]) -> list[Version]:
    return sorted((tuple(row[name] for name in [*columns, "start_at", "end_at"]) for row in rows), key=repr)


def differing_cases(
    engine: Autocdc,
    spec: TableSpec,
    kind: str,
    expected: str,
    comparable: Callable[[Sequence[Case], Sequence[str]], Any],
) -> list[str]:
    """The cases of a kind whose rows differ from the expected rows."""
    columns = [name for name in [*KINDS[kind]["keys"], *KINDS[kind]["columns"]] if name != "case"]
    by_case = defaultdict(list)
    for row in engine.rows(spec, history=expected == "expected_history"):
        by_case[row["case"]].append(row)
    found = []
    for case in cases():
        if kind_of(case) != kind or expected not in case or "expected" in case or case["name"] == A_TIE:
            continue
        allowed = [case[expected]]
        allowed += [[row | {"value": value} for row in case[expected]] for value in case.get("value_any_of", ())]
        got = comparable(by_case[name_of(case)], columns)
        if got not in [comparable(rows, columns) for rows in allowed]:
            found.append(f"{case['name']}: {got} instead of {comparable(case[expected], columns)}")
    return found


def live(rows: Sequence[Case], columns: Sequence[str]) -> list[Version]:
    return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["value", "value_any_tie", "value_upsert_tie", "score", "place"])
def test_every_case_gives_its_expected_history_and_latest(
    engine: Autocdc, case_specs: dict[str, TableSpec], kind: str
) -> None:
    base = kind.split("_")[0]
    assert differing_cases(engine, case_specs[kind], base, "expected_history", versions) == []
    assert differing_cases(engine, case_specs[kind], base, "expected_latest", live) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stays"), [("value", 0), ("value_upsert_tie", 1)])
def test_the_ties_setting_decides_between_an_upsert_and_a_delete_with_the_same_sequence(
    engine: Autocdc, case_specs: dict[str, TableSpec], kind: str, stays: int
) -> None:
    assert sum(row["case"].endswith(A_TIE) for row in engine.rows(case_specs[kind])) == stays


@pytest.mark.slow
def test_partial_rows_take_missing_values_from_earlier_rows_but_not_across_a_delete(
    engine: Autocdc, case_specs: dict[str, TableSpec]
) -> None:
    rows = engine.rows(case_specs["part"], history=True)
    for case in [case for case in cases() if case.get("partial")]:
        mine = [row for row in rows if row["case"] == name_of(case)]
        states = {at: _state(mine, int(at)) for at in case["expected_state_at"]}
        assert states == case["expected_state_at"], case["name"]


def _state(versions: Sequence[Case], at: int) -> Any:
    valid = [v for v in versions if v["start_at"] <= at and (v["end_at"] is None or at < v["end_at"])]
    return valid[0]["value"] if valid else "<deleted>"


@pytest.mark.slow
def test_a_batch_with_a_null_sequence_or_key_is_refused_as_a_whole(engine: Autocdc) -> None:
    types = {"id": "int", "value": "string"}
    bad = [case for case in cases() if "expected" in case]
    specs = {case["name"]: engine.spec(f"bad_{number}", ["id"], types) for number, case in enumerate(bad)}
    for number in (0, 1):
        for case in bad:
            engine.deliver(specs[case["name"]].table.split(".")[1], number, case["batches"][number])
        report = engine.run(*specs.values())
    errors = {name: str(table.error) for name, table in zip(specs, report.tables, strict=True)}
    assert 'sequence column "seq" is null or missing' in errors["null sequence"]
    assert 'key column "id" is null' in errors["null key"]
    for case in bad:
        history = engine.rows(specs[case["name"]], history=True)
        assert versions(history, ["id", "value"]) == versions(case["expected_history"], ["id", "value"])


@pytest.mark.slow
def test_a_long_shuffled_stream_with_undeclared_columns_gives_the_expected_tables_in_two_runs(engine: Autocdc) -> None:
    example = json.loads((SCD2 / "random_shuffled_seed1.json").read_text())
    spec = engine.spec(
        "random", ["key"], None, source={"sequence_by": "sequence", "columns": {"except": ["sequence", "is_delete"]}}
    )
    half = len(example["batches"]) // 2
    for number, batches in enumerate((example["batches"][:half], example["batches"][half:])):
        engine.deliver("random", number, [row for batch in batches for row in batch])
        engine.run_successfully(spec)
    columns = ["key", "name", "amount", "active"]
    expected = versions(example["expected_history_coalesced"], columns)
    assert versions(engine.rows(spec, history=True), columns) == expected
    assert live(engine.rows(spec), columns) == live(example["expected_latest"], columns)


@pytest.mark.slow
def test_the_worked_example_of_auto_cdc_gives_its_documented_tables(engine: Autocdc) -> None:
    example = json.loads((SCD2 / "databricks_auto_cdc.json").read_text())
    source = {
        "sequence_by": "sequenceNum",
        "delete_when": "operation = 'DELETE'",
        "truncate_when": "operation = 'TRUNCATE'",
        "columns": {"except": ["operation", "sequenceNum"]},
    }
    specs = {
        name: engine.spec(name, example["keys"], None, source=source, **more)
        for name, more in {
            "whole": {},
            "no_city": {"history": {"track": {"except": ["city"]}}},
            "emptied": {},
        }.items()
    }
    for name in specs:
        extra = [example["truncate_variant"]["extra_event"]] if name == "emptied" else []
        engine.deliver(name, 1, [*example["events"], *extra])
    engine.run_successfully(*specs.values())
    columns = ["userId", "name", "city"]
    assert live(engine.rows(specs["whole"]), columns) == live(example["expected_scd1"], columns)
    for name, expected in (("whole", "expected_scd2"), ("no_city", "expected_scd2_track_history_except_city")):
        assert versions(engine.rows(specs[name], history=True), columns) == versions(example[expected], columns)
    assert live(engine.rows(specs["emptied"]), columns) == live(example["truncate_variant"]["expected_scd1"], columns)
