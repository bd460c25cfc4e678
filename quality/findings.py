"""The findings of all checks of one table, in one pass over the run's changes and the rows that they affect."""

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
    TimelineOptions,
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
from siltstone.quality.scope import (
    BROADCAST_KEYS,
    SLACK,
    Scope,
    Tables,
    checked_changes,
    scope_of,
    unavailable,
    with_bare_updates,
)
from siltstone.quality.source_clocks import ONE_LOG
from siltstone.quality.superseded_findings import affected_older_changes

SAMPLE = 100
DETAIL_COLUMNS = ("position_from", "position_to", "message", "tx_id", "columns")
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


# The first pass has only hashes: its findings of these checks need a second pass.
SUSPICIONS = (catalogue.CHAIN_BREAK, catalogue.ORPHAN)
# These checks use a run's numbers and need no pass over its changes.
OF_RUN: Final = (catalogue.SUMS_CLOSE, catalogue.DUPLICATES, catalogue.SNAPSHOT_READS)


@dataclass(frozen=True)
class Digests:
    """The digests of the checked changes, and of older changes with later positions of the same keys (None: none)."""

    new: DataFrame
    older: DataFrame | None

    @property
    def all(self) -> DataFrame:
        """Both together."""
        return self.new if self.older is None else self.new.unionByName(self.older)


def find(tables: Tables, spec: TableSpec, since: int, checks: Collection[str]) -> dict[str, Found]:
    """The findings of each check among the changes of batches after `since`. `checks`: the requested checks.

    If the data does not support a check, `Found.unavailable` has the reason. It also has one for the checks of OF_RUN,
    which need a run's numbers. Each finding of the sample has check, position_from, position_to, key, message, tx_id
    (its transaction; null if unknown) and columns (those in which images differ).
    """
    columns = compared(tables.columns, spec, checks)
    digest = digest_of(tables.changes.where(F.col("batch") > since), columns)
    in_time = digest.where(~F.col("too_late"))
    scope = scope_of(tables, since, digest)
    scope = replace(scope, evidence=scope.evidence.of_one_log()) if spec.source.several == ONE_LOG else scope
    older = affected_older_changes(tables, scope, in_time) if OF_CHANGES & set(checks) else None
    digests = Digests(in_time, None if older is None else digest_of(older, columns))
    scope = scope if digests.older is None else scope.with_older(digests.older)
    scope = with_bare_updates(scope, tables) if catalogue.CHAIN_BREAK in checks else scope
    known = {check: Found(unavailable=why) for check, why in reversed([*unavailable(scope)]) if check in checks}
    known = {check: NO_RUN for check in OF_RUN if check in checks} | known
    if catalogue.REJECTS in checks:
        control_since = tables.control_before(since)
        known[catalogue.REJECTS] = found_in_rejects(tables.rejects, spec, since, scope.changes, control_since)
    if catalogue.LATE_CHANGES in checks:
        known[catalogue.LATE_CHANGES] = found_late(scope.late)
    available = [check for check in checks if check not in known]
    # Checkpointed, because the second pass needs its keys: so it is planned once.
    seen = findings(tables, spec, scope, available, digests).transform(checkpointed)
    found = collected(seen, available)
    doubtful = [check for check in SUSPICIONS if check in found and found[check].observed]
    if doubtful:
        keys = seen.where(F.col("check").isin(doubtful)).select("key").distinct()
        if sum(found[check].observed for check in doubtful) <= BROADCAST_KEYS:
            keys = F.broadcast(keys)
        found |= collected(findings_with_images(tables, spec, scope, doubtful, digests, keys), doubtful)
    return found | known


def findings(tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], digests: Digests) -> DataFrame:
    """All findings of these checks in the first pass. Those of SUSPICIONS can be false.

    Gives: check, position_from, position_to, message, tx_id, columns, key.
    Rows: one per finding.
    """
    key = struct_type(tables.changes.schema, "key")
    parts = [nothing(digests.new)]
    if KEY_CHECKS & set(checks):
        keys = None if scope.whole or scope.columns.keyless else keys_of(digests.new, scope)
        parts.append(findings_of_keys(tables, spec, scope, checks, digests, keys, has_images=False))
    if catalogue.POSITIONS_BACKWARDS in checks:
        parts.append(backward_positions(digests.new))
    parts += control_findings(tables, spec, scope, checks, key)
    if len(parts) > 1:
        parts = parts[1:]
        parts[0] = fitted(parts[0])
    return reduce(lambda one, other: one.unionByName(fitted(other)), parts)


def keys_of(changes: DataFrame, scope: Scope) -> DataFrame:
    """The keys of the checked changes.

    Gives: key. Rows: one per key. Up to BROADCAST_KEYS keys are broadcast, so that the tables need no shuffle.
    """
    keys = changes.where(F.col("key").isNotNull()).select("key").distinct()
    return F.broadcast(keys) if scope.changes <= BROADCAST_KEYS else keys


def nothing(changes: DataFrame) -> DataFrame:
    """An empty frame with the columns of findings."""
    return fitted(
        changes.limit(0).select(
            F.lit("").alias("check"), *[F.lit("").alias(name) for name in DETAIL_COLUMNS[:3]], "key"
        )
    )


def fitted(found: DataFrame) -> DataFrame:
    """Findings with all their columns, in order; columns that a check does not give are null. Rows: 1:1."""
    absent = {"tx_id": F.lit(None).cast("string"), "columns": F.lit(None).cast("array<string>")}
    details = [F.col(name) if name in found.columns else absent[name].alias(name) for name in DETAIL_COLUMNS]
    return found.select("check", *details, "key")


def findings_with_images(
    tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], digests: Digests, keys: DataFrame
) -> DataFrame:
    """The confirmed findings of SUSPICIONS: their keys are checked with complete images and the READs of all batches.

    Gives: check, position_from, position_to, key, message.
    Rows: one per finding.

    A READ that a change of this run superseded has no version: only the older changes still have it. And a before image
    can differ from the previous version in notation only, or in a column that one of them does not have.
    """
    return findings_of_keys(tables, spec, scope, checks, digests, keys, has_images=True)


def findings_of_keys(
    tables: Tables,
    spec: TableSpec,
    scope: Scope,
    checks: Collection[str],
    digests: Digests,
    keys: DataFrame | None,
    has_images: bool,
) -> DataFrame:
    """The findings of these keys (`keys`: None for all keys).

    Gives: check, position_from, position_to, key, message.
    Rows: one per finding.
    """
    columns = compared(scope.columns, spec, checks)
    options = TimelineOptions(columns, has_images, scope.trusts_deletes, scope.swaps > 0, spec.snapshot.skew)
    if columns.keyless:
        return findings_of_copies(tables, options, checks, digests.new)
    history = tables.history if scope.whole else tables.history.where(is_reachable(scope))
    changes = with_images(of_keys(whole_changes(tables, scope, digests), keys), columns) if has_images else digests.all
    # READs only prove that their key existed, and only the checks of changes need that.
    reads = reads_with_windows(tables, spec, scope, digests.new, keys, has_images) if OF_CHANGES & set(checks) else None
    rows = timeline(
        of_keys(version_rows(history, options), keys),
        of_keys(latest_rows(tables.latest, options), keys),
        change_rows(changes, options),
        reads,
    )
    return key_findings(rows, options, checks)


def whole_changes(tables: Tables, scope: Scope, digests: Digests) -> DataFrame:
    """The complete changes of the digests. Rows: filters the table's changes."""
    new = checked_changes(tables.changes, scope.since)
    older = None if digests.older is None else affected_older_changes(tables, scope, digests.new)
    return new if older is None else new.unionByName(older)


def findings_of_copies(
    tables: Tables, options: TimelineOptions, checks: Collection[str], changes: DataFrame
) -> DataFrame:
    """The findings of a table without a key, from its versions and latest rows alone.

    Needs: the digest of the checked changes.
    Gives: check, position_from, position_to, key (the row, without its number), message.
    Rows: one per finding.
    """
    versions, latest = version_rows(tables.history, options), latest_rows(tables.latest, options)
    change = change_rows(changes, options).schema["change"].dataType
    none = versions.limit(0).select("key", F.lit(None).cast(change).alias("change"))
    found = key_findings(timeline(versions, latest, none, None), options, checks)
    image = F.struct(*[F.col("key")[name].alias(name) for name in options.columns.keys[:-1]])
    return found.withColumn("key", image)


def reads_with_windows(
    tables: Tables, spec: TableSpec, scope: Scope, checked: DataFrame, keys: DataFrame | None, all_batches: bool
) -> DataFrame | None:
    """The READs of these keys with their windows: of all batches, or of the checked changes. None if there are none."""
    if not scope.reads and not (all_batches and scope.has_older):
        return None
    windows = chunk_windows(tables.control.where(of_sources(scope))) if tables.control is not None else None
    changes = tables.changes if all_batches else checked
    reads = changes.where(~is_streamed() & F.col("key").isNotNull())
    rows = reads.select("key", "source", "origin", "position", "commit_ts")
    rows = of_keys(rows, keys) if all_batches else rows
    return read_rows(attach_windows(rows, windows, spec.snapshot.margin))


def of_keys(rows: DataFrame, keys: DataFrame | None) -> DataFrame:
    """The rows of these keys; None: all rows. Rows: filters (a semi join: duplicate keys do no harm)."""
    return rows if keys is None else rows.join(keys, "key", "left_semi")


def is_reachable(scope: Scope) -> Column:
    """True for versions that a checked change may have changed or written: open ones, and those closed since then."""
    if scope.earliest is None:
        return F.lit(True)
    return F.col(names.VALID_TO).isNull() | (F.col(names.VALID_TO) >= F.lit(scope.earliest - SLACK))


def of_sources(scope: Scope) -> Column:
    """True for control rows of the table's sources."""
    return F.col("source").isin(*scope.sources)


def compared(columns: Columns, spec: TableSpec, checks: Collection[str]) -> Columns:
    """The columns, with those on which before images are compared and those that are masked."""
    masked = frozenset(name for name, column in (spec.columns or {}).items() if column.mask is not None)
    return columns.comparing(frozenset() if columns.keyless else tracked(spec.history.track, columns, checks), masked)


def tracked(track: TrackSpec, columns: Columns, checks: Collection[str]) -> frozenset[str]:
    """The columns whose changes open a version; none if the check chain_break is not requested."""
    if catalogue.CHAIN_BREAK not in checks:
        return frozenset()
    if track.mode == "all":
        return frozenset(columns.values)
    named = frozenset(track.columns)
    return named & set(columns.values) if track.mode == "columns" else frozenset(columns.values) - named


def collected(found: DataFrame, checks: Collection[str]) -> dict[str, Found]:
    """Collect the findings: the number of each check, the range of its positions, and its first findings."""
    of_check = Window.partitionBy("check")
    in_order = of_check.orderBy(F.col("position_to").asc_nulls_first(), F.col("key").asc_nulls_first(), "message")
    ranked = found.select(
        "check",
        *DETAIL_COLUMNS,
        exact_json(F.col("key"), found.schema["key"].dataType).alias("key"),
        F.row_number().over(in_order).alias("rank"),
        F.count("check").over(of_check).alias("observed"),
        F.min(F.coalesce("position_from", "position_to")).over(of_check).alias("lowest"),
        F.max(F.coalesce("position_to", "position_from")).over(of_check).alias("highest"),
    ).where(F.col("rank") <= SAMPLE)
    rows = sorted(ranked.collect(), key=lambda row: (row["check"], row["rank"]))
    return dict.fromkeys(checks, Found()) | dict(per_check(rows))


def per_check(rows: list[Row]) -> Iterator[tuple[str, Found]]:
    """Sorted rows as one value per check."""
    for check, group in groupby(rows, lambda row: str(row["check"])):
        sample = list(group)
        first = sample[0]
        findings = tuple(finding_of(row) for row in sample)
        yield check, Found(first["observed"], first["lowest"], first["highest"], findings)


def finding_of(row: Row) -> Finding:
    """A finding from a row."""
    values = {name: row[name] for name in Finding.__slots__}
    return Finding(**values | {"columns": tuple(row["columns"] or ())})
