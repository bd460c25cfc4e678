"""A batch of a source: its files, the new part for each consumer, and the records, read and classified once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.columns_seen import NO_END, Regions, Seen, SummaryRules, Wanted, regions_of
from siltstone.engine.decode.event import CONTROL, REJECT
from siltstone.engine.decode.table_shape import wanted_of
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.lateness_bounds import progress_time
from siltstone.engine.formats import format_of
from siltstone.engine.frames import local_frame
from siltstone.engine.ingest.consumers import Consumer, idle_consumers, newest_batches, targets_of
from siltstone.engine.ingest.control_evidence import evidence_counts
from siltstone.engine.ingest.event_frames import changes_key, columns_of, is_shown_by_scn, some
from siltstone.engine.ingest.source_order import turned_to_scns, with_known_order
from siltstone.engine.ingest.source_records import (
    context_of,
    read_with_neighbours,
    refuse_replaced,
    source_files,
    with_lines_before,
)
from siltstone.engine.ingest.topic_offsets import new_of_topics
from siltstone.engine.inputs.counting import CountedFile
from siltstone.engine.inputs.globs import plain_start
from siltstone.engine.inputs.listing import FileProbe, InputFile
from siltstone.engine.inputs.pending_files import PendingFile, Taken, earliest, pending_files
from siltstone.engine.inputs.table_rows import computed
from siltstone.engine.names import PLACE
from siltstone.engine.schema.control_kinds import REDELIVERY
from siltstone.engine.spec.collisions import SAME_SETTING_HINT, conflicting_setting
from siltstone.engine.spec.fingerprint import mask_fingerprints
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import known_keys_of
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.ledger import read_ledger

LAST_LINES: Final = "file string, line bigint"


@dataclass
class SourceBatch:
    """A source's new records, read and classified once for all its consumers.

    `declared`: all tables that share the files, whether this run includes them or not, with their keys. `wanted`:
    what the shapes of this run's tables need to know of their changes. `columns`: the columns that the changes of each
    table have.
    `known_before`: all redeliveries in the new files and their neighbour files, if the format recognizes redeliveries
    by their neighbours. A line that was ingested as a change before can turn out to be a redelivery only now.
    `lost`: descriptions of records that topics lost before they were ingested, and that are acknowledged.
    """

    source: SourceSpec
    files: Sequence[InputFile]
    consumers: Mapping[str, Consumer]
    declared: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    counted: Mapping[str, CountedFile] = field(default_factory=dict)
    records: DataFrame | None = None
    known_before: DataFrame | None = None
    columns: Mapping[str, Seen] = field(default_factory=dict)
    classes: Sequence[Any] = ()
    lost: Sequence[str] = ()

    def pending_files(self) -> list[InputFile]:
        """The files that have something new for any consumer."""
        return list({e.file.path: e.file for c in self.consumers.values() for e in c.pending.values()}.values())


def taken_by(
    spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str], newest: Mapping[str, int], tidy: bool
) -> dict[str, dict[str, Taken]]:
    """What each consumer has ingested of each file.

    `targets`: the tables they write; `newest`: their newest committed batches. `tidy`: also remove the leftovers of
    unfinished runs.
    """
    return {
        name: {row["path"]: Taken(row["size"], row["mtime"], row["fingerprint"], row["to_line"]) for row in rows}
        for name, rows in taken_inputs(spark, project, targets, newest, tidy).items()
    }


def new_of_files(
    spark: SparkSession,
    project: ProjectSpec,
    files: Sequence[InputFile],
    taken: Mapping[str, Mapping[str, Taken]],
) -> dict[str, list[PendingFile]]:
    """The new part of the files for each consumer. `taken`: what each consumer has ingested.

    Raises: SourceError: a file has changed under its name.
    """
    probe = FileProbe()
    new = {}
    of_tables = {path for name, paths in taken.items() if not name.startswith(names.CONTROL_OF) for path in paths}
    for name, mine in taken.items():
        # A file that every table refused, so that only its control events were ingested, can be replaced by a corrected
        # file.
        refused = touched(files, mine) - of_tables if name.startswith(names.CONTROL_OF) else set()
        replaceable = refused - taken_by_others(spark, project, taken, refused)
        new[name] = pending_files(probe, files, mine, name, replaceable)
    return new


def touched(files: Iterable[InputFile], taken: Mapping[str, Taken]) -> set[str]:
    """The files that have changed since they were ingested."""
    return {file.path for file in files if file.path in taken and not taken[file.path].looks_like(file)}


def taken_by_others(
    spark: SparkSession, project: ProjectSpec, consumers: Iterable[str], paths: Collection[str]
) -> set[str]:
    """The files that a table outside this run has ingested, with whatever settings.

    A file counts as ingested if a table without a spec has ingested it.
    """
    inputs = read_ledger(spark, project, names.INPUTS) if paths else None
    if inputs is None:
        return set()
    is_other = ~F.col("consumer").isin(*consumers) & ~F.col("consumer").startswith(names.CONTROL_OF)
    first = inputs.where(is_other & F.col("path").isin(*paths)).groupBy("consumer", "path").agg(F.min("batch"))
    rows, targets = first.collect(), {spec.table: spec.target.changes for spec in project.tables}
    others = {consumer for consumer, _, _ in rows} & targets.keys()
    newest = newest_batches(spark, project, {consumer: targets[consumer] for consumer in others})
    return {path for consumer, path, batch in rows if batch <= newest.get(consumer, batch)}


def list_source_batch(
    spark: SparkSession,
    project: ProjectSpec,
    source: SourceSpec,
    specs: Sequence[TableSpec],
    until_ms: int | None,
    run_id: str | None,
) -> SourceBatch:
    """List a source's files, and find what is new for each consumer.

    Leftovers of unfinished runs are removed. Without a `run_id`, nothing is written.

    Raises: SourceError: there are no files, a file has changed under its name, or records of a topic are gone.
        SpecError: another table's spec gives the same events other positions.
    """
    tables = sharing(project, source, specs)
    for other in tables:
        if setting := conflicting_setting(source, other.source):
            raise SpecError(
                f"Cannot take {source.path}: {other.table} takes it with another source.{setting}.",
                SAME_SETTING_HINT,
            )
    files = source_files(spark, source, project.catalog.name, until_ms)
    targets = targets_of(project, source, specs)
    declared = {spec.table: known_keys_of(spec) for spec in tables}
    idle = idle_consumers(spark, project, targets)
    newest = {name: consumer.newest_batch for name, consumer in idle.items()}
    taken = taken_by(spark, project, targets, newest, tidy=run_id is not None)
    new, lost = (
        (new_of_files(spark, project, files, taken), ())
        if source.kafka is None
        else new_of_topics(spark, project, source, files, taken, run_id)
    )
    pending = {name: {entry.file.path: entry for entry in entries} for name, entries in new.items()}
    found = {name: replace(consumer, pending=pending[name]) for name, consumer in idle.items()}
    consumers = with_masks(found, project, source)
    ordered = with_known_order(spark, project.catalog.name, source, specs, by_scn_of(consumers))
    return SourceBatch(ordered, files, consumers, declared, wanted_of_all(specs), lost=lost)


def wanted_of_all(specs: Iterable[TableSpec]) -> dict[str, Wanted]:
    """What the shape of each table needs to know of its changes."""
    return {spec.table: wanted_of(spec) for spec in specs}


def by_scn_of(consumers: Mapping[str, Consumer]) -> set[str]:
    """The sources that are ordered by SCNs alone, according to any consumer."""
    return {source for consumer in consumers.values() for source in consumer.by_scn}


def sharing(project: ProjectSpec, source: SourceSpec, specs: Sequence[TableSpec]) -> list[TableSpec]:
    """These tables of a source, and all others of the project with the same files, with whatever settings.

    The kind of a record, its table and what of it may be stored do not depend on the tables of this run.
    """
    mine = {spec.table for spec in specs}
    return [*specs, *[t for t in project.tables if t.source.path == source.path and t.table not in mine]]


def with_masks(consumers: Mapping[str, Consumer], project: ProjectSpec, source: SourceSpec) -> dict[str, Consumer]:
    """The consumers, with `masked` set if their records can contain masked columns.

    A record without a table can belong to any table that can share the files, or to one whose spec cannot be read.
    """
    masking = [spec for spec in project.tables if mask_fingerprints(spec)]
    may_hold = bool(project.unread) or any(can_share(spec.source.path, source.path) for spec in masking)
    masked = {spec.table for spec in masking}
    return {
        name: replace(consumer, masked=may_hold if name.startswith(names.CONTROL_OF) else name in masked)
        for name, consumer in consumers.items()
    }


def can_share(one: str, other: str) -> bool:
    """Whether two paths can match the same files, by the parts before their first pattern."""
    begins = [plain_start(path).rstrip("/") for path in (one, other)]
    return begins[0].startswith(begins[1]) or begins[1].startswith(begins[0])


def read_source_batch(spark: SparkSession, source_batch: SourceBatch, catalog: str) -> None:
    """Read and classify everything new in one pass, with a second pass if the records change the source's order.

    Raises: SourceError: a file cannot be read.
    """
    union = earliest(entry for each in source_batch.consumers.values() for entry in each.pending.values())
    if not union:
        return
    form = format_of(source_batch.source.format)
    context = context_of(spark, source_batch.source, source_batch.files, union)
    whole = form.reads_whole and (bool(context) or any(entry.after_line for entry in union))
    wanted = [*context, *map(with_lines_before, union)] if whole else union
    found, counted = read_with_neighbours(spark, source_batch.source, source_batch.files, wanted, catalog)
    is_redelivery = F.coalesce(F.col("control_kind") == REDELIVERY, F.lit(False)) if form.resends else F.lit(False)
    # Texts can be reread by line only if a line is decoded without its neighbours, and not from a table, whose columns
    # can change while its rows are ingested.
    is_rereadable = not form.reads_whole and source_batch.source.table is None

    def read() -> DataFrame:
        # Every table, the control events and the rejects read them: parsing once is worth the memory.
        rules = SummaryRules(source_batch.wanted, new_regions(source_batch, whole))
        events = found.events(source_batch.source, source_batch.declared, rules, not is_rereadable)
        kept = computed(events.where(after(union) | is_redelivery) if whole else events, wanted)
        refuse_replaced(source_batch.source, union)
        source_batch.known_before = kept.where(is_redelivery) if form.resends else None
        return kept.where(after(union)) if whole else kept

    records = classified(source_batch, read)
    source_batch.columns = columns_of(records)
    of_new = [entry for entry in counted if entry.pending not in context]
    source_batch.counted = {entry.pending.file.path: entry for entry in finished(spark, records, of_new)}


def classified(source_batch: SourceBatch, read: Callable[[], DataFrame]) -> DataFrame:
    """Read the records, and store them with their classes in the source batch.

    If they show that something else orders the source, they are read a second time. `read`: reads them with the
    present settings of the batch's source.
    """
    source_batch.records = read()
    source_batch.classes = classes_of(source_batch.records, source_batch)
    ordered = turned_to_scns(source_batch.source, source_batch.classes)
    if ordered == source_batch.source:
        return source_batch.records
    source_batch.source = ordered
    return classified(source_batch, read)


def finished(spark: SparkSession, records: DataFrame, counted: Sequence[CountedFile]) -> list[CountedFile]:
    """The counted files, in which a last line without a line end counts as complete if it was decoded.

    Base64 does not show where it ends, as JSON does: only decoding shows whether such a line is a whole record.
    """
    unfinished = {entry.pending.file.path: entry.lines for entry in counted if entry.pending.half_line}
    if not unfinished:
        return list(counted)
    last = local_frame(spark, [{"file": path, "line": line} for path, line in unfinished.items()], LAST_LINES)
    good = records.where(F.col("kind") != REJECT).join(F.broadcast(last), on=PLACE, how="left_semi")
    whole = {row["file"] for row in good.select("file").distinct().collect()}
    return [
        replace(entry, pending=replace(entry.pending, half_line=False)) if entry.pending.file.path in whole else entry
        for entry in counted
    ]


def classes_of(records: DataFrame, source_batch: SourceBatch, fans_out: bool | None = None) -> list[Row]:
    """The records of a source batch, counted by kind, table and file.

    With each count: the greatest commit time (`progress_time`), whether any record changes a key, the sources that the
    records show to be ordered by SCNs alone, and the columns of `evidence_counts`. `fans_out`: overrides the format's
    own value.
    """
    form = format_of(source_batch.source.format)
    several = form.fans_out if fans_out is None else fans_out
    number = F.count_distinct("line") if several else F.count("*")
    greatest = F.unix_micros(F.max(progress_time())).alias("max_commit_us")
    moves = F.max(changes_key(source_batch.source.format, source_batch.declared)).alias("moves")
    by_scn = [] if not form.can_turn_to_scns else [F.collect_set(is_shown_by_scn()).alias("by_scn")]
    counts = [number.alias("records"), greatest, moves, *by_scn, *evidence_counts()]
    return records.groupBy("kind", "table", "file").agg(*counts).collect()


def new_regions(source_batch: SourceBatch, has_others: bool) -> Regions:
    """The regions of a source batch by their consumers. Empty if every record is new to all consumers.

    `has_others`: records that are new to none of them are read, too.
    """
    pending = [
        (consumer.name, {path: entry.after_line for path, entry in consumer.pending.items()})
        for consumer in source_batch.consumers.values()
    ]
    if not has_others and all(new == pending[0][1] for _, new in pending):
        return {}
    return regions_of((name, path, line + 1, NO_END) for name, new in pending for path, line in new.items())


def columns_new_to(source_batch: SourceBatch, consumer: Consumer) -> Mapping[str, Seen]:
    """The columns that the changes of each table have, in the records that are new to one consumer."""
    if is_all_new_to(source_batch, consumer):
        return source_batch.columns
    return columns_of(new_to(source_batch, consumer))


def new_to(source_batch: SourceBatch, consumer: Consumer) -> DataFrame:
    """The records that one consumer has not ingested yet."""
    assert source_batch.records is not None
    return (
        source_batch.records
        if is_all_new_to(source_batch, consumer)
        else source_batch.records.where(after(consumer.pending.values()))
    )


def is_all_new_to(source_batch: SourceBatch, consumer: Consumer) -> bool:
    """Whether all records of a source batch are new to one consumer."""
    first = {path: entry.pending.after_line for path, entry in source_batch.counted.items()}
    return first == {path: entry.after_line for path, entry in consumer.pending.items()}


def of_table(records: DataFrame, table: str) -> DataFrame:
    """The changes and the rejects of one table, without control events: these belong to the source.

    A control event, such as a schema change, can name the table too. Rows: filters.
    """
    return records.where((F.col("table") == table) & (F.col("kind") != CONTROL))


def number_new_to(source_batch: SourceBatch, consumer: Consumer, table: str, records: DataFrame) -> int:
    """The number of a table's records that are new to one consumer. `records`: these records.

    They were counted when they were classified, except if a line can contain several records.
    """
    if format_of(source_batch.source.format).fans_out or not is_all_new_to(source_batch, consumer):
        return records.count()
    return sum(row["records"] for row in source_batch.classes if row["table"] == table and row["kind"] != CONTROL)


def after(entries: Iterable[PendingFile]) -> Column:
    """True for a record in the new part of one of the files."""
    by_line: dict[int, list[str]] = {}
    for entry in entries:
        by_line.setdefault(entry.after_line, []).append(entry.file.path)
    return some(F.col("file").isin(paths) & (F.col("line") > after_line) for after_line, paths in by_line.items())


def input_rows(source_batch: SourceBatch, consumer: Consumer, batch: int, attempt: str) -> list[dict[str, Any]]:
    """The ledger's rows for what an attempt at a batch ingests."""
    return [
        {
            "batch": batch,
            "consumer": consumer.name,
            "path": path,
            "size": entry.file.size,
            "mtime": entry.file.mtime,
            "fingerprint": entry.fingerprint,
            "from_line": entry.after_line + 1,
            "to_line": max(source_batch.counted[path].to_line, entry.after_line),  # a bounded run can end before it
            "attempt": attempt,
        }
        for path, entry in sorted(consumer.pending.items())
    ]
