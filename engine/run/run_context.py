"""The start and end of a run. Only one runs at a time, and the next run records a run that died."""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.report import INTERRUPTED, INTERRUPTION
from siltstone.engine.run.exclusive_run import one_run
from siltstone.engine.run_lock import Note, new_note, note_file, read_note, write_note
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.ledger import append_rows, read_ledger


@dataclass(frozen=True)
class StartedRun:
    """A run that has started. `began`: its start by the monotonic clock, in seconds."""

    run_id: str
    started_at: datetime
    began: float

    @classmethod
    def now(cls) -> Self:
        """A run that starts now."""
        return cls(uuid.uuid4().hex[:16], datetime.now(UTC), time.monotonic())


@contextmanager
def start_run(
    spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec], wait_seconds: float
) -> Iterator[StartedRun]:
    """Hold the lock and keep a note of the run during the block, which ends with the run's rows in the ledger.

    An earlier run that left its note is recorded in the ledger first.

    Raises: LockedError: another run still holds the lock after `wait_seconds`.
    """
    with one_run(project, wait_seconds):
        record_interrupted_run(spark, project)
        started_run = StartedRun.now()
        write_note(project, new_note(started_run.run_id, started_run.started_at, tuple(spec.table for spec in specs)))
        yield started_run
        note_file(project).unlink(missing_ok=True)


def record_interrupted_run(spark: SparkSession, project: ProjectSpec) -> None:
    """Record a run that died and left its note in the ledger. Needs: the lock."""
    if left := read_note(project):
        add_interrupted_rows(spark, project, left)
        note_file(project).unlink(missing_ok=True)


def add_interrupted_rows(spark: SparkSession, project: ProjectSpec, left: Note) -> None:
    """Append the rows of a run that died to the ledger, unless it died after it had appended them.

    Its duration and its committed batches are not known.
    """
    runs = read_ledger(spark, project, names.RUNS)
    if runs is not None and not runs.where(F.col("run_id") == left.run_id).isEmpty():
        return
    common = {"run_id": left.run_id, "started_at": left.at, "status": INTERRUPTED, "error": INTERRUPTION}
    append_rows(spark, project, names.RUNS, [common | {"table": table} for table in left.tables])
