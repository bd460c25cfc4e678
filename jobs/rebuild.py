"""Rebuild whole tables from their changes on a cluster: `spark-submit jobs/rebuild.py [SPEC...] [OPTIONS]`.

--reread re-reads the inputs first. --accept-changes accepts the changes tables as another program left them. --wait
SECONDS waits for another run to end.

The cluster provides the session with its master, memory and jars. The job prints its report as JSON to standard output.
"""

import argparse
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.jobs.entry import job_parser, run_job
from siltstone.quality.runs import rebuild, reread


def main(arguments: Sequence[str] | None = None) -> int:
    """Rebuild, run the checks, print the report, and give the exit code."""
    parser = job_parser("rebuild.py", "Rebuild tables from their changes.")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--reread", action="store_true", help="re-read the inputs first")
    either.add_argument(
        "--accept-changes", action="store_true", help="accept the changes tables as another program left them"
    )
    return run_job(parser.parse_args(arguments), work)


def work(
    project: ProjectSpec, specs: Sequence[TableSpec], spark: SparkSession, parsed: argparse.Namespace
) -> RunReport:
    """Call `rebuild`, or `reread` with --reread."""
    if parsed.reread:
        return reread(project, specs, spark, wait=parsed.wait)
    return rebuild(project, specs, spark, wait=parsed.wait, accept=parsed.accept_changes)


if __name__ == "__main__":
    sys.exit(main())
