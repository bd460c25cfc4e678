"""Folding whole tables again on a cluster: `spark-submit jobs/rebuild.py [SPEC...] [OPTIONS]`.

--reread reads the inputs again first; --accept-changes takes what another program made of the changes for what
happened; --wait SECONDS waits for another run to end.

The session, its master, memory and jars are the cluster's; the report goes to standard output as JSON.
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
    """Rebuild, check, print the report, and give the exit code."""
    parser = job_parser("rebuild.py", "Fold tables again from their changes.")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--reread", action="store_true", help="read the inputs again first")
    either.add_argument(
        "--accept-changes", action="store_true", help="take what another program made of the changes for what happened"
    )
    return run_job(parser.parse_args(arguments), work)


def work(
    project: ProjectSpec, specs: Sequence[TableSpec], spark: SparkSession, parsed: argparse.Namespace
) -> RunReport:
    """What the job does."""
    if parsed.reread:
        return reread(project, specs, spark, wait=parsed.wait)
    return rebuild(project, specs, spark, wait=parsed.wait, accept=parsed.accept_changes)


if __name__ == "__main__":
    sys.exit(main())
