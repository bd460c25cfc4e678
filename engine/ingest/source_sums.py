"""The sums of a source batch: what became of every record."""

from collections import Counter
from collections.abc import Sequence

from siltstone.engine.decode.event import CONTROL, REJECT
from siltstone.engine.formats import format_of
from siltstone.engine.ingest.source_batch import SourceBatch
from siltstone.engine.inputs.pending_files import earliest
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.report import SourceReport
from siltstone.engine.spec.model import TableSpec


def source_report(source_batch: SourceBatch, specs: Sequence[TableSpec]) -> SourceReport:
    """The report of a source batch: what became of every record."""
    of_run = {spec.table for spec in specs}
    elsewhere = source_batch.declared.keys() - of_run
    taken: dict[str, int] = {}
    others: dict[str, int] = {}
    sums = {CONTROL: 0, REJECT: 0}
    for row in source_batch.classes:
        if row["kind"] == CONTROL or (row["kind"] == REJECT and row["table"] not in elsewhere):
            sums[row["kind"]] += row["records"]
        else:
            side = taken if row["table"] in of_run else others
            side[row["table"]] = side.get(row["table"], 0) + row["records"]
    halves = tuple(
        f"{path}:{entry.lines}" for path, entry in sorted(source_batch.counted.items()) if entry.pending.half_line
    )
    read = sum(row["records"] for row in source_batch.classes) + unclassified(source_batch)
    return SourceReport(
        source_batch.source.path,
        len(source_batch.files),
        read,
        taken,
        sums[CONTROL],
        others,
        sums[REJECT],
        halves,
        left=records_left(source_batch),
    )


def records_left(source_batch: SourceBatch) -> int | None:
    """How many offsets of topics a source batch leaves for a later run. None for files."""
    partitions = [file for file in source_batch.files if isinstance(file, Partition)]
    if not partitions:
        return None
    return sum(
        one.latest - (source_batch.counted[one.path].lines if one.path in source_batch.counted else one.end)
        for one in partitions
    )


def unclassified(source_batch: SourceBatch) -> int:
    """How many lines the reader counted in addition to the classified ones.

    A negative number means that more lines were classified than exist. Only files of lines that are read from their
    beginning count. If one line can contain several records, only missing ones are significant.
    """
    classified: Counter[str] = Counter()
    for row in source_batch.classes:
        classified[row["file"]] += row["records"]
    first_entries = earliest(entry for each in source_batch.consumers.values() for entry in each.pending.values())
    counted = {
        entry.file.path: source_batch.counted[entry.file.path].filled for entry in first_entries if not entry.after_line
    }
    missing = [lines - classified[path] for path, lines in counted.items() if lines is not None]
    return sum(max(number, 0) for number in missing) if format_of(source_batch.source.format).fans_out else sum(missing)
