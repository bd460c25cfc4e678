"""`siltstone demo`: three files of recorded events arrive, one run after each, and the tables tell the story."""

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
    """A file that arrives, and what to know about it."""

    file: str
    words: str


ARRIVALS = (
    Arrival(
        "inventory-1.jsonl.gz",
        "The first file: a snapshot of a PostgreSQL table, and the changes streamed after it, beside another table's.",
    ),
    Arrival(
        "inventory-2.jsonl.gz",
        "The second file. A stretch of the stream was held up on its way, and snapshot READs overtook it.",
    ),
    Arrival(
        "inventory-3.jsonl.gz",
        "The third file: 60 lines once more, as after a connector's restart, then the stretch held up, and the rest.",
    ),
)


def run(folder: Path) -> int:
    """The whole story in a folder of its own. Gives the exit code of a failed table, else of the last run.

    Failed checks of the runs before the last are part of the story.
    Raises: SpecError: the folder holds something that no demo made, or this machine is not ready.
    """
    from siltstone.engine.cli.spark_command import progress_line
    from siltstone.engine.demo import story
    from siltstone.engine.demo.folder import make_folder
    from siltstone.engine.session import spark_session
    from siltstone.engine.spec import load_project
    from siltstone.quality.data_docs import docs_folder
    from siltstone.quality.gx_library import import_early
    from siltstone.quality.report.write_report import report_after

    root, again = make_folder(folder)
    story.say(f"An earlier demo in {root} was removed; this one starts afresh." if again else f"Made {root}.")
    project = load_project(root)
    with progress_line() as progress:
        progress("", "starting Spark")
        import_early()
        spark = spark_session(project)
    reports = []
    for number, arrival in enumerate(ARRIVALS, 1):
        story.title(f"{number} of {len(ARRIVALS)}: {arrival.file}")
        story.say(arrival.words)
        # Of the first file the checks of the next one speak, too: here they would only take time.
        reports.append(catch_up(project, spark, arrival, checked=number > 1))
        story.print_run(reports[-1])
        if failed := [table.exit_code for table in reports[-1].tables if table.status == FAILED]:
            return failed[0]
        if number > 1:
            story.print_timeline(project)
    story.title(f"The table as of {story.MOMENT:%Y-%m-%d %H:%M:%S}")
    story.print_moment(project)
    story.title("The checks of the last run")
    story.print_run_checks(reports[-1])
    story.title("Where everything is")
    story.print_next_steps(root, report_after(project, checked=True), docs_folder(root) / "index.html")
    return reports[-1].exit_code


def catch_up(project: "ProjectSpec", spark: "SparkSession", arrival: Arrival, checked: bool) -> "RunReport":
    """Let a file arrive, and do what `siltstone catch-up` does."""
    from siltstone.engine.cli.spark_command import progress_line
    from siltstone.engine.demo.folder import deliver
    from siltstone.engine.run import catch_up as run_catch_up
    from siltstone.engine.spec import load_specs
    from siltstone.quality.validate import checks_of_run

    deliver(project.root, arrival.file)
    with progress_line() as progress:
        checks = checks_of_run if checked else None
        return run_catch_up(project, load_specs(None, project), spark, progress, checks=checks)
