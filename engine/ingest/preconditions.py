"""Errors that refuse a source batch, or a table's part of it.

They list the commonest reject reasons, each with a place, and name the format that the records look like if it is not
the spec's.
"""

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.event import CHANGE, REJECT
from siltstone.engine.errors import SiltstoneError, SourceError, SpecError
from siltstone.engine.ingest.reread_payloads import payloads_of
from siltstone.engine.ingest.source_batch import SourceBatch
from siltstone.engine.ingest.source_records import typed_likeness
from siltstone.engine.init import other_than
from siltstone.engine.names import PLACE
from siltstone.engine.spec.model import SourceSpec, TableSpec

SAMPLE_REJECTS = 3
SAMPLE_LINES = 50


def is_of(tables: Collection[str]) -> Column:
    """True for a record that names one of the tables; false for one that names none."""
    return F.coalesce(F.col("table").isin(list(tables)), F.lit(False))


def is_unowned(declared: Collection[str]) -> Column:
    """True for a reject that belongs to none of the tables."""
    return (F.col("kind") == REJECT) & ~is_of(declared)


def check_unowned(source_batch: SourceBatch, specs: Sequence[TableSpec], accepted: DataFrame | None = None) -> None:
    """Refuse a source with too many records that siltstone does not recognize: no table would report them as missing.

    A reject that names a table counts for that table only, even if no spec declares it. `accepted`: the places (file,
    line) of rejects that do not count, because they were accepted before.

    Raises: SourceError.
    """
    unowned = sum(r["records"] for r in source_batch.classes if r["kind"] == REJECT and r["table"] is None)
    unowned -= sum(entry.pending.half_line for entry in source_batch.counted.values())  # left for a later run
    read = sum(row["records"] for row in source_batch.classes)
    allowed = max(spec.rejects_max_fraction for spec in specs)
    if unowned <= allowed * read:
        return
    records = unowned_records(source_batch, source_batch.declared).where(F.col("table").isNull())
    if accepted is not None:
        records = records.join(accepted, on=PLACE, how="left_anti")
        unowned = records.count()
    if unowned > allowed * read:
        source = source_batch.source
        raise SourceError(
            f"Cannot take {source.path}: {unowned} of {read} records are no {source.format} events,"
            f" more than rejects.max_fraction {allowed:g} allows ({listed(commonest(records).collect())})"
            f"{likeness_note(other_format(records, source))}. Nothing was taken.",
            f"check source.format and {place_of(source)} in the spec, or allow more with rejects.max_fraction",
        )


def unowned_records(source_batch: SourceBatch, declared: Collection[str]) -> DataFrame:
    """The rejects that belong to none of the tables, without incomplete last lines. Rows: filters."""
    assert source_batch.records is not None
    unowned = source_batch.records.where(is_unowned(declared))
    for path, entry in source_batch.counted.items():
        if entry.pending.half_line:
            unowned = unowned.where((F.col("file") != path) | (F.col("line") <= entry.to_line))
    return unowned


def other_format(records: DataFrame, source: SourceSpec) -> str | None:
    """The format that records look like. None if it is the source's format, or no known format.

    Needs: text.
    """
    texts = records.where(F.col("text").isNotNull()).select("text").head(SAMPLE_LINES)
    return other_than(source, [row["text"] for row in texts])


def likeness_note(form: str | None) -> str:
    """The end of a sentence about records that look like another format. Empty without such a format."""
    return f"; they look like {form}" if form else ""


def root_cause(
    error: SpecError, spec: TableSpec, records: DataFrame, reread: Callable[[DataFrame], DataFrame] | None
) -> SiltstoneError:
    """The root cause of the error for a table whose columns or keys are not known.

    The cause can be that none of its records can be decoded, or that they are of another format. Otherwise it is the
    error itself. `reread`: as in `Decoded`.
    """
    changes, rejects = (records.where(F.col("kind") == kind) for kind in (CHANGE, REJECT))
    reasons = commonest(rejects).collect()
    if reasons and changes.isEmpty():
        return SourceError(
            f"Cannot take the batch for {spec.table}: none of its {sum(row['n'] for row in reasons)} records can be"
            f" decoded ({listed(reasons)}){likeness_note(other_format(rejects, spec.source))}. Nothing was taken.",
            f"check source.format, {place_of(spec.source)} and the columns that the spec names under source",
        )
    form = other_format(payloads_of(changes, reread, SAMPLE_LINES), spec.source)
    if form is None:
        return error
    hint = f"check source.format and {place_of(spec.source)} in the spec"
    return SpecError(f"{error.message} Its records look like {form}.", hint)


def commonest(rejects: DataFrame, *by: str) -> DataFrame:
    """The reasons of rejects, the commonest first. `by`: columns to group by, in addition to the reason.

    Needs: reason, file, line.
    Gives: the columns of `by`, reason, n, at: the place of the first (file, line).
    Rows: one per reason and group.
    """
    counted = rejects.groupBy(*by, "reason").agg(F.count("*").alias("n"), F.min(F.struct("file", "line")).alias("at"))
    return counted.orderBy(F.desc("n"), "reason")


def listed(reasons: Sequence[Any]) -> str:
    """The first reasons, with how many rejects have them and a place for each."""
    shown = reasons[:SAMPLE_REJECTS]
    return "; ".join(f"{row['n']} x {row['reason']} ({row['at']['file']}:{row['at']['line']})" for row in shown)


def too_many_rejects(
    spec: TableSpec, reasons: Sequence[Any], rejected: int, records: int, form: str | None
) -> SourceError:
    """The error for a batch with too many rejects: the commonest reasons, with a place for each."""
    return SourceError(
        f"Cannot take the batch for {spec.table}: {rejected} of {records} records cannot be decoded, more than"
        f" rejects.max_fraction {spec.rejects_max_fraction:g} allows ({listed(reasons)}){likeness_note(form)}.",
        "fix the spec, or raise rejects.max_fraction to take the others: these wait among the rejects, and `siltstone"
        " rejects replay` applies them once the spec or the code is fixed. Nothing was taken: a file that no table has"
        " taken yet can be replaced by a corrected file; for other files, deliver corrected records in a new file",
    )


def no_events(spec: TableSpec, source_batch: SourceBatch) -> SourceError:
    """The error for a table without any event."""
    there = sorted({str(row["table"]) for row in source_batch.classes if row["table"] and row["kind"] == CHANGE})
    near = get_close_matches(spec.table, there, n=1)
    tables = ", ".join(there[:10]) or "no table at all"
    rejects = unowned_records(source_batch, {spec.table})
    reasons = [] if there else commonest(rejects).collect()
    if reasons:
        tables += f": {listed(reasons)}{likeness_note(other_format(rejects, source_batch.source))}"
    elif not there:  # values of a binary column can be short enough to pass for messages without content
        read = [entry.pending.file for entry in source_batch.counted.values()]
        tables += likeness_note(typed_likeness(source_batch.source, read))
    hint = f"did you mean {near[0]}?" if near else f"check `table` and {place_of(spec.source)} in the spec"
    unit = "files" if spec.source.kafka is None else "partitions"
    return SourceError(
        f"Cannot find events of {spec.table} in {spec.source.path}: {len(source_batch.files)} {unit} hold {tables}.",
        hint,
    )


def place_of(source: SourceSpec) -> str:
    """The setting that names the place of a source's events."""
    if source.kafka is not None:
        return "source.kafka"
    return "source.path" if source.table is None else "source.table"
