"""Folding whole tables again on a cluster: `spark-submit jobs/rebuild.py [SPEC...] [--project FILE] [--wait SECONDS]`.

The session, its master, memory and jars are the cluster's; the report goes to standard output as JSON.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.errors import SiltstoneError
from engine.run import rebuild
from engine.session import spark_session
from engine.spec import load_project, load_specs


def main(arguments: Sequence[str] | None = None) -> int:
    """Rebuild, print the report, and give the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        project = load_project(parsed.project)
        specs = load_specs(parsed.specs or None, project)
        report = rebuild(project, specs, spark_session(project), wait=parsed.wait)
    except SiltstoneError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(report.to_dict(), default=str) + "\n")
    return report.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rebuild.py", description="Fold tables again from their changes.")
    parser.add_argument("specs", nargs="*", type=Path, help="table specs; all of specs/ when none is named")
    parser.add_argument("--project", type=Path, help="the project file or its folder")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for another run to end")
    return parser


if __name__ == "__main__":
    sys.exit(main())
