"""Records of Spanner change streams: what a record says of tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.decode.spanner_kinds import DATA_CHANGE, RECORDS
from engine.recognise.fact import Fact
from engine.recognise.sample import opened

ORDER: Final = "commit time in nanoseconds, transaction, record in it"
_KINDS: Final = {name: kind for kind, spelled in RECORDS.items() for name in spelled}


def facts(record: Any) -> Sequence[Fact] | None:
    """The changes of the data records; nothing for heartbeats and partitions; None for what is no change record."""
    found: list[Fact] = []
    told = False
    for kind, inside in _records(record):
        told = True
        if kind == DATA_CHANGE:
            found += _of_data(inside)
    return found if told else None


def _records(record: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every record with its kind, whatever is around it."""
    record = opened(record)
    if isinstance(record, list):
        for each in record:
            yield from _records(each)
    if not isinstance(record, Mapping):
        return
    if _spelt(record, "mods") is not None and _spelt(record, "table_name", "tableName") is not None:
        yield DATA_CHANGE, record
        return
    for around in ("value", "change_record", "ChangeRecord"):
        if isinstance(opened(record.get(around)), list | dict):
            yield from _records(record[around])
    for name, kind in _KINDS.items():
        several = opened(record.get(name))
        for each in several if isinstance(several, list) else [several]:
            inside = opened(each)
            if isinstance(inside, Mapping) and any(inside.values()):
                yield kind, inside


def _of_data(record: Mapping[str, Any]) -> Iterator[Fact]:
    types = opened(_spelt(record, "column_types", "columnTypes", "rowType"))
    schema = {"column_types": types} if isinstance(types, list) else None
    table = _spelt(record, "table_name", "tableName")
    if table == "":  # a run rejects it
        return
    inserted = _spelt(record, "mod_type", "modType") == "INSERT"
    for mod in opened(_spelt(record, "mods")) or ():
        row = opened(mod)
        keys = opened(_spelt(row, "keys", "keysJson", "keys_json")) or {}
        new = opened(_spelt(row, "new_values", "newValues", "newValuesJson", "new_values_json")) or {}
        yield Fact(table, tuple(keys), schema, {**keys, **new}, inserted)


def _spelt(record: Any, *names: str) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
