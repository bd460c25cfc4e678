"""Checks across the sections of one spec.

They read the values as written, so that they run even if single values are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from siltstone.engine.formats import FORMATS
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.spec.layouts import LayoutError, by_table, parse_sort_field, parse_transform
from siltstone.engine.spec.rows_format import row_disagreements
from siltstone.engine.spec.wording import Place, listed, shown

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
        yield (
            ("keys",),
            "has no value",
            "name the columns that identify a row, or leave keys out if the events carry the key.",
        )
    yield from _keys_and_columns(_texts(spec.get("keys")), columns)
    yield from _renames(spec, columns)
    yield from _renames_elsewhere(spec, columns)
    yield from _layout_and_columns(_mapping(spec.get("target")), columns)
    history = _mapping(spec.get("history"))
    yield from _track_and_columns(history.get("track"), columns)
    yield from _names_and_columns(_mapping(history.get("names")), {*columns, *_texts(spec.get("keys"))})


def _table_and_format(table: object, form: object) -> Iterator[Disagreement]:
    has_bare_tables = isinstance(form, str) and form in FORMATS and FORMATS[form].has_bare_tables
    if isinstance(table, str) and table.strip() and "." not in table and not has_bare_tables:
        yield ("table",), f"{shown(table)} does not name a schema or a database", "write it like inventory.customers."


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
            message = f"{name} is not a setting of {form.name}: {form.refuses[name]}"
            yield ("source", name), message, f"leave {name} out."


def _same_names(columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    seen: dict[str, str] = {}
    for name in columns:
        first = seen.setdefault(str(name).casefold(), name)
        if first != name:
            message = f"differs from the column {shown(first)} only in upper and lower case"
            yield ("columns", name), message, "Spark and Iceberg treat both as one name; leave one out."


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
            yield ("history", "names", role), f"{shown(name)} is a column of the table itself", "use another name."


def _renames(spec: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    """Old names that are also names of other columns, or old names of two columns."""
    declared = {str(name).casefold(): str(name) for name in columns}
    keys = {key.casefold() for key in _texts(spec.get("keys"))}
    taken: dict[str, str] = {}
    both = {(name.casefold(), old.casefold()) for name, old in _old_names(columns)}
    for name, old in _old_names(columns):
        place: Place = ("columns", name, "renamed_from")
        folded = old.casefold()
        if folded == name.casefold():
            yield place, f"the column {shown(name)} cannot be renamed from its own name", None
        elif (folded, name.casefold()) in both:
            message = f"{shown(name)} and {shown(declared[folded])} are renamed from each other"
            yield place, message, "events do not show to which of the two a value belongs: use a new table."
        elif folded in declared or folded in keys:
            message = f"{shown(old)} is another column, so {shown(name)} cannot be renamed from it"
            yield place, message, "leave the old column out if the source uses the new name only."
        elif taken.setdefault(folded, name) != name:
            message = f"two columns are renamed from {shown(old)}: {shown(taken[folded])} and {shown(name)}"
            yield place, message, "remove it from one of them."


def _renames_elsewhere(spec: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    """Renamed columns in other settings: by an old name, or in settings that apply before columns are renamed."""
    now = {old.casefold(): name for name, old in _old_names(columns)}
    track = _mapping(spec.get("history")).get("track")
    for name in _texts(_mapping(track).get("except") if isinstance(track, Mapping) else track):
        if name.casefold() in now:
            message = f"{shown(name)} is the old name of {shown(now[name.casefold()])}"
            yield ("history", "track"), message, "write the new name."
    renamed = {*now, *(name.casefold() for name in now.values())}
    source = _mapping(spec.get("source"))
    for setting in ("sequence_by", "time_by"):
        given = source.get(setting)
        for name in [given] if isinstance(given, str) else _texts(given):
            if name.casefold() in renamed:
                message = f"{shown(name)} orders rows, and rows that use its other name would have no position"
                yield ("source", setting), message, "leave renamed_from out, or change the feed to use one name."


def _old_names(columns: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each column with each of its earlier names."""
    for name, column in columns.items():
        old = _mapping(column).get("renamed_from")
        yield from ((str(name), one) for one in ([old] if isinstance(old, str) else _texts(old)))


def _layout_and_columns(target: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[Disagreement]:
    """Partition and sort columns that the tables do not contain, or contain only masked."""
    now = {old.casefold(): name for name, old in _old_names(columns)}
    masks = {str(name).casefold(): _mapping(column).get("mask") for name, column in columns.items()}
    for setting, column in _layout_columns(target):
        mask = masks.get(column.casefold())
        if column.casefold() in now:
            message = f"{shown(column)} is the old name of {shown(now[column.casefold()])}"
            yield ("target", setting), message, "write the new name."
        elif mask == "drop":
            yield ("target", setting), f"the column {shown(column)} is dropped", "name another column."
        elif mask is not None and setting == "partition":
            message = f"the column {shown(column)} is masked: the paths of files would show its values"
            yield ("target", setting), message, "partition by another column."


def _layout_columns(target: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The columns that partition and sort name. Entries that cannot be parsed are skipped."""
    for setting, parse in (("partition", parse_transform), ("sort", parse_sort_field)):
        try:
            both = by_table(target[setting]) if setting in target else ((), ())
            yield from dict.fromkeys((setting, parse(text).column) for part in both for text in part)
        except LayoutError:  # value_checks reports it
            continue


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
