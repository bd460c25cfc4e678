"""Options that several commands share, and the parsers of their texts."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.storage import lacks_slash, with_slashes
from siltstone.engine.timestamps import moment_in

if TYPE_CHECKING:
    from siltstone.engine.spec.model import ProjectSpec

_IS_NULL = re.compile(r"(.*\S)\s+is\s+null\s*", re.IGNORECASE)

ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        help="The project file or its folder. Default: siltstone.yaml in the working directory or a folder above it.",
    ),
]
SpecArguments = Annotated[
    list[Path] | None,
    typer.Argument(help="Specs, or folders of specs. Default: specs/ in the project.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
UntilOption = Annotated[
    str | None,
    typer.Option(help="Leave out files modified, records, and commits to a source table, after this time (UTC)."),
]
WaitOption = Annotated[
    float,
    typer.Option(min=0, help="Seconds to wait for another run to end, before the command ends with exit code 75."),
]
TableArgument = Annotated[
    str, typer.Argument(help="The name of the latest table, of the table at its source, or of a spec.")
]


class ShowFormat(StrEnum):
    """The output formats of show."""

    table = "table"
    json = "json"
    csv = "csv"


class ExportFormat(StrEnum):
    """The output formats of export."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


def open_project(path: Path | None) -> "ProjectSpec":
    """The given project, or the one that contains the working directory."""
    from siltstone.engine.spec import load_project

    return load_project(path)


def parse_address(text: str | None) -> str | None:
    """A path or a URI, unchanged."""
    if text and lacks_slash(text):
        raise typer.BadParameter(f"{text!r} is neither a path nor a URI; write {with_slashes(text)}")
    return text


def parse_time(text: str) -> datetime:
    """A time in ISO 8601, in UTC if it has no zone; `now` is the current time."""
    try:
        return moment_in(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def parse_span(text: str) -> timedelta:
    """A duration such as 3d or 12h."""
    from siltstone.engine.spec.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} {error}; write it like 3d") from error


def parse_keys(pairs: Iterable[str]) -> dict[str, str | None]:
    """`id=42` and `id IS NULL` options as a mapping from column to text, or to None for a null."""
    keys: dict[str, str | None] = {}
    for pair in pairs:
        column, equals, text = pair.partition("=")
        is_null = None if equals else _IS_NULL.fullmatch(pair)
        column, value = (is_null[1], None) if is_null else (column, text)
        if not column or not (equals or is_null):
            raise typer.BadParameter(f"{pair!r} is not a key; write --key column=value, or --key 'column IS NULL'")
        if column in keys:
            raise typer.BadParameter(f"the key column {column!r} is given twice")
        keys[column] = value
    return keys


def parse_ranges(pairs: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
    """`id=10..20` options as a mapping from column to both ends. A missing end is open."""
    ranges: dict[str, tuple[str | None, str | None]] = {}
    for pair in pairs:
        column, equals, span = pair.partition("=")
        low, dots, high = span.partition("..")
        if not column or not equals or not dots or not (low or high):
            raise typer.BadParameter(f"{pair!r} is not a range; write --range column=from..to")
        ranges[column] = (low or None, high or None)
    return ranges
