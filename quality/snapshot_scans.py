"""The scans of a table, from the notices and signals of its sources' snapshots."""

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
SCAN_SKIPPED: Final = "SKIPPED"  # the notice of a restarted connector about its initial snapshot
NO_ROW: Final = "EMPTY"  # the status of the scan of a table without rows
SNAPSHOT_REQUEST: Final = "execute-snapshot"
MOST_ROWS: Final = 2**63 - 1


@dataclass(frozen=True)
class Scan:
    """One scan of the table by one source: its begin, its end, the announced number of rows (None: unknown).

    `whole`: the scan covers all rows, by its notice of completion; otherwise it covers the keys from its first to its
    last READ. `windowed`: its READs are in windows, where changes supersede them. `partial`: the request named some
    rows only.
    """

    source: str
    begins: datetime
    ends: datetime
    rows: int | None
    whole: bool
    windowed: bool
    partial: bool = False


def scans(control: DataFrame, progress: Progress, table: str, with_reads: bool) -> list[Scan]:
    """The scans of a table to check now. Without notices, the requested scan counts if READs arrived (`with_reads`).

    Needs: control rows of the table's sources. The notices and requests of a source are about its own scans.
    """
    names_scan = reduce(or_, [F.col("payload").contains(word) for word in (SCAN_ENDED, SCAN_BEGAN, SCAN_SKIPPED)])
    is_notice = (F.col("kind") == control_kinds.NOTIFICATION) & names_scan
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
        for source, own in groupby(rows, lambda row: str(row["source"]))
        for scan in scans_of_source(source, list(own), progress, table, with_reads)
    ]


def scans_of_source(source: str, rows: Sequence[Any], progress: Progress, table: str, with_reads: bool) -> list[Scan]:
    """The scans of one source. `rows`: its control rows."""
    signals = [one for one in (signal_of(row) for row in rows if row["kind"] == control_kinds.SIGNAL) if one]
    notices = [one for one in (notice_of(row) for row in rows if row["kind"] == control_kinds.NOTIFICATION) if one]
    if not any(one["type"] == SCAN_ENDED for one in notices):
        return requested_scan(source, signals, table) if with_reads else []
    ended = [one for one in notices if one["type"] == SCAN_ENDED and one["whole"] and is_of(one["table"], table)]
    partial = [one for one in signals if one["partial"] and names_table(one["of"], table)]
    altered = [
        aware(row["ingest_ts"]) for row in rows if row["kind"] == control_kinds.DDL and is_of(row["table"], table)
    ]
    found = [completed_scan(source, one, notices, partial, altered) for one in progress.due(source, ended)]
    return list(dict.fromkeys(scan for scan in found if scan is not None))  # a notice can be delivered twice


def is_request() -> Column:
    """True for control rows that request a snapshot."""
    places = [f"$.{path}after.{data}" for path in ("payload.", "") for data in ("data", "DATA")]
    data = F.coalesce(*[F.get_json_object("payload", place) for place in places])
    named = F.get_json_object(data, "$.data-collections").startswith("[")
    is_signal = (F.col("kind") == control_kinds.SIGNAL) & F.col("payload").contains(SNAPSHOT_REQUEST)
    return is_signal & F.coalesce(named, F.lit(False))


def signal_of(row: Any) -> dict[str, Any] | None:
    """A request for a snapshot: its id, its time, the patterns of its tables, and whether it is for some rows only.

    None for rows that Debezium cannot read either: users write them by hand.
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
    """A notice of the connector about a snapshot. None if it is unreadable, has no time, or is from another connector.

    In a batch with changes of one connector only, a notice whose topic names no connector was assigned to that one.
    """
    payload = object_in(row["payload"])
    details = object_in(payload.get("additional_data"))
    at = moment_in(payload.get("timestamp") or 0)
    if not payload or at is None or details.get("connector_name", name_of(row["source"])) != name_of(row["source"]):
        return None
    is_empty = details.get("status") == NO_ROW
    return {
        "id": str(payload.get("id")),
        "of": payload.get("aggregate_type"),
        "type": payload.get("type"),
        "at": at,
        "table": details.get("scanned_collection"),
        "rows": 0 if is_empty else count_in(details.get("total_rows_scanned")),
        "whole": is_empty or details.get("status") == "SUCCEEDED",
        "batch": row["batch"],
    }


def name_of(source: str) -> str:
    """The connector's name in the name of a source."""
    return source.partition(":")[2].partition(":")[0]


def object_in(value: Any) -> dict[str, Any]:
    """A JSON object, or the one that a text contains; an empty one for any other value."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def moment_in(millis: Any) -> datetime | None:
    """The time from milliseconds since 1970; None if they are not a number or not between the years 1 and 9999."""
    try:
        moment = datetime.fromtimestamp(int(millis) / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return moment if datetime.min.year < moment.year < datetime.max.year else None


def count_in(value: Any) -> int | None:
    """A number of rows; None if the value is not one."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= MOST_ROWS else None


def completed_scan(
    source: str,
    one: dict[str, Any],
    notices: Sequence[dict[str, Any]],
    partial: Sequence[dict[str, Any]],
    altered: Sequence[datetime],
) -> Scan | None:
    """The scan of a notice of completion. None if its begin is unknown.

    `partial`: the requests for a part of the table; `altered`: when its columns changed. Two events make the announced
    number of an incremental snapshot unusable: after a column change it re-reads its chunk and counts those rows twice;
    after a restart of the connector it counts from zero.
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
    # A notice has the id of the newest request, which may not be its own: a request can wait while another one runs.
    since = began[-2] if len(began) > 1 else datetime.min.replace(tzinfo=UTC)
    is_partial = windowed and any(since <= request["at"] <= ends for request in partial)
    return Scan(source, begins, ends, None if miscounted else one["rows"], True, windowed, is_partial)


def is_incremental(notice: dict[str, Any]) -> bool:
    """Whether a notice is about an incremental snapshot, which runs while streaming continues.

    All scans of one snapshot have the same begin: it can read several tables at once, and requests can be added to it.
    """
    return "Incremental" in str(notice["of"])


def requested_scan(source: str, signals: list[dict[str, Any]], table: str) -> list[Scan]:
    """The newest requested scan of the table, for a source without notices of completion."""
    requests = sorted((one for one in signals if names_table(one["of"], table)), key=lambda one: one["at"])
    newest = requests[-1] if requests else None
    end = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
    return [Scan(source, newest["at"], end, None, False, True, newest["partial"])] if newest else []


def names_table(collections: Sequence[str], table: str) -> bool:
    """Whether one of a signal's names or patterns matches the table."""
    return any(is_of(name, table) or is_match(name, table) for name in collections)


def is_match(pattern: str, table: str) -> bool:
    """Whether a pattern matches the table; an invalid pattern matches none."""
    try:
        return re.fullmatch(pattern, table) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def is_of(name: Any, table: str) -> bool:
    """Whether a name is the table's, also with its database as a prefix."""
    return isinstance(name, str) and (name == table or name.endswith(f".{table}"))


def aware(moment: datetime) -> datetime:
    """A collected time with a zone: Spark collects times in the process's local time."""
    return moment.astimezone(UTC)
