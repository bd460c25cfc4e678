"""Files that AWS DMS writes to S3 give the same tables in any order of delivery."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec

# The load has the time 11:00. Rows 102 and 103 were deleted while it ran, at an earlier time.
FILES = {
    "LOAD00000001.csv": """\
2014-10-29 11:00:00.000000,101,Bob
2014-10-29 11:00:00.000000,102,Ann
2014-10-29 11:00:00.000000,103,NULL
2014-10-29 11:00:00.000000,105,"Zoe, Ltd"
""",
    "20141029-113401000.csv": """\
D,2014-10-29 10:59:00.000000,102,Ann
D,2014-10-29 10:59:00.000000,103,
I,2014-10-29 11:34:00.000000,104,Dan
U,2014-10-29 11:34:00.000000,101,Bobby
U,2014-10-29 11:34:00.000000,101,Rob
""",
    "20141029-113402000.csv": """\
U,2014-10-29 11:34:00.000000,101,Robert
D,2014-10-29 11:34:00.000000,104,Dan
I,2014-10-29 11:34:00.000000,104,Daniel
""",
}
LATEST = [("101", "Robert"), ("104", "Daniel"), ("105", "Zoe, Ltd")]
COLUMNS = ("id", "name", "_op", "_valid_from", "_valid_to", "_is_current", "_position", "_commit_ts")


def delivered(spark: SparkSession, project: ProjectSpec, name: str, batches: Sequence[Sequence[str]]) -> TableSpec:
    """Deliver the batches with a run after each. Gives the spec of the table."""
    folder = project.root / name / "hr" / "employee"
    folder.mkdir(parents=True)
    values = {
        "table": f"{name}.employee",
        "source": {
            "format": "rows",
            "path": f"{name}/hr/employee",
            "header": {"LOAD*": ["ts", "id", "name"], "*": ["Op", "ts", "id", "name"]},
            "null_value": "NULL",
            "sequence_by": ["_file", "_pos"],
            "time_by": "ts",
            "delete_when": "Op = 'D'",
            "snapshot_when": "Op IS NULL OR (_file >= 'LOAD' AND _file < 'LOAE')",
            "columns": {"except": ["Op", "ts"]},
        },
        "keys": ["id"],
        "target": {"latest": f"{name}.employee", "history": f"{name}.employee_h"},
    }
    spec = table_spec(values, project)
    for batch in batches:
        for file in batch:
            (Path(folder) / file).write_text(FILES[file], encoding="utf-8")
        report = catch_up(project, [spec], spark)
        assert [table.error for table in report.tables] == [None]
    return spec


@pytest.mark.slow
def test_the_order_of_delivery_does_not_change_the_tables(spark: SparkSession, project: ProjectSpec) -> None:
    load, first, second = FILES
    whole = delivered(spark, project, "whole", [[load, first, second]])
    late = delivered(spark, project, "late", [[second], [load], [first]])
    rows = spark.table(f"lake.{whole.target.latest}").select("id", "name").orderBy("id").collect()
    assert [tuple(row) for row in rows] == LATEST
    for one, other in ((whole.target.latest, late.target.latest), (whole.target.history, late.target.history)):
        columns = [name for name in COLUMNS if name in spark.table(f"lake.{one}").columns]
        found = [sorted(map(repr, spark.table(f"lake.{t}").select(*columns).collect())) for t in (one, other)]
        assert found[0] == found[1]
