"""What one record says of one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fact:
    """A table, its key as the record tells it, and its row: with the types the record carries, or with values alone.

    `table` is None where the record does not name it; `schema` is in the form of `engine.decode.schemas`; `inserted`:
    the row is new, so that its key differs from all others; `keyless`: the record says that there is no key, or, where
    it is None, nothing of that; `database`: what stands before the table's name where a connector's tables are in
    several; `by_scn`: the commit SCN of the record cannot order it.
    """

    table: str | None
    keys: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    row: Mapping[str, Any] | None = None
    inserted: bool = False
    keyless: bool | None = False
    database: str | None = None
    by_scn: bool = False
