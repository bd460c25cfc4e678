"""What a delivery tells of deliveries before it: changes of theirs that the source had only sent again."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.ingest.source_batch import Consumer, SourceBatch, after
from siltstone.engine.names import PLACE
from siltstone.engine.schema.control_kinds import RETRACTION
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.steps.control_events import control_rows
from siltstone.engine.table.ledger import read_ledger
from siltstone.engine.table.retracted import retracted_places, without_retracted


def retractions(
    spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, consumer: Consumer
) -> DataFrame | None:
    """Withdrawals of lines that were taken before, as changes, and that their new neighbours show to be redeliveries.

    Gives: what `control_rows` gives. None where the format knows of none.
    Rows: one a line.
    """
    if source_batch.known_before is None:
        return None
    before = source_batch.known_before.where(~after(consumer.pending.values()))
    found = control_rows(before).withColumn("kind", F.lit(RETRACTION)).dropDuplicates(PLACE)
    return without_retracted(found, retracted_places(read_ledger(spark, project, names.CONTROL)))
