"""Avro files by siltstone's own reader: every record of a file, whatever pieces Spark makes of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.errors import SourceError
from engine.inputs.avro import avro_lines, avro_places, avro_schema, is_told
from engine.inputs.lines import UNREADABLE, Piece, counted_pieces
from engine.inputs.listing import InputFile
from engine.inputs.pending import PendingFile

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}, {"name": "t", "type": "string"}]}
ROWS = [{"n": number, "t": "x" * (number % 50)} for number in range(500)]
TEXTS = [json.dumps(row, separators=(",", ":")) for row in ROWS]
PIECES = "spark.sql.files.maxPartitionBytes"
NO_BLOCK = b"\x00\x00"
SYNC_SIZE = 16


@pytest.fixture
def small_pieces(spark: SparkSession) -> Iterator[None]:
    before = str(spark.conf.get(PIECES))
    spark.conf.set(PIECES, "700")
    yield
    spark.conf.set(PIECES, before)


def written(path: Path, codec: str = "null") -> bytes:
    with path.open("wb") as file:
        fastavro.writer(file, SCHEMA, ROWS, codec=codec, sync_interval=200)
    return path.read_bytes()


def listed(path: Path) -> str:
    return f"file:{path}"


def pieces(spark: SparkSession, *paths: Path) -> list[Piece]:
    """What is counted of the pieces of files."""
    names = [listed(path) for path in paths]
    pending = [PendingFile(InputFile(name, 0, 0, whole=True), "", 0, False) for name in names]
    found, counted = counted_pieces(spark, avro_places(spark, json.dumps(SCHEMA), names), pending)
    assert [file.lines for file in counted] == [sum(p.rows for p in found if p.path == name) for name in names]
    return found


def lines(spark: SparkSession, *paths: Path) -> DataFrame:
    return avro_lines(spark, json.dumps(SCHEMA), [listed(path) for path in paths], pieces(spark, *paths))


def texts(spark: SparkSession, path: Path) -> list[str]:
    rows = lines(spark, path).orderBy("line").collect()
    assert [row["line"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["line"] for row in rows if row["is_last"]] == [len(rows)]
    assert {row["file"] for row in rows} == {listed(path)}
    return [row["text"] for row in rows]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_each_record_is_in_one_piece(spark: SparkSession, small_pieces: None, tmp_path: Path, codec: str) -> None:
    written(tmp_path / "a.avro", codec)
    assert len(pieces(spark, tmp_path / "a.avro")) > 1
    assert texts(spark, tmp_path / "a.avro") == TEXTS


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_block_without_records_is_passed_over(spark: SparkSession, tmp_path: Path, place: int) -> None:
    whole = written(tmp_path / "a.avro")
    sync = whole[-SYNC_SIZE:]
    blocks = whole.split(sync)  # the header is the first one, and nothing the last
    blocks.insert(place if place < 0 else place + 1, NO_BLOCK)
    (tmp_path / "b.avro").write_bytes(sync.join(blocks))
    assert texts(spark, tmp_path / "b.avro") == TEXTS


@pytest.mark.parametrize("kept", [-1, -SYNC_SIZE, -SYNC_SIZE - 1])
def test_a_file_that_was_cut_short_is_not_read_to_where_it_ends(spark: SparkSession, tmp_path: Path, kept: int) -> None:
    whole = written(tmp_path / "b.avro")
    found = lines(spark, tmp_path / "b.avro")
    (tmp_path / "b.avro").write_bytes(whole[:kept])
    with pytest.raises(UNREADABLE):
        found.collect()
    with pytest.raises(SourceError, match=r"Cannot read .*b\.avro: it is damaged, was cut short"):
        pieces(spark, tmp_path / "b.avro")


def test_files_are_numbered_apart_and_asked_for_what_is_wanted(
    spark: SparkSession, small_pieces: None, tmp_path: Path
) -> None:
    paths = [tmp_path / "a b.avro", tmp_path / "a%20b.avro", tmp_path / "ä+,[1].avro"]
    for path in paths:
        written(path)
    found = lines(spark, *paths)
    last = found.where("is_last").select("file", "line").collect()
    assert sorted(tuple(row) for row in last) == sorted((listed(path), len(ROWS)) for path in paths)
    assert found.select("line").distinct().count() == len(ROWS)
    assert found.where("line = 1").select("text").distinct().collect() == [(TEXTS[0],)]
    assert found.count() == len(paths) * len(ROWS)


@pytest.mark.parametrize("rows", [ROWS[:400], [*ROWS, *ROWS]])
def test_a_file_that_changed_since_it_was_counted_is_not_read(
    spark: SparkSession, tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    written(tmp_path / "a.avro")
    found = lines(spark, tmp_path / "a.avro")
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, SCHEMA, rows)
    for frame in (found, found.select("line")):
        with pytest.raises(UNREADABLE, match=r"FAILED_READ_FILE.*while reading file.*a\.avro"):
            frame.collect()


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("block", [0, -1])
def test_a_damaged_record_is_told_with_its_file(spark: SparkSession, tmp_path: Path, codec: str, block: int) -> None:
    whole = written(tmp_path / "a.avro", codec)
    sync = whole[-SYNC_SIZE:]
    head, *blocks, nothing = whole.split(sync)
    blocks[block] = blocks[block][:6] + bytes(len(blocks[block]) - 6)
    (tmp_path / "b.avro").write_bytes(sync.join([head, *blocks, nothing]))
    found = lines(spark, tmp_path / "b.avro")
    assert found.count() == len(ROWS)  # the heads of the blocks are as they were
    with pytest.raises(UNREADABLE, match=r"FAILED_READ_FILE.*while reading file.*b\.avro"):
        found.collect()


@pytest.mark.parametrize(("good", "bad"), [(b'"long"', b'"lonG"'), (b'"n"', b'"}"'), (b'"fields"', b'"fieldz"')])
def test_a_damaged_schema_is_told_with_its_file(spark: SparkSession, tmp_path: Path, good: bytes, bad: bytes) -> None:
    whole = written(tmp_path / "a.avro")
    assert json.loads(avro_schema(spark, InputFile(str(tmp_path / "a.avro"), len(whole), 0)))["name"] == "r"
    path = tmp_path / "b.avro"
    path.write_bytes(whole.replace(good, bad, 1))
    with pytest.raises(SourceError, match=r"Cannot read .*b\.avro: the schema in its header is"):
        avro_schema(spark, InputFile(str(path), len(whole), 0))


@pytest.mark.parametrize("kind", [{"type": "map", "values": "int"}, ["int", "long"], "null", "no_type"])
def test_what_the_reader_is_not_sure_of_it_does_not_read(spark: SparkSession, kind: object) -> None:
    assert is_told(spark, json.dumps(SCHEMA))
    fields = [{"name": "a", "type": kind}]
    assert not is_told(spark, json.dumps({"type": "record", "name": "r", "fields": fields}))
