"""The nightly job: `spark-submit jobs/catch_up.py [SPEC...] [--project FILE] [--until TIME] [--wait SECONDS]`.

The session, its master, memory and jars are the cluster's; the report goes to standard output as JSON.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import SiltstoneError
from engine.run import catch_up
from engine.session import spark_session
from engine.spec import load_project, load_specs
from quality.report.write import report_after
from quality.validate import checks_of_run


def main(arguments: Sequence[str] | None = None) -> int:
    """Catch up, check, print the report, and give the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        project = load_project(parsed.project)
        specs = load_specs(parsed.specs or None, project)
        spark = spark_session(project)
        report = catch_up(project, specs, spark, until=parsed.until, wait=parsed.wait, checks=checks_of_run)
    except SiltstoneError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(report.to_dict(), default=str) + "\n")
    report_after(project, any(table.checks for table in report.tables))
    return report.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="catch_up.py", description="Take all that is new into the tables.")
    parser.add_argument("specs", nargs="*", type=Path, help="table specs; all of specs/ when none is named")
    parser.add_argument("--project", type=Path, help="the project file or its folder")
    parser.add_argument("--until", type=_moment, help="leave files modified after this time (UTC) for another run")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for another run to end")
    return parser


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


if __name__ == "__main__":
    sys.exit(main())
