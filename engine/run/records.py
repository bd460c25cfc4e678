"""The records of a source, whatever they are written in: lines of text as they are, everything else as JSON text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.decode import FORMATS
from engine.decode.avro_texts import Texts, texts_of_events, texts_of_rows
from engine.decode.records import all_parts, datastream_records, message_records, row_records
from engine.errors import SourceError
from engine.inputs.avro import avro_lines, avro_places, is_told
from engine.inputs.containers import MALFORMED, OF_MESSAGES, Part, head, kind_of, read_parts
from engine.inputs.lines import IS_SAID, CountedFile, counted_pieces, is_said, numbered, read_lines, scan
from engine.inputs.listing import InputFile, list_files
from engine.inputs.pending import PendingFile, between_new, by_path
from engine.inputs.quotes import ENDS_OPEN, OPEN_QUOTE
from engine.inputs.tables import data_files
from engine.json_text import KEEP_NULLS
from engine.recognise import looks_like, other_than
from engine.spec.model import SourceSpec

WRITTEN_AS = {"avro": "an Avro file", "parquet": "a Parquet file"}
"""What files of a kind look like."""
SAMPLE_RECORDS = 50
BESIDE = (1, 8, 64)
"""How many files on each side of a new one are looked at: the first is most often enough."""


def source_files(spark: SparkSession, source: SourceSpec, catalog: str, until_ms: int | None) -> list[InputFile]:
    """The files of a source: those its path names, or the data files of its table.

    One that cannot grow line by line, and has nothing in it yet, is passed over: it is still to be written.

    Raises: SourceError: there are none.
    """
    if source.table is not None:
        return data_files(spark, source, catalog, until_ms)
    files = list_files(spark, source.path, until_ms)
    told = [file if kind_of(file.path, source) == "json" else replace(file, whole=True) for file in files]
    return [file for file in told if file.size or file.can_grow()]


def read_beside(
    spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], read: Sequence[PendingFile], catalog: str
) -> tuple[DataFrame, list[CountedFile]]:
    """The records of files that stand among `files`.

    Gives: what `read_records` gives; for a format that reads on after_gap, too: whether a file follows one that was not
        read.
    """
    lines, counted = read_records(spark, source, read, catalog)
    if FORMATS[source.format].reads_on is None:
        return lines, counted
    paths = {entry.file.path for entry in read}
    pairs = pairwise(sorted(files, key=by_path))
    after = [file.path for before, file in pairs if file.path in paths and before.path not in paths]
    return lines.withColumn("after_gap", F.col("file").isin(after)), counted


def read_records(
    spark: SparkSession, source: SourceSpec, pending: Sequence[PendingFile], catalog: str
) -> tuple[DataFrame, list[CountedFile]]:
    """The new records of the files.

    Gives: file, line (1-based), is_last, text; row_schema where a file describes its columns; for plain rows of such
        files problem, too: what is wrong with a record that its text does not tell.
    Rows: one a record.
    Raises: SourceError: a file cannot be read to its end.
    """
    texts = [entry for entry in pending if kind_of(entry.file.path, source) == "json"]
    others = [entry for entry in pending if kind_of(entry.file.path, source) != "json"]
    if not others:
        return read_lines(spark, pending)
    try:
        found = read_parts(spark, [entry.file for entry in others], source, catalog)
    except SourceError as error:
        raise with_likeness(spark, error, source, [entry.file for entry in others]) from error
    told = [(part, texts_of) for part in found if (texts_of := told_texts(spark, part, source)) is not None]
    own = {path for part, _ in told for path in part.paths}
    made = [as_records(part, source) for part in found if own.isdisjoint(part.paths)]
    read = []
    if texts:
        made.append(text_records(spark, texts, source))
    if made:
        read.append(read_made(spark, made, [entry for entry in pending if entry.file.path not in own], source))
    if told:
        read.append(read_told(spark, told, [entry for entry in pending if entry.file.path in own], source))
    return all_parts([lines for lines, _ in read]), [file for _, counted in read for file in counted]


def text_records(spark: SparkSession, texts: Sequence[PendingFile], source: SourceSpec) -> DataFrame:
    """The lines of text files that stand beside typed ones, with the columns of what `as_records` gives."""
    beside = {"row_schema": F.lit(None).cast("string"), IS_SAID: is_said(F.col("text"))}
    of_rows = {} if source.rows is None else {ENDS_OPEN: F.lit(False)}
    return scan(spark, [entry.file.path for entry in texts]).withColumns(beside | of_rows)


def read_made(
    spark: SparkSession, parts: Sequence[DataFrame], pending: Sequence[PendingFile], source: SourceSpec
) -> tuple[DataFrame, list[CountedFile]]:
    """The new records of texts that are made of what Spark reads. `parts`: what `as_records` gives.

    Gives, Rows, Raises: as `read_records`.
    """
    lines, counted = numbered(spark, all_parts(parts), pending)
    if source.rows is None:
        return lines, counted
    problem = F.when(F.col("is_last") & F.col(ENDS_OPEN), OPEN_QUOTE).alias("problem")
    return lines.select("file", "line", "is_last", "text", "row_schema", problem), counted


def read_told(
    spark: SparkSession, told: Sequence[tuple[Part, Texts]], pending: Sequence[PendingFile], source: SourceSpec
) -> tuple[DataFrame, list[CountedFile]]:
    """The same of Avro files by siltstone's own reader."""
    places = [avro_places(spark, texts.schema, part.paths) for part, texts in told]
    pieces, counted = counted_pieces(spark, all_parts(places), pending)
    nothing = {} if source.rows is None else {"problem": F.lit(None).cast("string")}
    lines = [
        avro_lines(spark, texts.schema, part.paths, pieces).withColumns(
            {"row_schema": F.lit(texts.row_schema)} | nothing
        )
        for part, texts in told
    ]
    return all_parts(lines), counted


def with_likeness(
    spark: SparkSession, error: SourceError, source: SourceSpec, files: Sequence[InputFile]
) -> SourceError:
    """The error of a file that is not what it should be, with what it looks like, where that is known."""
    file = next((file for file in files if source.table is None and f" {file.path}:" in error.message), None)
    if file is None:
        return error
    form = looks_like(head(spark, file).decode("utf-8", "replace").splitlines())
    if form is None or form == WRITTEN_AS.get(kind_of(file.path, source)):
        return error
    return SourceError(f"{error.message} It looks like {form}.", error.hint)


def context_of(
    spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], new: Sequence[PendingFile]
) -> list[PendingFile]:
    """The files beside new ones of which the meaning of either can depend on the other's: as many on each side as their
    format needs, up to BESIDE."""
    reads_on = FORMATS[source.format].reads_on
    if reads_on is None:
        return []

    def are_enough(lines: DataFrame) -> bool:
        return reads_on(lines, scanned(spark, [entry.file for entry in new]))

    found: dict[str, InputFile] = {}
    for stretch, is_after, is_before in between_new(files, new):
        for is_beside, nearest_first in ((is_after, stretch), (is_before, stretch[::-1])):
            near = nearest(spark, are_enough, nearest_first) if is_beside else []
            found |= {file.path: file for file in near}
    return [PendingFile(found[path], "", 0, False) for path in sorted(found)]


def nearest(
    spark: SparkSession, are_enough: Callable[[DataFrame], bool], files: Sequence[InputFile]
) -> Sequence[InputFile]:
    """As many of the first files as are enough. `files`: on one side of a new one, the nearest first."""
    for most in BESIDE:
        if most >= len(files) or are_enough(scanned(spark, files[:most])):
            return files[:most]
    return files[: BESIDE[-1]]


def scanned(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """The lines of files, in their order: numbers of one piece of a file grow, and that is all that is asked here."""
    return scan(spark, [file.path for file in files]).select("file", F.col("row").alias("line"), "text")


def typed_likeness(spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], catalog: str) -> str | None:
    """The format that the records of a source's typed files look like; None where it is the source's, or not known."""
    typed = [file for file in files if kind_of(file.path, source) in WRITTEN_AS][:1]
    return next((part_likeness(part, source) for part in read_parts(spark, typed, source, catalog)), None)


def part_likeness(part: Part, source: SourceSpec) -> str | None:
    """The same of records of one description."""
    texts = part.rows.select(F.to_json("record", KEEP_NULLS).alias("text")).head(SAMPLE_RECORDS)
    return other_than(source, [row["text"] for row in texts], "avro" if part.kind == "avro" else "json")


def as_records(part: Part, source: SourceSpec) -> DataFrame:
    """Records of one description as JSON text."""
    if source.format in OF_MESSAGES:
        try:
            return message_records(part.rows)
        except SourceError as error:
            form = part_likeness(part, source)
            raise SourceError(
                f"{error.message} They look like {form}." if form else error.message, error.hint
            ) from error
    if source.rows is None:
        return datastream_records(part.rows, part.schema)
    return row_records(part.rows, part.schema, avro=part.kind == "avro", malformed=MALFORMED)


def told_texts(spark: SparkSession, part: Part, source: SourceSpec) -> Texts | None:
    """What siltstone's own reader is told of Avro files; None where Spark's reads them."""
    if part.kind != "avro" or source.format in OF_MESSAGES:
        return None
    told = texts_of_events(part.schema) if source.rows is None else texts_of_rows(part.schema)
    return told if told is not None and is_told(spark, told.schema) else None
