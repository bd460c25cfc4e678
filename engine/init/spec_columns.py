"""The columns of a written spec."""

from collections.abc import Mapping
from typing import Any, Final

from siltstone.engine.counts import plural
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.column_samples import Values
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.guessed_types import Guess
from siltstone.engine.init.yaml_text import flow, scalar


def columns_of(table: FoundTable, guesses: Mapping[str, Guess]) -> list[str]:
    """The types: as comments if the events carry them, declared if they are inferred. Then the rescued fields."""
    types, seconds = table.columns.types(), table.columns.second_spellings()
    why = "names that differ only in upper and lower case are one column"
    rescued = [f"# Kept in _rescued, because {why}: {flow(seconds)}"] if seconds else []
    if table.container == "csv":
        hints = {name: table.columns.values[name].may_be() for name in types if name in table.columns.values}
        return [*_remarks("All values of CSV files are text", types, hints), *rescued]
    if table.columns.has_own_types:
        return [*(_unstable(table, types) or _remarks("The events have types", types, {})), *rescued]
    return [*_declared(table, types, guesses), *rescued]


_LEFT: Final = (
    "  # Text columns with numbers or times are left undeclared: they are stored as text, and order rows as numbers or",
    "  # times. If such a column is in sequence_by, declare it with the type after its second #.",
)


def _declared(table: FoundTable, types: Mapping[str, Any], guesses: Mapping[str, Guess]) -> list[str]:
    values = table.columns.values
    sure = {name: guess.kind for name, guess in guesses.items() if guess.is_sure}
    declarable = {name: sure.get(name, kind) for name, kind in table.columns.declarable().items()}
    # A declared text column is ordered as text. An undeclared one is ordered by the form of each value.
    of_rows = declarable if table.format == ROWS else ()
    left = {name for name in of_rows if name in values and values[name].is_written_otherwise()}
    lines = []
    if declarable:
        which = "the first " if not table.whole else "all " if table.changes > 1 else ""
        from_what = f"{which}{changes_of(table)}"
        why = f"the events have no types: these are inferred from {from_what}; correct them if you know better"
        lines = [f"columns: # {why}"] if declarable.keys() - left else [f"# columns: {why}"]
    for name, kind in declarable.items():
        hint = guesses[name].remark if name in guesses else _hint(values[name], table) if name in values else None
        mark = "# " if name in left else ""
        lines.append(f"  {mark}{scalar(name)}: {kind}" + (f" # {hint}" if hint else ""))
    lines += _LEFT if left else ()
    reserved = [name for name in types if name not in declarable]
    if reserved:
        lines.append(f"# Kept in _rescued, because siltstone or Iceberg reserves these names: {flow(reserved)}")
    return lines


def _hint(values: Values, table: FoundTable) -> str | None:
    hint = "only nulls were seen" if values.is_null() else values.may_be()
    needs_setting = hint is not None and "decimal" in hint and has_connect_values(table)
    return f"{hint}, and decimals: string under source" if needs_setting else hint


def has_connect_values(table: FoundTable) -> bool:
    """Whether the settings of a connector decide the form of values in the events of a table."""
    return format_of(table.format).values == "connect"


def _remarks(why: str, types: Mapping[str, Any], hints: Mapping[str, str | None]) -> list[str]:
    lines = [f"# {why}. If the spec declares a column, it has the declared type.", "# columns:"]
    for name, kind in types.items():
        hint = f" # {hints[name]}" if hints.get(name) else ""
        lines.append(f"#   {scalar(name)}: {kind.simpleString() if kind else 'string # its types differ'}{hint}")
    return lines


def _unstable(table: FoundTable, types: Mapping[str, Any]) -> list[str]:
    """The types of the events, with declarations of those that are unstable; empty if all are stable.

    A type is unstable if the types of a column differ and cannot be widened to each other, or if the type does not hold
    all values. Without a declaration, a run could fail after it has stored a part of the events.
    """
    declarable = {name: kind for name, kind in table.columns.declarable().items() if name in types}
    unstable = table.columns.unstable({name for key in table.keys for name in key})
    if not unstable.keys() & declarable.keys():
        return []
    lines = ["columns: # the events have types; a declared column has the declared type"]
    for name, kind in declarable.items():
        if name in unstable:
            why = "this type holds all values; the types of the events do not"
            lines.append(f"  {scalar(name)}: {unstable[name]} # {why}")
        else:
            lines.append(f"  # {scalar(name)}: {kind}")
    return lines


def changes_of(table: FoundTable) -> str:
    return f"{table.changes} {plural('change', table.changes)}"
