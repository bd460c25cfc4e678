"""What every command on Spark needs: the project, its specs, a session, and a line that tells what is being done."""

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
    """Everything a command on Spark needs; specs are read first, because Spark takes seconds to start.

    `wait`: of a run that other runs exclude, the seconds that it waits for them; without any it is refused at once.

    Raises: LockedError: another run is at work.
    """
    from siltstone.engine.spec import load_specs

    found_project = open_project(project)
    found_specs = load_specs(specs, found_project)
    refuse_busy(found_project, wait)
    with started_spark(found_project) as (spark, progress):
        yield found_project, found_specs, spark, progress


def refuse_busy(project: "ProjectSpec", wait: float | None) -> None:
    """See, before Spark starts, that no other run is at work, where a command does not wait for it.

    Raises: LockedError: one is.
    """
    if wait == 0:
        from siltstone.engine.run.exclusive_run import no_run

        with no_run(project, 0):
            pass


@contextmanager
def started_spark(project: "ProjectSpec") -> "Iterator[tuple[SparkSession, Progress]]":
    """A session of the project, for a command that has read what it needs to know before."""
    with progress_line() as progress:
        progress("", "starting Spark")
        from siltstone.engine.session import spark_session

        yield spark_session(project), progress


@contextmanager
def progress_line() -> "Iterator[Progress]":
    """What is being done, on standard error: one changing line at a terminal, a line a step in a log."""
    if not sys.stderr.isatty():
        yield lambda table, step: note(f"{datetime.now(UTC):%H:%M:%S} {_doing(table, step)}")
        return
    from rich.markup import escape

    with console(error=True).status("") as status:
        yield lambda table, step: status.update(escape(_doing(table, step)))


def _doing(table: str, step: str) -> str:
    return f"{table}: {step}" if table else step
