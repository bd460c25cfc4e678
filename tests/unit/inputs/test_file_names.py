"""Files whose names look like globs or like encoded text: each gives exactly its own records."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.ingest.source_records import read_records, source_files
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.rows_format import RowsSpec
from tests.decoding import decode_rows, discover
from tests.unit.decode.given import spec

STEMS = (
    *("[ab]", "a", "b", "g*h", "gXh", "a[1]", "a1", "e{f}", "{p,q}", "p", "t\\u", "q?", "[!a]"),
    *("weird name (1) [x]#%20", "a b", "a%20b", "a+b", "%2525ü", "^n"),
)


def write_json(file: Path, stem: str) -> None:
    file.write_text(json.dumps({"stem": stem}) + "\n", encoding="utf-8")


def write_csv(file: Path, stem: str) -> None:
    file.write_text(f'stem,n\n"{stem}",1\n', encoding="utf-8")


def write_parquet(file: Path, stem: str) -> None:
    with file.open("wb") as out:
        pq.write_table(pa.table({"stem": [stem]}), out)


def write_avro(file: Path, stem: str) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "stem", "type": "string"}]}
    with file.open("wb") as out:
        fastavro.writer(out, schema, [{"stem": stem}])


WRITERS: dict[str, Callable[[Path, str], None]] = {
    "json": write_json,
    "csv": write_csv,
    "parquet": write_parquet,
    "avro": write_avro,
}


def found_in(spark: SparkSession, path: Path) -> list[tuple[str, int, str]]:
    """File, line and stem of every record that a source at this path has."""
    source = SourceSpec("rows", str(path), rows=RowsSpec("a.b", (("n", "any"),)))
    files = source_files(spark, source, "lake", None)
    records, _ = read_records(spark, source, [PendingFile(file, "", 0, False) for file in files], "lake")
    rows = records.frame().select("file", "line", "text").collect()
    return sorted((Path(row.file).stem, row.line, json.loads(row.text)["stem"]) for row in rows)


@pytest.mark.parametrize("ending", WRITERS)
def test_each_file_gives_its_own_records_under_any_name(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    for stem in STEMS:
        WRITERS[ending](tmp_path / f"{stem}.{ending}", stem)
    assert found_in(spark, tmp_path) == sorted((stem, 1, stem) for stem in STEMS)


@pytest.mark.parametrize("stem", ["a[1]", "e{f}", "t\\u"])
def test_a_file_whose_name_matches_no_file_as_a_glob_is_read(spark: SparkSession, tmp_path: Path, stem: str) -> None:
    write_json(tmp_path / f"{stem}.json", stem)
    assert found_in(spark, tmp_path) == [(stem, 1, stem)]


@pytest.mark.parametrize("kind", ["csv", "parquet", "avro"])
def test_columns_whose_names_differ_only_in_case_stay_separate(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    row = {"id": "1", "v": "7", "V": "b", "ID": "2"}
    if kind == "csv":
        (tmp_path / "a.csv").write_text("id,v,V,ID\n1,7,b,2\n", encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(pa.table({name: [value] for name, value in row.items()}), tmp_path / "a.parquet")
    else:
        fields = [{"name": name, "type": ["null", "string"]} for name in row]
        with (tmp_path / "a.avro").open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [row])
    source = SourceSpec("rows", str(tmp_path), rows=RowsSpec("a.b", (("v", "any"),)))
    table_spec = replace(spec(None, table="a.b"), source=source, keys=("id",))
    files = [PendingFile(file, "", 0, False) for file in source_files(spark, source, "lake", None)]
    records, _ = read_records(spark, source, files, "lake")
    assert [json.loads(one.text) for one in records.frame().collect()] == [row]
    changes = records.events(source, {})
    (change,) = decode_rows(changes, discover(changes, table_spec), table_spec).collect()
    assert (change.row.asDict(), json.loads(change.rescued)) == ({"id": "1", "v": "7"}, {"V": "b", "ID": "2"})


def test_a_compressed_csv_file_has_its_columns_under_any_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "[x].csv.gz").write_bytes(gzip.compress(b"stem,n\nx,1\n"))
    assert found_in(spark, tmp_path) == [("[x].csv", 1, "x")]
