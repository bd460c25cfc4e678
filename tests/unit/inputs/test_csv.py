"""Values of CSV files are those that were written, whatever ends the lines."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.errors import SourceError
from engine.inputs.pending import PendingFile
from engine.run.records import read_records, source_files
from engine.spec.model import SourceSpec
from engine.spec.rows import RowsSpec
from tests.decoding import envelopes

VALUES = [
    "plain",
    "",
    None,
    "a\r\nb",
    "a\nb",
    "\r\n",
    "\n",
    'he said "\r\n"',
    "a, b",
    'ends in a quote"\n',
    "x" * 5_000,
]
LINE_ENDS = {"crlf": "\r\n", "lf": "\n"}


def quoted(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'


def records(spark: SparkSession, source: SourceSpec) -> DataFrame:
    """Every record of a source."""
    files = source_files(spark, source, "lake", None)
    return read_records(spark, source, [PendingFile(file, "", 0, False) for file in files], "lake")[0].frame()


def rows_at(path: Path, delimiter: str = ",") -> SourceSpec:
    return SourceSpec("rows", str(path), rows=RowsSpec("a.b", (("n", "any"),), delimiter=delimiter))


def texts(spark: SparkSession, path: Path) -> list[tuple[int, str]]:
    """Number and text of every record that a source at this path has, file after file."""
    return [(row.line, row.text) for row in records(spark, rows_at(path)).orderBy("file", "line").collect()]


def told(spark: SparkSession, source: SourceSpec) -> dict[str, list[str]]:
    """The last value of each file's rows, or why there is none."""
    found: dict[str, list[str]] = {}
    for row in envelopes(records(spark, source), source).orderBy("file", "line").collect():
        value = json.loads(row.after_json)["v"] if row.reason is None else f"not taken: {row.reason}"
        found.setdefault(Path(row.file).name, []).append(value)
    return found


def read(spark: SparkSession, path: Path) -> list[tuple[int, dict[str, str | None]]]:
    return [(line, json.loads(text)) for line, text in texts(spark, path)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", LINE_ENDS)
@pytest.mark.parametrize("header", ["n,first,last", 'n,first,"last"'])
def test_a_value_keeps_its_line_ends(spark: SparkSession, tmp_path: Path, header: str, end: str, packed: bool) -> None:
    rows = [(first, last) for first in VALUES for last in reversed(VALUES)]
    lines = [header, *(f"{n},{quoted(first)},{quoted(last)}" for n, (first, last) in enumerate(rows))]
    data = "".join(line + LINE_ENDS[end] for line in lines).encode()
    (tmp_path / ("a.csv.gz" if packed else "a.csv")).write_bytes(gzip.compress(data) if packed else data)
    wanted = [(n + 1, {"n": str(n), "first": first, "last": last}) for n, (first, last) in enumerate(rows)]
    assert read(spark, tmp_path) == wanted


def test_a_file_with_the_line_ends_of_windows_is_read_as_it_stands(spark: SparkSession, tmp_path: Path) -> None:
    data = b'n,last\r\n1,x\r\n2,\r\n3,""\r\n4,"q"\r\n\r\n5,a\rb\r\n6,"' + b"y" * 70_000 + b'"\r\n7,no end'
    (tmp_path / "a.csv").write_bytes(data)
    values = ["x", None, "", "q", "a\rb", "y" * 70_000, "no end"]
    assert [row["last"] for _, row in read(spark, tmp_path)] == values


def test_files_with_either_line_end_lie_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,last\r\n1,"a\r\nb"\r\n2,\r\n')
    (tmp_path / "b.csv").write_bytes(b'n,last\n3,"a\r\nb"\n4,\n')
    found = sorted((row["n"], row["last"]) for _, row in read(spark, tmp_path))
    assert found == [("1", "a\r\nb"), ("2", None), ("3", "a\r\nb"), ("4", None)]


def test_a_line_that_ends_otherwise_than_the_header_is_no_row_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,last\r\n1,"a\r\nb"\r\n2,x\n3,y\r\n4,z\r\n')
    whole, broken, after = texts(spark, tmp_path)
    assert (whole[1], broken[1], after[1]) == ('{"n":"1","last":"a\\r\\nb"}', "2,x\n3,y", '{"n":"4","last":"z"}')


def test_many_values_with_line_ends_cross_the_readers_buffers(spark: SparkSession, tmp_path: Path) -> None:
    rows = [[str(n), "x" * (n % 97) + "\r\n" * (n % 3) + "y" * (n % 31)] for n in range(60_000)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["n", "last"], *rows])
    (tmp_path / "a.csv").write_bytes(text.getvalue().encode())
    assert [[row["n"], row["last"]] for _, row in read(spark, tmp_path)] == rows


def test_lines_that_end_in_a_carriage_return_alone_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,last\r1,a\r")
    with pytest.raises(SourceError, match="its first line must name each column once"):
        read(spark, tmp_path)


OPEN = "not taken: a quote is not closed before the end of the file"
MISSING = "not taken: not as many values as the file has columns"
ENDS: dict[str, tuple[str, list[str | None]]] = {
    "a value": ('2,1,"cut he', [OPEN]),
    "a line end": ('2,1,"cut he\n', [OPEN]),
    "line ends": ('2,1,"\n\n', [OPEN]),
    "nothing": ('2,1,"', [OPEN]),
    "an escaped quote": ('2,1,"""', [OPEN]),
    "a value and an escaped quote": ('2,1,"a""', [OPEN]),
    "a delimiter": ('2,1,"a,b', [OPEN]),
    "other records": ('2,1,"open\n3,2,b\n4,3,c""d', [OPEN]),
    "other records and line ends": ('2,1,"open\n3,2,b\n4,3,c\n\n', [OPEN]),
    "no last value": ('2,"cut he', [OPEN]),
    "the first value": ('"cut he', [OPEN]),
    "no quote": ("2,1,cut he", ["cut he"]),
    "no quote, too short": ("2,cut he", [MISSING]),
    "a stray quote": ('2,1,5" pipe', ['5" pipe']),
    "stray quotes": ('2,"a" b,"c" d', ['"c" d']),
    "a stray quote at the end": ('2,1,5"\n', ['5"']),
    "quotes closed": ('2,1,"cut he"', ["cut he"]),
    "blanks behind": ('2,1,"cut he" ', ["cut he"]),
    "an escaped quote, closed": ('2,1,"""x"""', ['"x"']),
    "escaped quotes alone, closed": ('2,1,""""', ['"']),
    "line ends, closed": ('2,1,"\n"\n', ["\n"]),
    "lines, closed": ('2,1,"open\n3,2,b\n"', ["open\n3,2,b\n"]),
    "lines that end alike, closed": ('2,1,"a\na"', ["a\na"]),
    "an empty text": ('2,1,""', [""]),
    "null": ('2,"1",', [None]),
}


@pytest.mark.parametrize("end", LINE_ENDS)
def test_a_quote_that_is_open_at_the_end_of_its_file_is_told(spark: SparkSession, tmp_path: Path, end: str) -> None:
    wanted = {}
    for number, (text, last) in enumerate(ENDS.values()):
        data = f'n,s,v\n1,1,"x"\n{text}'.replace("\n", LINE_ENDS[end]).encode()
        packed = number % 2 == 0
        name = f"{number:02}.csv{'.gz' if packed else ''}"
        (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
        wanted[name] = ["x", *[value and value.replace("\n", LINE_ENDS[end]) for value in last]]
    assert told(spark, rows_at(tmp_path)) == wanted


def test_only_the_last_record_of_a_file_can_have_an_open_quote(spark: SparkSession, tmp_path: Path) -> None:
    """Records that look like the last line of their file."""
    (tmp_path / "a.csv").write_bytes(b'n;s;v\n1;1;"a\n3;""c"\n2;1;c\n2;1;"c')
    assert told(spark, rows_at(tmp_path, ";")) == {"a.csv": ['a\n3;"c', "c", OPEN]}


@pytest.mark.parametrize("delimiter", [",", "\u00a7", "\U0001f600"])
def test_what_is_not_utf_8_is_rejected_and_all_else_is_what_it_is(
    spark: SparkSession, tmp_path: Path, delimiter: str
) -> None:
    lines = [b"n|s|v", b"1|1|caf\xe9", "2|1|caf\u00e9 \uac00\ufffd".encode(), b'3|\xc3|"\xa7"', b"4|\xff", b"5|1|x"]
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines).replace(b"|", delimiter.encode()))
    no_text = "not taken: not UTF-8 text"
    wanted = [no_text, "caf\u00e9 \uac00\ufffd", no_text, no_text, "x"]
    assert told(spark, rows_at(tmp_path, delimiter)) == {"a.csv": wanted}
