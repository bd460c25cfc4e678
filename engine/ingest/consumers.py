"""The consumers of a source: its tables, and the source itself for its control events."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.fold.markers import batch_of, newest_marker, scn_sources
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.table.ledger import ledger_name


@dataclass(frozen=True)
class Consumer:
    """A consumer of a source's files: a table, or the source itself for its control events.

    `masked`: its records contain values that must not be stored. `by_scn`: the sources that are ordered by SCNs alone,
    according to its newest batch.
    """

    name: str
    target: str
    newest_batch: int
    pending: Mapping[str, PendingFile]
    masked: bool = False
    by_scn: Collection[str] = ()


def control_consumer(source: SourceSpec) -> str:
    """The name of the consumer of a source's control events."""
    return f"{names.CONTROL_OF}{source.path}"


def targets_of(project: ProjectSpec, source: SourceSpec, specs: Sequence[TableSpec]) -> dict[str, str]:
    """The table that each consumer of a source writes."""
    control = {control_consumer(source): ledger_name(project, names.CONTROL)}
    return control | {spec.table: spec.target.changes for spec in specs}


def newest_batches(spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str]) -> dict[str, int]:
    """Each consumer's newest committed batch. `targets`: the tables that they write."""
    return {name: consumer.newest_batch for name, consumer in idle_consumers(spark, project, targets).items()}


def idle_consumers(spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str]) -> dict[str, Consumer]:
    """The consumers in the state of their newest markers, with no pending files. `targets`: the tables they write."""
    markers = {name: newest_marker(spark, project, target) for name, target in targets.items()}
    return {
        name: Consumer(name, targets[name], batch_of(marker), {}, by_scn=scn_sources(marker))
        for name, marker in markers.items()
    }
