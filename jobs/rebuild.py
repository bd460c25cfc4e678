"""Folding whole tables again on a cluster: `spark-submit jobs/rebuild.py [SPEC...] [--reread] [--wait SECONDS]`.

The session, its master, memory and jars are the cluster's; the report goes to standard output as JSON.
"""

import argparse
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

from engine.report import RunReport
from engine.run import rebuild, reread
from engine.spec.model import ProjectSpec, TableSpec
from jobs.entry import job_parser, run_job


def main(arguments: Sequence[str] | None = None) -> int:
    """Rebuild, print the report, and give the exit code."""
    parser = job_parser("rebuild.py", "Fold tables again from their changes.")
    parser.add_argument("--reread", action="store_true", help="read the inputs again first")
    return run_job(parser.parse_args(arguments), work)


def work(
    project: ProjectSpec, specs: Sequence[TableSpec], spark: SparkSession, parsed: argparse.Namespace
) -> RunReport:
    """What the job does."""
    return (reread if parsed.reread else rebuild)(project, specs, spark, wait=parsed.wait)


if __name__ == "__main__":
    sys.exit(main())
