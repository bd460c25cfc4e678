"""Findings of all checks of one table, in one pass over the run's changes and what they touched."""

from collections.abc import Collection, Iterator
from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from engine import names
from engine.ordering.windows import WINDOW_OPEN, attach_windows, chunk_windows
from engine.spec.model import TableSpec, TrackSpec
from quality import catalogue
from quality.channels import backward_positions
from quality.keys import key_findings
from quality.results import Finding, Found
from quality.scope import SLACK, Scope, Tables, judged, scope_of, unavailable
from quality.timeline import Columns, change_rows, is_streamed, latest_rows, read_rows, timeline, version_rows
from quality.windows import unclosed_windows

SAMPLE = 100
KEY_CHECKS = frozenset(
    {
        catalogue.CHAIN_BREAK,
        catalogue.ORPHAN,
        catalogue.DOUBLE_INSERT,
        catalogue.VERSIONS_TILE_TIME,
        catalogue.LATEST_EQUALS_OPEN_VERSIONS,
    }
)


def find(tables: Tables, spec: TableSpec, since: int, checks: Collection[str]) -> dict[str, Found]:
    """What each check found among the changes of batches after `since`; `checks` names those that are asked for.

    A check that the data cannot carry says why in `Found.unavailable`.
    """
    scope = scope_of(tables, since)
    missing = {check: Found(unavailable=why) for check, why in unavailable(scope) if check in checks}
    asked = [check for check in checks if check not in missing and check != catalogue.SUMS_CLOSE]
    found = collected(findings(tables, spec, scope, asked, judged(tables.changes, since)), asked)
    if scope.has_older and catalogue.ORPHAN in found and found[catalogue.ORPHAN].observed:
        # A READ that a change of this run superseded left no version: only the older changes still know of it.
        again = findings(tables, spec, scope, [catalogue.ORPHAN], tables.changes)
        found |= collected(again, [catalogue.ORPHAN])
    return found | missing


def findings(tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], vouching: DataFrame) -> DataFrame:
    """All findings of the named checks.

    Needs: the tables; `vouching`: the changes whose READs vouch for their keys.
    Gives: check, position_from, position_to, key (JSON text), message.
    Rows: one a finding.
    """
    changes = judged(tables.changes, scope.since)
    parts = []
    if KEY_CHECKS & set(checks):
        columns = scope.columns.comparing(tracked(spec.history.track, scope.columns, checks))
        rows = rows_of_keys(tables, spec, scope, columns, vouching)
        parts.append(key_findings(rows, columns).where(F.col("check").isin(*checks)))
    if catalogue.POSITIONS_BACKWARDS in checks:
        parts.append(backward_positions(changes))
    if catalogue.OPEN_WINDOW in checks and tables.control is not None:
        is_judged = (F.col("kind") != WINDOW_OPEN) | (F.col("batch") > scope.since)
        parts.append(unclosed_windows(tables.control.where(of_sources(scope) & is_judged)))
    nothing = changes.limit(0).select(*[F.lit("").alias(name) for name in Finding.__slots__])
    return reduce(DataFrame.unionByName, parts) if parts else nothing


def rows_of_keys(tables: Tables, spec: TableSpec, scope: Scope, columns: Columns, vouching: DataFrame) -> DataFrame:
    """The timeline of the keys that the judged changes touched; of all keys where a truncate touched them all."""
    changes = judged(tables.changes, scope.since)
    keys = None if scope.whole else changes.where(F.col("key").isNotNull()).select("key")
    history = tables.history if scope.whole else tables.history.where(can_be_met(scope))
    reads = None
    if scope.reads or scope.has_older:
        windows = chunk_windows(tables.control.where(of_sources(scope))) if tables.control is not None else None
        told = vouching.where(~is_streamed() & F.col("key").isNotNull())
        told = told.select("key", "source", "origin", "position", "commit_ts")
        reads = read_rows(attach_windows(touched(told, keys), windows, spec.snapshot.margin))
    return timeline(
        touched(version_rows(history, columns), keys),
        touched(latest_rows(tables.latest, columns), keys),
        change_rows(changes, columns, scope.trusts_deletes),
        reads,
    )


def touched(rows: DataFrame, keys: DataFrame | None) -> DataFrame:
    """The rows of these keys; None: all. Rows: filters (a semi join: a key that stands there twice changes nothing)."""
    return rows if keys is None else rows.join(keys, "key", "left_semi")


def can_be_met(scope: Scope) -> Column:
    """True for versions that a judged change can have met or left: the open ones, and those that closed since."""
    if scope.earliest is None:
        return F.lit(True)
    return F.col(names.VALID_TO).isNull() | (F.col(names.VALID_TO) >= F.lit(scope.earliest - SLACK))


def of_sources(scope: Scope) -> Column:
    """True for control rows of the sources of the judged changes."""
    return F.col("source").isin(*scope.sources)


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
        "*",
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
        told = tuple(Finding(**{name: row[name] for name in Finding.__slots__}) for row in sample)
        yield check, Found(first["observed"], first["lowest"], first["highest"], told)
