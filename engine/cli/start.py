"""init: from events to specs that run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.options import JsonOption
from engine.cli.output import console, grid, note, number, print_json, write_line

if TYPE_CHECKING:
    from engine.recognise import WrittenSpec


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(init)


def init(
    events: Annotated[list[Path], typer.Argument(help="Files or folders with events.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the specs.")] = Path("specs"),
    schemas: Annotated[
        Path | None,
        typer.Option("--schemas", help="debezium-avro: a JSON file of schemas by their numbers.", exists=True),
    ] = None,
    registry: Annotated[
        str | None, typer.Option("--registry", help="debezium-avro: the schema registry's address.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite specs that are there.")] = False,
    json: JsonOption = False,
) -> None:
    """Look into events and write specs for their tables, and a project file where there is none."""
    from engine.recognise import SchemaPlace, find_tables, project_root, write_specs, written_specs
    from engine.spec.load import PROJECT_FILE

    root, has_project = project_root(output)
    place = None if schemas is None and registry is None else SchemaPlace(schemas, _address(registry, schemas))
    specs = written_specs(find_tables(events, note, place), output, root, events, place)
    project_file = None if has_project else root / PROJECT_FILE
    write_specs(specs, project_file, force)
    if json:
        told = [
            {"file": str(s.file), "table": s.table, "format": s.format, "keys": s.keys, "decide": s.open_questions}
            for s in specs
        ]
        print_json({"project": None if project_file is None else str(project_file), "specs": told})
        return
    cells = ((str(s.file), s.table, s.format, _keys(s), number(s.columns), ", ".join(s.open_questions)) for s in specs)
    console().print(grid(("spec", "table", "format", "keys", "columns", "to decide"), cells))
    if project_file is not None:
        note(f"{project_file} was written, too")
    asked = [spec for spec in specs if spec.open_questions]
    if asked:
        write_line(f"{len(asked)} of {len(specs)} specs need a decision: `siltstone validate` says which.")
    else:
        write_line("The specs run as they are: `siltstone catch-up`.")


def _address(registry: str | None, schemas: Path | None) -> str | None:
    """The registry's address, where it is one that a spec may have."""
    from engine.spec.fields import http_url

    if registry is None:
        return None
    if schemas is not None:
        raise typer.BadParameter("--schemas and --registry: name one of them")
    try:
        return http_url(registry)
    except ValueError as error:
        raise typer.BadParameter(f"--registry {error}") from error


def _keys(spec: "WrittenSpec") -> str:
    return ", ".join(spec.keys) or ("?" if "keys" in spec.open_questions else "the events say")
