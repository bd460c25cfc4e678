"""What the sections of one spec must agree on. Reads the values as written, so that it runs beside other violations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.formats import FORMATS
from engine.formats.rows import ROWS
from engine.spec.rows import row_disagreements
from engine.spec.wording import Place, listed, shown

Disagreement = tuple[Place, str, str | None]

_DONE = {"redact": "redacted", "drop": "dropped"}


def disagreements(value: object) -> Iterator[Disagreement]:
    """Every disagreement between table, settings and format, keys, columns and tracked columns."""
    spec = _mapping(value)
    yield from _table_and_format(spec.get("table"), _mapping(spec.get("source")).get("format"))
    yield from _settings_and_format(_mapping(spec.get("source")))
    columns = _mapping(spec.get("columns"))
    yield from _same_names(columns)
    yield from row_disagreements(spec)
    if "keys" in spec and spec["keys"] is None and _mapping(spec.get("source")).get("format") != ROWS:
        yield ("keys",), "says nothing", "name the columns that identify a row, or leave keys out: the events may know."
    yield from _keys_and_columns(_texts(spec.get("keys")), columns)
    history = _mapping(spec.get("history"))
    yield from _track_and_columns(history.get("track"), columns)
    yield from _names_and_columns(_mapping(history.get("names")), {*columns, *_texts(spec.get("keys"))})


def _table_and_format(table: object, form: object) -> Iterator[Disagreement]:
    has_bare_tables = isinstance(form, str) and form in FORMATS and FORMATS[form].has_bare_tables
    if isinstance(table, str) and table.strip() and "." not in table and not has_bare_tables:
        yield ("table",), f"{shown(table)} does not say where the table is", "write it like inventory.customers."


def _settings_and_format(source: Mapping[str, Any]) -> Iterator[Disagreement]:
    form = FORMATS.get(str(source.get("format")))
    if form is None:
        return
    for name in source:
        owners = [each.name for each in FORMATS.values() if name in each.settings]
        if owners and form.name not in owners:
            message = f"{name} is a setting of {listed(owners)}, not of {form.name}"
            yield ("source", name), message, f"leave {name} out."
        if name in form.refuses:
            message = f"{name} is no setting of {form.name}: {form.refuses[name]}"
            yield ("source", name), message, f"leave {name} out."


def _same_names(columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    seen: dict[str, str] = {}
    for name in columns:
        first = seen.setdefault(str(name).casefold(), name)
        if first != name:
            message = f"differs from the column {shown(first)} only in upper and lower case"
            yield ("columns", name), message, "Spark and Iceberg do not tell them apart; leave one out."


def _keys_and_columns(keys: list[str], columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    for key in keys:
        column = _mapping(columns.get(key))
        if column.get("mask") in ("redact", "drop"):
            message = f"the key column {shown(key)} cannot be {_DONE[column['mask']]}"
            yield ("columns", key, "mask"), message, "use sha256."
        if column.get("default") is not None:
            message = f"the key column {shown(key)} cannot have a default: rows without it would become one row"
            yield ("columns", key, "default"), message, None


def _track_and_columns(track: object, columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    place: Place = ("history", "track")
    if isinstance(track, Mapping):
        track, place = track.get("except"), (*place, "except")
    for index, name in enumerate(_texts(track)):
        if _mapping(columns.get(name)).get("mask") == "drop":
            yield (*place, index), f"the column {shown(name)} is dropped, so it cannot open versions", None


def _names_and_columns(named: Mapping[str, Any], columns: set[str]) -> Iterator[Disagreement]:
    taken = {str(column).casefold() for column in columns}
    for role, name in named.items():
        if isinstance(name, str) and name.casefold() in taken:
            yield ("history", "names", role), f"{shown(name)} is a column of the table itself", "take another name."


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
