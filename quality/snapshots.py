"""The scans of a table: read off what its sources tell of their snapshots."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.moments import collectable
from engine.schema import control_kinds

SCAN_ENDED: Final = "TABLE_SCAN_COMPLETED"
SCAN_BEGAN: Final = "STARTED"
SNAPSHOT_REQUEST: Final = "execute-snapshot"
MOST_ROWS: Final = 2**63 - 1


@dataclass(frozen=True)
class Scan:
    """One scan of the table by one source: from when to when, how many rows it announced (None: it announced nothing).

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


def scans(control: DataFrame, since: int, table: str, with_reads: bool) -> list[Scan]:
    """The scans of a table that ended in these batches; without notices, those whose READs came (`with_reads`).

    Needs: control rows of the table's sources. Each source's notices and requests are about its own scans.
    """
    is_told = F.col("payload").contains(SCAN_ENDED) | F.col("payload").contains(SCAN_BEGAN)
    is_notice = (F.col("kind") == control_kinds.NOTIFICATION) & is_told
    rows = (
        control.where(is_notice | is_request())
        .select("source", "kind", "batch", collectable(F.col("commit_ts")).alias("commit_ts"), "payload")
        .orderBy("source")
        .collect()
    )
    return [
        scan
        for _, told in groupby(rows, lambda row: str(row["source"]))
        for scan in scans_of_source(list(told), since, table, with_reads)
    ]


def scans_of_source(rows: Sequence[Any], since: int, table: str, with_reads: bool) -> list[Scan]:
    """The same of what one source tells."""
    signals = [one for one in (signal_of(row) for row in rows if row["kind"] == control_kinds.SIGNAL) if one]
    notices = [one for one in (notice_of(row) for row in rows if row["kind"] == control_kinds.NOTIFICATION) if one]
    if any(one["type"] == SCAN_ENDED for one in notices):
        return noticed(notices, {one["id"]: one for one in signals}, since, table)
    return signalled(signals, table) if with_reads else []


def is_request() -> Column:
    """True for control rows that ask for a snapshot of something."""
    wrapped, bare = (F.get_json_object("payload", f"$.{path}after.data") for path in ("payload.", ""))
    named = F.get_json_object(F.coalesce(wrapped, bare), "$.data-collections").startswith("[")
    is_signal = (F.col("kind") == control_kinds.SIGNAL) & F.col("payload").contains(SNAPSHOT_REQUEST)
    return is_signal & F.coalesce(named, F.lit(False))


def signal_of(row: Any) -> dict[str, Any] | None:
    """A request for a snapshot: its id, when it was made, of which tables (patterns), and whether only of a part.

    None for what Debezium cannot read either: people write these rows by hand.
    """
    payload = object_in(row["payload"])
    after = object_in((object_in(payload.get("payload")) or payload).get("after"))
    data = object_in(after.get("data"))
    named = data.get("data-collections")
    if after.get("type") != SNAPSHOT_REQUEST or row["commit_ts"] is None or not isinstance(named, list):
        return None
    partial = any(word in data for word in ("additional-condition", "additional-conditions", "surrogate-key"))
    return {
        "source": row["source"],
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
    return {
        "source": row["source"],
        "id": str(payload.get("id")),
        "of": payload.get("aggregate_type"),
        "type": payload.get("type"),
        "at": at,
        "table": told.get("scanned_collection"),
        "rows": count_in(told.get("total_rows_scanned")),
        "succeeded": told.get("status") == "SUCCEEDED",
        "batch": row["batch"],
    }


def name_of(source: str) -> str:
    """The connector's own name in that of a source."""
    return source.partition(":")[2]


def object_in(value: Any) -> dict[str, Any]:
    """A JSON object, or the one in a text; an empty one for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def moment_in(millis: Any) -> datetime | None:
    """The moment so many milliseconds after 1970; None where that is no number, or beyond all time."""
    try:
        return datetime.fromtimestamp(int(millis) / 1000, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def count_in(value: Any) -> int | None:
    """A number of rows; None where it is none."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if 0 <= count <= MOST_ROWS else None


def noticed(notices: list[dict[str, Any]], signals: dict[str, Any], since: int, table: str) -> list[Scan]:
    """The scans of the table that notices tell of: each begins where the notice before it ends."""
    found = []
    for one in notices:
        mine = one["type"] == SCAN_ENDED and one["succeeded"] and one["batch"] > since
        if not mine or not is_of(one["table"], table):
            continue
        before = [other["at"] for other in notices if other["of"] == one["of"] and other["at"] < one["at"]]
        partial = signals.get(one["id"], {}).get("partial", False)
        if before:
            windowed = "Incremental" in str(one["of"])
            found.append(Scan(one["source"], max(before), one["at"], one["rows"], True, windowed, partial))
    return found


def signalled(signals: list[dict[str, Any]], table: str) -> list[Scan]:
    """The newest scan of the table that a signal asked for, where nobody tells how it ended."""
    asked = sorted((one for one in signals if names_table(one["of"], table)), key=lambda one: one["at"])
    newest = asked[-1] if asked else None
    end = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
    return [Scan(newest["source"], newest["at"], end, None, False, True, newest["partial"])] if newest else []


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
