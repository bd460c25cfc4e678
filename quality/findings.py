"""Findings of all checks of one table, in one pass over the run's changes and what they touched."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import checkpointed
from siltstone.engine.json_text import exact_json
from siltstone.engine.ordering.snapshot_windows import attach_windows, chunk_windows
from siltstone.engine.spec.model import TableSpec, TrackSpec
from siltstone.quality import catalogue
from siltstone.quality.backward_positions import backward_positions
from siltstone.quality.change_digest import digest_of
from siltstone.quality.check_timeline import (
    Columns,
    Look,
    change_rows,
    is_streamed,
    latest_rows,
    read_rows,
    struct_type,
    timeline,
    version_rows,
    with_images,
)
from siltstone.quality.control_findings import control_findings
from siltstone.quality.key_findings import OF_CHANGES, key_findings
from siltstone.quality.outcome_counts import NO_RUN, found_late
from siltstone.quality.reject_findings import found_in_rejects
from siltstone.quality.results import Finding, Found
from siltstone.quality.scope import BROADCAST_KEYS, SLACK, Scope, Tables, judged, next_to_all, scope_of, unavailable
from siltstone.quality.source_clocks import ONE_LOG
from siltstone.quality.superseded_findings import overtaken

SAMPLE = 100
TOLD = ("position_from", "position_to", "message", "tx_id", "columns")
KEY_CHECKS = frozenset(
    {
        catalogue.CHAIN_BREAK,
        catalogue.ORPHAN,
        catalogue.DOUBLE_INSERT,
        catalogue.TIME_AGAINST_ORDER,
        catalogue.VERSIONS_TILE_TIME,
        catalogue.LATEST_EQUALS_OPEN_VERSIONS,
    }
)


# What the first look cannot tell for sure.
SUSPICIONS = (catalogue.CHAIN_BREAK, catalogue.ORPHAN)
# What a run's numbers tell, and no pass over its changes.
OF_RUN: Final = (catalogue.SUMS_CLOSE, catalogue.DUPLICATES, catalogue.SNAPSHOT_READS)


@dataclass(frozen=True)
class Digests:
    """The digests of the judged changes, and of the older ones that those stand before (None: of none)."""

    new: DataFrame
    again: DataFrame | None

    @property
    def all(self) -> DataFrame:
        """Both together."""
        return self.new if self.again is None else self.new.unionByName(self.again)


def find(tables: Tables, spec: TableSpec, since: int, checks: Collection[str]) -> dict[str, Found]:
    """What each check found among the changes of batches after `since`; `checks` names those that are asked for.

    A check that the data cannot carry says why in `Found.unavailable`; so do the checks of OF_RUN, whose numbers come
    from elsewhere. Each finding of the sample has check, position_from, position_to, key and message; behind them
    tx_id, the transaction it happened in (null where that is not known), and columns, those in which images differ.
    """
    columns = compared(tables.columns, spec, checks)
    digest = digest_of(tables.changes.where(F.col("batch") > since), columns)
    in_time = digest.where(~F.col("too_late"))
    scope = scope_of(tables, since, digest)
    scope = replace(scope, evidence=scope.evidence.of_one_log()) if spec.source.several == ONE_LOG else scope
    again = overtaken(tables, scope, in_time) if OF_CHANGES & set(checks) else None
    digests = Digests(in_time, None if again is None else digest_of(again, columns))
    scope = scope if digests.again is None else scope.beside(digests.again)
    scope = next_to_all(scope, tables) if catalogue.CHAIN_BREAK in checks else scope
    missing = {check: Found(unavailable=why) for check, why in reversed([*unavailable(scope)]) if check in checks}
    missing = {check: NO_RUN for check in OF_RUN if check in checks} | missing
    if catalogue.REJECTS in checks:
        control_since = tables.control_before(since)
        missing[catalogue.REJECTS] = found_in_rejects(tables.rejects, spec, since, scope.changes, control_since)
    if catalogue.LATE_CHANGES in checks:
        missing[catalogue.LATE_CHANGES] = found_late(scope.late)
    asked = [check for check in checks if check not in missing]
    # Kept for the keys of a closer look, so that it is planned once.
    seen = findings(tables, spec, scope, asked, digests).transform(checkpointed)
    found = collected(seen, asked)
    doubtful = [check for check in SUSPICIONS if check in found and found[check].observed]
    if doubtful:
        keys = seen.where(F.col("check").isin(doubtful)).select("key").distinct()
        if sum(found[check].observed for check in doubtful) <= BROADCAST_KEYS:
            keys = F.broadcast(keys)
        found |= collected(closer_findings(tables, spec, scope, doubtful, digests, keys), doubtful)
    return found | missing


def findings(tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], digests: Digests) -> DataFrame:
    """All findings of the named checks, at first sight: those of SUSPICIONS can turn out to be nothing.

    Gives: check, position_from, position_to, message, tx_id, columns, key.
    Rows: one a finding.
    """
    key = struct_type(tables.changes.schema, "key")
    parts = [nothing(digests.new)]
    if KEY_CHECKS & set(checks):
        keys = None if scope.whole or scope.columns.keyless else keys_of(digests.new, scope)
        parts.append(findings_of_keys(tables, spec, scope, checks, digests, keys, closely=False))
    if catalogue.POSITIONS_BACKWARDS in checks:
        parts.append(backward_positions(digests.new))
    parts += control_findings(tables, spec, scope, checks, key)
    if len(parts) > 1:
        parts = parts[1:]
        parts[0] = fitted(parts[0])
    return reduce(lambda one, other: one.unionByName(fitted(other)), parts)


def keys_of(changes: DataFrame, scope: Scope) -> DataFrame:
    """The keys of the judged changes.

    Gives: key. Rows: one a key. Where they are not too many, the tables are not moved to find theirs.
    """
    keys = changes.where(F.col("key").isNotNull()).select("key").distinct()
    return F.broadcast(keys) if scope.changes <= BROADCAST_KEYS else keys


def nothing(changes: DataFrame) -> DataFrame:
    """No finding at all, with the columns of findings."""
    return fitted(
        changes.limit(0).select(F.lit("").alias("check"), *[F.lit("").alias(name) for name in TOLD[:3]], "key")
    )


def fitted(found: DataFrame) -> DataFrame:
    """Findings with all their columns, in order; what a check does not tell is null. Rows: 1:1."""
    absent = {"tx_id": F.lit(None).cast("string"), "columns": F.lit(None).cast("array<string>")}
    told = [absent[name].alias(name) if name not in found.columns else F.col(name) for name in TOLD]
    return found.select("check", *told, "key")


def closer_findings(
    tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], digests: Digests, keys: DataFrame
) -> DataFrame:
    """What is left of the suspicions when their keys are looked at with whole images and with the READs of all batches.

    Gives: check, position_from, position_to, key, message.
    Rows: one a finding.

    A READ that a change of this run superseded left no version: only the older changes still know of it. And a before
    image can differ from the version before it in writing only, or where one of them knows nothing.
    """
    return findings_of_keys(tables, spec, scope, checks, digests, keys, closely=True)


def findings_of_keys(
    tables: Tables,
    spec: TableSpec,
    scope: Scope,
    checks: Collection[str],
    digests: Digests,
    keys: DataFrame | None,
    closely: bool,
) -> DataFrame:
    """The findings of these keys (None: of all).

    Gives: check, position_from, position_to, key, message.
    Rows: one a finding.
    """
    columns = compared(scope.columns, spec, checks)
    look = Look(columns, closely, scope.trusts_deletes, scope.swaps > 0, spec.snapshot.skew)
    if columns.keyless:
        return findings_of_copies(tables, look, checks, digests.new)
    history = tables.history if scope.whole else tables.history.where(can_be_met(scope))
    looked_at = with_images(touched(whole_changes(tables, scope, digests), keys), columns) if closely else digests.all
    # Of all keys nothing is asked of READs but that they are there: only a change can be the first of its key.
    reads = vouching_reads(tables, spec, scope, digests.new, keys, closely) if OF_CHANGES & set(checks) else None
    rows = timeline(
        touched(version_rows(history, look), keys),
        touched(latest_rows(tables.latest, look), keys),
        change_rows(looked_at, look),
        reads,
    )
    return key_findings(rows, look, checks)


def whole_changes(tables: Tables, scope: Scope, digests: Digests) -> DataFrame:
    """The changes that the digests are of. Rows: filters the table's changes."""
    new = judged(tables.changes, scope.since)
    again = None if digests.again is None else overtaken(tables, scope, digests.new)
    return new if again is None else new.unionByName(again)


def findings_of_copies(tables: Tables, look: Look, checks: Collection[str], changes: DataFrame) -> DataFrame:
    """The findings of a table without a key: what can be read off its versions and latest rows alone.

    Needs: the digest of the judged changes.
    Gives: check, position_from, position_to, key (the row, without its number), message.
    Rows: one a finding.
    """
    versions, latest = version_rows(tables.history, look), latest_rows(tables.latest, look)
    change = change_rows(changes, look).schema["change"].dataType
    none = versions.limit(0).select("key", F.lit(None).cast(change).alias("change"))
    found = key_findings(timeline(versions, latest, none, None), look, checks)
    image = F.struct(*[F.col("key")[name].alias(name) for name in look.columns.keys[:-1]])
    return found.withColumn("key", image)


def vouching_reads(
    tables: Tables, spec: TableSpec, scope: Scope, judged_changes: DataFrame, keys: DataFrame | None, all_batches: bool
) -> DataFrame | None:
    """The READs of these keys with their windows: of all batches, or of the judged ones. None where there are none."""
    if not scope.reads and not (all_batches and scope.has_older):
        return None
    windows = chunk_windows(tables.control.where(of_sources(scope))) if tables.control is not None else None
    changes = tables.changes if all_batches else judged_changes
    reads = changes.where(~is_streamed() & F.col("key").isNotNull())
    told = reads.select("key", "source", "origin", "position", "commit_ts")
    placed = touched(told, keys) if all_batches else told
    return read_rows(attach_windows(placed, windows, spec.snapshot.margin))


def touched(rows: DataFrame, keys: DataFrame | None) -> DataFrame:
    """The rows of these keys; None: all. Rows: filters (a semi join: a key that stands there twice changes nothing)."""
    return rows if keys is None else rows.join(keys, "key", "left_semi")


def can_be_met(scope: Scope) -> Column:
    """True for versions that a judged change can have met or left: the open ones, and those that closed since."""
    if scope.earliest is None:
        return F.lit(True)
    return F.col(names.VALID_TO).isNull() | (F.col(names.VALID_TO) >= F.lit(scope.earliest - SLACK))


def of_sources(scope: Scope) -> Column:
    """True for control rows of the table's sources."""
    return F.col("source").isin(*scope.sources)


def compared(columns: Columns, spec: TableSpec, checks: Collection[str]) -> Columns:
    """The columns, on which of them before images are compared, and which are masked."""
    masked = frozenset(name for name, column in (spec.columns or {}).items() if column.mask is not None)
    return columns.comparing(frozenset() if columns.keyless else tracked(spec.history.track, columns, checks), masked)


def tracked(track: TrackSpec, columns: Columns, checks: Collection[str]) -> frozenset[str]:
    """The columns whose every change is a version; none where nobody asks for broken chains."""
    if catalogue.CHAIN_BREAK not in checks:
        return frozenset()
    if track.mode == "all":
        return frozenset(columns.values)
    named = frozenset(track.columns)
    return named & set(columns.values) if track.mode == "columns" else frozenset(columns.values) - named


def collected(found: DataFrame, checks: Collection[str]) -> dict[str, Found]:
    """Bring findings to the driver: of each check the number, the range of positions, and the first of them."""
    of_check = Window.partitionBy("check")
    in_order = of_check.orderBy(F.col("position_to").asc_nulls_first(), F.col("key").asc_nulls_first(), "message")
    ranked = found.select(
        "check",
        *TOLD,
        exact_json(F.col("key"), found.schema["key"].dataType).alias("key"),
        F.row_number().over(in_order).alias("rank"),
        F.count("check").over(of_check).alias("observed"),
        F.min(F.coalesce("position_from", "position_to")).over(of_check).alias("lowest"),
        F.max(F.coalesce("position_to", "position_from")).over(of_check).alias("highest"),
    ).where(F.col("rank") <= SAMPLE)
    rows = sorted(ranked.collect(), key=lambda row: (row["check"], row["rank"]))
    return dict.fromkeys(checks, Found()) | dict(per_check(rows))


def per_check(rows: list[Row]) -> Iterator[tuple[str, Found]]:
    """Sorted rows as one value a check."""
    for check, group in groupby(rows, lambda row: str(row["check"])):
        sample = list(group)
        first = sample[0]
        told = tuple(finding_of(row) for row in sample)
        yield check, Found(first["observed"], first["lowest"], first["highest"], told)


def finding_of(row: Row) -> Finding:
    """A row as a value."""
    told = {name: row[name] for name in Finding.__slots__}
    return Finding(**told | {"columns": tuple(row["columns"] or ())})
