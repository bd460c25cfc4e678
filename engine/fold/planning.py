"""Adapt Spark's planning and the number of tasks to the amount of data."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil

from pyspark.sql import SparkSession

from siltstone.engine import machine
from siltstone.engine.inputs.listing import InputFile

SMALL_BYTES = 32 << 20
SMALL_ROWS = 200_000
LEAST_BYTES = 16 << 20
MOST_BYTES = 256 << 20
"""The least and the most bytes of the source per data file."""
LEAST_ROWS = 50_000
MOST_ROWS = 2_000_000
"""The least and the most rows per data file."""

# Code generation pays off from some hundred thousand rows on (a fold of 300,000 into empty tables took 38 s without
# it and 28 s with it). Adaptive execution pays off from many partitions on. For less data they take most of a run:
# without them a batch of a few thousand changes takes two thirds of the time.
LIGHT: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",  # each partition would be a task, and a data file
}


def are_small(files: Iterable[InputFile]) -> bool:
    """Whether the files are small enough for light planning."""
    return sum(file.work_bytes for file in files) <= SMALL_BYTES


def tasks_for_files(files: Iterable[InputFile]) -> int:
    """The number of tasks that write the changes of files, one data file each."""
    return _tasks(sum(file.work_bytes for file in files), LEAST_BYTES, MOST_BYTES)


def tasks_for_rows(number: int) -> int:
    """The number of tasks that write a number of rows, one data file each."""
    return _tasks(number, LEAST_ROWS, MOST_ROWS)


def _tasks(size: int, least: int, most: int) -> int:
    """One task for little data, up to one per core for more data, and a multiple of the cores if files would be large.

    With three tasks for two cores, one core would be idle half of the time.
    """
    cores = machine.cores()
    if size > most * cores:
        return cores * ceil(size / (most * cores))
    return max(1, min(cores, size // least))


@contextmanager
def light_planning(spark: SparkSession, wanted: bool, chosen: Mapping[str, str]) -> Iterator[None]:
    """Apply the LIGHT settings inside the block, if `wanted`. Settings of the project (`chosen`) stay as they are."""
    names = [name for name in LIGHT if wanted and name not in chosen]
    kept = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, LIGHT[name])
    try:
        yield
    finally:
        for name, value in kept.items():
            spark.conf.set(name, str(value))
