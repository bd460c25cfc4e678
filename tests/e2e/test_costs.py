"""A batch in order reads neither the older batches of `changes` nor closed versions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.streams import Shop, delete, insert, read, row, update

FIRST = [insert(n, row(n, f"first {n}")) for n in range(1, 9)]
SECOND = [*(update(10 + n, row(n, f"second {n}")) for n in range(1, 6)), delete(16, row(6, "first 6"))]
IN_ORDER = [
    update(21, row(1, "third 1")),
    delete(22, row(2, "second 2")),
    insert(23, row(6, "again")),
    insert(24, row(9, "new")),
    update(25, row(9, "new, and changed")),
    update(25_000, row(9, "new, and changed twice")),
    read(50_000, row(3, "second 3")),
    read(50_000, row(4, "a change was missed")),
]
LATE = [update(5, row(1, "between"))]


def two_batches(spark: SparkSession, project: ProjectSpec) -> Shop:
    """A shop with two batches. The second batch closed versions of the first."""
    shop = Shop(spark, project)
    for name, lines in (("0.jsonl", FIRST), ("1.jsonl", SECOND)):
        shop.write(name, lines)
        shop.taken()
    return shop


def files(shop: Shop, table: str, condition: str) -> list[Path]:
    identifier = f"lake.{shop.project.namespace}.{table}"
    found = shop.spark.sql(f"SELECT file_path FROM {identifier}.files WHERE {condition}").collect()
    return [Path(found["file_path"].removeprefix("file:").replace("///", "/")) for found in found]


@contextmanager
def hidden(paths: list[Path]) -> Iterator[None]:
    """Move these files away during the block, so that a run that opens one fails."""
    for path in paths:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".away").rename(path)


def old_files(shop: Shop) -> list[Path]:
    """The data files of all batches of `changes` so far, and of the closed versions."""
    closed = files(shop, "shop_things_h", "partition._valid_to_month IS NOT NULL")
    changes = files(shop, "shop_things_changes", "true")
    assert closed
    assert len(changes) >= 2
    return [*closed, *changes]


def test_a_batch_in_order_opens_no_older_changes_and_no_closed_versions(
    spark: SparkSession, project: ProjectSpec
) -> None:
    shop = two_batches(spark, project)
    with hidden(old_files(shop)):
        shop.write("2.jsonl", IN_ORDER)
        report = shop.taken()
    assert (report.late, report.outcomes) == (0, {"opened": 6, "healed": 1, "absorbed": 1})
    assert shop.versions(1)[-2:] == [("second 1", 11, 21), ("third 1", 21, None)]
    missed, changed = "a change was missed", "new, and changed twice"
    names = ["third 1", "second 3", missed, "second 5", "again", "first 7", "first 8", changed]
    assert [name for _, name, _ in shop.latest()] == names


@pytest.mark.slow
def test_a_late_change_opens_the_old_files(spark: SparkSession, project: ProjectSpec) -> None:
    shop = two_batches(spark, project)
    with hidden(old_files(shop)):
        shop.write("2.jsonl", LATE)
        (report,) = shop.run().tables
    assert report.exit_code != 0
    assert "File" in str(report.error) or "NotFound" in str(report.error)
    assert shop.taken().late == 1
    assert shop.versions(1) == [("first 1", 1, 5), ("between", 5, 11), ("second 1", 11, None)]
