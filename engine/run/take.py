"""From files to `changes`: what is new is decoded and appended, exactly once."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from engine import names
from engine.decode import FANNING_OUT, READ_ON, READ_WHOLE, control_rows, decode_rows, discover, envelopes
from engine.decode.shape import TableShape
from engine.errors import InvariantViolation, SourceError
from engine.inputs.lines import CountedFile
from engine.inputs.listing import InputFile, Look
from engine.inputs.pending import PendingFile, Taken, files_before, pending_files
from engine.report import SourceReport
from engine.run.folding import newest_batch
from engine.run.records import read_records, source_files
from engine.spec.fingerprint import mask_fingerprints
from engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from engine.table.changes import ensure_changes, known_row
from engine.table.commit import Branch, drop_stale_branches, newest_summary
from engine.table.ledger import (
    append_frame,
    append_rows,
    ensure_ledger,
    ledger_name,
    taken_inputs,
)

SUMMARY_MAX_COMMIT = "siltstone.max-commit-us"
SUMMARY_MASKS = "siltstone.masks"
SAMPLE_REJECTS = 3


@dataclass(frozen=True)
class Consumer:
    """Somebody who takes a source's files: a table, or the source itself for its control events."""

    name: str
    target: str
    newest_batch: int
    pending: Mapping[str, PendingFile]


@dataclass
class Delivery:
    """A source's new records, read and classified once for all its consumers."""

    source: SourceSpec
    files: Sequence[InputFile]
    consumers: Mapping[str, Consumer]
    declared: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    counted: Mapping[str, CountedFile] = field(default_factory=dict)
    records: DataFrame | None = None
    classes: Sequence[Any] = ()

    def pending_files(self) -> list[InputFile]:
        """The files of which something is new to somebody."""
        return list({e.file.path: e.file for c in self.consumers.values() for e in c.pending.values()}.values())


def control_consumer(source: SourceSpec) -> str:
    """The name under which a source's control events are taken."""
    return f"control:{source.path}"


def find_consumers(
    spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str], files: Sequence[InputFile], tidy: bool
) -> dict[str, Consumer]:
    """What each consumer still has to take. `targets`: the tables they write. With `tidy`, what unfinished runs left is
    removed."""
    newest = {name: newest_batch(spark, project, target) for name, target in targets.items()}
    taken = {
        name: {row["path"]: Taken(row["size"], row["mtime"], row["fingerprint"], row["to_line"]) for row in rows}
        for name, rows in taken_inputs(spark, project, newest, tidy).items()
    }
    look = Look(spark)
    consumers = {}
    for name, target in targets.items():
        pending = pending_files(look, files, taken[name], name)
        consumers[name] = Consumer(name, target, newest[name], {entry.file.path: entry for entry in pending})
    return consumers


def list_delivery(
    spark: SparkSession,
    project: ProjectSpec,
    source: SourceSpec,
    specs: Sequence[TableSpec],
    until_ms: int | None,
    tidy: bool = True,
) -> Delivery:
    """List a source's files, and find what is new to each consumer. Without `tidy` nothing is written.

    Raises: SourceError: nothing is there, or a file changed under its name.
    """
    files = source_files(spark, source, project.catalog.name, until_ms)
    targets = {control_consumer(source): ledger_name(project, names.CONTROL)}
    targets |= {spec.table: spec.target.changes for spec in specs}
    declared = {spec.table: spec.keys for spec in specs}
    return Delivery(source, files, find_consumers(spark, project, targets, files, tidy), declared)


def read_delivery(spark: SparkSession, delivery: Delivery, catalog: str) -> None:
    """Read and classify what is new to anybody, in one pass.

    Raises: SourceError: a file cannot be read.
    """
    union = earliest(entry for each in delivery.consumers.values() for entry in each.pending.values())
    if not union:
        return
    form = delivery.source.format
    context = files_before(delivery.files, union) if form in READ_ON else []
    whole = form in READ_WHOLE and (bool(context) or any(entry.after_line for entry in union))
    wanted = [*context, *(replace(entry, after_line=0) for entry in union)] if whole else union
    lines, counted = read_records(spark, delivery.source, wanted, catalog)
    # Read by every table, by the control events and by the rejects: parsing once is worth the memory. A checkpoint
    # rather than a cache: what is built on it is not planned over the parsing again.
    records = envelopes(lines, delivery.source, delivery.declared)
    delivery.records = (records.where(after(union)) if whole else records).localCheckpoint()
    delivery.counted = {entry.pending.file.path: entry for entry in counted if entry.pending not in context}
    records_of = F.count_distinct("line") if form in FANNING_OUT else F.count("*")
    delivery.classes = (
        delivery.records.groupBy("kind", "table", "file")
        .agg(records_of.alias("records"), F.unix_micros(F.max("commit_ts")).alias("max_commit_us"))
        .collect()
    )


def earliest(entries: Iterable[PendingFile]) -> list[PendingFile]:
    """One entry a file: the one that begins first."""
    found: dict[str, PendingFile] = {}
    for entry in entries:
        known = found.get(entry.file.path)
        if known is None or entry.after_line < known.after_line:
            found[entry.file.path] = entry
    return [found[path] for path in sorted(found)]


def new_to(delivery: Delivery, taker: Consumer) -> DataFrame:
    """The records that one consumer has not taken yet."""
    assert delivery.records is not None
    first = {path: entry.pending.after_line for path, entry in delivery.counted.items()}
    own = {path: entry.after_line for path, entry in taker.pending.items()}
    if own == first:
        return delivery.records
    return delivery.records.where(after(taker.pending.values()))


def after(entries: Iterable[PendingFile]) -> Column:
    """Whether a record lies in the new part of one of the files."""
    new = F.lit(False)
    for entry in entries:
        new = new | ((F.col("file") == entry.file.path) & (F.col("line") > entry.after_line))
    return new


def input_rows(delivery: Delivery, taker: Consumer, batch: int) -> list[dict[str, Any]]:
    """The ledger's rows for what a batch takes."""
    return [
        {
            "batch": batch,
            "consumer": taker.name,
            "path": path,
            "size": entry.file.size,
            "mtime": entry.file.mtime,
            "fingerprint": entry.fingerprint,
            "from_line": entry.after_line + 1,
            "to_line": delivery.counted[path].to_line,
        }
        for path, entry in sorted(taker.pending.items())
    ]


def reject_rows(records: DataFrame, taker: Consumer, batch: int) -> DataFrame:
    """Rejected records as the ledger keeps them."""
    return records.select(
        F.lit(batch).cast("bigint").alias("batch"),
        F.lit(taker.name).alias("consumer"),
        "table",
        "file",
        "line",
        "reason",
        F.col("text").alias("record"),
        F.current_timestamp().alias("rejected_at"),
    )


def take_control(spark: SparkSession, project: ProjectSpec, delivery: Delivery, specs: Sequence[TableSpec]) -> None:
    """Append a source's control events, and the rejects that belong to no declared table.

    Raises: SourceError: too many records cannot be told to belong to any table.
    """
    taker = delivery.consumers[control_consumer(delivery.source)]
    if not taker.pending:
        return
    check_unowned(delivery, specs)
    catalog = project.catalog.name
    ensure_ledger(spark, project, names.CONTROL)
    drop_stale_branches(spark, catalog, taker.target)
    batch = taker.newest_batch + 1
    records = new_to(delivery, taker)
    branch = Branch.start(spark, catalog, taker.target, {names.SUMMARY_BATCH: str(batch)})
    events = control_rows(records.where(F.col("kind") == "control"))
    branch.append(events.select(F.lit(batch).cast("bigint").alias("batch"), "*").coalesce(1))
    declared = [spec.table for spec in specs]
    append_rows(spark, project, names.INPUTS, input_rows(delivery, taker, batch))
    if any(row["kind"] == "reject" for row in delivery.classes):
        unowned = (F.col("kind") == "reject") & ~F.coalesce(F.col("table").isin(declared), F.lit(False))
        append_frame(spark, project, names.REJECTS, reject_rows(records.where(unowned), taker, batch))
    branch.publish()


def check_unowned(delivery: Delivery, specs: Sequence[TableSpec]) -> None:
    """Refuse a source of which too much is nothing siltstone knows: no table would miss those records.

    Raises: SourceError.
    """
    declared = {spec.table for spec in specs}
    unowned = sum(r["records"] for r in delivery.classes if r["kind"] == "reject" and r["table"] not in declared)
    unowned -= sum(entry.pending.half_line for entry in delivery.counted.values())  # those are waited for
    read = sum(row["records"] for row in delivery.classes)
    allowed = max(spec.rejects_max_fraction for spec in specs)
    if unowned > allowed * read:
        raise SourceError(
            f"Cannot take {delivery.source.path}: {unowned} of {read} records are no {delivery.source.format} events,"
            f" more than rejects.max_fraction {allowed:g} allows. Nothing was taken.",
            "check source.format and source.path in the spec, or allow more with rejects.max_fraction",
        )


@dataclass(frozen=True)
class Taking:
    """What one table took of a delivery."""

    batch: int
    changes: int
    rejected: int


@dataclass(frozen=True)
class Decoded:
    """A table's new records: all of them, and the changes among them decoded. Nothing is written yet."""

    shape: TableShape
    records: DataFrame
    rows: DataFrame

    def rejects(self) -> DataFrame:
        """The records that are no changes, with the reasons."""
        bad = self.records.where(F.col("kind") == "reject").select("table", "file", "line", "reason", "text")
        return bad.unionByName(self.rows.where(F.col("reason").isNotNull()).select(*bad.columns))


def decode_table(spark: SparkSession, project: ProjectSpec, delivery: Delivery, spec: TableSpec) -> Decoded:
    """Decode what is new to a table, lazily but for its shape.

    Raises: SourceError: no event of this table was ever delivered.
        SchemaEvolutionError: the events carry a schema change that the spec does not allow.
    """
    # A control event (a schema change) can name the table too; it is the source's.
    records = new_to(delivery, delivery.consumers[spec.table])
    mine = records.where((F.col("table") == spec.table) & (F.col("kind") != "control"))
    events = mine.where(F.col("kind") == "change")
    known = known_row(spark, project.catalog.name, spec.target.changes)
    if known is None and not any(row["table"] == spec.table for row in delivery.classes):
        raise no_events(spec, delivery)
    shape = discover(events, spec, known)
    return Decoded(shape, mine, decode_rows(events, shape, spec).transform(hold_filters))


def take_table(spark: SparkSession, project: ProjectSpec, delivery: Delivery, spec: TableSpec) -> Taking:
    """Decode a table's new records and append them to its changes, in one batch.

    Inputs and rejects are written first, with the batch's number; the commit to `changes` makes them real.

    Raises: SourceError: too many rejects, or no event of this table was ever delivered.
        SchemaEvolutionError: the events carry a schema change that the spec does not allow.
    """
    taker = delivery.consumers[spec.table]
    if not taker.pending:
        return Taking(taker.newest_batch, 0, 0)
    catalog, name, batch = project.catalog.name, spec.target.changes, taker.newest_batch + 1
    found = decode_table(spark, project, delivery, spec)
    shape, decoded = found.shape, found.rows
    ensure_changes(spark, catalog, name, shape.keys, shape.row_type, batch, spec.target.format_version)
    drop_stale_branches(spark, catalog, name)
    before_us = newest_commit_us(spark, catalog, name)
    branch = Branch.start(spark, catalog, name, change_summary(delivery, spec, batch, before_us))
    try:
        good = decoded.where(F.col("reason").isNull())
        branch.append(good.select(*change_columns(decoded, spec, batch, before_us)))
        expected, appended = found.records.count(), branch.newest_count("added-records")
        rejects = None
        if expected != appended:
            bad = reject_rows(found.rejects(), taker, batch)
            rejects = accepted_rejects(spec, bad, expected, expected - appended)
        # Inputs before rejects: by them the next run knows what a batch that never became real has left.
        append_rows(spark, project, names.INPUTS, input_rows(delivery, taker, batch))
        if rejects is not None:
            append_frame(spark, project, names.REJECTS, rejects)
            rejects.unpersist()
        branch.publish()
    finally:
        branch.drop()
    return Taking(batch, appended, expected - appended)


def hold_filters(decoded: DataFrame) -> DataFrame:
    """Keep the optimizer from pushing a filter on `reason` below the decoding.

    `reason` stands on several levels of expressions over every column; pushed down, it is written out in full, and
    planning takes minutes. A filter does not pass an expression that is not deterministic.
    """
    return decoded.withColumn("reason", F.when(F.monotonically_increasing_id() >= 0, F.col("reason")))


def newest_commit_us(spark: SparkSession, catalog: str, name: str) -> int | None:
    """The greatest commit time in `changes`, in microseconds; None where there is none."""
    summary = newest_summary(spark, catalog, name)
    return int(summary[SUMMARY_MAX_COMMIT]) if SUMMARY_MAX_COMMIT in summary else None


def change_columns(decoded: DataFrame, spec: TableSpec, batch: int, before_us: int | None) -> list[Any]:
    """The columns of `changes`: the batch, the decoded change, and whether it comes too late.

    Too late is judged once, here, against the batches before: it does not depend on what else this batch holds.
    """
    too_late = F.lit(False)
    if spec.lateness is not None and before_us is not None:
        bound = before_us - int(spec.lateness.total_seconds() * 1_000_000)
        too_late = F.coalesce(F.unix_micros("commit_ts") < bound, F.lit(False))
    carried = [F.col(name) for name in decoded.columns if name not in ("reason", "text")]
    return [F.lit(batch).cast("bigint").alias("batch"), *carried, too_late.alias("too_late")]


def change_summary(delivery: Delivery, spec: TableSpec, batch: int, before_us: int | None) -> dict[str, str]:
    """The marker of a commit to `changes`: the batch, how columns are masked, and the greatest commit time so far."""
    own = [row["max_commit_us"] for row in delivery.classes if row["kind"] == "change" and row["table"] == spec.table]
    greatest = max((us for us in [before_us, *own] if us is not None), default=None)
    marker = {names.SUMMARY_BATCH: str(batch), SUMMARY_MASKS: json.dumps(mask_fingerprints(spec), sort_keys=True)}
    return marker | ({} if greatest is None else {SUMMARY_MAX_COMMIT: str(greatest)})


def accepted_rejects(spec: TableSpec, rejects: DataFrame, records: int, missing: int) -> DataFrame:
    """What a table could not take, cached, if it is no more than the spec allows.

    Raises: SourceError: more than the spec allows. InvariantViolation: records are neither changes nor rejects.
    """
    rejects = rejects.persist(StorageLevel.MEMORY_AND_DISK)  # counted, then written
    counted = rejects.groupBy("reason").agg(F.count("*").alias("n"), F.min(F.struct("file", "line")).alias("at"))
    reasons = counted.orderBy(F.desc("n"), "reason").collect()
    rejected = sum(row["n"] for row in reasons)
    if rejected != missing:
        raise InvariantViolation(
            f"Cannot take the batch for {spec.table}: of {records} records {missing} did not become changes, but"
            f" {rejected} are rejected. Nothing was taken.",
            "report this with the files; running again will not help",
        )
    if rejected > spec.rejects_max_fraction * records:
        raise too_many_rejects(spec, reasons, rejected, records)
    return rejects


def too_many_rejects(spec: TableSpec, reasons: Sequence[Any], rejected: int, records: int) -> SourceError:
    """The error for a batch of which too much cannot be decoded: the commonest reasons, with a place for each."""
    listed = "; ".join(
        f"{row['n']} x {row['reason']} ({row['at']['file']}:{row['at']['line']})" for row in reasons[:SAMPLE_REJECTS]
    )
    return SourceError(
        f"Cannot take the batch for {spec.table}: {rejected} of {records} records cannot be decoded, more than"
        f" rejects.max_fraction {spec.rejects_max_fraction:g} allows ({listed}).",
        "mend the spec, or raise rejects.max_fraction to take the others and deliver these again, mended, in another"
        " file; nothing was taken",
    )


def no_events(spec: TableSpec, delivery: Delivery) -> SourceError:
    """The error for a table that appears in no event."""
    there = sorted({str(row["table"]) for row in delivery.classes if row["table"] and row["kind"] == "change"})
    near = get_close_matches(spec.table, there, n=1)
    listed = ", ".join(there[:10]) or "no table at all"
    hint = f"did you mean {near[0]}?" if near else "check `table` and source.path in the spec"
    return SourceError(
        f"Cannot find events of {spec.table} in {spec.source.path}: {len(delivery.files)} files hold {listed}.", hint
    )


def source_report(delivery: Delivery, specs: Sequence[TableSpec]) -> SourceReport:
    """Where every record of a delivery went."""
    declared = {spec.table for spec in specs}
    taken: dict[str, int] = {}
    others: dict[str, int] = {}
    sums = {"control": 0, "reject": 0}
    for row in delivery.classes:
        if row["kind"] != "change":
            sums[row["kind"]] += row["records"]
        else:
            side = taken if row["table"] in declared else others
            side[row["table"]] = side.get(row["table"], 0) + row["records"]
    halves = tuple(
        f"{path}:{entry.lines}" for path, entry in sorted(delivery.counted.items()) if entry.pending.half_line
    )
    read = sum(row["records"] for row in delivery.classes)
    return SourceReport(
        delivery.source.path, len(delivery.files), read, taken, sums["control"], others, sums["reject"], halves
    )
