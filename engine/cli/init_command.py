"""init: write specs from events."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.options import JsonOption
from siltstone.engine.cli.output import note, number, print_grid, print_json, shown_path, write_line
from siltstone.engine.errors import SpecError
from siltstone.engine.names import TOPICS

if TYPE_CHECKING:
    from siltstone.engine.init import SchemaPlace, WrittenSpec
    from siltstone.engine.spec.model import RegistrySpec

_REFERENCE = re.compile(r"(?:\$\{)?(env:[A-Za-z_][A-Za-z0-9_]*)\}?")
SECRETS = ("password", "token")


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(init)


def init(
    events: Annotated[
        list[str],
        typer.Argument(
            help="Files or folders with events, also as URIs (s3://...), or kafka://broker:9092/topic.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder for the specs. Default: specs/ in the project.")
    ] = None,
    schemas: Annotated[
        Path | None,
        typer.Option("--schemas", help="For debezium-avro: a JSON file with the schemas by their ids.", exists=True),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry", help="For debezium-avro: the schema registry's URL. Default: the project's registry."
        ),
    ] = None,
    registry_user: Annotated[
        str | None, typer.Option("--registry-user", help="The registry's user, as text or as env:NAME.")
    ] = None,
    registry_password: Annotated[
        str | None,
        typer.Option("--registry-password", help="The registry's password, as env:NAME: the name of a variable."),
    ] = None,
    registry_token: Annotated[
        str | None,
        typer.Option("--registry-token", help="The registry's bearer token, as env:NAME: the name of a variable."),
    ] = None,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            "--kafka-option", help="A setting of librdkafka, as NAME=VALUE, or as NAME=env:VARIABLE for a secret."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing specs.")] = False,
    json: JsonOption = False,
) -> None:
    """Write specs for the tables found in events, and a project file if there is none.

    Settings that the events do not define stay blank, with suggestions. `siltstone validate` lists these blanks.
    """
    from siltstone.engine.init import project_root, write_schemas, write_specs
    from siltstone.engine.spec.load import PROJECT_FILE, SPECS_FOLDER

    folder = output or Path(os.path.relpath(_root_here() / SPECS_FOLDER))
    root, has_project = project_root(folder)
    options = {"url": registry, "user": registry_user, "password": registry_password, "token": registry_token}
    given = {name: value for name, value in options.items() if value is not None}
    place = _schema_place(schemas, given, root if has_project else None)
    specs = _specs(events, kafka_option or (), folder, root, place)
    project_file = None if has_project else root / PROJECT_FILE
    write_specs(specs, project_file, force)
    write_schemas(root)
    if json:
        print_json(_written(specs, project_file))
    else:
        _print_written(specs, project_file, folder, root)


def _written(specs: "Sequence[WrittenSpec]", project_file: Path | None) -> dict[str, object]:
    """The written files as values for JSON."""
    listed = [
        {
            "file": str(s.file),
            "table": s.table,
            "format": s.format,
            "keys": s.keys,
            "decide": s.open_questions,
            "unsure": s.unsure_columns,
        }
        for s in specs
    ]
    return {"project": None if project_file is None else str(project_file), "specs": listed}


def _print_written(specs: "Sequence[WrittenSpec]", project_file: Path | None, folder: Path, root: Path) -> None:
    """Print the written files, and the next step."""
    cells = ((str(s.file), s.table, s.format, _keys(s), number(s.columns), ", ".join(s.open_questions)) for s in specs)
    print_grid(("spec", "table", "format", "keys", "columns", "to decide"), cells)
    if project_file is not None:
        note(f"{shown_path(str(project_file))} was written, too")
    for spec in specs:
        if spec.unsure_columns:
            note(f"{spec.file}: columns with a question about their type: {', '.join(spec.unsure_columns)}")
    undecided = [spec for spec in specs if spec.open_questions]
    if undecided:
        command = _command("validate", folder, root)
        write_line(f"{len(undecided)} of {len(specs)} specs need a decision: `{command}` lists them.")
    else:
        write_line(f"The specs run as they are: `{_command('catch-up', folder, root)}`.")


def _specs(
    events: Sequence[str], options: Sequence[str], folder: Path, root: Path, place: "SchemaPlace | None"
) -> "list[WrittenSpec]":
    """The specs of the tables in files, or in the topics of one Kafka address."""
    from siltstone.engine.init import event_place, find_in_topics, find_tables, topics_at, written_specs
    from siltstone.engine.spec.load import load_project

    addresses = [event for event in events if event.startswith(TOPICS)]
    if not addresses:
        if options:
            raise typer.BadParameter("--kafka-option needs kafka://broker:9092/topic")
        store = load_project(start=root).store
        places = [event_place(each, store) for each in events]
        return written_specs(find_tables(places, note, place), folder, root, places, place)
    if len(events) > 1:
        raise typer.BadParameter("give files and folders, or one kafka://broker:9092/topic,topic")
    found = find_in_topics(topics_at(addresses[0], _kafka_options(options, root)), note, place)
    return written_specs(found.tables, folder, root, (), place, found.place)


def _kafka_options(options: Sequence[str], root: Path) -> list[tuple[str, str]]:
    """The settings of the options, as in a spec. Secrets must come from the environment."""
    from siltstone.engine.spec.interpolation import Interpolation

    values: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        reference = _REFERENCE.fullmatch(value)
        if not name or not equals:
            raise typer.BadParameter(f"--kafka-option {option!r}: write it like security.protocol=SASL_SSL")
        if reference is None and any(word in name for word in (*SECRETS, "secret")):
            raise typer.BadParameter(
                f"--kafka-option {name}: other users can see a command line; write {name}=env:NAME"
            )
        values[name] = value if reference is None else f"${{{reference[1]}}}"
    filling = Interpolation(root, os.environ)
    filled = {name: filling.fill(value, (name,)) for name, value in values.items()}
    if filling.problems:
        raise typer.BadParameter("; ".join(f"{message}: {hint}" for _, message, hint in filling.problems))
    return [(name, value) for name, value in filled.items() if isinstance(value, str)]


def _command(name: str, folder: Path, root: Path) -> str:
    """The command for the specs of a folder, as the user types it in the working directory."""
    from siltstone.engine.spec.load import SPECS_FOLDER

    words = ["siltstone", name]
    if folder.resolve() != root.resolve() / SPECS_FOLDER:
        words.append(str(folder))
    if _root_here().resolve() != root.resolve():
        words += ["--project", os.path.relpath(root)]
    return shlex.join(words)


def _root_here() -> Path:
    """The folder of the project that contains the working directory, else the working directory."""
    from siltstone.engine.spec.load import project_file

    file = project_file(None, Path.cwd())
    return Path.cwd() if file is None else file.parent


def _schema_place(schemas: Path | None, registry: Mapping[str, str], root: Path | None) -> "SchemaPlace | None":
    """Where the schemas of messages are: from the options, else from the project in `root`."""
    from siltstone.engine.init import SchemaPlace
    from siltstone.engine.spec import load_project

    if schemas is not None and registry:
        raise typer.BadParameter("--schemas and --registry exclude each other")
    if schemas is not None:
        return SchemaPlace(schemas)
    if registry:
        return SchemaPlace(registry=_registry(registry, root or Path.cwd()))
    known = None if root is None else load_project(root).registry
    return None if known is None else SchemaPlace(registry=known, of_project=True)


def _registry(options: Mapping[str, str], root: Path) -> "RegistrySpec":
    """The registry of the options, as in a spec. Secrets must come from the environment."""
    from siltstone.engine.spec import registry_spec

    if "url" not in options:
        raise typer.BadParameter("--registry-user, --registry-password and --registry-token need --registry")
    values: dict[str, object] = {}
    for name, value in options.items():
        reference = _REFERENCE.fullmatch(value)
        if name in SECRETS and reference is None:
            raise typer.BadParameter(f"--registry-{name}: other users can see a command line; write env:NAME")
        values[name] = f"${{{reference[1]}}}" if reference else value
    try:
        return registry_spec(values, root)
    except SpecError as error:
        reasons = "; ".join(" ".join(filter(None, (each.message, each.hint))) for each in error.violations)
        raise typer.BadParameter(f"--registry: {reasons}") from error


def _keys(spec: "WrittenSpec") -> str:
    return ", ".join(spec.keys) or ("?" if "keys" in spec.open_questions else "none")
