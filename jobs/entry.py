"""The common part of all jobs: arguments, the cluster's session, a report on standard output, and an exit code."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from siltstone.engine.errors import SiltstoneError
from siltstone.engine.report import MaintenanceReport, RunReport
from siltstone.engine.session import spark_session
from siltstone.engine.spec import load_project, load_specs, with_tables
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.storage import storage_error

Work = Callable[[ProjectSpec, Sequence[TableSpec], SparkSession, argparse.Namespace], RunReport | MaintenanceReport]


def job_parser(name: str, does: str) -> argparse.ArgumentParser:
    """A parser with the arguments of every job. `run_job` reads `specs`, `project` and `wait`."""
    parser = argparse.ArgumentParser(prog=name, description=does)
    parser.add_argument("specs", nargs="*", type=Path, help="table specs; default: all in specs/")
    parser.add_argument("--project", type=Path, help="the project file or its folder")
    parser.add_argument("--wait", type=_seconds, default=0.0, help="seconds to wait for another run to end")
    return parser


def _seconds(text: str) -> float:
    """A time to wait. With a negative time, the lock would wait forever."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; write seconds, 0 or more")
    return seconds


def run_job(parsed: argparse.Namespace, work: Work) -> int:
    """Do the work in the cluster's session, print its report, and give the exit code."""
    try:
        project = load_project(parsed.project)
        specs = load_specs(parsed.specs or None, project)
        report = work(with_tables(project, specs), specs, spark_session(project), parsed)
    except Exception as error:
        known = error if isinstance(error, SiltstoneError) else storage_error(error)
        if known is None:
            raise
        sys.stderr.write(f"{known}\n")
        return known.exit_code
    sys.stdout.write(json.dumps(report.to_dict(), default=str) + "\n")
    return report.exit_code
