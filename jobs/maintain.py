"""Maintain tables on a cluster: `spark-submit jobs/maintain.py [SPEC...] [--dry-run] [--retain 3d]`.

The cluster provides the session with its master, memory and jars. The job prints its report as JSON to standard output.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import SparkSession

from siltstone.engine.report import MaintenanceReport
from siltstone.engine.run import maintain
from siltstone.engine.spec.durations import parse_duration
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.jobs.entry import job_parser, run_job


def main(arguments: Sequence[str] | None = None) -> int:
    """Run maintenance, print the report, and give the exit code."""
    parser = job_parser("maintain.py", "Compact tables, expire snapshots, remove orphan files.")
    parser.add_argument("--dry-run", action="store_true", help="report what would be done and change nothing")
    parser.add_argument("--retain", type=_duration, help="how long to keep snapshots, instead of the project's setting")
    return run_job(parser.parse_args(arguments), work)


def work(
    project: ProjectSpec, specs: Sequence[TableSpec], spark: SparkSession, parsed: argparse.Namespace
) -> MaintenanceReport:
    """Call `maintain` with the job's arguments."""
    return maintain(project, specs, spark, dry_run=parsed.dry_run, retain=parsed.retain, wait=parsed.wait)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} {error}; write it like 3d") from error


if __name__ == "__main__":
    sys.exit(main())
