"""Which lines of which files were ingested in which batch, and whether the files are unchanged."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import SourceError
from siltstone.engine.frames import local_frame
from siltstone.engine.ingest.open_rejects import unchanged_files
from siltstone.engine.ingest.topic_offsets import topic_partitions
from siltstone.engine.inputs.pending_files import PendingFile, Taken
from siltstone.engine.spec.model import ProjectSpec, SourceSpec
from siltstone.engine.table.ledger import read_ledger

SCHEMA = "path string, from_line bigint, to_line bigint, batch bigint"
SHOWN_FILES = 5
BACK = "restore them as they were, and retry"
FROM_CHANGES = "`siltstone rebuild` without --reread folds what was decoded from them"
ROLLED_BACK = "roll source.table back to a snapshot that has all their rows, and retry"


@dataclass(frozen=True)
class Span:
    """Lines of a file that one batch ingested, with the state of the file at that time."""

    path: str
    from_line: int
    to_line: int
    batch: int
    size: int
    mtime: int
    fingerprint: str

    @property
    def moment(self) -> tuple[int, int, int]:
        """The sort key that finds a file's newest state among its spans."""
        return self.mtime, self.size, self.to_line

    @property
    def taken(self) -> Taken:
        """The state of the file."""
        return Taken(self.size, self.mtime, self.fingerprint, self.to_line)


def taken_spans(spark: SparkSession, project: ProjectSpec, newest: Mapping[str, int]) -> dict[str, list[Span]]:
    """The spans that each consumer has ingested, every line once.

    If a file was ingested a second time from an earlier line, its lines belong to the later batch. `newest`: each
    consumer's newest committed batch.
    """
    found: dict[str, dict[str, list[Span]]] = {consumer: {} for consumer in newest}
    inputs = read_ledger(spark, project, names.INPUTS)
    if inputs is None:
        return {consumer: [] for consumer in newest}
    for row in inputs.where(F.col("consumer").isin(*newest)).orderBy("batch", "path").collect():
        if not names.NO_BATCH < row["batch"] <= newest[row["consumer"]]:
            continue
        place = (row["path"], row["from_line"], row["to_line"], row["batch"])
        span = Span(*place, row["size"], row["mtime"], row["fingerprint"])
        of_file = found[row["consumer"]].setdefault(span.path, [])
        shorten_spans(of_file, span.from_line)
        of_file.append(span)
    return {consumer: [span for spans in files.values() for span in spans] for consumer, files in found.items()}


def shorten_spans(spans: list[Span], from_line: int) -> None:
    """Remove the lines from `from_line` on from a file's spans. A span without lines stays, since it has its batch.

    Needs: spans that were shortened for each other: their last lines ascend, so that only the end has to be checked.
    """
    for place in reversed(range(len(spans))):
        if spans[place].to_line < from_line:
            return
        spans[place] = replace(spans[place], to_line=from_line - 1)


def files_to_read(
    spark: SparkSession, source: SourceSpec, catalog: str, spans: Iterable[Span], what: str
) -> list[PendingFile]:
    """The files of the spans, each to be read from its first line.

    Raises: SourceError: a file is gone, or has changed since it was ingested.
    """
    if source.kafka is not None:
        return records_to_read(source, spans, what)
    last: dict[str, Span] = {}
    for span in spans:
        known = last.get(span.path)
        if known is None or known.moment < span.moment:
            last[span.path] = span
    found = unchanged_files(spark, source, catalog, {path: span.taken for path, span in sorted(last.items())})
    missing = sorted(last.keys() - found.keys())
    if missing:
        raise SourceError(
            f"Cannot reread the inputs of {what}: {len(missing)} of {len(last)} files are gone, or are not what"
            f" was taken ({first_of(missing)}). Nothing was changed.",
            BACK if source.table is None else ROLLED_BACK,
        )
    return list(found.values())


def records_to_read(source: SourceSpec, spans: Iterable[Span], what: str) -> list[PendingFile]:
    """The partitions of the spans, each to be read from the first ingested record.

    Raises: SourceError: records are gone, or belong to a topic that no longer exists.
    """
    there, of_path = {one.path: one for one in topic_partitions(source)}, defaultdict[str, list[Span]](list)
    for span in spans:
        of_path[span.path].append(span)
    found, gone = [], []
    for path, mine in sorted(of_path.items()):
        first, last = min(span.from_line for span in mine) - 1, max(span.to_line for span in mine)
        one = there.get(path)
        if one is None or any(span.fingerprint != one.topic_id for span in mine):
            gone.append(f"{path} as it was taken (its topic was recreated)")
        elif first < one.start and first < last:
            gone.append(f"offsets {first} to {min(one.start, last) - 1} of {path}")
        else:
            part = replace(one, read_from=first, size=min(last, one.end))
            found.append(PendingFile(part, one.topic_id, first, False))
    if gone:
        raise SourceError(
            f"Cannot reread the inputs of {what}: the topics do not have {first_of(gone)} any more. Nothing was"
            " changed.",
            FROM_CHANGES,
        )
    return found


def first_of(texts: Sequence[str]) -> str:
    """The first few texts, and the number of the others."""
    more = f" and {len(texts) - SHOWN_FILES} more" if len(texts) > SHOWN_FILES else ""
    return ", ".join(texts[:SHOWN_FILES]) + more


def spans_frame(spark: SparkSession, spans: Iterable[Span]) -> DataFrame:
    """The spans as rows. Gives: path, from_line, to_line, batch."""
    rows = [{"path": s.path, "from_line": s.from_line, "to_line": s.to_line, "batch": s.batch} for s in spans]
    return local_frame(spark, rows, SCHEMA)


def lies_in(rows: str, spans: str) -> Column:
    """The join condition: a record (file, line) of one frame lies in a span of the other."""
    same = F.col(f"{rows}.file") == F.col(f"{spans}.path")
    return same & F.col(f"{rows}.line").between(F.col(f"{spans}.from_line"), F.col(f"{spans}.to_line"))


def within(records: DataFrame, spans: DataFrame) -> DataFrame:
    """The records that lie in the spans. Rows: filters."""
    return records.alias("r").join(F.broadcast(spans).alias("s"), on=lies_in("r", "s"), how="left_semi")


def with_batch(records: DataFrame, spans: DataFrame) -> DataFrame:
    """The records with the batch that ingested them. Gives: their columns, then batch; null outside of the spans."""
    own = spans.alias("s")  # every line lies in one span at most
    joined = records.alias("r").join(F.broadcast(own), on=lies_in("r", "s"), how="left")
    return joined.select("r.*", F.col("s.batch").alias("batch"))
