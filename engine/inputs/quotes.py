"""Quotes of CSV files that nothing closes before the file ends: what stands behind one belongs to no value.

Spark's reader takes all of it, line ends and the records behind them, for the last value, and tells nothing. The value
with the last line of its file tells:

    last line     value       the quote is
    2,"cut he     cut he      open
    2,"cut he"    cut he      closed
    2,cut he      cut he      none
    3,c           cut\\n3,c    open: only values in quotes go over several lines
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.frames import checkpointed

ENDS_OPEN: Final = "ends_open"
OPEN_QUOTE: Final = "a quote is not closed before the end of the file"
_LINE_ENDS: Final = "\r\n"


def with_open_quotes(
    spark: SparkSession, rows: DataFrame, paths: Sequence[str], value: Column, delimiter: str, line_end: str
) -> DataFrame:
    """The records of files, told whether a quote is open at the end of those that end a file.

    Needs: file; value: of a record, the last that it has. `paths`: the files, as Spark's readers are given them.
    Gives: the columns, then ends_open, which means nothing for a record behind which another one stands.
    Rows: 1:1.
    """
    lasts = F.broadcast(last_lines(spark, paths, line_end))
    found = F.coalesce(is_open(value, F.col("last_line"), delimiter, line_end), F.lit(False))
    return rows.join(lasts, on="file", how="left").select(*rows.columns, found.alias(ENDS_OPEN))  # one row a file


def last_lines(spark: SparkSession, paths: Sequence[str], line_end: str) -> DataFrame:
    """The last line of each file that has anything in it.

    Gives: file, as Spark spells it, last_line. Computed by the first who asks.
    Rows: one a file.
    """
    lines = spark.read.option("lineSep", line_end).text(list(paths))
    said = lines.select(
        F.col("_metadata.file_path").alias("file"),
        _bare(F.col("value")).alias("text"),
        F.col("_metadata.file_block_start").alias("start"),
        F.monotonically_increasing_id().alias("row"),
    ).where(F.col("text") != "")
    lasts = said.groupBy("file").agg(F.max_by("text", F.struct("start", "row")).alias("last_line"))
    return lasts.transform(checkpointed, eager=False)


def is_open(value: Column, last_line: Column, delimiter: str, line_end: str) -> Column:
    """Whether the last value of a file stands behind a quote that nothing closes. `last_line`: of the file."""
    opening = f'{delimiter}"'
    inside = _bare(F.replace(value, F.lit('"'), F.lit('""')))
    line = F.concat(F.lit(delimiter), last_line)  # a quote at the beginning of the line, too, opens a value
    goes_over_lines = inside.contains(line_end)
    is_alone = (value == '"') & line.endswith(opening)  # a quote with nothing behind it is read as the value
    return is_alone | (
        F.when(inside == "", last_line.endswith(opening))
        .when(goes_over_lines, last_line == F.substring_index(inside, line_end, -1))
        .otherwise(line.endswith(F.concat(F.lit(opening), inside)))
    )


def _bare(text: Column) -> Column:
    """The text without the line ends behind it."""
    return F.rtrim(text, F.lit(_LINE_ENDS))
