"""reread: ingest the inputs of tables a second time with the present settings, and replace their decoded changes.

Every line keeps its batch. The reread itself is a new batch, the newest: its rows about rejects become valid when
`changes` is replaced, in one commit. From then on `history` and `latest` are outdated until they are folded from it;
the next run completes an interrupted one. Before that commit no table has changed.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.columns_seen import SummaryRules, regions_of
from siltstone.engine.decode.event import CHANGE, REJECT
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.applied_settings import refuse_other_axis
from siltstone.engine.fold.context import begin
from siltstone.engine.fold.foreign_writes import foreign_writes, replaced_notes
from siltstone.engine.fold.lateness_bounds import arrivals, reached_before
from siltstone.engine.fold.planning import are_small, light_planning
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.append_changes import (
    Decoded,
    accepted_rejects,
    change_columns,
    decode_records,
    decoded_marker,
    order_marker,
    reject_rows,
)
from siltstone.engine.ingest.consumers import Consumer, control_consumer, newest_batches, targets_of
from siltstone.engine.ingest.control_evidence import evidence
from siltstone.engine.ingest.event_frames import columns_of
from siltstone.engine.ingest.open_rejects import (
    RejectedBatch,
    accepted_places,
    known_tables,
    moved_lines,
    read_in_context,
    waiting_rejects,
)
from siltstone.engine.ingest.preconditions import check_unowned, is_unowned
from siltstone.engine.ingest.source_batch import classified, of_table, sharing, wanted_of_all, with_masks
from siltstone.engine.ingest.source_records import refuse_replaced
from siltstone.engine.ingest.source_sums import source_report
from siltstone.engine.ingest.taken_lines import Span, files_to_read, spans_frame, taken_spans, with_batch, within
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.inputs.table_rows import computed
from siltstone.engine.names import PLACE
from siltstone.engine.report import NOTHING_NEW, RunReport, SourceReport, TableReport
from siltstone.engine.report_pages import remove_pages
from siltstone.engine.run.catch_up import accepted_tables, by_source
from siltstone.engine.run.checked_publish import Checking, Checks
from siltstone.engine.run.rebuild import keeps_rows, rebuild_table
from siltstone.engine.run.replay import APPLIED, close_rejects, mark_batch, with_outcome
from siltstone.engine.run.run_context import start_run
from siltstone.engine.run.run_reports import Progress, failed, record_run, silent
from siltstone.engine.schema.change_row import change_schema, key_schema
from siltstone.engine.schema.evolve import promotes
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import first_names, known_keys_of, new_names
from siltstone.engine.table.changes_table import column_dates, known_row, since_always
from siltstone.engine.table.claims import taken_inputs
from siltstone.engine.table.commit import drop_stale_branches
from siltstone.engine.table.ledger import append_frame, clear_records, read_ledger
from siltstone.engine.table.replace_table import remake


def reread(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = None,
) -> RunReport:
    """Reread everything that these tables ever ingested, with their present specs, and fold the tables from it.

    Files that are gone, or have changed since they were ingested, stop the tables of their source, and no table of it
    is changed. A table that fails does not stop the others. Foreign writes to the tables are replaced, and the report
    names them.

    Raises: LockedError: another run holds the lock.
    """
    set_fold_conf(spark)
    with start_run(spark, project, specs, wait) as started_run:
        checking = Checking(started_run.run_id, progress or silent, checks)
        run = Rereading(with_tables(project, specs), spark, checking)
        for source, of_source in by_source(specs).items():
            sound, refused = accepted_tables(spark, run.project, of_source)
            run.tables += refused
            if sound:
                run.read_source(source, sound)
        return record_run(spark, project, started_run, run.sources, run.tables)


@dataclass(frozen=True)
class RedecodedTable:
    """A table's newly decoded records. `good`: its changes, with their batches, in their stored form."""

    decoded: Decoded
    good: DataFrame
    rejected: int
    newest_us: int | None


class Rereading:
    """One reread of several tables' inputs."""

    def __init__(self, project: ProjectSpec, spark: SparkSession, checking: Checking) -> None:
        self.project = project
        self.spark = spark
        self.checking = checking
        self.progress = checking.progress
        self.run_id = checking.run_id
        self.sources: list[SourceReport] = []
        self.tables: list[TableReport] = []

    @property
    def catalog(self) -> str:
        """The catalog's name."""
        return self.project.catalog.name

    def read_source(self, source: SourceSpec, specs: Sequence[TableSpec]) -> None:
        """Read a source's inputs once, decode all its tables, and only then replace tables."""
        self.progress(source.path, "rereading inputs")
        began = time.monotonic()
        try:
            targets = targets_of(self.project, source, specs)
            newest = newest_batches(self.spark, self.project, targets)
            taken_inputs(self.spark, self.project, targets, newest)  # removes leftovers of unfinished runs
            spans = taken_spans(self.spark, self.project, newest)
            known = [spec for spec in specs if spans[spec.table]]
            if known:
                listed = ", ".join(spec.table for spec in known)
                taken = [span for each in spans.values() for span in each]
                files = files_to_read(self.spark, source, self.catalog, taken, listed)
                with light_planning(self.spark, are_small(entry.file for entry in files), self.project.spark.conf):
                    self.read_files(source, known, files, newest, spans)
        except Exception as error:  # noqa: BLE001  # whatever it is, the other sources go on
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]
            return
        self.tables += [TableReport(spec.table, NOTHING_NEW) for spec in specs if not spans[spec.table]]

    def read_files(
        self,
        source: SourceSpec,
        specs: Sequence[TableSpec],
        files: Sequence[PendingFile],
        newest: Mapping[str, int],
        spans: Mapping[str, Sequence[Span]],
    ) -> None:
        """Read and classify every line that was ever ingested, then decode and replace the tables.

        Raises: SourceError: they cannot be read, or siltstone does not recognize too many of them any more.
        """
        targets = targets_of(self.project, source, specs)
        consumers = {name: Consumer(name, target, newest[name], {}) for name, target in targets.items()}
        tables = sharing(self.project, source, specs)
        declared = {spec.table: known_keys_of(spec) for spec in tables}
        masked = with_masks(consumers, self.project, source)
        listed = [entry.file for entry in files]
        source_batch = RejectedBatch(source, listed, masked, declared, wanted_of_all(specs))
        lines = ((name, one.path, one.from_line, one.to_line) for name, each in spans.items() for one in each)
        regions = regions_of(lines)
        taken = spans_frame(self.spark, [span for each in spans.values() for span in each])
        found = read_in_context(self.spark, self.project, source, files)

        def read() -> DataFrame:
            events = found.events(source_batch.source, declared, SummaryRules(source_batch.wanted, regions))
            records = computed(events.transform(within, taken), files)
            refuse_replaced(source, files)
            return records

        classified(source_batch, read)
        source_batch.waiting = waiting_rejects(self.spark, self.project, newest)
        self.sources.append(source_report(source_batch, specs))
        # Rejects that earlier runs accepted do not count, whatever their settings were: only new rejects do.
        check_unowned(source_batch, specs, accepted_places(self.spark, self.project, control_consumer(source)))
        self.replace_all(source_batch, specs, spans)

    def replace_all(
        self, source_batch: RejectedBatch, specs: Sequence[TableSpec], spans: Mapping[str, Sequence[Span]]
    ) -> None:
        """Decode every table; then replace control events and changes, and fold. Failures are reported by table."""
        decoded: dict[str, RedecodedTable] = {}
        began = {spec.table: time.monotonic() for spec in specs}
        for spec in specs:
            try:
                self.progress(spec.table, "decoding")
                decoded[spec.table] = self.decode(source_batch, spec, spans[spec.table])
            except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
                self.tables.append(failed(spec, error, time.monotonic() - began[spec.table]))
        ready = [spec for spec in specs if spec.table in decoded]
        try:
            if ready:
                remove_pages(self.project)  # they can show values that the specs mask now
                self.replace_control(source_batch, spans[control_consumer(source_batch.source)])
        except Exception as error:  # noqa: BLE001  # control events come before every table of the source
            self.tables += [failed(spec, error, time.monotonic() - began[spec.table]) for spec in ready]
            return
        for spec in ready:
            self.tables.append(self.replace_table(source_batch, spec, decoded[spec.table], began[spec.table]))

    def decode(self, source_batch: RejectedBatch, spec: TableSpec, spans: Sequence[Span]) -> RedecodedTable:
        """Decode everything that a table ever ingested as if for the first time, and assign it to its batches.

        Raises: SourceError: too many records cannot be decoded any more. SpecError: the table cannot have the columns,
            or its history was created with another value of history.recorded.
        """
        assert source_batch.records is not None
        refuse_other_axis(self.spark, self.catalog, spec)
        frame = spans_frame(self.spark, spans)
        records = source_batch.records.transform(within, frame)
        mine = of_table(records, spec.table)
        found = decode_records(self.spark, self.project, mine, spec, None, columns_of(records))
        found = replace(found, rows=found.rows.transform(checkpointed))
        self.refuse_recorded(spec, found)
        good, expected = found.rows.where(F.col("reason").isNull()), mine.count()
        rejected = found.rejected(expected, good.count())
        if rejected:
            bad = reject_rows(found.rejects(), source_batch.consumers[spec.table], 0)
            accepted = accepted_places(self.spark, self.project, spec.table)
            accepted_rejects(spec, bad, expected, rejected, accepted).unpersist()
        carried = with_batch(mine.where(F.col("kind") == CHANGE).select(*PLACE, "commit_ts", "ingest_ts"), frame)
        newest, before = reached_before(carried)
        dates = arrivals(self.spark, before)
        placed = with_batch(good, frame).join(F.broadcast(dates), on="batch", how="left")  # one row per batch
        columns = change_columns(found.rows, spec, F.col("batch"), F.col("before_us"))
        return RedecodedTable(found, placed.select(*columns), rejected, newest)

    def refuse_recorded(self, spec: TableSpec, found: Decoded) -> None:
        """Check that a history with history.recorded can keep its earlier rows together with the new ones.

        Raises: SpecError.
        """
        if not keeps_rows(self.spark, self.project, spec):
            return
        before = known_row(self.spark, self.catalog, spec.target.changes, new_names(spec))
        kept, wanted = {field.name: field.dataType for field in before or ()}, found.row_type
        stays = [name for name in wanted.names if name in kept and promotes(kept[name], wanted[name].dataType)]
        lost = [name for name in kept if name not in stays]
        if lost:
            raise SpecError(
                f"Cannot reread the inputs of {spec.table}: {spec.target.history} keeps every row that it ever"
                f" recorded, and columns of these rows would be gone or of another type ({', '.join(lost)}). Nothing"
                " was changed.",
                "name another table as target.history",
            )

    def replace_control(self, source_batch: RejectedBatch, spans: Sequence[Span]) -> None:
        """Replace the source's control events and transaction evidence: an epoch or a time zone changes them too."""
        assert source_batch.records is not None
        consumer = source_batch.consumers[control_consumer(source_batch.source)]
        if not spans:
            return
        frame, newest = spans_frame(self.spark, spans), max(span.batch for span in spans)
        records = source_batch.records.transform(within, frame)
        events = with_batch(evidence(self.spark, records, source_batch.classes), frame)
        batch = F.coalesce("batch", F.lit(newest)).cast("bigint").alias("batch")  # evidence rows have no line
        own = ", ".join(str(number) for number in sorted({*self.replayed(consumer), *(span.batch for span in spans)}))
        drop_stale_branches(self.spark, self.catalog, consumer.target)
        marker = {names.SUMMARY_BATCH: str(consumer.newest_batch + 1)}
        branch = begin(self.spark, self.catalog, consumer.target, marker, consumer.newest_batch)
        try:
            unowned = records.where(is_unowned(known_tables(self.spark, self.project, source_batch.declared)))
            self.report_rejects(source_batch, consumer, branch.name, records.where(F.col("kind") != REJECT), unowned)
            branch.execute(f"DELETE FROM {branch.identifier} WHERE batch IN ({own})")
            branch.append(events.select(batch, *[name for name in events.columns if name != "batch"]).coalesce(1))
            branch.publish()
        finally:
            branch.drop()

    def replayed(self, consumer: Consumer) -> list[int]:
        """The batches in which a consumer's rejects were replayed."""
        replays = read_ledger(self.spark, self.project, names.REPLAYS)
        if replays is None:
            return []
        found = replays.where(F.col("consumer") == consumer.name).select("batch").distinct().collect()
        return [row["batch"] for row in found]

    def report_rejects(
        self, source_batch: RejectedBatch, consumer: Consumer, attempt: str, good: DataFrame, bad: DataFrame
    ) -> None:
        """Update a consumer's rejects: close those that can be applied or have another reason, and add new ones.

        Needs: good: file, line; bad: what `reject_rows` takes.
        """
        batch = consumer.newest_batch + 1
        mark_batch(self.spark, self.project, consumer, self.run_id, attempt)
        if source_batch.waiting is not None:
            waiting = source_batch.waiting.where(F.col("consumer") == consumer.name)
            places = waiting.select(*PLACE).distinct()
            whole = good.join(places, on=PLACE, how="left_semi").join(bad.select(*PLACE), on=PLACE, how="left_anti")
            moved = moved_lines(waiting, whole, bad)
            of_consumer = replace(source_batch, waiting=waiting)
            closed = with_outcome(moved, APPLIED)
            close_rejects(self.spark, self.project, of_consumer, consumer, closed, self.run_id, attempt)
            stay = places.join(moved, on=PLACE, how="left_anti")
            bad = bad.join(stay, on=PLACE, how="left_anti")
        dismissed = read_ledger(self.spark, self.project, names.DISMISSALS)
        if dismissed is not None:  # the user has dismissed them
            bad = bad.join(dismissed.where(F.col("consumer") == consumer.name), on=PLACE, how="left_anti")
        append_frame(self.spark, self.project, names.REJECTS, reject_rows(bad, consumer, batch, attempt))
        if consumer.masked:
            clear_records(self.spark, self.project, consumer.name)

    def replace_changes(self, source_batch: RejectedBatch, spec: TableSpec, found: RedecodedTable) -> None:
        """Replace a table's changes with the newly decoded ones."""
        consumer, name = source_batch.consumers[spec.table], spec.target.changes
        good = found.decoded.rows.where(F.col("reason").isNull())
        self.report_rejects(source_batch, consumer, self.run_id, good, found.decoded.rejects())
        drop_stale_branches(self.spark, self.catalog, name)
        marker = {names.SUMMARY_BATCH: str(consumer.newest_batch + 1), names.SUMMARY_REREAD: self.run_id}
        marker |= {names.SUMMARY_ATTEMPT: self.run_id}
        marker |= {} if found.newest_us is None else {names.SUMMARY_MAX_COMMIT: str(found.newest_us)}
        properties = {"format-version": str(spec.target.format_version)}
        properties |= since_always(column_dates(self.spark, self.catalog, name))
        row = found.decoded.row_type
        properties[names.PROPERTY_FIRST_NAMES] = json.dumps(first_names(spec, row.names), sort_keys=True)
        schema = change_schema(key_schema(found.decoded.key_type.names, row), row)
        marker |= decoded_marker(spec) | order_marker(source_batch.source)
        remake(self.spark, self.catalog, name, found.good, schema, marker, properties)

    def replace_table(
        self, source_batch: RejectedBatch, spec: TableSpec, found: RedecodedTable, began: float
    ) -> TableReport:
        """Replace a table's changes and fold from them, and report its failure if it fails."""
        try:
            foreign = foreign_writes(self.spark, self.project, [spec.target.changes])
            self.replace_changes(source_batch, spec, found)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            return failed(spec, error, time.monotonic() - began)
        report = rebuild_table(self.project, spec, self.spark, self.checking)
        report = replace(report, notes=(*replaced_notes(foreign), *report.notes))
        seconds = time.monotonic() - began
        return replace(report, rejected=found.rejected, seconds=seconds, source=source_batch.source.path)
