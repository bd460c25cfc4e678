"""Retract changes of earlier source batches that a new batch shows to be redeliveries."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.ingest.consumers import Consumer
from siltstone.engine.ingest.source_batch import SourceBatch, after
from siltstone.engine.names import PLACE
from siltstone.engine.schema.control_kinds import RETRACTION
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.steps.control_events import control_rows
from siltstone.engine.table.ledger import read_ledger
from siltstone.engine.table.retracted import retracted_places, without_retracted


def retractions(
    spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, consumer: Consumer
) -> DataFrame | None:
    """Retractions of lines that were ingested as changes before, and that their new neighbours show to be redeliveries.

    Gives: the output of `control_rows`. None if the format has no redeliveries of this kind.
    Rows: one per line.
    """
    if source_batch.known_before is None:
        return None
    before = source_batch.known_before.where(~after(consumer.pending.values()))
    found = control_rows(before).withColumn("kind", F.lit(RETRACTION)).dropDuplicates(PLACE)
    return without_retracted(found, retracted_places(read_ledger(spark, project, names.CONTROL)))
