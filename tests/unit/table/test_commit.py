"""Every action of a run whose branch another run has dropped ends in an error that asks for a retry."""

from collections.abc import Callable
from functools import partial

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.errors import CommitConflictError
from siltstone.engine.names import SUMMARY_BATCH
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import create, load
from siltstone.engine.table.commit import Branch, drop_stale_branches, newest_summary

STEPS: tuple[Callable[[Branch], object], ...] = (
    lambda branch: branch.append(branch.spark.range(1)),
    lambda branch: branch.execute(f"DELETE FROM {branch.identifier} WHERE id = 1"),
    lambda branch: branch.newest_count("added-records"),
    Branch.publish,
)


def test_no_action_writes_to_a_branch_that_another_run_has_dropped(spark: SparkSession, project: ProjectSpec) -> None:
    catalog, name = project.catalog.name, f"{project.namespace}.things"
    create(spark, catalog, name, T.StructType([T.StructField("id", T.LongType())]))
    start = partial(Branch.start, spark, catalog, name, {})
    for step in STEPS:
        dropped = start()
        drop_stale_branches(spark, catalog, name)
        with pytest.raises(CommitConflictError, match="another writer was faster"):
            step(dropped)
        dropped.drop()
    dropped, other = start(), start()
    other.append(spark.range(1))
    dropped.drop()
    other.publish()
    # The same as for a write that was running when the branch was dropped.
    java = load(spark, catalog, name)
    java.manageSnapshots().createBranch(dropped.name, java.currentSnapshot().snapshotId()).commit()
    dropped.append(spark.range(1))
    with pytest.raises(CommitConflictError, match="another writer was faster"):
        dropped.publish()
    assert spark.table(f"{catalog}.{name}").count() == 1
    assert {found["name"] for found in spark.table(f"{catalog}.{name}.refs").collect()} == {"main", "siltstone"}


def test_the_marker_survives_the_maintenance_of_other_programs(spark: SparkSession, project: ProjectSpec) -> None:
    catalog, name = project.catalog.name, f"{project.namespace}.kept"
    create(spark, catalog, name, T.StructType([T.StructField("id", T.LongType())]))
    for batch in ("1", "2"):
        branch = Branch.start(spark, catalog, name, {SUMMARY_BATCH: batch})
        branch.append(spark.range(1))
        branch.publish()
    spark.range(1).writeTo(f"{catalog}.{name}").append()
    expire = f"CALL {catalog}.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2999-01-01 00:00:00'"
    spark.sql(f"{expire}, retain_last => 1)")
    assert (
        spark.table(f"{catalog}.{name}.snapshots").count() == 2
    )  # the other program's, and the one with the newest marker
    assert newest_summary(spark, catalog, name)[SUMMARY_BATCH] == "2"
