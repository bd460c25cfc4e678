"""Which commits are those of other programs, and how messages describe them."""

import pytest

from siltstone.engine import names
from siltstone.engine.schema.commits import Commit, foreign_commits

AT_MS = 1_764_324_000_000
OWN = {names.SUMMARY_BATCH: "3"}
SPARK = {
    "engine-name": "spark",
    "engine-version": "4.1.1",
    "spark.app.id": "local-17",
    "changed-partition-count": "1",
    "added-position-deletes": "3",
    "added-records": "1",
}


def commit(number: int, operation: str, **summary: str) -> Commit:
    return Commit.of(number, AT_MS, operation, summary)


def numbers(*newest_first: Commit) -> list[int]:
    return [one.snapshot_id for one in foreign_commits(newest_first)]


def test_only_what_changed_rows_since_the_newest_marker_is_foreign() -> None:
    marked, deleted = Commit.of(5, AT_MS, "append", OWN), commit(4, "delete")
    assert numbers(marked, deleted) == []
    assert numbers(commit(7, "replace"), commit(6, "append"), deleted, Commit.of(3, AT_MS, "append", OWN)) == [4, 6]
    assert numbers(commit(6, "delete", **{"changed-partition-count": "0"}), marked) == []
    assert numbers(commit(2, "append"), commit(1, "append")) == [1, 2]


def test_older_commits_stay_foreign_after_a_rebuild_of_some_keys() -> None:
    part = Commit.of(6, AT_MS, "append", OWN | {names.SUMMARY_FOREIGN: "true"})
    assert numbers(part, commit(5, "overwrite"), Commit.of(4, AT_MS, "append", OWN), commit(3, "delete")) == [5]


def test_a_commit_is_described_by_its_operation_its_program_its_time_and_its_snapshot() -> None:
    assert str(Commit.of(9, AT_MS, "overwrite", SPARK)) == (
        "overwrite by spark 4.1.1 (application local-17) at 2025-11-28 10:00:00 UTC, snapshot 9:"
        " 1 rows added, 3 rows deleted"
    )


@pytest.mark.parametrize(
    ("summary", "writer"),
    [
        ({}, "an unknown program"),
        ({"trino_query_id": "q7", "trino_user": "ann"}, "an unknown program (application q7, user ann)"),
        ({"iceberg-version": "Apache Iceberg 1.10.0"}, "Apache Iceberg 1.10.0"),
        ({"engine-name": "spark", "user": "ann"}, "spark (user ann)"),
    ],
)
def test_the_writer_is_named_as_far_as_the_engine_recorded_it(summary: dict[str, str], writer: str) -> None:
    assert Commit.of(9, AT_MS, "append", summary).writer == writer
