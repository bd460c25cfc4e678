"""Parquet files that pandas and Arrow write: nanosecond timestamps, times of day, and columns with only nulls."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.decode.record_files import parquet_groups
from siltstone.engine.errors import SourceError
from siltstone.engine.init import find_tables
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec

AT = 1_704_067_200_123_456_789  # 2024-01-01T00:00:00.123456789Z
NOON = 43_200_000_000_001  # nanoseconds
EXTREMES = [AT + 1, AT, None, -1, -(2**63) + 1, 2**63 - 1, 999]


def extreme_times() -> pa.Table:
    """Two versions of one row, one nanosecond apart and the later one first, and the limits of 64-bit timestamps."""
    clocks = [None if n is None else abs(n) % 86_400_000_000_000 for n in [NOON, NOON, None, 1, 0, 2, 3]]
    return pa.table(
        {
            "id": [1, 1, 2, 3, 4, 5, 6],
            "n": pa.array([n or 0 for n in EXTREMES], pa.timestamp("ns", "UTC")),
            "zoned": pa.array(EXTREMES, pa.timestamp("ns", "Europe/Paris")),
            "local": pa.array(EXTREMES, pa.timestamp("ns")),
            "micros": pa.array([0] * 7, pa.timestamp("us")),
            "nano_clock": pa.array(clocks, pa.time64("ns")),
            "clock": pa.array([c and c // 1_000 for c in clocks], pa.time64("us")),
            "milli_clock": pa.array([c and c // 1_000_000 for c in clocks], pa.time32("ms")),
            "moments": pa.array([[AT, None]] * 7, pa.list_(pa.timestamp("ns"))),
            "inside": pa.array([{"t": AT}] * 7, pa.struct([("t", pa.timestamp("ns", "UTC"))])),
            "tags": pa.array([["a"]] * 7),
        }
    )


def spec_for(project: ProjectSpec, table: pa.Table, **written: Any) -> TableSpec:
    """Write the rows to a Parquet file. Gives the spec of a table with this source."""
    (project.root / "landing").mkdir()
    pq.write_table(table, project.root / "landing" / "a.parquet", **written)
    name = project.namespace
    values = {
        "table": "shop.times",
        "source": {"format": "rows", "path": "landing", "sequence_by": "n"},
        "keys": ["id"],
        "target": {"latest": f"{name}.latest", "history": f"{name}.history"},
    }
    return table_spec(values, project)


def test_nanosecond_timestamps_and_times_of_day_keep_their_meaning(spark: SparkSession, project: ProjectSpec) -> None:
    spec = spec_for(project, extreme_times())
    report = catch_up(project, [spec], spark)
    assert [(table.error, table.rejected) for table in report.tables] == [(None, 0)]
    latest = spark.table(f"lake.{spec.target.latest}")
    (table,) = find_tables([project.root / "landing"])
    inferred = {name: kind and kind.simpleString() for name, kind in table.columns.types().items()}
    assert {name: kind for name, kind in latest.dtypes if not name.startswith("_")} == inferred
    clocks = "nano_clock", "clock", "milli_clock"
    texts = latest.selectExpr("id", "CAST(zoned AS string)", "CAST(local AS string)", *clocks).orderBy("id").collect()
    assert [tuple(row) for row in texts] == [
        (1, "2024-01-01 00:00:00.123456", "2024-01-01 00:00:00.123456", *["12:00:00.000000"] * 3),
        (2, None, None, None, None, None),
        (3, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", *["00:00:00.000000"] * 3),
        (4, "1677-09-21 00:12:43.145224", "1677-09-21 00:12:43.145224", *["00:00:00.000000"] * 3),
        (5, "2262-04-11 23:47:16.854775", "2262-04-11 23:47:16.854775", *["00:00:00.000000"] * 3),
        (6, "1970-01-01 00:00:00", "1970-01-01 00:00:00", *["00:00:00.000000"] * 3),
    ]


def test_changes_one_nanosecond_apart_keep_their_order(spark: SparkSession, project: ProjectSpec) -> None:
    names = ["later", "first", "last"]
    times = pa.array([AT + 1, AT, AT + 2], pa.timestamp("ns"))
    spec = spec_for(project, pa.table({"id": [1, 1, 1], "n": times, "name": names}))
    report = catch_up(project, [spec], spark)
    assert [(table.error, table.rejected) for table in report.tables] == [(None, 0)]
    history = spark.table(f"lake.{spec.target.history}").orderBy("_position").select("name").collect()
    assert [row.name for row in history] == ["first", "later", "last"]
    assert [row.name for row in spark.table(f"lake.{spec.target.latest}").collect()] == ["last"]


NO_TYPE = pa.table({"id": [1, 2], "n": [3, 3], "a": pa.nulls(2), "b": pa.nulls(2), "c": pa.nulls(2)})
OF_TYPES = pa.table(
    {"id": [1, 3], "n": [1, 1], "a": ["x", "y"], "b": [1, 2], "c": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]}
)


@pytest.mark.parametrize("deliveries", [("both",), ("typed", "untyped")])
def test_a_column_with_only_nulls_takes_its_type_from_other_files(
    spark: SparkSession, project: ProjectSpec, deliveries: tuple[str, ...]
) -> None:
    """The file has no type for the column. Spark reads it as a column of integers."""
    spec = spec_for(project, OF_TYPES)
    for source_batch in deliveries:
        if source_batch != "typed":
            pq.write_table(NO_TYPE, project.root / "landing" / "b.parquet")
        report = catch_up(project, [spec], spark)
        assert [(table.error, table.rejected) for table in report.tables] == [(None, 0)]
    latest = spark.table(f"lake.{spec.target.latest}").orderBy("id")
    assert [kind for name, kind in latest.dtypes if name in "abc"] == ["string", "bigint", "date"]
    nothing = (None, None, None)
    rows = [tuple(row) for row in latest.select("id", "a", "b", "c").collect()]
    assert rows == [(1, *nothing), (2, *nothing), (3, "y", 2, dt.date(2024, 1, 2))]


@pytest.mark.slow
def test_a_column_with_only_nulls_in_all_files_is_a_string(spark: SparkSession, project: ProjectSpec) -> None:
    spec = spec_for(project, NO_TYPE)
    assert catch_up(project, [spec], spark).tables[0].error is None
    (table,) = find_tables([project.root / "landing"])
    assert table.columns.types()["a"] == spark.table(f"lake.{spec.target.latest}").schema["a"].dataType
    pq.write_table(OF_TYPES.select(["id", "n", "a"]), project.root / "landing" / "b.parquet")
    assert catch_up(project, [spec], spark).tables[0].error is None
    rows = spark.table(f"lake.{spec.target.latest}").orderBy("id").select("id", "a").collect()
    assert [tuple(row) for row in rows] == [(1, None), (2, None), (3, "y")]
    pq.write_table(OF_TYPES, project.root / "landing" / "c.parquet")
    (refused,) = catch_up(project, [spec], spark).tables
    assert "column b changes its type (string, bigint)" in str(refused.error)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1", b"id,name\n1,a\n"])
def test_a_file_that_is_not_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    (file,) = list_files(str(tmp_path))
    with pytest.raises(SourceError, match="it is not a Parquet file, or is damaged"):
        parquet_groups(file, 0)


def test_int96_timestamps_have_the_type_timestamp(spark: SparkSession, project: ProjectSpec) -> None:
    table = pa.table({"id": [1], "n": [1], "at": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))})
    spec = spec_for(project, table, use_deprecated_int96_timestamps=True)
    assert catch_up(project, [spec], spark).tables[0].error is None
    (found,) = find_tables([project.root / "landing"])
    assert dict(spark.table(f"lake.{spec.target.latest}").dtypes)["at"] == "timestamp"
    assert found.columns.types()["at"].simpleString() == "timestamp"
