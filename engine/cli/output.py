"""Printing for people and for programs: results on standard output, all else on standard error."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED_WIDTH = 160
MAX_CELL_WIDTH = 48
NULL = "·"
STYLES = {
    "ok": "green",
    "planned": "green",
    "rebuilt": "green",
    "equal": "green",
    "different": "bold red",
    "nothing new": "dim",
    "nothing folded": "dim",
    "failed": "bold red",
    "blocked": "bold yellow",
    "interrupted": "bold red",
    "passed": "green",
    "noted": "cyan",
    "open": "bold red",
    "healed": "green",
    "acknowledged": "yellow",
    "not available": "dim",
}


def console(*, error: bool = False) -> "Console":
    """A console for standard output or standard error; a pipe is taken to be wide."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def print_error(message: str, hint: str | None = None, details: Iterable[str] = ()) -> None:
    """One clear message in red, the places it speaks of, and what to do."""
    from rich.text import Text

    out = console(error=True)
    out.print(Text(message, style="bold red"), soft_wrap=True)
    for detail in details:
        out.print(Text(f"  {detail}"), soft_wrap=True)
    if hint:
        out.print(Text(f"Hint: {hint}"), soft_wrap=True)


def note(message: str) -> None:
    """A remark beside the result."""
    from rich.text import Text

    console(error=True).print(Text(message, style="dim"), soft_wrap=True)


def print_json(value: Any) -> None:
    """A result for a program; times as ISO 8601."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=_as_json) + "\n")


def write_line(line: str) -> None:
    """One line on standard output, as it is."""
    sys.stdout.write(line + "\n")


def print_rows(names: Sequence[str], rows: Iterable[Mapping[str, Any]], title: str | None = None) -> None:
    """Rows as a table, or one below the other where they are too wide for the terminal."""
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max([len(name), *(len(line[i]) for line in cells)]) + 3 for i, name in enumerate(names)]
    out = console()
    if sum(widths) + 1 > out.width and cells:
        _print_records(out, names, cells, title)
    else:
        out.print(grid(names, cells, title))


def grid(
    names: Sequence[str], cells: Iterable[Sequence[str]], title: str | None = None, whole: Collection[str] = ()
) -> "Table":
    """A plain table: numbers and text as they are, nulls as a dot. The columns in `whole` are never folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False
    )
    for name in names:
        table.add_column(Text(name), overflow="fold", no_wrap=name in whole)
    for line in cells:
        table.add_row(*(Text(cell, style="dim" if cell == NULL else "") for cell in line))
    return table


def print_styled(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """A table whose words of status have their colour."""
    from rich.text import Text

    table = grid(columns, ())
    for line in lines:
        table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in line))
    console().print(table)


def number(value: int | None) -> str:
    """A count as people read it."""
    return NULL if value is None else f"{value:,}"


def _as_json(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _print_records(out: "Console", names: Sequence[str], lines: list[list[str]], title: str | None) -> None:
    from rich.rule import Rule
    from rich.text import Text

    if title:
        out.print(Text(title, style="bold"))
    width = max(len(name) for name in names)
    for number, line in enumerate(lines, 1):
        out.print(Rule(f"row {number}", align="left", style="dim", characters="-"))
        for name, cell in zip(names, line, strict=True):
            out.print(Text(f"{name:<{width}}  ", style="bold") + Text(cell), soft_wrap=True)


def _cell(value: Any) -> str:
    from siltstone.engine.plain_values import text

    if value is None:
        return NULL
    shown = text(value).replace("\n", "\\n")
    return shown if len(shown) <= MAX_CELL_WIDTH else shown[: MAX_CELL_WIDTH - 1] + "…"
