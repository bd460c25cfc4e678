"""The names of the tables that new specs write: the default names, or others if two specs would write one table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from siltstone.engine.spec.collisions import own_tables
from siltstone.engine.spec.interpolation import as_written
from siltstone.engine.spec.resolve import target_values
from siltstone.engine.spec.table_config import TargetConfig
from siltstone.engine.spec.yaml_document import read_document

PLACES: Final = ("latest", "history", "changes")


@dataclass(frozen=True)
class OtherName:
    """A line of `target`: the setting, its value, the default name, and the owner of the default name."""

    place: str
    name: str
    default: str
    owner: str


def other_names(tables: Sequence[str], namespace: str, present: Iterable[Path] = ()) -> list[list[OtherName]]:
    """The lines of `target` in the spec of each table; none if its default names are free.

    `present`: the specs that exist already.
    """
    taken = own_tables(namespace)
    for file in present:
        taken |= _of_file(file, namespace)
    defaults = {name.casefold() for table in tables for name in _names({}, table, namespace).values()}
    found = []
    for table in tables:
        chosen: dict[str, str] = {}
        others = []
        for place in PLACES:
            default = _names(chosen, table, namespace)[place]
            if (owner := taken.get(default.casefold())) is not None:
                chosen[place] = next(name for name in _numbered(default) if name.casefold() not in {*taken, *defaults})
                others.append(OtherName(place, _spelt(chosen[place], namespace), _spelt(default, namespace), owner))
            taken[chosen.get(place, default).casefold()] = f"{place} of {table}"
        found.append(others)
    return found


def _names(chosen: dict[str, Any], table: str, namespace: str) -> dict[str, str]:
    """The names of a spec's tables. They are not checked here: `validate` reports invalid names."""
    target = target_values(TargetConfig.model_construct(**chosen), table, namespace)
    return {place: getattr(target, place) for place in PLACES}


def _of_file(file: Path, namespace: str) -> dict[str, str]:
    """The tables that a spec writes, also if it is incomplete, with their owners."""
    spec = read_document(file).value
    table = spec.get("table") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(table, str):
        return {}
    target = spec.get("target")
    chosen = {place: target[place] for place in PLACES if place in target} if isinstance(target, dict) else {}
    names = _names({place: name for place, name in chosen.items() if isinstance(name, str)}, table, namespace)
    return {name.casefold(): f"{place} of {table} in {file.name}" for place, name in names.items()}


def _numbered(name: str) -> Iterator[str]:
    return (f"{name}_{number}" for number in count(2))


def _spelt(name: str, namespace: str) -> str:
    """The name in the form of specs: a namespace from the environment stays a reference."""
    return as_written(namespace) + name.removeprefix(namespace) if name.startswith(f"{namespace}.") else name
