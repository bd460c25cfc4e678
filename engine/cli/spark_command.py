"""Parts of every command that uses Spark: the project, its specs, a session, and a progress line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from siltstone.engine.cli.options import open_project
from siltstone.engine.cli.output import console, note

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from siltstone.engine.spec.model import ProjectSpec, TableSpec

    Progress = Callable[[str, str], None]


@contextmanager
def spark_work(
    specs: list[Path] | None, project: Path | None, wait: float | None = None
) -> "Iterator[tuple[ProjectSpec, list[TableSpec], SparkSession, Progress]]":
    """Open the project and the specs, then start Spark, which takes seconds.

    `wait`: the seconds that the command waits for another run to end; 0 refuses it at once. None: the command can run
    at the same time as others.

    Raises: LockedError: another run is active.
    """
    from siltstone.engine.spec import load_specs

    found_project = open_project(project)
    found_specs = load_specs(specs, found_project)
    refuse_busy(found_project, wait)
    with started_spark(found_project) as (spark, progress):
        yield found_project, found_specs, spark, progress


def refuse_busy(project: "ProjectSpec", wait: float | None) -> None:
    """Check before Spark starts that no other run is active, if the command does not wait for one.

    Raises: LockedError: another run is active.
    """
    if wait == 0:
        from siltstone.engine.run.exclusive_run import no_run

        with no_run(project, 0):
            pass


@contextmanager
def started_spark(project: "ProjectSpec") -> "Iterator[tuple[SparkSession, Progress]]":
    """Start a Spark session for the project, and give it with the function that reports progress."""
    with progress_line() as progress:
        progress("", "starting Spark")
        from siltstone.engine.session import spark_session

        yield spark_session(project), progress


@contextmanager
def progress_line() -> "Iterator[Progress]":
    """Report progress on standard error: one changing line at a terminal, one line per step in a log."""
    if not sys.stderr.isatty():
        yield lambda table, step: note(f"{datetime.now(UTC):%H:%M:%S} {_doing(table, step)}")
        return
    from rich.markup import escape

    with console(error=True).status("") as status:
        yield lambda table, step: status.update(escape(_doing(table, step)))


def _doing(table: str, step: str) -> str:
    return f"{table}: {step}" if table else step
