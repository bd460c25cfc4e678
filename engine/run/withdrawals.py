"""What a delivery tells of deliveries before it: changes of theirs that the source had only sent again."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.names import PLACE
from siltstone.engine.run.delivery import Consumer, Delivery, after
from siltstone.engine.schema.control_kinds import WITHDRAWAL
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.steps.control import control_rows
from siltstone.engine.table.ledger import read_ledger
from siltstone.engine.table.withdrawn import withdrawn_places, without_withdrawn


def withdrawals(spark: SparkSession, project: ProjectSpec, delivery: Delivery, taker: Consumer) -> DataFrame | None:
    """Withdrawals of lines that were taken before, as changes, and that their new neighbours show to be redeliveries.

    Gives: what `control_rows` gives. None where the format knows of none.
    Rows: one a line.
    """
    if delivery.known_again is None:
        return None
    before = delivery.known_again.where(~after(taker.pending.values()))
    found = control_rows(before).withColumn("kind", F.lit(WITHDRAWAL)).dropDuplicates(PLACE)
    return without_withdrawn(found, withdrawn_places(read_ledger(spark, project, names.CONTROL)))
