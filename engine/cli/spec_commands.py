"""validate and schema: the spec language, without data and without a JVM."""

from enum import StrEnum
from typing import Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, SpecArguments, open_project
from siltstone.engine.cli.output import note, print_grid, print_json, shown_path, write_line
from siltstone.engine.counts import counted
from siltstone.engine.errors import SpecError


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(validate)
    app.command()(schema)


def validate(specs: SpecArguments = None, project: ProjectOption = None, json: JsonOption = False) -> None:
    """Check specs without reading data, and list all violations."""
    from siltstone.engine.spec import load_specs
    from siltstone.engine.spec.rows_format import time_warning

    try:
        found = load_specs(specs, open_project(project))
    except SpecError as error:
        if not json:
            raise
        listed = [
            {"path": v.path, "message": v.message, "hint": v.hint, "file": v.file, "line": v.line, "column": v.column}
            for v in error.violations
        ]
        print_json({"valid": False, "message": error.message, "violations": listed})
        raise typer.Exit(error.exit_code) from error
    warnings = {spec.table: time_warning(spec) for spec in found}
    if json:
        listed = [{"file": spec.file, "table": spec.table, "warning": warnings[spec.table]} for spec in found]
        print_json({"valid": True, "specs": listed})
        return
    cells = [(shown_path(str(s.file)), s.table, s.source.format, s.target.latest, s.target.history) for s in found]
    print_grid(("spec", "table", "format", "latest", "history"), cells)
    for table, warning in warnings.items():
        if warning is not None:
            note(f"{table}: {warning}")
    write_line(f"{counted(len(found), 'spec')} {'is' if len(found) == 1 else 'are'} valid")


class SchemaOf(StrEnum):
    """The files that have a schema."""

    spec = "spec"
    project = "project"


def schema(
    of: Annotated[SchemaOf, typer.Argument(help="The file to print the schema of.")] = SchemaOf.spec,
) -> None:
    """Print the JSON Schema of table specs or of the project file, for editors."""
    from siltstone.engine.spec import project_json_schema, spec_json_schema

    print_json(spec_json_schema() if of is SchemaOf.spec else project_json_schema())
