"""Control events as rows of the control table."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.decode.envelope import CONTROL


def control_rows(envelopes: DataFrame) -> DataFrame:
    """The control events of a source.

    Needs: the columns of ENVELOPE_COLUMNS.
    Gives: source, kind, table, event_id, tx_id, position, commit_ts, ingest_ts, channel, file, line, payload.
    Rows: filters; one a control event.
    """
    return envelopes.where(F.col("kind") == CONTROL).select(
        "source",
        F.col("control_kind").alias("kind"),
        "table",
        "event_id",
        "tx_id",
        "position",
        "commit_ts",
        "ingest_ts",
        "channel",
        "file",
        "line",
        F.col("control_json").alias("payload"),
    )
