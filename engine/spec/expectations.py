"""The expectations of a spec: any expectation of Great Expectations, by its name and arguments, on one of the tables.

`expectations.json` lists all of them, so that a spec can be checked without the library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from siltstone.engine.spec.model import ExpectationSpec, Severity
from siltstone.engine.spec.value_checks import fraction, refuse, text, word_check
from siltstone.engine.spec.wording import shown, word_hint

TABLES: Final = ("latest", "history", "changes")
SEVERITIES: Final = ("info", "warn", "error")
OWN: Final = ("on", "severity")
COLUMNS: Final = ("column", "column_A", "column_B")


@dataclass(frozen=True)
class Arguments:
    """The arguments of one expectation."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = field(default=())


@cache
def known() -> Mapping[str, Arguments]:
    """Every expectation by name."""
    listed = json.loads(files("siltstone.engine.spec").joinpath("expectations.json").read_text(encoding="utf-8"))
    return {name: Arguments(tuple(one["required"]), tuple(one["optional"])) for name, one in listed.items()}


def some_list(value: object) -> object:
    """A list. Its items are checked one by one."""
    if not isinstance(value, (list, tuple)):
        refuse(f"must be a list of expectations, not {shown(value)}", _EXAMPLE)
    return value


def labelled(found: tuple[ExpectationSpec, ...]) -> tuple[ExpectationSpec, ...]:
    """The expectations, each with a unique label."""
    labels = [one.label for one in found]
    times = [labels[: index + 1].count(label) for index, label in enumerate(labels)]
    return tuple(
        one if number == 1 else replace(one, label=f"{one.label} #{number}")
        for one, number in zip(found, times, strict=True)
    )


_EXAMPLE: Final = "write it like {on: latest, expect_column_values_to_not_be_null: {column: email}, severity: error}."


def expectation(value: object) -> ExpectationSpec:
    """One expectation: `on`, `severity`, and its name with its arguments."""
    if not isinstance(value, Mapping):
        refuse(f"must be a mapping, not {shown(value)}", _EXAMPLE)
    named = [key for key in value if key not in OWN]
    if len(named) != 1:
        refuse(f"names {len(named)} expectations instead of one", _EXAMPLE)
    name = named[0]
    if name not in known():
        refuse(f"the expectation {shown(name)} is not known", word_hint(name, [*known(), *OWN]))
    table = word_check(TABLES)(value.get("on", "latest"))
    severity = _severity(value.get("severity", "error"))
    given = arguments(name, value[name])
    columns = ", ".join(shown(one) for key, one in given.items() if key in COLUMNS)
    return ExpectationSpec(table, name, given, severity, f"{table}: {name}({columns})")


def _severity(value: object) -> Severity:
    word = word_check(SEVERITIES)(value)
    return "info" if word == "info" else "warn" if word == "warn" else "error"


def arguments(name: str, value: object) -> dict[str, Any]:
    """The arguments of an expectation: only known ones, and all required ones."""
    given = {} if value is None else value
    if not isinstance(given, Mapping):
        refuse(f"the arguments of {name} must be a mapping, not {shown(value)}", _EXAMPLE)
    takes = known()[name]
    every = (*takes.required, *takes.optional)
    for argument in given:
        if argument not in every:
            refuse(f"{name} has no argument {shown(argument)}", word_hint(str(argument), every))
    missing = [argument for argument in takes.required if argument not in given]
    if missing:
        refuse(f"{name} needs the argument {missing[0]}")
    for argument in given:
        if argument in COLUMNS:
            text(given[argument])
    if given.get("mostly") is not None:
        fraction(given["mostly"])
    return dict(given)
