"""DTS records that are redelivered with new ids: a stream that restarts gives new ids to all its records."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests import dts_records as dts

AT = 1_600_000_000
Row = tuple[int, str]


def record_line(number: int, op: str, position: str, before: Row | None, after: Row | None) -> str:
    def image(row: Row | None) -> list[Any] | None:
        return row and [dts.integer(row[0]), dts.text(row[1], "utf8")]

    metadata = {"position": position, "objectName": "db.t", "sourceTimestamp": AT, "id": number}
    return dts.line(dts.record(op, {"id": 3, "v": 253}, image(before), image(after), **metadata))


def keyed(first: int) -> list[str]:
    """Three changes of one row in one log event, and a fourth change in the next event."""
    return [
        record_line(first, "INSERT", "1@3", None, (1, "a")),
        record_line(first + 1, "DELETE", "1@3", (1, "a"), None),
        record_line(first + 2, "INSERT", "1@3", None, (1, "b")),
        record_line(first + 3, "UPDATE", "2@3", (1, "b"), (1, "c")),
    ]


def keyless(first: int) -> list[str]:
    """Inserts of two equal rows in one log event. In the next event, a delete of one row and an insert of another."""
    return [
        *[record_line(first + n, "INSERT", "1@3", None, (1, "a")) for n in range(2)],
        record_line(first + 2, "DELETE", "2@3", (1, "a"), None),
        record_line(first + 3, "INSERT", "2@3", None, (2, "b")),
    ]


@pytest.mark.parametrize(
    ("changes", "keys", "latest", "versions"),
    [(keyed, ["id"], [(1, "c")], ["insert", "delete", "insert", "update"]), (keyless, [], [(1, "a"), (2, "b")], None)],
)
@pytest.mark.parametrize(
    "batches", [*(pytest.param(each, marks=pytest.mark.slow) for each in (("a", "b"), ("ab",))), ("b", "a")]
)
def test_a_redelivery_with_new_ids_changes_nothing(
    spark: SparkSession, project: ProjectSpec, changes: Any, keys: Any, latest: Any, versions: Any, batches: Any
) -> None:
    events = project.root / "events"
    events.mkdir()
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    source = {"format": "dts-avro", "path": f"{events}/*.txt"}
    spec = table_spec({"table": "db.t", "keys": keys, "source": source, "target": target}, project)
    files = {"a": changes(1), "b": changes(101)}
    for batch in batches:
        for name in batch:
            (events / f"{name}.txt").write_text("".join(f"{line}\n" for line in files[name]))
        report = catch_up(project, [spec], spark)
        assert report.exit_code == 0, report.tables
    rows = spark.table(f"lake.{spec.target.latest}").select("id", "v").collect()
    assert sorted(map(tuple, rows)) == latest
    history = spark.table(f"lake.{spec.target.history}").orderBy("_valid_from", "_position").collect()
    assert versions is None or sorted(row["_op"] for row in history) == sorted(versions)
