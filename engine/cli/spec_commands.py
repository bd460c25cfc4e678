"""validate and schema: the spec language, without data and without a JVM."""

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, SpecArguments, open_project
from siltstone.engine.cli.output import console, grid, note, print_json, write_line
from siltstone.engine.errors import SpecError


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(validate)
    app.command()(schema)


def validate(specs: SpecArguments = None, project: ProjectOption = None, json: JsonOption = False) -> None:
    """Check specs without reading data."""
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
    cells = [(str(s.file), s.table, s.source.format, s.target.latest, s.target.history) for s in found]
    console().print(grid(("spec", "table", "format", "latest", "history"), cells))
    for table, warning in warnings.items():
        if warning is not None:
            note(f"{table}: {warning}")
    write_line("1 spec is valid" if len(found) == 1 else f"{len(found)} specs are valid")


def schema() -> None:
    """Print the JSON Schema of the spec language, for editors."""
    from siltstone.engine.spec import spec_json_schema

    print_json(spec_json_schema())
