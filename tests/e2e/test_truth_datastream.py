"""Real Datastream Avro files through the whole engine give their known end states."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, TableSpec
from tests.e2e.truth_runs import a_project
from tests.recordings import DATA

STREAMS = DATA / "datastream"
Row = dict[str, Any]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STREAMS.is_dir(), reason=f"the files are missing: {STREAMS}")]

# Keys of tables whose events name no key. In the published file, two rows of LOCATIONS have the same row id.
KEYS = {
    "HR.LOCATIONS": ["LOCATION_ID"],
    "HR.EMPLOYEES": ["EMPLOYEE_ID"],
    "public.source_table": ["binary_content"],
    "DataStreamToSpannerSessionIT": ["id"],
}


def known_states() -> list[Row]:
    states: list[Row] = json.loads((STREAMS / "expected_end_states.json").read_text(encoding="utf-8"))
    return states


def name_of(state: Row) -> str:
    return f"{state['schema_or_db']}.{state['table']}"


def spec_of(state: Row, namespace: str, **more: Any) -> Row:
    table = name_of(state)
    target = f"{namespace}.{state['table']}"
    values: Row = {
        "table": table,
        "source": {"format": "datastream-avro", "path": str(STREAMS / "avro" / state["dir"])},
        "target": {"latest": target, "history": f"{target}_history"},
    }
    if not state["primary_keys"] or table in KEYS:
        keys = KEYS.get(table) or KEYS.get(state["dir"])
        values |= {"keys": keys} if keys else {}
    return values | more


@pytest.fixture(scope="module")
def taken(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Load each folder as one source with all its tables. Gives the spec of each table by folder and name."""
    found = {}
    for number, folder in enumerate(sorted({state["dir"] for state in known_states()})):
        project = a_project(catalog, tmp_path_factory.mktemp("datastream"), f"ds{number}")
        states = [state for state in known_states() if state["dir"] == folder]
        specs: Sequence[TableSpec] = [table_spec(spec_of(state, f"ds{number}"), project) for state in states]
        report = catch_up(project, specs, spark)
        assert [(table.table, table.error) for table in report.tables] == [(spec.table, None) for spec in specs]
        assert report.sources[0].rejected == 0
        for state, spec in zip(states, specs, strict=True):
            found[f"{folder}/{name_of(state)}"] = spec
    return found


@pytest.mark.parametrize("state", known_states() if STREAMS.is_dir() else [], ids=lambda s: f"{s['dir']}/{name_of(s)}")
def test_latest_equals_the_known_end_state(spark: SparkSession, taken: Mapping[str, TableSpec], state: Row) -> None:
    spec = taken[f"{state['dir']}/{name_of(state)}"]
    rows = [row.asDict() for row in spark.table(f"lake.{spec.target.latest}").collect()]
    assert len(rows) == state["final_rows"]
    if state["expected_latest"] is not None:
        columns = list(state["expected_latest"][0])
        got = sorted(repr([as_known(row[name]) for name in columns]) for row in rows)
        assert got == sorted(repr([expected(row[name]) for name in columns]) for row in state["expected_latest"])


def as_known(value: Any) -> Any:
    """A stored value in the notation of the known states."""
    if isinstance(value, datetime):  # the session's local time, as Spark gives it
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, (Decimal, date)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return "base64:" + base64.b64encode(value).decode()
    if isinstance(value, str) and value.count(":") == 2 and value.replace(":", "").replace(".", "").isdigit():
        hours, minutes, seconds = value.split(":")
        return int((int(hours) * 3600 + int(minutes) * 60 + Decimal(seconds)) * 1_000_000)
    return value


def expected(value: Any) -> Any:
    """A known value without its metadata: the length of a text, the zone of a timestamp."""
    if isinstance(value, dict):
        return value["value"] if "length" in value else value["timestamp"]
    return value


def test_history_has_every_change_of_an_oracle_key_in_order(
    spark: SparkSession, taken: Mapping[str, TableSpec]
) -> None:
    history = spark.table(f"lake.{taken['oracle-hr-employees/HR.EMPLOYEES'].target.history}")
    rows = history.where("EMPLOYEE_ID in (210, 211)").orderBy("EMPLOYEE_ID", "_position").collect()
    versions = [(row["EMPLOYEE_ID"], row["_op"], row["SALARY"] and str(row["SALARY"])) for row in rows]
    assert versions == [
        (210, "delete", None),
        (210, "insert", "12131.00"),
        (210, "update", "8888.00"),
        (210, "delete", None),
        (211, "insert", "12131.00"),
    ]
