"""Options that several commands share, and how their text is read."""

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
    typer.Option("--project", help="The project file or its folder; else siltstone.yaml is looked for upward."),
]
SpecArguments = Annotated[
    list[Path] | None, typer.Argument(help="Table specs; all of specs/ when none is named.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result for a program.")]
WaitOption = Annotated[float, typer.Option(min=0, help="Seconds to wait for another run to end.")]
TableArgument = Annotated[str, typer.Argument(help="The latest table's name, the source's, or a spec's.")]


class ShowFormat(StrEnum):
    """How show prints rows."""

    table = "table"
    json = "json"
    csv = "csv"


class ExportFormat(StrEnum):
    """How export writes rows."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


def open_project(path: Path | None) -> "ProjectSpec":
    """The project named, or the one around the working directory."""
    from siltstone.engine.spec import load_project

    return load_project(path)


def parse_address(text: str | None) -> str | None:
    """A path or a URI, as it is."""
    if text and lacks_slash(text):
        raise typer.BadParameter(f"{text!r} is neither a path nor a URI; write {with_slashes(text)}")
    return text


def parse_time(text: str) -> datetime:
    """A moment in ISO 8601, UTC where it names no zone; `now` is now."""
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
    """`id=42` and `id IS NULL` options as a mapping from column to text; None: the key's value is null."""
    keys: dict[str, str | None] = {}
    for pair in pairs:
        column, equals, text = pair.partition("=")
        is_null = None if equals else _IS_NULL.fullmatch(pair)
        column, value = (is_null[1], None) if is_null else (column, text)
        if not column or not (equals or is_null):
            raise typer.BadParameter(f"{pair!r} is no key; write --key column=value, or --key 'column IS NULL'")
        if column in keys:
            raise typer.BadParameter(f"the key column {column!r} is given twice")
        keys[column] = value
    return keys


def parse_ranges(pairs: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
    """`id=10..20` options as a mapping from column to its two ends; an end left out is open."""
    ranges: dict[str, tuple[str | None, str | None]] = {}
    for pair in pairs:
        column, equals, span = pair.partition("=")
        low, dots, high = span.partition("..")
        if not column or not equals or not dots or not (low or high):
            raise typer.BadParameter(f"{pair!r} is no range; write --range column=from..to")
        ranges[column] = (low or None, high or None)
    return ranges
