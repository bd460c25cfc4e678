"""Rejects that a user has dismissed, so that they no longer wait for a fix. Written and read without a JVM."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from siltstone.engine.errors import SpecError
from siltstone.engine.names import DISMISSALS, OF_REJECT, REJECTS
from siltstone.engine.reader.ledger_writer import until_committed, writable_catalog
from siltstone.engine.reader.table_reader import Reader, load_table
from siltstone.engine.schema.comments import ledger_comments, ledger_properties

if TYPE_CHECKING:
    from siltstone.engine.reader.reject_reader import Place, Reject
    from siltstone.engine.spec.model import ProjectSpec


@dataclass(frozen=True)
class Dismissal:
    """Who dismissed a reject, when and why."""

    by: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Choice:
    """A selection of rejects. An empty field selects all of them.

    `places`: a file or `file:line`, where the end of a path is enough. `matching`: a text that the reason contains.
    """

    places: Sequence[str] = ()
    matching: str = ""

    def of(self, found: "Sequence[Reject]") -> "list[Reject]":
        """The selected rejects among `found`.

        Raises: SpecError: there is none at one of the places, or none is selected.
        """
        lost = [place for place in self.places if not any(is_at(each, place) for each in found)]
        if lost:
            raise SpecError(
                f"Cannot find a waiting reject at {', '.join(lost)}.", "`siltstone rejects show` lists them"
            )
        chosen = [each for each in found if self._matches(each)]
        if not chosen:
            raise SpecError("Cannot find such a reject: none is waiting.", "`siltstone rejects list` shows them")
        return chosen

    def _matches(self, reject: "Reject") -> bool:
        has_place = not self.places or any(is_at(reject, place) for place in self.places)
        return has_place and self.matching in reject.reason


def is_at(reject: "Reject", place: str) -> bool:
    """Whether a reject is in the file, or at the line, that a text names."""
    file, _, line = place.rpartition(":")
    named, wanted = (file, int(line)) if file and line.isdigit() else (place, reject.line)
    path, bare = reject.file.removeprefix("file:"), named.removeprefix("file:")
    return reject.line == wanted and (path == bare or path.endswith(f"/{bare}"))


def dismissals(catalog: Reader, namespace: str) -> "dict[Place, Dismissal]":
    """The first dismissal of each reject, by the place of the reject."""
    from siltstone.engine.plain_values import records

    name = f"{namespace}.{DISMISSALS}"
    if not catalog.table_exists(name):
        return {}
    rows = sorted(records(load_table(catalog, name).scan().to_arrow()), key=lambda row: row["dismissed_at"])
    return {
        (row["consumer"], row["batch"], row["file"], row["line"]): Dismissal(
            row["dismissed_by"], row["reason"], row["dismissed_at"]
        )
        for row in rows[::-1]
    }


def dismiss(project: "ProjectSpec", chosen: "Sequence[Reject]", dismissal: Dismissal) -> None:
    """Record the dismissal of these rejects. The first dismissal creates the table.

    Raises: CommitConflictError: other programs wrote at each attempt.
    """
    import pyarrow as pa

    facts: dict[str, Any] = {
        "dismissed_by": dismissal.by,
        "reason": dismissal.reason,
        "dismissed_at": dismissal.at,
    }
    places = sorted({each.place for each in chosen})
    rows = [dict(zip(OF_REJECT, place, strict=True)) | facts for place in places]
    catalog, name = writable_catalog(project.catalog), f"{project.namespace}.{DISMISSALS}"

    def attempt() -> None:
        if not catalog.table_exists(name):
            folder = load_table(catalog, f"{project.namespace}.{REJECTS}").location().rpartition("/")[0]
            catalog.create_table_if_not_exists(
                name, _schema(), location=f"{folder}/{DISMISSALS}", properties=ledger_properties(DISMISSALS)
            )
        load_table(catalog, name).append(pa.Table.from_pylist(rows, schema=_schema()))

    until_committed(attempt, "dismiss rejects", name)


def _schema() -> Any:
    """The columns of the ledger, as `engine.table.ledger` reads them."""
    import pyarrow as pa

    texts, longs = ("consumer", "file", "reason", "dismissed_by"), ("batch", "line")
    kinds = dict.fromkeys(texts, pa.string()) | dict.fromkeys(longs, pa.int64())
    kinds["dismissed_at"] = pa.timestamp("us", "UTC")
    order = (*OF_REJECT, "reason", "dismissed_by", "dismissed_at")
    comments = ledger_comments(DISMISSALS)
    return pa.schema([pa.field(column, kinds[column], metadata={"doc": comments[column]}) for column in order])
