"""A few faults in recorded streams, each found by the right check; `make faults` injects a few hundred."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import ProjectSpec
from tests.quality.fault_runs import deliver, is_found, places, scored, unexplained
from tests.quality.fault_streams import Stream, shareplex, spanner
from tests.quality.faults import DROP_CHANGE, DROP_END, SWAP, delay, singles


@pytest.mark.parametrize("stream", [shareplex(40)], ids=["shareplex"])
def test_single_faults_are_found_where_they_are_and_nothing_else_is(
    spark: SparkSession, project: ProjectSpec, stream: Stream
) -> None:
    faulty = singles(stream, seed=5, number=4)
    assert {fault.kind for fault in faulty.faults} == {DROP_CHANGE, DROP_END, SWAP}
    found = deliver(spark, project, stream, faulty.batches)
    assert not unexplained(faulty, found, [])
    scores = scored(faulty, found, [])
    assert {kind: score.found for kind, score in scores.items()} == {
        kind: score.detectable for kind, score in scores.items()
    }
    assert scores[DROP_CHANGE].detectable == 4


@pytest.mark.slow
def test_a_stream_without_faults_has_no_finding_and_a_partition_that_lags_is_found(
    spark: SparkSession, project: ProjectSpec, tmp_path: Path
) -> None:
    stream = spanner(8)
    first, second = deliver(spark, project, stream, (faulty := delay(stream, 5)).batches)
    (fault,) = faulty.faults
    assert is_found(fault, first)
    assert {one.finding.check for one in places(first)} == {"stalled_source"}
    assert places(second) == []
    assert second["Singers"]["late_changes"].observed > 0
