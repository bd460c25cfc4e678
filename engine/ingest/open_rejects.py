"""Reread and reclassify the open rejects of a source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.columns_seen import SummaryRules, regions_of
from siltstone.engine.decode.event import CONTROL, REJECT
from siltstone.engine.formats import format_of
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.consumers import control_consumer, idle_consumers, targets_of
from siltstone.engine.ingest.preconditions import is_of
from siltstone.engine.ingest.source_batch import SourceBatch, by_scn_of, classes_of, sharing, wanted_of_all, with_masks
from siltstone.engine.ingest.source_order import with_known_order
from siltstone.engine.ingest.source_records import (
    Records,
    context_of,
    read_with_neighbours,
    refuse_replaced,
    source_files,
)
from siltstone.engine.ingest.topic_offsets import topic_partitions
from siltstone.engine.inputs.containers import kind_of
from siltstone.engine.inputs.iceberg_files import rows_by_file
from siltstone.engine.inputs.listing import FileProbe, InputFile, listed
from siltstone.engine.inputs.pending_files import PendingFile, Taken
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.names import PLACE
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import known_keys_of
from siltstone.engine.storage import StoreSettings
from siltstone.engine.table.catalog import exists, read
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.ledger import open_rejects, read_ledger

LINES = ("json", "topic")
"""Kinds of files whose rejected records are stored as they were read."""
OF_VALUES = '^(?:(?:key )?column "|the table has no key)'
"""The beginnings of reject reasons that concern a change's values."""


@dataclass
class RejectedBatch(SourceBatch):
    """Reread rejected records, as a source batch. `waiting`: the rejects, with their consumers and reasons.

    `owners`: the consumers of the lines whose rejects have left theirs, as `with_left` gives both.
    `out_of_reach` counts, by file, the rejects whose record was not stored and whose file is gone or replaced.
    """

    waiting: DataFrame | None = None
    owners: DataFrame | None = None
    out_of_reach: Mapping[str, int] = field(default_factory=dict)


def read_rejected_batch(
    spark: SparkSession, project: ProjectSpec, source: SourceSpec, specs: Sequence[TableSpec]
) -> RejectedBatch | None:
    """The rejects of a source as a source batch. None if there are none. Leftovers of unfinished runs are removed."""
    targets = targets_of(project, source, specs)
    consumers = idle_consumers(spark, project, targets)
    newest = {name: consumer.newest_batch for name, consumer in consumers.items()}
    taken_inputs(spark, project, targets, newest)
    waiting = waiting_rejects(spark, project, newest)
    if waiting is None or waiting.isEmpty():
        return None
    tables = sharing(project, source, specs)
    declared = {spec.table: known_keys_of(spec) for spec in tables}
    source = with_known_order(spark, project.catalog.name, source, specs, by_scn_of(consumers))
    masked, wanted = with_masks(consumers, project, source), wanted_of_all(specs)
    found = RejectedBatch(source, (), masked, declared, wanted, waiting=waiting)
    reread_rejects(spark, project, found)
    return with_left(spark, project, found)


def waiting_rejects(spark: SparkSession, project: ProjectSpec, newest: Mapping[str, int]) -> DataFrame | None:
    """Rejects of committed batches, without those replayed, dismissed or ingested a second time. None: no ledger.

    `newest`: the newest committed batch of each consumer whose rejects are requested.
    Gives: consumer, batch, file, line, reason, record. Computed.
    """
    rejects, inputs = open_rejects(spark, project), read_ledger(spark, project, names.INPUTS)
    if rejects is None or inputs is None:
        return None
    real = [(F.col("consumer") == consumer) & (F.col("batch") <= batch) for consumer, batch in newest.items()]
    mine = rejects.where(reduce(lambda one, other: one | other, real))
    mine = mine.select("consumer", "batch", *PLACE, "reason", "record").alias("r")
    ingested_later = [
        F.col("i.consumer") == F.col("r.consumer"),
        F.col("i.path") == F.col("r.file"),
        F.col("i.batch") > F.col("r.batch"),
        F.col("i.from_line") <= F.col("r.line"),
    ]
    return mine.join(inputs.alias("i"), on=ingested_later, how="left_anti").transform(checkpointed)


def accepted_places(spark: SparkSession, project: ProjectSpec, consumer: str) -> DataFrame | None:
    """The places of a consumer's rejects that were accepted, by the run that ingested them or by a dismissal.

    Rejects that were replayed since are included. None without any ledger.

    Needs: rejects of committed batches only.
    Gives: file, line.
    Rows: without duplicates.
    """
    ledgers = [read_ledger(spark, project, table) for table in (names.REJECTS, names.DISMISSALS)]
    places = [rows.where(F.col("consumer") == consumer).select(*PLACE) for rows in ledgers if rows is not None]
    return reduce(DataFrame.unionByName, places).distinct() if places else None  # a set of places, no fan-out


def reread_rejects(spark: SparkSession, project: ProjectSpec, found: RejectedBatch) -> None:
    """Reread and classify the rejected records: the stored text, or their files where the text is not enough."""
    assert found.waiting is not None
    counted = found.waiting.groupBy("file").agg(
        F.count_distinct("line").alias("lines"),
        F.bool_and(F.col("record").isNotNull()).alias("kept"),
        F.min("line").alias("first"),
        F.max("line").alias("last"),
    )
    whole = format_of(found.source.format).reads_whole
    rows = counted.collect()
    is_line = {row["file"]: row["kept"] and kind_of(row["file"], found.source) in LINES for row in rows}
    kept = [path for path, is_kept in is_line.items() if is_kept and not whole]
    taken = {path: one for path, one in taken_files(spark, project, found.waiting).items() if path not in kept}
    there = unchanged_files(spark, found.source, project.catalog.name, taken)
    ends = {row["file"]: (row["first"], row["last"]) for row in rows}
    read_from = {path: lines_only(entry, *ends[path]) for path, entry in there.items()}
    reread = {path: entry for path, entry in read_from.items() if entry is not None}
    out_of_reach = {row["file"]: row["lines"] for row in rows if row["file"] not in {*kept, *reread}}
    lines = kept_lines(found.waiting, kept)
    places = found.waiting.select(*PLACE).distinct()
    read = read_in_context(spark, project, found.source, list(reread.values())) if reread else Records(spark)
    if kept or not reread:
        read = replace(read, frames=[*read.frames, lines])
    regions = regions_of(((file, line), file, line, line) for file, line in places.collect())  # each line is a region
    records = read.events(found.source, found.declared, SummaryRules(found.wanted, regions))
    found.records = records.join(F.broadcast(places), on=PLACE, how="left_semi").transform(checkpointed)
    refuse_replaced(found.source, reread.values())
    found.files = [InputFile(path, 0, 0) for path in [*kept, *reread]]
    found.out_of_reach = out_of_reach
    found.classes = classes_of(found.records, found, fans_out=True)


def read_in_context(
    spark: SparkSession, project: ProjectSpec, source: SourceSpec, files: Sequence[PendingFile]
) -> Records:
    """The records of files, and of the neighbour files that their meaning can depend on."""
    catalog = project.catalog.name
    listed = source_files(spark, source, catalog, None) if format_of(source.format).resends else ()
    return read_with_neighbours(spark, source, listed, [*context_of(spark, source, listed, files), *files], catalog)[0]


def with_left(spark: SparkSession, project: ProjectSpec, found: RejectedBatch) -> RejectedBatch:
    """Add `is_left` to the waiting rejects: their line has no record of their consumer any more.

    A reject without a table leaves the control consumer when it turns out to be a change of a table. A line can contain
    records of several tables: the rejects of one table say nothing about those of another.

    Gives: the batch with waiting, its columns and is_left; owners: consumer, file, line, for the lines of rejects that
        have left. Both computed.
    """
    assert found.records is not None
    assert found.waiting is not None
    of_table = F.when(is_of(known_tables(spark, project, found.declared)) & (F.col("kind") != CONTROL), F.col("table"))
    owner = of_table.when(F.col("kind") == REJECT, F.lit(control_consumer(found.source)))
    owners = found.records.select(owner.alias("consumer"), *PLACE).distinct().transform(checkpointed)
    lines = owners.select(*PLACE, F.lit(True).alias("_is_read")).distinct()
    owned = owners.where(F.col("consumer").isNotNull()).withColumn("_is_owned", F.lit(True))
    marked = found.waiting.join(lines, on=PLACE, how="left").join(owned, on=["consumer", *PLACE], how="left")  # 1:1
    is_left = F.col("_is_read").isNotNull() & F.col("_is_owned").isNull()
    waiting = marked.select(*found.waiting.columns, is_left.alias("is_left")).transform(checkpointed)
    left = waiting.where("is_left").select(*PLACE)
    owners = owned.drop("_is_owned").join(F.broadcast(left), on=PLACE, how="left_semi").transform(checkpointed)
    return replace(found, waiting=waiting, owners=owners)


def closable_rejects(found: RejectedBatch, consumer: str, pending: DataFrame) -> DataFrame:
    """The rejects that a consumer can close: its own, and those that have left theirs, except in the `pending` lines.

    Needs: pending: file, line. Gives: the columns of `waiting`.
    """
    assert found.waiting is not None
    own = found.waiting.where((F.col("consumer") == consumer) & ~F.col("is_left"))
    left = found.waiting.where("is_left").join(pending, on=PLACE, how="left_anti")
    return own.unionByName(left)


def pending_elsewhere(spark: SparkSession, project: ProjectSpec, found: RejectedBatch, consumer: str) -> DataFrame:
    """The lines of rejects that have left their consumer, and that another table than `consumer` has yet to take.

    A table has taken a line if its changes contain a record of it, or if one of its own rejects waits there. The
    control consumer takes only lines without records of any table.

    Gives: file, line.
    """
    assert found.waiting is not None
    assert found.owners is not None
    control = control_consumer(found.source)
    others = found.owners.where(~F.col("consumer").isin(consumer, control))
    if consumer == control:
        return others.select(*PLACE)
    targets = {spec.table: spec.target.changes for spec in project.tables}
    others = others.join(found.waiting.where("NOT is_left"), on=["consumer", *PLACE], how="left_anti")
    for row in others.select("consumer").distinct().collect():
        name = targets.get(row["consumer"])
        if name is not None and exists(spark, project.catalog.name, name):
            taken = read(spark, project.catalog.name, name).select(F.lit(row["consumer"]).alias("consumer"), *PLACE)
            others = others.join(taken, on=["consumer", *PLACE], how="left_anti")
    return others.select(*PLACE)


def kept_lines(waiting: DataFrame, paths: Sequence[str]) -> DataFrame:
    """The records of files as the ledger stores them: file, line, text. Rows: one per line."""
    mine = waiting.where(F.col("file").isin(*paths)) if paths else waiting.limit(0)
    return mine.groupBy(*PLACE).agg(F.first("record").alias("text"))


def taken_files(spark: SparkSession, project: ProjectSpec, waiting: DataFrame) -> dict[str, Taken]:
    """The last ingested state of the files that contain the rejects."""
    inputs = read_ledger(spark, project, names.INPUTS)
    assert inputs is not None
    paths = waiting.select(F.col("file").alias("path")).distinct()
    what = F.struct("size", "mtime", "fingerprint", "to_line")
    last = F.max_by(what, F.struct("mtime", "size", "to_line")).alias("last")
    rows = inputs.join(F.broadcast(paths), on="path", how="left_semi").groupBy("path").agg(last).collect()
    return {row["path"]: Taken(*row["last"]) for row in rows}


def unchanged_files(
    spark: SparkSession, source: SourceSpec, catalog: str, taken: Mapping[str, Taken]
) -> dict[str, PendingFile]:
    """The files that have not changed since they were ingested, to be reread from their first lines.

    A data file of a source table counts as unchanged as long as the table has all its rows, in whatever file.
    """
    if source.kafka is not None:
        return unchanged_topics(source, taken)
    rows = None if source.table is None else rows_by_file(spark, source, catalog)
    whole = {path: one for path, one in taken.items() if rows is None or rows.get(path, 0) == one.to_line}
    found = {path: unchanged_file(path, one, source.store) for path, one in whole.items()}
    return {path: entry for path, entry in found.items() if entry is not None}


def unchanged_topics(source: SourceSpec, taken: Mapping[str, Taken]) -> dict[str, PendingFile]:
    """The partitions whose topic was not recreated since then, to be read from their first available record."""
    found = {}
    for one in topic_partitions(source):
        known = taken.get(one.path)
        if known is not None and known.fingerprint == one.topic_id:
            found[one.path] = PendingFile(
                replace(one, size=min(known.to_line, one.end)), one.topic_id, one.start, False
            )
    return found


def lines_only(entry: PendingFile, first: int, last: int) -> PendingFile | None:
    """The entry limited to some records, if it is a partition. None if they are gone. A file is read whole."""
    if not isinstance(entry.file, Partition):
        return entry
    if first <= entry.file.start:
        return None
    part = replace(entry.file, read_from=first - 1, size=min(last, entry.file.size))
    return replace(entry, file=part, after_line=first - 1)


def unchanged_file(path: str, taken: Taken, settings: StoreSettings = ()) -> PendingFile | None:
    """A file to be reread from its first line. None if it is gone or has changed since it was ingested.

    `settings`: of the file's store.
    """
    file = listed(path, settings)
    if file is None or not FileProbe().has_same_start(file, taken.size, taken.fingerprint):
        return None
    return PendingFile(file, taken.fingerprint, 0, False)


def known_tables(spark: SparkSession, project: ProjectSpec, declared: Iterable[str]) -> list[str]:
    """All consumers with a claim to records: the declared tables, and others that have ingested something before."""
    inputs = read_ledger(spark, project, names.INPUTS)
    taken = [] if inputs is None else inputs.select("consumer").distinct().collect()
    return sorted({*declared, *[row["consumer"] for row in taken]})


def moved_lines(waiting: DataFrame, good: DataFrame, bad: DataFrame) -> DataFrame:
    """The lines whose result has changed: records that can be applied now, or that have other reject reasons.

    Needs: waiting: file, line, reason; good: file, line of records that can be applied; bad: file, line, reason of the
        others.
    Gives: file, line, applied. Computed.
    Rows: one per line; filters to the lines whose rejects are to be closed.
    """
    reasons = F.sort_array(F.collect_list("reason"))
    before = waiting.groupBy(*PLACE).agg(reasons.alias("before"))
    applied = good.groupBy(*PLACE).agg(F.count("*").alias("applied"))
    after = bad.groupBy(*PLACE).agg(reasons.alias("after"))
    lines = before.join(applied, on=PLACE, how="left").join(after, on=PLACE, how="left")  # one row per line each
    other = F.col("after").isNotNull() & (F.col("after") != F.col("before"))
    moved = lines.where(F.col("applied").isNotNull() | other)
    return moved.select(*PLACE, F.coalesce("applied", F.lit(0)).alias("applied")).transform(checkpointed)


def newly_decoded(waiting: DataFrame, changes: DataFrame) -> DataFrame:
    """The changes of records that were not decoded as changes when they were rejected: they are not counted yet.

    Needs: waiting: file, line, reason; changes: envelopes.
    Rows: filters.
    """
    was_a_change = F.bool_or(F.col("reason").rlike(OF_VALUES)).alias("was_a_change")
    lines = waiting.groupBy(*PLACE).agg(was_a_change).where(~F.col("was_a_change"))
    return changes.join(F.broadcast(lines), on=PLACE, how="left_semi")
