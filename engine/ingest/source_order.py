"""The order of a source that its events decide all together, not each for itself.

SharePlex's SCNs order as long as all changes have one, else coordinates do; likewise the positions of Maxwell and of
GoldenGate. Oracle's commit SCNs order, through Debezium, as long as none is lower than the SCN of its change, else SCNs
alone do. A source turns once.
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
from siltstone.engine.ordering.snapshot_windows import says_no_commit
from siltstone.engine.spec.model import SourceSpec, TableSpec
from siltstone.engine.steps.epochs import declared_epoch, is_second
from siltstone.engine.table.catalog import exists, read

_HINT: Final = (
    "say source.order: coordinates in the spec, and run `siltstone rebuild --reread`: it orders what was taken by"
    " coordinates, too; then run again"
)
_HINT_OF_SCNS: Final = (
    "say source.order: scn in the spec, and run `siltstone rebuild --reread`: it orders what was taken by SCNs, too;"
    " then run again"
)


def settled(
    spark: SparkSession, catalog: str, source: SourceSpec, specs: Iterable[TableSpec], by_scn: Collection[str]
) -> SourceSpec:
    """The source with the order that its tables have come to: once coordinates placed a change, they place all later
    ones. By its SCN, which sorts before all coordinates, one of those would stand before what it came after. Likewise
    once SCNs alone did, which sort before all commit SCNs. `by_scn`: the sources of which the tables say so."""
    if can_turn_to_scns(source):
        return replace(source, by_scn=tuple(sorted(by_scn)))
    tables = (spec.target.changes for spec in specs)
    if can_turn_to_coordinates(source) and any(are_at_coordinates(spark, catalog, table) for table in tables):
        return replace(source, order="coordinates")
    return source


def can_turn_to_scns(source: SourceSpec) -> bool:
    """Whether deliveries decide whether SCNs alone order the source."""
    return format_of(source.format).can_turn_to_scns and source.order == "auto"


def turned_to_scns(source: SourceSpec, classes: Sequence[Row]) -> SourceSpec:
    """The source with those in mind that records show to be ordered by SCNs alone.

    Needs: classes: by_scn (names).
    """
    if not can_turn_to_scns(source):
        return source
    seen = {name for row in classes for name in row["by_scn"]}
    return replace(source, by_scn=tuple(sorted(seen.union(source.by_scn))))


def refuse_commit_scns(
    spark: SparkSession, catalog: str, spec: TableSpec, source: SourceSpec, known: Collection[str]
) -> None:
    """See that commit SCNs ordered no stored change of a source that SCNs alone order. `known`: the sources of which
    the table says so itself: they were looked at.

    Raises: SourceError: they did; then nothing puts the two in one order.
    """
    name, new = spec.target.changes, set(source.by_scn).difference(known)
    if not new or not exists(spark, catalog, name):
        return
    placed = F.col("source").isin(*new) & F.col("position").isNotNull() & ~says_no_commit()
    first = read(spark, catalog, name).where(placed).select("source", "file", "line").first()
    if first is not None:
        raise SourceError(
            f"Cannot take the batch for {spec.table}: a commit SCN of {first['source']} is lower than the SCN of its"
            f" change, and so SCNs alone order this source; but commit SCNs ordered what was taken"
            f" ({first['file']}:{first['line']}). Nothing was taken.",
            _HINT_OF_SCNS,
        )


def can_turn_to_coordinates(source: SourceSpec) -> bool:
    """Whether deliveries decide what orders the source."""
    return format_of(source.format).can_turn_to_coordinates and source.order == "auto"


def are_at_coordinates(spark: SparkSession, catalog: str, changes: str) -> bool:
    """Whether coordinates placed some stored change."""
    if not exists(spark, catalog, changes):
        return False
    # The first condition says nothing more, but Iceberg leaves out whole files by it.
    behind = read(spark, catalog, changes).where((F.col("position") >= SECOND_EPOCH) & is_second(F.col("position")))
    return not behind.isEmpty()


def refuse_mixed(spark: SparkSession, catalog: str, spec: TableSpec, new: DataFrame) -> None:
    """See that what coordinates place from here on stands, by them, behind everything that SCNs placed before; and,
    where they begin to, that they would have placed that in the same order.

    Needs: new: position, file, line, kafka_partition, kafka_offset.
    Raises: SourceError: they do not; then nothing puts the two in one order.
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
            f" and so coordinates order the source; but positions ordered what was taken, and put"
            f" {other['file']}:{other['line']} behind {other['before']['file']}:{other['before']['line']},"
            " which came later. Nothing was taken.",
            _HINT,
        )
    last = ends(stored, spec.source, is_last=True)
    for epoch in first.keys() & last.keys():
        new_end, stored_end = first[epoch], last[epoch]
        if stored_end["place"] >= new_end["place"]:
            raise SourceError(
                f"Cannot take the batch for {spec.table}: not every change of {spec.source.path} has a position in a"
                f" log, and so coordinates order what comes; but what begins at {new_end['file']}:{new_end['line']}"
                f" stands before changes that positions ordered, up to {stored_end['file']}:{stored_end['line']}."
                " Nothing was taken.",
                _HINT,
            )


def placed_otherwise(changes: DataFrame, source: SourceSpec) -> Row | None:
    """The first change of some key that coordinates would put before one of its key that its position puts it behind:
    file, line, and before (the other one's file and line). None where there is none."""
    of_key = Window.partitionBy("key", declared_epoch(F.col("position")))
    placed = changes.where(F.col("position").isNotNull()).select(
        "key", "position", "file", "line", by_coordinates(source).alias("place")
    )
    before = F.lag(F.struct("place", "file", "line")).over(of_key.orderBy("position", "place"))
    return placed.withColumn("before", before).where(F.col("before.place") > F.col("place")).first()


def ends(changes: DataFrame, source: SourceSpec, is_last: bool) -> dict[int, Any]:
    """The first change of each declared epoch by coordinates, or the last: place, file, line."""
    end = F.struct(by_coordinates(source).alias("place"), "file", "line")
    found = changes.where(F.col("position").isNotNull()).groupBy(declared_epoch(F.col("position")).alias("epoch"))
    rows = found.agg((F.max(end) if is_last else F.min(end)).alias("end")).collect()
    return {row["epoch"]: row["end"] for row in rows}
