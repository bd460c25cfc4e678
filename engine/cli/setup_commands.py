"""doctor, jars and demo: check a machine, prepare a cluster, and try siltstone."""

from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, open_project
from siltstone.engine.cli.output import note, print_grid, print_json, write_line

NOT_READY_EXIT_CODE = 2


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(doctor)
    app.command()(jars)
    app.command()(demo)


def doctor(project: ProjectOption = None, json: JsonOption = False) -> None:
    """Check that this machine is ready: Java, Python, jars, catalog, warehouse, disk."""
    from siltstone.engine.doctor import examine

    findings = list(examine(open_project(project), note))
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        cells = [("ok" if finding.ok else "WRONG", finding.matter, finding.found) for finding in findings]
        print_grid(("", "matter", "found"), cells)
        for finding in findings:
            if not finding.ok:
                write_line(f"{finding.matter}: {finding.hint}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(NOT_READY_EXIT_CODE)


def jars(project: ProjectOption = None, json: JsonOption = False) -> None:
    """Print the jars that Spark needs for this project, for spark-submit --jars, and download missing ones."""
    from siltstone.engine.jars import jar_paths
    from siltstone.engine.session import needed_jars

    paths = [str(path) for path in jar_paths(needed_jars(open_project(project).catalog))]
    if json:
        print_json(paths)
    else:
        write_line(",".join(paths))


def demo(
    folder: Annotated[Path, typer.Option(help="The folder for the demo's project.")] = Path("siltstone-demo"),
) -> None:
    """Run a demo with bundled events, in a separate folder.

    Three files of recorded events arrive, one of them late. A run follows each file, and the demo prints the tables.
    """
    raise typer.Exit(import_module("siltstone.engine.demo").run(folder))
