"""The versions of Spark that siltstone runs with, and what differs between them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from siltstone.engine.errors import SpecError
from siltstone.engine.jars import Jar

ICEBERG_RUNTIMES: Final = {
    "4.1": Jar(
        "org.apache.iceberg",
        "iceberg-spark-runtime-4.1_2.13",
        "1.12.0",
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
    ),
    "4.0": Jar(
        "org.apache.iceberg",
        "iceberg-spark-runtime-4.0_2.13",
        "1.11.0",  # the newest for Spark 4.0
        "63c3b812549dc232c1920865ff42436df8604a9bbacd693930985c06bd97e6dc",
    ),
}
"""Iceberg's runtime by the minor version of Spark.

Spark 3.5 is not here. Its PySpark has neither `applyInArrow` nor DataFrames of Arrow tables. Iceberg's runtime for it
does not take `spark.sql.iceberg.snapshot-property` from the session, so a MERGE could not commit its marker.
"""


def spark_version() -> str:
    """The minor version of the installed PySpark, such as 4.1."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:  # the PySpark of a Spark distribution has no metadata
        from pyspark import __version__ as found
    return ".".join(found.split(".")[:2])


def iceberg_runtime() -> Jar:
    """Iceberg's runtime for the installed PySpark.

    Raises: SpecError: siltstone does not run with this version of Spark.
    """
    found = spark_version()
    if found not in ICEBERG_RUNTIMES:
        raise SpecError(
            f"Cannot use Spark {found}: siltstone runs with Spark {', '.join(sorted(ICEBERG_RUNTIMES))}.",
            hint="Install one of them, such as `pip install 'pyspark==4.1.*'`.",
        )
    return ICEBERG_RUNTIMES[found]
