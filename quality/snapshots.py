"""Snapshots that stopped short, and rows that outlived one: read off what the source tells of its scans."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.moments import collectable
from engine.ordering.windows import chunk_windows, enclosing_windows
from engine.schema import control_kinds
from quality import catalogue
from quality.timeline import Columns, is_streamed, key_struct

SCAN_ENDED: Final = "TABLE_SCAN_COMPLETED"
SCAN_BEGAN: Final = "STARTED"
SNAPSHOT_REQUEST: Final = "execute-snapshot"
EMISSION: Final = timedelta(seconds=1)  # the READs of the last chunk can leave the connector just after its notice
MOST_ROWS: Final = 2**63 - 1
# Keys whose order here is their order at the source: a text's depends on its collation.
ORDERED: Final = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType)


@dataclass(frozen=True)
class Scan:
    """One scan of the table: from when to when, how many rows it announced (None: it announced nothing).

    `whole`: it went over all rows, or said so when it ended; otherwise it covers the keys from its first to its last
    READ. `windowed`: its READs stand in windows, where changes supersede them. `partial`: it was asked for some rows.
    """

    begins: datetime
    ends: datetime
    rows: int | None
    whole: bool
    windowed: bool
    partial: bool = False


def scans(control: DataFrame, since: int, table: str, with_reads: bool) -> list[Scan]:
    """The scans of a table that ended in these batches; without notices, those whose READs came (`with_reads`).

    Needs: control rows of one source.
    """
    is_told = F.col("payload").contains(SCAN_ENDED) | F.col("payload").contains(SCAN_BEGAN)
    is_notice = (F.col("kind") == control_kinds.NOTIFICATION) & is_told
    rows = (
        control.where(is_notice | is_request())
        .select("kind", "batch", collectable(F.col("commit_ts")).alias("commit_ts"), "payload")
        .collect()
    )
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
        "id": str(after.get("id")),
        "at": aware(row["commit_ts"]),
        "of": [name for name in named if isinstance(name, str)],
        "partial": partial,
    }


def notice_of(row: Any) -> dict[str, Any] | None:
    """What the connector tells of a snapshot. None where it cannot be read, or does not tell when."""
    payload = object_in(row["payload"])
    told = object_in(payload.get("additional_data"))
    at = moment_in(payload.get("timestamp") or 0)
    if not payload or at is None:
        return None
    return {
        "id": str(payload.get("id")),
        "of": payload.get("aggregate_type"),
        "type": payload.get("type"),
        "at": at,
        "table": told.get("scanned_collection"),
        "rows": count_in(told.get("total_rows_scanned")),
        "succeeded": told.get("status") == "SUCCEEDED",
        "batch": row["batch"],
    }


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
            found.append(Scan(max(before), one["at"], one["rows"], True, windowed, partial))
    return found


def signalled(signals: list[dict[str, Any]], table: str) -> list[Scan]:
    """The newest scan of the table that a signal asked for, where nobody tells how it ended."""
    asked = sorted((one for one in signals if names_table(one["of"], table)), key=lambda one: one["at"])
    newest = asked[-1] if asked else None
    end = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
    return [Scan(newest["at"], end, None, False, True, newest["partial"])] if newest else []


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


def reads_of(changes: DataFrame, scan: Scan) -> DataFrame:
    """The scan's READs. Rows: filters."""
    from_scan = F.col("ingest_ts").between(F.lit(scan.begins), F.lit(scan.ends + EMISSION))
    return changes.where(~is_streamed() & F.col("key").isNotNull() & from_scan)


def changed_since(changes: DataFrame, scan: Scan, margin: timedelta) -> DataFrame:
    """The streamed changes of single keys from the scan's begin on. Rows: filters."""
    return changes.where(is_streamed() & F.col("key").isNotNull() & (F.col("commit_ts") >= F.lit(scan.begins - margin)))


def ghost_rows(
    changes: DataFrame, latest: DataFrame, found: Sequence[Scan], columns: Columns, margin: timedelta
) -> DataFrame:
    """Live rows that a scan of their table did not see, and that nothing has changed since: a delete was missed.

    Needs: all changes, latest rows, `scans`.
    Gives: check, position_from, position_to (null), key, message.
    Rows: one a key and scan.
    """
    return reduce(DataFrame.unionByName, [ghosts_of(changes, latest, scan, columns, margin) for scan in found])


def ghosts_of(changes: DataFrame, latest: DataFrame, scan: Scan, columns: Columns, margin: timedelta) -> DataFrame:
    """The same of one scan."""
    reads = reads_of(changes, scan).select("key")
    older = latest.where(F.col(names.VALID_FROM) < F.lit(scan.begins - margin))
    live = older.select(key_struct(columns), F.col(names.POSITION).alias("position_from"))
    if not scan.whole:
        covered = F.broadcast(reads.agg(F.min("key").alias("first"), F.max("key").alias("last")))  # one row
        live = live.crossJoin(covered).where(F.col("key").between(F.col("first"), F.col("last")))
    seen = reads.unionByName(changed_since(changes, scan, margin).select("key"))
    began = scan.begins.isoformat(timespec="seconds")
    text = f"the snapshot that began at {began} did not see the row, and nothing changed it since"
    return live.join(seen, "key", "left_anti").select(
        F.lit(catalogue.GHOST_ROW).alias("check"),
        "position_from",
        F.lit(None).cast("string").alias("position_to"),
        "key",
        F.lit(text).alias("message"),
    )


def short_snapshots(
    changes: DataFrame, control: DataFrame, found: Sequence[Scan], key: T.StructType, margin: timedelta
) -> DataFrame:
    """Scans of which fewer rows came than they announced.

    Needs: all changes, control rows of one source, `scans` that announce a number.
    Gives: check, position_from, position_to, key (null), message.
    Rows: one a scan. In windows a change supersedes a READ: then the change counts for it.
    """
    return reduce(DataFrame.unionByName, [shortness_of(changes, control, scan, key, margin) for scan in found])


def shortness_of(changes: DataFrame, control: DataFrame, scan: Scan, key: T.StructType, margin: timedelta) -> DataFrame:
    """The same of one scan."""
    came = reads_of(changes, scan)
    told = came.select("key", "position")
    if scan.windowed:
        near = F.col("open_ts").between(F.lit(scan.begins - margin), F.lit(scan.ends + margin))
        windows = chunk_windows(control).where(near & F.col("close_position").isNotNull())
        changed = changed_since(changes, scan, margin).where(F.col("commit_ts") <= F.lit(scan.ends + EMISSION))
        told = told.unionByName(standing_for_reads(came, changed, windows, is_ordered(key)))
    counted = told.agg(
        F.count_distinct("key").alias("rows"), F.min("position").alias("low"), F.max("position").alias("high")
    )
    text = F.concat(
        F.lit(f"the snapshot that ended at {scan.ends.isoformat(timespec='seconds')} announced {scan.rows} rows; "),
        F.col("rows").cast("string"),
        F.lit(" came"),
    )
    return counted.where(F.col("rows") < F.lit(scan.rows)).select(
        F.lit(catalogue.SHORT_SNAPSHOT).alias("check"),
        F.col("low").alias("position_from"),
        F.col("high").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    )


def standing_for_reads(reads: DataFrame, changed: DataFrame, windows: DataFrame, ordered: bool) -> DataFrame:
    """The changes inside of windows that can have superseded a READ of that window.

    Needs: READs and streamed changes of one scan; its closed windows as `chunk_windows` gives them.
    Gives: key, position.
    Rows: filters. A chunk reads its keys in their order, so (where that order is known here) a change of a window
        stands for a READ only if its key lies between those of the windows around it.

        window   READs     changes      stands for a READ
        first    1 2 4     3, 9         3
        second   5 8       6, 9         6, 9: it may have been the last one
    """
    placed = in_windows(changed, windows)
    if not ordered:
        return placed.select("key", "position")
    chunk = in_windows(reads, windows).groupBy("source", "open_position").agg(F.min("key"), F.max("key"))
    known = windows.select("source", "open_position").join(
        chunk.toDF("source", "open_position", "first", "last"), ["source", "open_position"], "left"
    )
    in_order = Window.partitionBy("source").orderBy("open_position")
    before, behind = (
        in_order.rowsBetween(Window.unboundedPreceding, -1),
        in_order.rowsBetween(1, Window.unboundedFollowing),
    )
    around = known.select(
        "source",
        "open_position",
        F.last("last", ignorenulls=True).over(before).alias("above"),
        F.first("first", ignorenulls=True).over(behind).alias("below"),
    )
    between = F.coalesce(F.col("key") > F.col("above"), F.lit(True)) & F.coalesce(
        F.col("key") < F.col("below"), F.lit(True)
    )
    beside = placed.join(F.broadcast(around), ["source", "open_position"], "inner")  # one row a window
    return beside.where(between).select("key", "position")


def in_windows(rows: DataFrame, windows: DataFrame) -> DataFrame:
    """Rows that stand inside of a window, and which.

    Gives: key, position, source, open_position.
    Rows: filters; the windows of one source do not overlap.
    """
    found = enclosing_windows(rows.select("source", "position").distinct(), windows)
    return rows.join(found, ["source", "position"], "inner").select("key", "position", "source", "open_position")


def is_ordered(key: T.StructType) -> bool:
    """Whether keys have the same order here as at the source."""
    return all(isinstance(field.dataType, ORDERED) for field in key)
