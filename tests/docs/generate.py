"""The parts of the reference that are generated: from the command line, the formats, and the Python API.

`python -m tests.docs.generate` writes them; a test compares them with what is checked in.

- docs/reference/cli.md is generated whole.
- Other pages have generated parts between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import typer
from typer.models import ArgumentInfo, OptionInfo

import siltstone
from siltstone.engine import run
from siltstone.engine.cli import app
from siltstone.engine.formats import FORMATS
from siltstone.quality.capabilities import as_markdown
from tests.docs.markdown import DOCS

REFERENCE: Final = DOCS / "reference"
CLI_PAGE: Final = REFERENCE / "cli.md"
_INTRODUCTION: Final = """\
# Command line

This page lists every command with its arguments and options. It is generated from the program:
`python -m tests.docs.generate` writes it, and a test fails if it is not current. `siltstone COMMAND --help` prints
the same on your machine, and `siltstone --version` prints the version.

- Every command ends with one of the [exit codes](exit-codes.md).
- Most commands need a [project](project.md). `--project` names its file or folder. Without it, siltstone searches for
  `siltstone.yaml` in the working directory and in the folders above it. If it finds none, the working directory is the
  project and every setting has its default.
- `SPECS` are files or folders. Without them, a command reads all specs of the project's folder `specs/`.
- `TABLE` is the name of a `latest` table, of the table at its source, or of a spec.
- `--json` prints the result for a program. Results go to standard output; progress, notes and errors go to standard
  error.
- Times are ISO 8601. A time without a zone is UTC.
"""


def generated_pages() -> Iterator[tuple[Path, str]]:
    """Each page that is generated, or has generated parts, as it should be."""
    yield CLI_PAGE, cli_page()
    for page, part, text in (
        ("checks.md", "not available", as_markdown()),
        ("spec.md", "settings by format", settings_by_format()),
        ("python.md", "api", python_api()),
    ):
        file = REFERENCE / page
        yield file, with_part(file.read_text(encoding="utf-8"), part, text)


def with_part(page: str, name: str, text: str) -> str:
    """A page with one of its generated parts as it should be."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has no part {name!r}")
    return f"{before}{begin}\n{text.strip()}\n\n{end}{after}"


# --- the command line -----------------------------------------------------------------------------------------------


def cli_page() -> str:
    """The page of all commands."""
    commands = list(_commands(app, ""))
    listed = "\n".join(
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_first_sentence(_help(command))} |" for name, command in commands
    )
    parts = [f"{_INTRODUCTION}\n| command | |\n|---|---|\n{listed}\n", *(_section(*command) for command in commands)]
    return "\n".join(parts)


def _commands(group: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        yield prefix + name, command.callback
    for part in group.registered_groups:
        assert part.typer_instance is not None
        yield from _commands(part.typer_instance, f"{prefix}{part.name} ")


def _help(command: Callable[..., Any]) -> str:
    return inspect.cleandoc(command.__doc__ or "")


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _section(name: str, command: Callable[..., Any]) -> str:
    arguments, options = [], []
    for parameter in inspect.signature(command).parameters.values():
        kind, info = _parts(parameter.annotation)
        (arguments if isinstance(info, ArgumentInfo) else options).append((parameter, kind, info))
    usage = " ".join([f"siltstone {name} [OPTIONS]", *(_in_usage(*one) for one in arguments)])
    text = f"## {name}\n\n{_help(command)}\n\n```\n{usage}\n```\n"
    if arguments:
        lines = [f"| `{_metavar(*one)}` | {_described(*one)} |" for one in arguments]
        text += "\n| argument | |\n|---|---|\n" + "\n".join(lines) + "\n"
    if options:
        lines = [f"| {_option(*one)} | {_described(*one)} |" for one in options]
        text += "\n| option | |\n|---|---|\n" + "\n".join(lines) + "\n"
    return text


_Parameter = tuple[inspect.Parameter, Any, Any]


def _parts(annotation: Any) -> tuple[Any, Any]:
    """The type of a parameter without None, and typer's own description of it."""
    kind, *infos = typing.get_args(annotation)
    info = next(one for one in infos if isinstance(one, (ArgumentInfo, OptionInfo)))
    if isinstance(kind, types.UnionType):
        kind = next(one for one in typing.get_args(kind) if one is not type(None))
    return kind, info


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is list


def _metavar(parameter: inspect.Parameter, _kind: Any, info: Any) -> str:
    return str(info.metavar or parameter.name.upper())


def _in_usage(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    name = _metavar(parameter, kind, info) + ("..." if _is_list(kind) else "")
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"


def _option(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    """An option with all its names, and the word for its value."""
    declared = [one for one in (info.default, *(info.param_decls or ())) if str(one).startswith("-")]
    given = declared or [f"--{parameter.name.replace('_', '-')}"]
    value = "" if kind is bool else f" {_value(kind)}"
    return ", ".join(f"`{name}{value}`" for name in given)


def _value(kind: Any) -> str:
    inner = typing.get_args(kind)[0] if _is_list(kind) else kind
    if isinstance(inner, type) and issubclass(inner, Enum):
        return "WORD"
    return {int: "NUMBER", float: "NUMBER", Path: "PATH"}.get(inner, "TEXT")


def _described(parameter: inspect.Parameter, kind: Any, info: Any) -> str:
    """What an argument or an option does, its words, and its default."""
    parts = [" ".join((info.help or "").split())]
    inner = typing.get_args(kind)[0] if _is_list(kind) else kind
    if isinstance(inner, type) and issubclass(inner, Enum):
        parts.append("One of " + ", ".join(f"`{one.value}`" for one in inner) + ".")
    if parameter.default is inspect.Parameter.empty:
        parts.append("Required." if isinstance(info, OptionInfo) else "")
    elif (default := _default(parameter.default)) is not None:
        parts.append(f"Default: `{default}`.")
    if _is_list(kind) and isinstance(info, OptionInfo):
        parts.append("Can be repeated.")
    return " ".join(part for part in parts if part).replace("|", "\\|")


def _default(value: Any) -> str | None:
    if value is None or value is False or value == "":
        return None
    return str(value.value) if isinstance(value, Enum) else str(value)


# --- settings by format ---------------------------------------------------------------------------------------------


def settings_by_format() -> str:
    """The settings of `source` that only some formats take, and the values of `order`."""
    names = sorted({name for form in FORMATS.values() for name in (*form.settings, *form.refuses)} - {"order"})
    lines = ["| setting | formats that take it |", "|---|---|"]
    for name in names:
        owners = [form.name for form in FORMATS.values() if name in form.settings]
        takers = owners or [form.name for form in FORMATS.values()]
        takes = [taker for taker in takers if name not in FORMATS[taker].refuses]
        lines.append(f"| `{name}` | {_listed(takes)} |")
    by_orders: dict[tuple[str, ...], list[str]] = {}
    for form in FORMATS.values():
        if len(form.orders) > 1:
            by_orders.setdefault(form.orders, []).append(form.name)
    lines += ["", "| `order` | formats |", "|---|---|"]
    lines += [f"| {_listed(orders)} | {_listed(forms)} |" for orders, forms in by_orders.items()]
    by_several: dict[str, list[str]] = {}
    for form in FORMATS.values():
        if form.names_source:
            by_several.setdefault(form.several, []).append(form.name)
    lines += ["", "| default of `several` | formats that name their source |", "|---|---|"]
    lines += [f"| `{several}` | {_listed(forms)} |" for several, forms in by_several.items()]
    return "\n".join(lines)


def _listed(words: typing.Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# --- the Python API -------------------------------------------------------------------------------------------------


def python_api() -> str:
    """The functions of `siltstone`, each with its signature and its docstring."""
    return "\n\n".join(_function(name) for name in siltstone.__all__)


def _function(name: str) -> str:
    function = getattr(siltstone, name)
    home = import_module(function.__module__)
    hints = _shown_annotations(function, vars(home))
    signature = _signature(name, function, hints)
    described = getattr(run, name, function)  # what the run does; the function of `siltstone` adds the checks
    return f"### {name}\n\n```python\n{signature}\n```\n\n{_prose(inspect.getdoc(described) or '')}"


def _shown_annotations(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, str]:
    """The annotations of a function as people write them: without modules."""
    found = {}
    for name, annotation in inspect.get_annotations(function).items():
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        found[name] = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z_])", "", text).replace("'", "").replace('"', "")
    return found


def _signature(name: str, function: Callable[..., Any], hints: Mapping[str, str]) -> str:
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        default = parameter.default
        if default is inspect.Parameter.empty:
            shown = ""
        else:
            shown = f" = {default.__name__ if callable(default) else repr(default)}"
        parts.append(f"{parameter.name}: {hints[parameter.name]}{shown}")
    returns = hints.get("return", "None")
    line = f"siltstone.{name}({', '.join(parts)}) -> {returns}"
    if len(line) <= 100:
        return line
    return f"siltstone.{name}(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {returns}"


def _prose(text: str) -> str:
    """A docstring as Markdown: what it raises or gives is a paragraph of its own."""
    return re.sub(r"\n+(?=(?:\*\*)?(?:Raises|Gives|Needs|Rows)\b)", "\n\n", re.sub(r"\n +", "\n", text))


def main() -> None:
    """Write what is generated."""
    for page, text in generated_pages():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
