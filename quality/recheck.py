"""Rechecks of open gaps: the keys of gaps over all their changes, other gaps over the batches since they were found."""

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
from siltstone.quality.gap_lifecycle import EVENTS, CheckPass, covered
from siltstone.quality.healing import can_heal
from siltstone.quality.key_findings import OF_CHANGES
from siltstone.quality.scope import Tables

EXACT_IN_JSON = (T.IntegralType, T.DecimalType, T.StringType, T.BooleanType, T.DateType, T.BinaryType)


def recheck(
    tables: Tables, spec: TableSpec, book: Sequence[Gap], since: int, checks: Collection[str]
) -> list[CheckPass]:
    """Recheck the gaps that a pass over the batches after `since` does not cover. Without such gaps, no pass.

    `book`: the gaps of the table. Acknowledged gaps are rechecked only if the new batches can heal one of them.
    """
    to_check = [gap for gap in book if gap.gap_id not in covered(book, since) and gap.check in set(checks) - EVENTS]
    known = [gap for gap in to_check if gap.status != OPEN]
    if known and not can_heal(tables, since, known):
        to_check = [gap for gap in to_check if gap.status == OPEN]
    if not to_check:
        return []
    # In a keyless table the rows have a copy number that the changes do not have.
    has_keys = not tables.columns.keyless and keeps_its_value_in_json(tables.changes.schema["key"].dataType)
    by_key = [gap for gap in to_check if has_keys and gap.key is not None and gap.check in KEY_CHECKS]
    by_batch = [gap for gap in to_check if gap not in by_key]
    passes = []
    if by_key:
        # Changes that fill a gap can contradict other changes of their key.
        wanted = in_order(checks, {gap.check for gap in by_key} | (OF_CHANGES - EVENTS))
        found = find(of_keys(tables, by_key), spec, EVERY_BATCH, wanted)
        passes.append(CheckPass(found, EVERY_BATCH, frozenset(gap.gap_id for gap in by_key), is_partial=True))
    if by_batch:
        first = min(gap.since_batch for gap in by_batch)
        found = find(tables, spec, first, in_order(checks, {gap.check for gap in by_batch}))
        passes.append(CheckPass(found, first, frozenset(gap.gap_id for gap in by_batch)))
    return passes


def in_order(checks: Collection[str], wanted: Collection[str]) -> list[str]:
    """The wanted checks, in the order of `checks`."""
    return [check for check in checks if check in wanted]


def of_keys(tables: Tables, gaps: Sequence[Gap]) -> Tables:
    """The tables with the rows of these keys only. All control rows stay. `of_all_keys` has the changes of all keys:
    they show what the source's changes contain in general."""
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
    """The rows with these keys. `keys`: a column per key column. Rows: filters."""
    same = [rows[quoted(name)].eqNullSafe(keys[quoted(name)]) for name in keys.columns]
    return rows.join(F.broadcast(keys), same, "left_semi")


def keeps_its_value_in_json(kind: T.DataType) -> bool:
    """Whether JSON text keeps a key's exact value: it does not for floats, nor always for timestamps."""
    if isinstance(kind, T.StructType):
        return all(keeps_its_value_in_json(field.dataType) for field in kind)
    return isinstance(kind, EXACT_IN_JSON)


def parsed_keys(changes: DataFrame, gaps: Sequence[Gap]) -> DataFrame:
    """The keys of the gaps, with the key type of the changes.

    Gives: key. Rows: one per key.
    """
    texts = sorted({gap.key for gap in gaps if gap.key is not None})
    listed = local_frame(changes.sparkSession, [{"text": text} for text in texts], "text string")
    return listed.select(F.from_json("text", struct_type(changes.schema, "key")).alias("key"))


def among(rows: Sequence[object], names: Sequence[str], prefix: str = "") -> Column:
    """True for rows with one of these values in the first key column: Iceberg skips files without them."""
    column = F.col(f"{prefix}{quoted(names[0])}")
    values = [row[names[0]] for row in rows]  # type: ignore[index]  # a Spark row
    known = column.isin([value for value in values if value is not None])
    return known | column.isNull() if None in values else known


def commit_times(tables: Tables, positions: Collection[str]) -> Mapping[str, datetime]:
    """The commit times at these positions, as far as changes and control events have them."""
    if not positions:
        return {}
    rows = tables.changes.select("position", "commit_ts")
    if tables.control is not None:
        rows = rows.unionByName(tables.control.select("position", "commit_ts"))
    at = rows.where(F.col("position").isin(sorted(positions)) & F.col("commit_ts").isNotNull())
    found = at.groupBy("position").agg(collectable(F.min("commit_ts")).alias("commit_ts")).collect()
    return {row["position"]: row["commit_ts"] for row in found}


def dated(gaps: Sequence[Gap], tables: Tables) -> list[Gap]:
    """The gaps with the commit times at their ends filled in where they are missing."""
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
