"""Snapshot windows that were opened and never closed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.ordering.snapshot_windows import chunk_windows
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE, WINDOW_OPEN
from siltstone.quality import catalogue


def unclosed_windows(control: DataFrame, since: int, key: T.DataType) -> DataFrame:
    """The windows that were opened in these batches and not closed.

    Needs: control rows of one source.
    Gives: check, position_from, position_to, key (null, of the table's key type), message.
    Rows: one per open window.
    """
    is_checked = (F.col("kind") != WINDOW_OPEN) | (F.col("batch") > since)
    return (
        chunk_windows(control.where(is_checked & F.col("kind").isin(WINDOW_OPEN, WINDOW_CLOSE)).coalesce(1))
        .where(F.col("close_position").isNull())
        .select(
            F.lit(catalogue.OPEN_WINDOW).alias("check"),
            F.col("open_position").alias("position_from"),
            F.lit(None).cast("string").alias("position_to"),
            F.lit(None).cast(key).alias("key"),
            F.concat(F.lit("snapshot window "), F.col("window_id"), F.lit(" was opened and not closed")).alias(
                "message"
            ),
        )
    )
