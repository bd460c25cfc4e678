"""The scans of a table: read off what its sources tell of their snapshots."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.schema import control_kinds
from siltstone.engine.timestamps import collectable
from siltstone.quality.source_progress import Progress

SCAN_ENDED: Final = "TABLE_SCAN_COMPLETED"
SCAN_BEGAN: Final = "STARTED"
SCAN_SKIPPED: Final = "SKIPPED"  # what a connector that was started again says of its initial snapshot
NO_ROW: Final = "EMPTY"  # how the scan of a table without rows ends
SNAPSHOT_REQUEST: Final = "execute-snapshot"
MOST_ROWS: Final = 2**63 - 1


@dataclass(frozen=True)
class Scan:
    """One scan of the table by one source: from when to when, how many rows it announced (None: no number to go by).

    `whole`: it went over all rows, or said so when it ended; otherwise it covers the keys from its first to its last
    READ. `windowed`: its READs stand in windows, where changes supersede them. `partial`: it was asked for some rows.
    """

    source: str
    begins: datetime
    ends: datetime
    rows: int | None
    whole: bool
    windowed: bool
    partial: bool = False


def scans(control: DataFrame, progress: Progress, table: str, with_reads: bool) -> list[Scan]:
    """The scans of a table that are to be judged now; without notices, those whose READs came (`with_reads`).

    Needs: control rows of the table's sources. Each source's notices and requests are about its own scans.
    """
    is_told = reduce(or_, [F.col("payload").contains(word) for word in (SCAN_ENDED, SCAN_BEGAN, SCAN_SKIPPED)])
    is_notice = (F.col("kind") == control_kinds.NOTIFICATION) & is_told
    is_ddl = (F.col("kind") == control_kinds.DDL) & F.col("ingest_ts").isNotNull()
    rows = (
        control.where(is_notice | is_request() | is_ddl)
        .select(
            *("source", "kind", "batch", "table"),
            *[collectable(F.col(name)).alias(name) for name in ("commit_ts", "ingest_ts")],
            F.when(~is_ddl, F.col("payload")).alias("payload"),
        )
        .orderBy("source")
        .collect()
    )
    return [
        scan
        for source, told in groupby(rows, lambda row: str(row["source"]))
        for scan in scans_of_source(source, list(told), progress, table, with_reads)
    ]


def scans_of_source(source: str, rows: Sequence[Any], progress: Progress, table: str, with_reads: bool) -> list[Scan]:
    """The same of what one source tells."""
    signals = [one for one in (signal_of(row) for row in rows if row["kind"] == control_kinds.SIGNAL) if one]
    notices = [one for one in (notice_of(row) for row in rows if row["kind"] == control_kinds.NOTIFICATION) if one]
    if not any(one["type"] == SCAN_ENDED for one in notices):
        return signalled(source, signals, table) if with_reads else []
    ended = [one for one in notices if one["type"] == SCAN_ENDED and one["whole"] and is_of(one["table"], table)]
    partial = [one for one in signals if one["partial"] and names_table(one["of"], table)]
    altered = [
        aware(row["ingest_ts"]) for row in rows if row["kind"] == control_kinds.DDL and is_of(row["table"], table)
    ]
    found = [noticed(source, one, notices, partial, altered) for one in progress.due(source, ended)]
    return list(dict.fromkeys(scan for scan in found if scan is not None))  # a notice can be delivered again


def is_request() -> Column:
    """True for control rows that ask for a snapshot of something."""
    places = [f"$.{path}after.{data}" for path in ("payload.", "") for data in ("data", "DATA")]
    data = F.coalesce(*[F.get_json_object("payload", place) for place in places])
    named = F.get_json_object(data, "$.data-collections").startswith("[")
    is_signal = (F.col("kind") == control_kinds.SIGNAL) & F.col("payload").contains(SNAPSHOT_REQUEST)
    return is_signal & F.coalesce(named, F.lit(False))


def signal_of(row: Any) -> dict[str, Any] | None:
    """A request for a snapshot: its id, when it was made, of which tables (patterns), and whether only of a part.

    None for what Debezium cannot read either: people write these rows by hand.
    """
    payload = object_in(row["payload"])
    written = object_in((object_in(payload.get("payload")) or payload).get("after"))
    after = {name.lower(): value for name, value in written.items()}  # Oracle's names are upper case
    data = object_in(after.get("data"))
    named = data.get("data-collections")
    if after.get("type") != SNAPSHOT_REQUEST or row["commit_ts"] is None or not isinstance(named, list):
        return None
    partial = any(word in data for word in ("additional-condition", "additional-conditions", "surrogate-key"))
    return {
        "id": str(after.get("id")),
        "at": aware(row["commit_ts"]),
        "of": [name for name in named if isinstance(name, str)],
        "partial": partial,
    }


def notice_of(row: Any) -> dict[str, Any] | None:
    """What the connector tells of a snapshot. None where it cannot be read, does not tell when, or is of another one.

    Where only one connector's changes came in a batch, what names none by its topic was taken to be of that one.
    """
    payload = object_in(row["payload"])
    told = object_in(payload.get("additional_data"))
    at = moment_in(payload.get("timestamp") or 0)
    if not payload or at is None or told.get("connector_name", name_of(row["source"])) != name_of(row["source"]):
        return None
    is_empty = told.get("status") == NO_ROW
    return {
        "id": str(payload.get("id")),
        "of": payload.get("aggregate_type"),
        "type": payload.get("type"),
        "at": at,
        "table": told.get("scanned_collection"),
        "rows": 0 if is_empty else count_in(told.get("total_rows_scanned")),
        "whole": is_empty or told.get("status") == "SUCCEEDED",
        "batch": row["batch"],
    }


def name_of(source: str) -> str:
    """The connector's own name in that of a source."""
    return source.partition(":")[2].partition(":")[0]


def object_in(value: Any) -> dict[str, Any]:
    """A JSON object, or the one in a text; an empty one for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def moment_in(millis: Any) -> datetime | None:
    """The moment so many milliseconds after 1970; None where that is no number, or at the end of all time or beyond."""
    try:
        moment = datetime.fromtimestamp(int(millis) / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return moment if datetime.min.year < moment.year < datetime.max.year else None


def count_in(value: Any) -> int | None:
    """A number of rows; None where it is none."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= MOST_ROWS else None


def noticed(
    source: str,
    one: dict[str, Any],
    notices: Sequence[dict[str, Any]],
    partial: Sequence[dict[str, Any]],
    altered: Sequence[datetime],
) -> Scan | None:
    """The scan whose end a notice tells of. None: nothing tells when it can have begun.

    `partial`: the requests for a part of the table; `altered`: when its columns changed. An incremental snapshot that
    meets such a change reads its chunk once more, and counts those rows twice; one whose connector was started again
    counts from there on: its number says nothing then.
    """
    windowed, ends = is_incremental(one), one["at"]
    earlier = [other for other in notices if other["at"] < ends]
    same = [other for other in earlier if other["of"] == one["of"]]
    began = sorted(other["at"] for other in same if other["type"] == SCAN_BEGAN)
    restarts = [other["at"] for other in earlier if windowed and not is_incremental(other)]
    if not began and restarts:
        return None
    begins = began[-1] if began else max((other["at"] for other in same), default=None)
    if begins is None:
        return None
    miscounted = windowed and any(begins <= at <= ends for at in (*altered, *restarts))
    # A notice bears the id of the newest request, not of the one that asked; and one can wait while another is served.
    since = began[-2] if len(began) > 1 else datetime.min.replace(tzinfo=UTC)
    is_partial = windowed and any(since <= asked["at"] <= ends for asked in partial)
    return Scan(source, begins, ends, None if miscounted else one["rows"], True, windowed, is_partial)


def is_incremental(notice: dict[str, Any]) -> bool:
    """Whether a notice is of a snapshot that runs beside the stream. All scans of one run have one beginning, whatever
    is asked for meanwhile; those of another one, too: several threads can read several tables at once."""
    return "Incremental" in str(notice["of"])


def signalled(source: str, signals: list[dict[str, Any]], table: str) -> list[Scan]:
    """The newest scan of the table that a signal asked for, where nobody tells how it ended."""
    asked = sorted((one for one in signals if names_table(one["of"], table)), key=lambda one: one["at"])
    newest = asked[-1] if asked else None
    end = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
    return [Scan(source, newest["at"], end, None, False, True, newest["partial"])] if newest else []


def names_table(collections: Sequence[str], table: str) -> bool:
    """Whether one of a signal's names or patterns is of the table."""
    return any(is_of(name, table) or fits(name, table) for name in collections)


def fits(pattern: str, table: str) -> bool:
    """Whether a pattern is of the table; what is no pattern is of none."""
    try:
        return re.fullmatch(pattern, table) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def is_of(name: Any, table: str) -> bool:
    """Whether a name is the table's, perhaps with its database before it."""
    return isinstance(name, str) and (name == table or name.endswith(f".{table}"))


def aware(moment: datetime) -> datetime:
    """A collected time with its zone: Spark gives the local time of the process."""
    return moment.astimezone(UTC)
