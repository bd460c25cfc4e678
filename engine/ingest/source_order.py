"""The order of a source that depends on all its events together, not on each event alone.

SharePlex's SCNs order a source as long as all changes have one; otherwise coordinates do. The same holds for the
positions of Maxwell and GoldenGate. Oracle's commit SCNs, through Debezium, order a source as long as none is lower
than the SCN of its change; otherwise SCNs alone do. A source changes its order at most once.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from siltstone.engine.decode.position_text import SECOND_EPOCH
from siltstone.engine.errors import SourceError
from siltstone.engine.formats import format_of
from siltstone.engine.neighbours.shareplex_step import by_coordinates
from siltstone.engine.ordering.snapshot_windows import lacks_commit_position
from siltstone.engine.spec.model import SourceSpec, TableSpec
from siltstone.engine.steps.epochs import declared_epoch, is_second
from siltstone.engine.table.catalog import exists, read

_HINT: Final = (
    "set source.order: coordinates in the spec, and run `siltstone rebuild --reread`: it orders what was taken by"
    " coordinates, too; then retry the run"
)
_HINT_OF_SCNS: Final = (
    "set source.order: scn in the spec, and run `siltstone rebuild --reread`: it orders what was taken by SCNs, too;"
    " then retry the run"
)


def with_known_order(
    spark: SparkSession, catalog: str, source: SourceSpec, specs: Iterable[TableSpec], by_scn: Collection[str]
) -> SourceSpec:
    """The source with the order that its tables already use.

    Once coordinates gave a change its position, they give all later changes theirs. SCNs sort before all coordinates,
    so a later change with an SCN position would sort before earlier ones. The same holds once SCNs alone order a
    source, since they sort before all commit SCNs. `by_scn`: the sources that are ordered by SCNs alone, according to
    the tables.
    """
    if can_turn_to_scns(source):
        return replace(source, by_scn=tuple(sorted(by_scn)))
    tables = (spec.target.changes for spec in specs)
    if can_turn_to_coordinates(source) and any(are_at_coordinates(spark, catalog, table) for table in tables):
        return replace(source, order="coordinates")
    return source


def can_turn_to_scns(source: SourceSpec) -> bool:
    """Whether the events decide if SCNs alone order the source."""
    return format_of(source.format).can_turn_to_scns and source.order == "auto"


def turned_to_scns(source: SourceSpec, classes: Sequence[Row]) -> SourceSpec:
    """The source, in which the sources that records show to be ordered by SCNs alone are added to `by_scn`.

    Needs: classes: by_scn (names).
    """
    if not can_turn_to_scns(source):
        return source
    seen = {name for row in classes for name in row["by_scn"]}
    return replace(source, by_scn=tuple(sorted(seen.union(source.by_scn))))


def refuse_commit_scns(
    spark: SparkSession, catalog: str, spec: TableSpec, source: SourceSpec, known: Collection[str]
) -> None:
    """Check that commit SCNs ordered no stored change of a source that SCNs alone order.

    `known`: the sources that are ordered by SCNs alone according to the table; they were checked before.

    Raises: SourceError: commit SCNs did; the new changes and the stored ones have no common order.
    """
    name, new = spec.target.changes, set(source.by_scn).difference(known)
    if not new or not exists(spark, catalog, name):
        return
    placed = F.col("source").isin(*new) & F.col("position").isNotNull() & ~lacks_commit_position()
    first = read(spark, catalog, name).where(placed).select("source", "file", "line").first()
    if first is not None:
        raise SourceError(
            f"Cannot take the batch for {spec.table}: a commit SCN of {first['source']} is lower than the SCN of its"
            f" change, so SCNs alone order this source, but commit SCNs ordered the changes taken before"
            f" ({first['file']}:{first['line']}). Nothing was taken.",
            _HINT_OF_SCNS,
        )


def can_turn_to_coordinates(source: SourceSpec) -> bool:
    """Whether the events decide if coordinates order the source."""
    return format_of(source.format).can_turn_to_coordinates and source.order == "auto"


def are_at_coordinates(spark: SparkSession, catalog: str, changes: str) -> bool:
    """Whether any stored change has its position from coordinates."""
    if not exists(spark, catalog, changes):
        return False
    # The first condition is redundant, but it lets Iceberg skip whole files.
    found = read(spark, catalog, changes).where((F.col("position") >= SECOND_EPOCH) & is_second(F.col("position")))
    return not found.isEmpty()


def refuse_mixed(spark: SparkSession, catalog: str, spec: TableSpec, new: DataFrame) -> None:
    """Check that changes ordered by coordinates come, by their coordinates, after all changes ordered by positions.

    When coordinates begin to order the source, they must also give the stored changes the order that they have.

    Needs: new: position, file, line, kafka_partition, kafka_offset.
    Raises: SourceError: a check fails; the new changes and the stored ones have no common order.
    """
    name = spec.target.changes
    if not can_turn_to_coordinates(spec.source) or not exists(spark, catalog, name):
        return
    first = ends(new.where(is_second(F.col("position"))), spec.source, is_last=False)
    if not first:
        return
    stored = read(spark, catalog, name).where(~is_second(F.col("position")))
    other = None if are_at_coordinates(spark, catalog, name) else placed_otherwise(stored, spec.source)
    if other is not None:
        raise SourceError(
            f"Cannot take the batch for {spec.table}: not every change of {spec.source.path} has a position in a log,"
            f" so coordinates order the source, but positions ordered the changes taken before, and they put"
            f" {other['file']}:{other['line']} after {other['before']['file']}:{other['before']['line']},"
            " which was delivered later. Nothing was taken.",
            _HINT,
        )
    last = ends(stored, spec.source, is_last=True)
    for epoch in first.keys() & last.keys():
        new_end, stored_end = first[epoch], last[epoch]
        if stored_end["place"] >= new_end["place"]:
            raise SourceError(
                f"Cannot take the batch for {spec.table}: not every change of {spec.source.path} has a position in a"
                f" log, so coordinates order the new changes, but the first new change,"
                f" {new_end['file']}:{new_end['line']}, is before changes that positions ordered, up to"
                f" {stored_end['file']}:{stored_end['line']}. Nothing was taken.",
                _HINT,
            )


def placed_otherwise(changes: DataFrame, source: SourceSpec) -> Row | None:
    """The first change whose order relative to another change of its key differs between positions and coordinates.

    Gives: file, line, and before (file and line of the other change, which is earlier by position and later by
    coordinates). None if there is none.
    """
    of_key = Window.partitionBy("key", declared_epoch(F.col("position")))
    placed = changes.where(F.col("position").isNotNull()).select(
        "key", "position", "file", "line", by_coordinates(source).alias("place")
    )
    before = F.lag(F.struct("place", "file", "line")).over(of_key.orderBy("position", "place"))
    return placed.withColumn("before", before).where(F.col("before.place") > F.col("place")).first()


def ends(changes: DataFrame, source: SourceSpec, is_last: bool) -> dict[int, Any]:
    """The first or last change of each declared epoch, by coordinates: place, file, line."""
    end = F.struct(by_coordinates(source).alias("place"), "file", "line")
    found = changes.where(F.col("position").isNotNull()).groupBy(declared_epoch(F.col("position")).alias("epoch"))
    rows = found.agg((F.max(end) if is_last else F.min(end)).alias("end")).collect()
    return {row["epoch"]: row["end"] for row in rows}
