"""The rejects of a source that nothing has become of yet, read and classified once more."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.formats import format_of
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.source_batch import (
    SourceBatch,
    by_scn_of,
    classes_of,
    idle_consumers,
    sharing,
    targets_of,
    with_masks,
)
from siltstone.engine.ingest.source_order import settled
from siltstone.engine.ingest.source_records import Records, context_of, read_beside, refuse_replaced, source_files
from siltstone.engine.ingest.topic_offsets import topic_partitions
from siltstone.engine.inputs.containers import kind_of
from siltstone.engine.inputs.iceberg_files import rows_by_file
from siltstone.engine.inputs.listing import InputFile, Look, listed
from siltstone.engine.inputs.pending_files import PendingFile, Taken
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.names import PLACE
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import known_keys_of
from siltstone.engine.storage import StoreSettings
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.ledger import open_rejects, read_ledger

LINES = ("json", "topic")
"""Kinds of files whose records were kept as they are read."""
OF_VALUES = '^(?:(?:key )?column "|the table has no key)'
"""How reasons begin that were found in a change's values."""


@dataclass
class Rejected(SourceBatch):
    """Rejected records read again. `waiting`: the rejects, with whose they are and why.

    `out_of_reach` counts those whose record was not kept and whose file is gone, or is another one now.
    """

    waiting: DataFrame | None = None
    out_of_reach: Mapping[str, int] = field(default_factory=dict)


def rejected_delivery(
    spark: SparkSession, project: ProjectSpec, source: SourceSpec, specs: Sequence[TableSpec]
) -> Rejected | None:
    """The rejects of a source as a delivery of their own; None when there are none. What unfinished runs left goes."""
    targets = targets_of(project, source, specs)
    consumers = idle_consumers(spark, project, targets)
    newest = {name: consumer.newest_batch for name, consumer in consumers.items()}
    taken_inputs(spark, project, targets, newest)
    waiting = waiting_rejects(spark, project, newest)
    if waiting is None or waiting.isEmpty():
        return None
    declared = {spec.table: known_keys_of(spec) for spec in sharing(project, source, specs)}
    source = settled(spark, project.catalog.name, source, specs, by_scn_of(consumers))
    found = Rejected(source, (), with_masks(consumers, project, source), declared, waiting=waiting)
    read_again(spark, project, found)
    return found


def waiting_rejects(spark: SparkSession, project: ProjectSpec, newest: Mapping[str, int]) -> DataFrame | None:
    """Rejects of real batches, without those replayed, dismissed or taken again with their file. None: no ledger.

    `newest`: the newest real batch of those whose rejects are asked for.
    Gives: consumer, batch, file, line, reason, record. Computed.
    """
    rejects, inputs = open_rejects(spark, project), read_ledger(spark, project, names.INPUTS)
    if rejects is None or inputs is None:
        return None
    real = [(F.col("consumer") == consumer) & (F.col("batch") <= batch) for consumer, batch in newest.items()]
    mine = rejects.where(reduce(lambda one, other: one | other, real))
    mine = mine.select("consumer", "batch", *PLACE, "reason", "record").alias("r")
    again = [
        F.col("i.consumer") == F.col("r.consumer"),
        F.col("i.path") == F.col("r.file"),
        F.col("i.batch") > F.col("r.batch"),
        F.col("i.from_line") <= F.col("r.line"),
    ]
    return mine.join(inputs.alias("i"), on=again, how="left_anti").transform(checkpointed)


def accepted_places(spark: SparkSession, project: ProjectSpec, consumer: str) -> DataFrame | None:
    """Where a consumer's rejects are that were accepted, by the run that took them or by who dismissed them, whatever
    became of them since. None without any ledger.

    Needs: rejects of real batches only.
    Gives: file, line.
    Rows: without duplicates.
    """
    ledgers = [read_ledger(spark, project, table) for table in (names.REJECTS, names.DISMISSALS)]
    places = [rows.where(F.col("consumer") == consumer).select(*PLACE) for rows in ledgers if rows is not None]
    return reduce(DataFrame.unionByName, places).distinct() if places else None  # a set of places, no fan-out


def read_again(spark: SparkSession, project: ProjectSpec, found: Rejected) -> None:
    """Read and classify the rejected records: as they were kept, or from their files where that says more."""
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
    there = as_taken(spark, found.source, project.catalog.name, taken)
    ends = {row["file"]: (row["first"], row["last"]) for row in rows}
    read_from = {path: lines_only(entry, *ends[path]) for path, entry in there.items()}
    reread = {path: entry for path, entry in read_from.items() if entry is not None}
    out_of_reach = {row["file"]: row["lines"] for row in rows if row["file"] not in {*kept, *reread}}
    lines = kept_lines(found.waiting, kept)
    places = found.waiting.select(*PLACE).distinct()
    read = read_in_context(spark, project, found.source, list(reread.values())) if reread else Records(spark)
    if kept or not reread:
        read = replace(read, frames=[*read.frames, lines])
    records = read.events(found.source, found.declared)
    found.records = records.join(F.broadcast(places), on=PLACE, how="left_semi").transform(checkpointed)
    refuse_replaced(found.source, reread.values())
    found.files = [InputFile(path, 0, 0) for path in [*kept, *reread]]
    found.out_of_reach = out_of_reach
    found.classes = classes_of(found.records, found, fans_out=True)


def read_in_context(
    spark: SparkSession, project: ProjectSpec, source: SourceSpec, files: Sequence[PendingFile]
) -> Records:
    """The records of files, and of the files next to them that their meaning can depend on."""
    catalog = project.catalog.name
    listed = source_files(spark, source, catalog, None) if format_of(source.format).resends else ()
    return read_beside(spark, source, listed, [*context_of(spark, source, listed, files), *files], catalog)[0]


def kept_lines(waiting: DataFrame, paths: Sequence[str]) -> DataFrame:
    """The records of files as the ledger kept them: file, line, text. Rows: one a line."""
    mine = waiting.where(F.col("file").isin(*paths)) if paths else waiting.limit(0)
    return mine.groupBy(*PLACE).agg(F.first("record").alias("text"))


def taken_files(spark: SparkSession, project: ProjectSpec, waiting: DataFrame) -> dict[str, Taken]:
    """What was taken last of the files that hold the rejects."""
    inputs = read_ledger(spark, project, names.INPUTS)
    assert inputs is not None
    asked = waiting.select(F.col("file").alias("path")).distinct()
    what = F.struct("size", "mtime", "fingerprint", "to_line")
    last = F.max_by(what, F.struct("mtime", "size", "to_line")).alias("last")
    rows = inputs.join(F.broadcast(asked), on="path", how="left_semi").groupBy("path").agg(last).collect()
    return {row["path"]: Taken(*row["last"]) for row in rows}


def as_taken(
    spark: SparkSession, source: SourceSpec, catalog: str, taken: Mapping[str, Taken]
) -> dict[str, PendingFile]:
    """The files that still are what was taken of them, to be read again from their first lines.

    Those of a table are so as long as the table has all their rows, wherever they lie.
    """
    if source.kafka is not None:
        return topics_as_taken(source, taken)
    rows = None if source.table is None else rows_by_file(spark, source, catalog)
    whole = {path: one for path, one in taken.items() if rows is None or rows.get(path, 0) == one.to_line}
    found = {path: unchanged(path, one, source.store) for path, one in whole.items()}
    return {path: entry for path, entry in found.items() if entry is not None}


def topics_as_taken(source: SourceSpec, taken: Mapping[str, Taken]) -> dict[str, PendingFile]:
    """The partitions that still are of the topic that was taken, to be read from the first record that is there."""
    found = {}
    for one in topic_partitions(source):
        known = taken.get(one.path)
        if known is not None and known.fingerprint == one.topic_id:
            found[one.path] = PendingFile(
                replace(one, size=min(known.to_line, one.end)), one.topic_id, one.start, False
            )
    return found


def lines_only(entry: PendingFile, first: int, last: int) -> PendingFile | None:
    """An entry of some lines: of a topic no other records are read. None: they are gone. All of a file."""
    if not isinstance(entry.file, Partition):
        return entry
    if first <= entry.file.start:
        return None
    part = replace(entry.file, read_from=first - 1, size=min(last, entry.file.size))
    return replace(entry, file=part, after_line=first - 1)


def unchanged(path: str, taken: Taken, settings: StoreSettings = ()) -> PendingFile | None:
    """A file to be read again from its first line; None where it is gone, or is not what was taken. `settings`: of the
    store that holds it."""
    file = listed(path, settings)
    if file is None or not Look().has_same_start(file, taken.size, taken.fingerprint):
        return None
    return PendingFile(file, taken.fingerprint, 0, False)


def known_tables(spark: SparkSession, project: ProjectSpec, declared: Iterable[str]) -> list[str]:
    """All tables whose records are theirs to take: the declared ones, and others that have taken something before."""
    inputs = read_ledger(spark, project, names.INPUTS)
    taken = [] if inputs is None else inputs.select("consumer").distinct().collect()
    return sorted({*declared, *[row["consumer"] for row in taken]})


def moved_lines(waiting: DataFrame, good: DataFrame, bad: DataFrame) -> DataFrame:
    """The lines of which something has become: records that came good, or other reasons than before.

    Needs: waiting: file, line, reason; good: file, line of what can be applied; bad: file, line, reason of what cannot.
    Gives: file, line, applied. Computed.
    Rows: one a line; filters to those whose rejects are to be closed.
    """
    reasons = F.sort_array(F.collect_list("reason"))
    before = waiting.groupBy(*PLACE).agg(reasons.alias("before"))
    applied = good.groupBy(*PLACE).agg(F.count("*").alias("applied"))
    after = bad.groupBy(*PLACE).agg(reasons.alias("after"))
    lines = before.join(applied, on=PLACE, how="left").join(after, on=PLACE, how="left")  # one row a line each
    other = F.col("after").isNotNull() & (F.col("after") != F.col("before"))
    moved = lines.where(F.col("applied").isNotNull() | other)
    return moved.select(*PLACE, F.coalesce("applied", F.lit(0)).alias("applied")).transform(checkpointed)


def newly_decoded(waiting: DataFrame, changes: DataFrame) -> DataFrame:
    """The changes of records that were none when they were rejected: nothing has counted them yet.

    Needs: waiting: file, line, reason; changes: envelopes.
    Rows: filters.
    """
    was_a_change = F.bool_or(F.col("reason").rlike(OF_VALUES)).alias("was_a_change")
    lines = waiting.groupBy(*PLACE).agg(was_a_change).where(~F.col("was_a_change"))
    return changes.join(F.broadcast(lines), on=PLACE, how="left_semi")
