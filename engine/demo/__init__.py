"""`siltstone demo`: three files of recorded events arrive, and a run follows each. The demo prints the tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from siltstone.engine.report import FAILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from siltstone.engine.report import RunReport
    from siltstone.engine.spec.model import ProjectSpec

__all__ = ["run"]


@dataclass(frozen=True)
class Arrival:
    """A file that arrives, and its description."""

    file: str
    words: str


ARRIVALS = (
    Arrival(
        "inventory-1.jsonl.gz",
        "The first file: a snapshot of a PostgreSQL table, the changes streamed after it, and those of another table.",
    ),
    Arrival(
        "inventory-2.jsonl.gz",
        "The second file: a part of the stream is missing because it is late. Snapshot READs arrive before it.",
    ),
    Arrival(
        "inventory-3.jsonl.gz",
        "The third file: 60 lines a second time, as after a connector's restart, then the late part, and the rest.",
    ),
)


def run(folder: Path) -> int:
    """Run the demo in a separate folder. Gives the exit code of a failed table, else of the last run.

    Checks of the earlier runs fail on purpose, because the late part is missing then.
    Raises: SpecError: the folder contains files that no demo made, or this machine is not ready.
    """
    from siltstone.engine.cli.spark_command import progress_line
    from siltstone.engine.demo import story
    from siltstone.engine.demo.folder import make_folder
    from siltstone.engine.session import spark_session
    from siltstone.engine.spec import load_project
    from siltstone.quality.gx_library import import_early
    from siltstone.quality.report.write_report import report_after

    root, replaced = make_folder(folder)
    story.print_text(f"Removed an earlier demo in {root}." if replaced else f"Created {root}.")
    project = load_project(root)
    with progress_line() as progress:
        progress("", "starting Spark")
        import_early()
        spark = spark_session(project)
    reports = []
    for number, arrival in enumerate(ARRIVALS, 1):
        story.print_title(f"{number} of {len(ARRIVALS)}: {arrival.file}")
        story.print_text(arrival.words)
        # The checks after the second file cover the first one, too. Here they would only take time.
        reports.append(catch_up(project, spark, arrival, checked=number > 1))
        story.print_run(reports[-1])
        if failed := [table.exit_code for table in reports[-1].tables if table.status == FAILED]:
            return failed[0]
        if number > 1:
            story.print_timeline(project)
    story.print_title(f"The table as of {story.MOMENT:%Y-%m-%d %H:%M:%S}")
    story.print_moment(project)
    story.print_title("The checks of the last run")
    story.print_run_checks(reports[-1])
    story.print_title("Where everything is")
    story.print_next_steps(root, report_after(project, checked=True))
    return reports[-1].exit_code


def catch_up(project: "ProjectSpec", spark: "SparkSession", arrival: Arrival, checked: bool) -> "RunReport":
    """Deliver a file, and do what `siltstone catch-up` does."""
    from siltstone.engine.cli.spark_command import progress_line
    from siltstone.engine.demo.folder import deliver
    from siltstone.engine.run import catch_up as run_catch_up
    from siltstone.engine.spec import load_specs
    from siltstone.quality.validate import checks_of_run

    deliver(project.root, arrival.file)
    with progress_line() as progress:
        checks = checks_of_run if checked else None
        return run_catch_up(project, load_specs(None, project), spark, progress, checks=checks)
