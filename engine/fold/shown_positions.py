"""Show positions in the notation of their source, for tables that Spark reads."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.position_notation import LogFile, Notation, has_log_files
from siltstone.engine.schema.control_kinds import LOG_FILE


def log_files(control: DataFrame | None, sources: Iterable[str]) -> list[LogFile]:
    """The log files of these sources that control events name."""
    if control is None or not has_log_files(sources):
        return []
    found = control.where(F.col("kind") == LOG_FILE).select("source", "position", "payload").distinct()
    return [(row["source"], row["position"], row["payload"]) for row in found.collect()]


def notation_of(control: DataFrame | None, sources: Iterable[str]) -> Notation:
    """The notation for the positions of a table with these sources."""
    known = tuple(sources)
    return Notation.of(known, log_files(control, known))
