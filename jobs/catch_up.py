"""The main job: `spark-submit jobs/catch_up.py [SPEC...] [--project FILE] [--until TIME] [--wait SECONDS]`.

The cluster provides the session with its master, memory and jars. The job prints its report as JSON to standard output.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.timestamps import moment_in
from siltstone.jobs.entry import job_parser, run_job
from siltstone.quality.runs import catch_up


def main(arguments: Sequence[str] | None = None) -> int:
    """Catch up, run the checks, print the report, and give the exit code."""
    parser = job_parser("catch_up.py", "Load all new changes into the tables.")
    parser.add_argument(
        "--until",
        type=_moment,
        help="leave files modified (of a table: committed) after this time (UTC) for another run",
    )
    return run_job(parser.parse_args(arguments), work)


def work(
    project: ProjectSpec, specs: Sequence[TableSpec], spark: SparkSession, parsed: argparse.Namespace
) -> RunReport:
    """Call `catch_up` with the job's arguments."""
    return catch_up(project, specs, spark, until=parsed.until, wait=parsed.wait)


def _moment(text: str) -> datetime:
    try:
        return moment_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
