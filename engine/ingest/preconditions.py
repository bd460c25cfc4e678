"""Why a delivery, or what a table would take of it, is refused: the commonest reasons, each with a place, and the
format that the records look like where it is another one than the spec's."""

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


def is_unowned(declared: Collection[str]) -> Column:
    """Whether a record is a reject that belongs to none of the tables."""
    return (F.col("kind") == REJECT) & ~F.coalesce(F.col("table").isin(list(declared)), F.lit(False))


def check_unowned(source_batch: SourceBatch, specs: Sequence[TableSpec], accepted: DataFrame | None = None) -> None:
    """Refuse a source of which too much is nothing siltstone knows: no table would miss those records. What names a
    table, if one that no spec declares, is that table's loss. `accepted`: where those are (file, line) that count no
    more.

    Raises: SourceError.
    """
    unowned = sum(r["records"] for r in source_batch.classes if r["kind"] == REJECT and r["table"] is None)
    unowned -= sum(entry.pending.half_line for entry in source_batch.counted.values())  # those are waited for
    read = sum(row["records"] for row in source_batch.classes)
    allowed = max(spec.rejects_max_fraction for spec in specs)
    if unowned <= allowed * read:
        return
    records = unowned_records(source_batch, source_batch.declared).where(F.col("table").isNull())
    if accepted is not None:
        records = records.join(accepted, on=PLACE, how="left_anti")
        unowned = records.count()
    if unowned > allowed * read:
        raise SourceError(
            f"Cannot take {source_batch.source.path}: {unowned} of {read} records are no {source_batch.source.format} events,"
            f" more than rejects.max_fraction {allowed:g} allows ({listed(commonest(records).collect())})"
            f"{alike(other_format(records, source_batch.source))}. Nothing was taken.",
            f"check source.format and {place_of(source_batch.source)} in the spec, or allow more with rejects.max_fraction",
        )


def unowned_records(source_batch: SourceBatch, declared: Collection[str]) -> DataFrame:
    """The rejects that belong to none of the tables, without the lines that are not finished yet. Rows: filters."""
    assert source_batch.records is not None
    unowned = source_batch.records.where(is_unowned(declared))
    for path, entry in source_batch.counted.items():
        if entry.pending.half_line:
            unowned = unowned.where((F.col("file") != path) | (F.col("line") <= entry.to_line))
    return unowned


def other_format(records: DataFrame, source: SourceSpec) -> str | None:
    """The format that records look like; None where it is the source's, or nothing that is known.

    Needs: text.
    """
    texts = records.where(F.col("text").isNotNull()).select("text").head(SAMPLE_LINES)
    return other_than(source, [row["text"] for row in texts])


def alike(form: str | None) -> str:
    """The end of a sentence on records that look like another format."""
    return f"; they look like {form}" if form else ""


def behind(
    error: SpecError, spec: TableSpec, records: DataFrame, again: Callable[[DataFrame], DataFrame] | None
) -> SiltstoneError:
    """The error of a table whose columns or keys are not known, or what is wrong where that only comes of it: none of
    its records can be decoded, or they are of another format. `again`: as `Decoded`."""
    changes, rejects = (records.where(F.col("kind") == kind) for kind in (CHANGE, REJECT))
    told = commonest(rejects).collect()
    if told and changes.isEmpty():
        return SourceError(
            f"Cannot take the batch for {spec.table}: none of its {sum(row['n'] for row in told)} records can be"
            f" decoded ({listed(told)}){alike(other_format(rejects, spec.source))}. Nothing was taken.",
            f"check source.format, {place_of(spec.source)} and the columns that the spec names under source",
        )
    form = other_format(payloads_of(changes, again, SAMPLE_LINES), spec.source)
    if form is None:
        return error
    hint = f"check source.format and {place_of(spec.source)} in the spec"
    return SpecError(f"{error.message} Its records look like {form}.", hint)


def commonest(rejects: DataFrame, *by: str) -> DataFrame:
    """The reasons of rejects, the commonest first; each for itself in every group `by` other columns.

    Needs: reason, file, line.
    Gives: the columns of `by`, reason, n, at: the place of the first (file, line).
    Rows: one a reason, and group.
    """
    counted = rejects.groupBy(*by, "reason").agg(F.count("*").alias("n"), F.min(F.struct("file", "line")).alias("at"))
    return counted.orderBy(F.desc("n"), "reason")


def listed(reasons: Sequence[Any]) -> str:
    """The first reasons, with how many rejects have them and a place for each."""
    told = reasons[:SAMPLE_REJECTS]
    return "; ".join(f"{row['n']} x {row['reason']} ({row['at']['file']}:{row['at']['line']})" for row in told)


def too_many_rejects(
    spec: TableSpec, reasons: Sequence[Any], rejected: int, records: int, form: str | None
) -> SourceError:
    """The error for a batch of which too much cannot be decoded: the commonest reasons, with a place for each."""
    return SourceError(
        f"Cannot take the batch for {spec.table}: {rejected} of {records} records cannot be decoded, more than"
        f" rejects.max_fraction {spec.rejects_max_fraction:g} allows ({listed(reasons)}){alike(form)}.",
        "mend the spec, or raise rejects.max_fraction to take the others: these wait among the rejects, and `siltstone"
        " rejects replay` applies them once the spec or the code is mended. Nothing was taken: a file that no table has"
        " taken yet can be replaced by a mended one, others are mended by records in another file",
    )


def no_events(spec: TableSpec, source_batch: SourceBatch) -> SourceError:
    """The error for a table that appears in no event."""
    there = sorted({str(row["table"]) for row in source_batch.classes if row["table"] and row["kind"] == CHANGE})
    near = get_close_matches(spec.table, there, n=1)
    tables = ", ".join(there[:10]) or "no table at all"
    rejects = unowned_records(source_batch, {spec.table})
    told = [] if there else commonest(rejects).collect()
    if told:
        tables += f": {listed(told)}{alike(other_format(rejects, source_batch.source))}"
    elif not there:  # what is in a column of bytes can be short enough for messages that say nothing
        read = [entry.pending.file for entry in source_batch.counted.values()]
        tables += alike(typed_likeness(source_batch.source, read))
    hint = f"did you mean {near[0]}?" if near else f"check `table` and {place_of(spec.source)} in the spec"
    unit = "files" if spec.source.kafka is None else "partitions"
    return SourceError(
        f"Cannot find events of {spec.table} in {spec.source.path}: {len(source_batch.files)} {unit} hold {tables}.",
        hint,
    )


def place_of(source: SourceSpec) -> str:
    """The setting that says where the events of a source are."""
    if source.kafka is not None:
        return "source.kafka"
    return "source.path" if source.table is None else "source.table"
