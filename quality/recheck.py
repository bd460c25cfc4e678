"""Looking again at what is open: the keys of open gaps over all their changes, the rest since they were found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.frames import checkpointed, local_frame
from siltstone.engine.names import EVERY_BATCH, quoted
from siltstone.engine.schema.gap_record import OPEN, Gap
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.timestamps import collectable
from siltstone.quality.check_timeline import struct_type
from siltstone.quality.findings import KEY_CHECKS, find
from siltstone.quality.gap_lifecycle import EVENTS, Looked, covered
from siltstone.quality.healing import reaches_back
from siltstone.quality.key_findings import OF_CHANGES
from siltstone.quality.scope import Tables

EXACT_IN_JSON = (T.IntegralType, T.DecimalType, T.StringType, T.BooleanType, T.DateType, T.BinaryType)


def recheck(tables: Tables, spec: TableSpec, book: Sequence[Gap], since: int, checks: Collection[str]) -> list[Looked]:
    """Look at the gaps of the book that a look at the batches after `since` does not cover. Nothing open: no look.

    Acknowledged gaps are looked at when something from before their end has arrived: only that can heal them.
    """
    asked = [gap for gap in book if gap.gap_id not in covered(book, since) and gap.check in set(checks) - EVENTS]
    known = [gap for gap in asked if gap.status != OPEN]
    if known and not reaches_back(tables, since, known):
        asked = [gap for gap in asked if gap.status == OPEN]
    if not asked:
        return []
    # The row that a keyless table's gap names stands in the tables under a number that the changes do not know.
    can_ask = not tables.columns.keyless and keeps_its_value_in_json(tables.changes.schema["key"].dataType)
    by_key = [gap for gap in asked if can_ask and gap.key is not None and gap.check in KEY_CHECKS]
    by_batch = [gap for gap in asked if gap not in by_key]
    looks = []
    if by_key:
        # What arrived in place of what was missing can contradict something else of its key.
        wanted = in_order(checks, {gap.check for gap in by_key} | (OF_CHANGES - EVENTS))
        found = find(of_keys(tables, by_key), spec, EVERY_BATCH, wanted)
        looks.append(Looked(found, EVERY_BATCH, frozenset(gap.gap_id for gap in by_key), of_keys=True))
    if by_batch:
        first = min(gap.since_batch for gap in by_batch)
        found = find(tables, spec, first, in_order(checks, {gap.check for gap in by_batch}))
        looks.append(Looked(found, first, frozenset(gap.gap_id for gap in by_batch)))
    return looks


def in_order(checks: Collection[str], wanted: Collection[str]) -> list[str]:
    """Those of the checks that are wanted."""
    return [check for check in checks if check in wanted]


def of_keys(tables: Tables, gaps: Sequence[Gap]) -> Tables:
    """The tables with nothing in them but these keys. The control rows are all there, and so are other keys' changes,
    beside them: what a source's changes carry is no matter of these keys."""
    keys = parsed_keys(tables.changes, gaps).transform(checkpointed)
    rows = [row["key"] for row in keys.collect()]
    names = tables.columns.keys
    flat = keys.select(*[F.col("key")[name].alias(name) for name in names])
    return replace(
        tables,
        changes=tables.changes.where(among(rows, names, "key.")).join(F.broadcast(keys), "key", "left_semi"),
        of_all_keys=tables.changes,
        history=of_these(tables.history.where(among(rows, names)), flat),
        latest=of_these(tables.latest.where(among(rows, names)), flat),
    )


def of_these(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of some keys, which are columns. Rows: filters."""
    same = [rows[quoted(name)].eqNullSafe(keys[quoted(name)]) for name in keys.columns]
    return rows.join(F.broadcast(keys), same, "left_semi")


def keeps_its_value_in_json(kind: T.DataType) -> bool:
    """Whether a key comes back from its JSON text as it was: floats do not, nor did times of a microsecond always."""
    if isinstance(kind, T.StructType):
        return all(keeps_its_value_in_json(field.dataType) for field in kind)
    return isinstance(kind, EXACT_IN_JSON)


def parsed_keys(changes: DataFrame, gaps: Sequence[Gap]) -> DataFrame:
    """The keys as the changes have them.

    Gives: key. Rows: one a key.
    """
    texts = sorted({gap.key for gap in gaps if gap.key is not None})
    listed = local_frame(changes.sparkSession, [{"text": text} for text in texts], "text string")
    return listed.select(F.from_json("text", struct_type(changes.schema, "key")).alias("key"))


def among(rows: Sequence[object], names: Sequence[str], prefix: str = "") -> Column:
    """True for rows whose first key column is one of these: files and row groups without them are not read."""
    column = F.col(f"{prefix}{quoted(names[0])}")
    values = [row[names[0]] for row in rows]  # type: ignore[index]  # a Spark row
    known = column.isin([value for value in values if value is not None])
    return known | column.isNull() if None in values else known


def commit_times(tables: Tables, positions: Collection[str]) -> Mapping[str, datetime]:
    """When what stands at these positions was committed, as far as the changes and the control events say."""
    if not positions:
        return {}
    told = tables.changes.select("position", "commit_ts")
    if tables.control is not None:
        told = told.unionByName(tables.control.select("position", "commit_ts"))
    at = told.where(F.col("position").isin(sorted(positions)) & F.col("commit_ts").isNotNull())
    found = at.groupBy("position").agg(collectable(F.min("commit_ts")).alias("commit_ts")).collect()
    return {row["position"]: row["commit_ts"] for row in found}


def dated(gaps: Sequence[Gap], tables: Tables) -> list[Gap]:
    """The gaps with the commit times at their ends, where those are not known yet."""
    blank = [gap for gap in gaps if gap.status == OPEN and gap.committed_from is None and gap.committed_to is None]
    positions = {end for gap in blank for end in (gap.position_from, gap.position_to) if end is not None}
    times = {position: moment.astimezone(UTC) for position, moment in commit_times(tables, positions).items()}
    known = {gap.gap_id for gap in blank}
    return [
        replace(
            gap,
            committed_from=times.get(gap.position_from or ""),
            committed_to=times.get(gap.position_to or ""),
        )
        if gap.gap_id in known
        else gap
        for gap in gaps
    ]
