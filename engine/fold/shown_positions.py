"""How positions are shown of tables that Spark reads."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.position_notation import LogFile, Notation, has_log_files
from siltstone.engine.schema.control_kinds import LOG_FILE


def log_files(control: DataFrame | None, sources: Iterable[str]) -> list[LogFile]:
    """The files of the logs of these sources, as far as control events name them."""
    if control is None or not has_log_files(sources):
        return []
    found = control.where(F.col("kind") == LOG_FILE).select("source", "position", "payload").distinct()
    return [(row["source"], row["position"], row["payload"]) for row in found.collect()]


def notation_of(control: DataFrame | None, sources: Iterable[str]) -> Notation:
    """The notation of the positions of a table."""
    known = tuple(sources)
    return Notation.of(known, log_files(control, known))
