"""Printing, as text or as JSON: results go to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED_WIDTH = 160
"""The greatest width of rows in a pipe. Wider rows are printed with one column per line."""
WHOLE_WIDTH = 100_000  # a table in a pipe is never cut
MAX_CELL_WIDTH = 48
LEAST_WORD_WIDTH = 16
NULL = "·"
CHANGED = "_changed"
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


def console(*, error: bool = False, piped_width: int = PIPED_WIDTH) -> "Console":
    """A console for standard output or standard error. `piped_width`: the width of a pipe, in characters."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else piped_width
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def shown_path(path: str) -> str:
    """A path to print: relative to the working directory if it is below it, else unchanged."""
    here = f"{Path.cwd()}/"
    return path.removeprefix(here) if path != here else path


def print_error(message: str, hint: str | None = None, details: Iterable[str] = ()) -> None:
    """Print a message in red, its details, and a hint."""
    from rich.text import Text

    out = console(error=True)
    out.print(Text(message, style="bold red"), soft_wrap=True)
    for detail in details:
        out.print(Text(f"  {detail}"), soft_wrap=True)
    if hint:
        out.print(Text(f"Hint: {hint}"), soft_wrap=True)


def note(message: str) -> None:
    """Print a remark to standard error, so that standard output has the result only."""
    from rich.text import Text

    console(error=True).print(Text(message, style="dim"), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a result as JSON, with times in ISO 8601."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=_as_json) + "\n")


def write_line(line: str) -> None:
    """Print one line to standard output, unchanged."""
    sys.stdout.write(line + "\n")


def print_rows(names: Sequence[str], rows: Iterable[Mapping[str, Any]], title: str | None = None) -> None:
    """Print rows as a table, or with one column per line if they are too wide for the terminal."""
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max([len(name), *(len(line[i]) for line in cells)]) + 3 for i, name in enumerate(names)]
    out = console()
    if sum(widths) + 1 > out.width and cells:
        _print_records(out, names, cells, title)
    else:
        print_grid(names, cells, title)


def print_grid(
    names: Sequence[str], cells: Iterable[Sequence[str]], title: str | None = None, whole: Collection[str] = ()
) -> None:
    """Print a plain table (`grid`) to standard output. In a pipe, every cell is on one line and is never cut."""
    console(piped_width=WHOLE_WIDTH).print(grid(names, cells, title, whole))


def grid(
    names: Sequence[str], cells: Iterable[Sequence[str]], title: str | None = None, whole: Collection[str] = ()
) -> "Table":
    """A plain table. Nulls are a dot, and cells wrap between words.

    A word that is too long for the terminal is cut in its middle, except in the columns of `whole`.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = [list(line) for line in cells]
    longest = [max(len(word) for word in [name, *_words(lines, at)]) for at, name in enumerate(names)]
    limit = _word_limit(longest)
    table = Table(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False
    )
    for name, length in zip(names, longest, strict=True):
        least = length if name in whole else max(min(length, limit), len(name))
        table.add_column(Text(name), overflow="fold", no_wrap=name in whole, min_width=least)
    for line in lines:
        fitting = (cell if name in whole else _cut_words(cell, limit) for name, cell in zip(names, line, strict=True))
        table.add_row(*(Text(cell, style=STYLES.get(cell, "dim" if cell == NULL else "")) for cell in fitting))
    return table


def _words(lines: Iterable[Sequence[str]], column: int) -> Iterable[str]:
    return (word for line in lines for word in line[column].split())


def _word_limit(longest: Sequence[int]) -> int:
    """The greatest length of a word with which the longest words of all columns fit into one line."""
    room = console(piped_width=WHOLE_WIDTH).width - 3 * len(longest)
    limit = max(longest, default=0)
    while limit > LEAST_WORD_WIDTH and sum(min(length, limit) for length in longest) > room:
        limit -= 1
    return limit


def _cut_words(cell: str, limit: int) -> str:
    return " ".join(cut_middle(word, limit) for word in cell.split(" "))


def cut_middle(word: str, width: int) -> str:
    """Cut a word in its middle: `inventory.cust…mers_history`."""
    if len(word) <= width:
        return word
    head = (width - 1) // 2
    return f"{word[:head]}…{word[len(word) - (width - 1 - head) :]}"


def number(value: int | None) -> str:
    """A count with separators, or a dot for None."""
    return NULL if value is None else f"{value:,}"


def with_changed(
    rows: Iterable[Mapping[str, Any]], key: Sequence[str], columns: Sequence[str], after: str
) -> list[dict[str, Any]]:
    """Add the column `_changed` to versions: the columns in which a version differs from its key's previous version.

    `rows` are in their order. `_changed` follows the column `after`, and is null in the first version of a key.
    """
    before: dict[tuple[str, ...], Mapping[str, Any]] = {}
    found = []
    for row in rows:
        own = tuple(str(row[name]) for name in key)
        older = before.get(own)
        changed = None if older is None else ", ".join(name for name in columns if row[name] != older[name])
        before[own] = row
        marked: dict[str, Any] = {}
        for name, value in row.items():
            marked[name] = value
            if name == after:
                marked[CHANGED] = changed
        found.append(marked)
    return found


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
