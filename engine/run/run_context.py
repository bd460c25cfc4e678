"""A run that is at work: one at a time, and never without a trace, for the next one writes down one that died."""

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
    """A run since its beginning. `began`: when that was, by the monotonic clock, in seconds."""

    run_id: str
    started_at: datetime
    began: float

    @classmethod
    def now(cls) -> Self:
        """One that begins at this moment."""
        return cls(uuid.uuid4().hex[:16], datetime.now(UTC), time.monotonic())


@contextmanager
def start_run(
    spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec], wait_seconds: float
) -> Iterator[StartedRun]:
    """Hold the lock, and keep a note of the run until its block, which ends with its rows in the ledger, is through.

    A run before it that left its note is written into the ledger first.

    Raises: LockedError: another run is at work, and still is after `wait_seconds`.
    """
    with one_run(project, wait_seconds):
        settle_note(spark, project)
        started_run = StartedRun.now()
        write_note(project, new_note(started_run.run_id, started_run.started_at, tuple(spec.table for spec in specs)))
        yield started_run
        note_file(project).unlink(missing_ok=True)


def settle_note(spark: SparkSession, project: ProjectSpec) -> None:
    """Write a run that died and left its note into the ledger. Needs: the lock."""
    if left := read_note(project):
        write_down(spark, project, left)
        note_file(project).unlink(missing_ok=True)


def write_down(spark: SparkSession, project: ProjectSpec, left: Note) -> None:
    """Give a run that died its rows in the ledger, if it did not die behind them. How long it took, and what of it is
    real, nobody wrote down."""
    runs = read_ledger(spark, project, names.RUNS)
    if runs is not None and not runs.where(F.col("run_id") == left.run_id).isEmpty():
        return
    told = {"run_id": left.run_id, "started_at": left.at, "status": INTERRUPTED, "error": INTERRUPTION}
    append_rows(spark, project, names.RUNS, [told | {"table": table} for table in left.tables])
