"""One table, as found in the changes of files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from siltstone.engine.decode.event import Event
from siltstone.engine.init.column_samples import Columns


@dataclass
class FoundTable:
    """One table, as found in its changes. `name` is None if they do not name it.

    `controls`: files of its format that have only control events. `blank`: files of any format without content.
    `headers`: names for the columns of CSV files without a header: for full loads of AWS DMS (True) and for others.
    `by_scn`: commit SCNs cannot order its source. `tool`: the tool that wrote the rows, if it has no decoder.
    """

    name: str | None
    format: str
    order: str
    container: str
    files: list[Path] = field(default_factory=list)
    columns: Columns = field(default_factory=Columns)
    changes: int = 0
    keyless: bool | None = None
    whole: bool = True
    delimiter: str = ","
    headers: dict[bool, tuple[str, ...]] = field(default_factory=dict)
    controls: list[Path] = field(default_factory=list)
    blank: list[Path] = field(default_factory=list)
    by_scn: bool = False
    tool: str | None = None

    @property
    def keys(self) -> set[tuple[str, ...]]:
        """Every key in the changes."""
        return set(self.columns.keys())

    def add(self, change: Event, keyless: bool | None = False) -> None:
        """Add one change. `keyless`: whether it shows that the table has no key."""
        self.changes += 1
        self.keyless = _as_both_show(self.keyless, keyless)
        self.columns.add(change)

    def merge(self, other: FoundTable) -> None:
        """Add the changes of the same table in other files."""
        self.files += [file for file in other.files if file not in self.files]
        self.keyless = _as_both_show(self.keyless, other.keyless)
        self.changes += other.changes
        self.whole = self.whole and other.whole
        self.tool = self.tool or other.tool
        self.columns.merge(other.columns)
        self.headers |= other.headers


def _as_both_show(one: bool | None, other: bool | None) -> bool | None:
    """Whether a table has no key: all changes that show something show that. None if none shows anything."""
    shown = [each for each in (one, other) if each is not None]
    return all(shown) if shown else None
