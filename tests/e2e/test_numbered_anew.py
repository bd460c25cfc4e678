"""Records of DTS that come again with other numbers: a stream that starts again numbers all that it sends anew."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests import dts_records as dts

AT = 1_600_000_000
Row = tuple[int, str]


def sent(number: int, op: str, place: str, before: Row | None, after: Row | None) -> str:
    def image(row: Row | None) -> list[Any] | None:
        return row and [dts.integer(row[0]), dts.text(row[1], "utf8")]

    told = {"position": place, "objectName": "db.t", "sourceTimestamp": AT, "id": number}
    return dts.line(dts.record(op, {"id": 3, "v": 253}, image(before), image(after), **told))


def keyed(first: int) -> list[str]:
    """Three changes of one row in one event of the log, and one in the next."""
    return [
        sent(first, "INSERT", "1@3", None, (1, "a")),
        sent(first + 1, "DELETE", "1@3", (1, "a"), None),
        sent(first + 2, "INSERT", "1@3", None, (1, "b")),
        sent(first + 3, "UPDATE", "2@3", (1, "b"), (1, "c")),
    ]


def keyless(first: int) -> list[str]:
    """Two equal rows, of which one goes, and a third one in the same event."""
    return [
        *[sent(first + n, "INSERT", "1@3", None, (1, "a")) for n in range(2)],
        sent(first + 2, "DELETE", "2@3", (1, "a"), None),
        sent(first + 3, "INSERT", "2@3", None, (2, "b")),
    ]


@pytest.mark.parametrize(
    ("told", "keys", "latest", "versions"),
    [(keyed, ["id"], [(1, "c")], ["insert", "delete", "insert", "update"]), (keyless, [], [(1, "a"), (2, "b")], None)],
)
@pytest.mark.parametrize(
    "batches", [*(pytest.param(each, marks=pytest.mark.slow) for each in (("a", "b"), ("ab",))), ("b", "a")]
)
def test_what_comes_again_with_other_numbers_changes_nothing(
    spark: SparkSession, project: ProjectSpec, told: Any, keys: Any, latest: Any, versions: Any, batches: Any
) -> None:
    events = project.root / "events"
    events.mkdir()
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    source = {"format": "dts-avro", "path": f"{events}/*.txt"}
    spec = table_spec({"table": "db.t", "keys": keys, "source": source, "target": target}, project)
    files = {"a": told(1), "b": told(101)}
    for batch in batches:
        for name in batch:
            (events / f"{name}.txt").write_text("".join(f"{line}\n" for line in files[name]))
        report = catch_up(project, [spec], spark)
        assert report.exit_code == 0, report.tables
    rows = spark.table(f"lake.{spec.target.latest}").select("id", "v").collect()
    assert sorted(map(tuple, rows)) == latest
    history = spark.table(f"lake.{spec.target.history}").orderBy("_valid_from", "_position").collect()
    assert versions is None or sorted(row["_op"] for row in history) == sorted(versions)
