"""How much Spark plans before it works: little data is worth little planning."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil

from pyspark.sql import SparkSession

from siltstone.engine.inputs.listing import InputFile

SMALL_BYTES = 32 << 20
SMALL_ROWS = 200_000
LEAST_BYTES = 16 << 20
MOST_BYTES = 256 << 20
"""How many bytes of the source become one data file, at least and at most."""
LEAST_ROWS = 50_000
MOST_ROWS = 2_000_000
"""How many rows are written to one data file, at least and at most."""

# Compiling an expression pays from some hundred thousand rows on (a fold of 300,000 into empty tables took 38 s without
# and 28 s with it), planning again between stages from many partitions on. Below that they are most of a run: without
# them a batch of a few thousand changes takes two thirds of the time.
LIGHT: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",  # each would be a task, and a data file
}


def are_small(files: Iterable[InputFile]) -> bool:
    """Whether the files hold little to decode."""
    return sum(file.work_bytes for file in files) <= SMALL_BYTES


def tasks_for_files(files: Iterable[InputFile]) -> int:
    """How many tasks write the changes of files, a data file each."""
    return _tasks(sum(file.work_bytes for file in files), LEAST_BYTES, MOST_BYTES)


def tasks_for_rows(number: int) -> int:
    """How many tasks write a number of rows, a data file each."""
    return _tasks(number, LEAST_ROWS, MOST_ROWS)


def _tasks(size: int, least: int, most: int) -> int:
    """One task where there is little, as many as cores where there is more, a multiple of these where files would be
    large: with three tasks for two cores, one core waits half of the time."""
    cores = os.cpu_count() or 1
    if size > most * cores:
        return cores * ceil(size / (most * cores))
    return max(1, min(cores, size // least))


@contextmanager
def light_planning(spark: SparkSession, wanted: bool, chosen: Mapping[str, str]) -> Iterator[None]:
    """Plan lightly inside the block, if `wanted`. What the project chose itself (`chosen`) stays as it is."""
    names = [name for name in LIGHT if wanted and name not in chosen]
    kept = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, LIGHT[name])
    try:
        yield
    finally:
        for name, value in kept.items():
            spark.conf.set(name, str(value))
