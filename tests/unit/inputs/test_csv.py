"""CSV files give the values that were written, with any line ends."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.record_files import LinesToRead
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.errors import SourceError
from siltstone.engine.inputs import line_files
from siltstone.engine.inputs.containers import csv_layout
from siltstone.engine.inputs.line_files import numbered, pieces_of
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.rows_format import RowsSpec

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


def rows_at(path: Path, delimiter: str = ",") -> SourceSpec:
    return SourceSpec("rows", str(path), rows=RowsSpec("a.b", (("n", "any"),), delimiter=delimiter))


def records(source: SourceSpec) -> list[Message]:
    """Every record of a source, file after file."""
    files = list_files(source.path)
    pieces = [piece for file in files for piece in pieces_of(file, csv=csv_layout(file, source))]
    counted = numbered(map(line_files.counted, pieces))
    read = LinesToRead(counted, {}, {piece.path: piece.lines for piece in counted})
    return [message for at in range(len(counted)) for some in read.messages(at) for message in some]


def texts(path: Path) -> list[tuple[int, str]]:
    """Number and text of every record that a source at this path has, file after file."""
    return [(record.line, record.text.decode()) for record in records(rows_at(path))]


def last_values(source: SourceSpec) -> dict[str, list[str]]:
    """The last value of each row by file, or the reason why there is none."""
    found: dict[str, list[str]] = {}
    for event in decode_messages(records(source), source, {}):
        value = json.loads(event.after or b"{}").get("v") if event.reason is None else f"not taken: {event.reason}"
        found.setdefault(Path(event.file).name, []).append(value)
    return found


def read(path: Path) -> list[tuple[int, dict[str, str | None]]]:
    return [(line, json.loads(text)) for line, text in texts(path)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", LINE_ENDS)
@pytest.mark.parametrize("header", ["n,first,last", 'n,first,"last"'])
def test_a_value_keeps_its_line_ends(tmp_path: Path, header: str, end: str, packed: bool) -> None:
    rows = [(first, last) for first in VALUES for last in reversed(VALUES)]
    lines = [header, *(f"{n},{quoted(first)},{quoted(last)}" for n, (first, last) in enumerate(rows))]
    data = "".join(line + LINE_ENDS[end] for line in lines).encode()
    (tmp_path / ("a.csv.gz" if packed else "a.csv")).write_bytes(gzip.compress(data) if packed else data)
    wanted = [(n + 1, {"n": str(n), "first": first, "last": last}) for n, (first, last) in enumerate(rows)]
    assert read(tmp_path) == wanted


def test_a_file_with_the_line_ends_of_windows_is_read_as_it_is(tmp_path: Path) -> None:
    data = b'n,last\r\n1,x\r\n2,\r\n3,""\r\n4,"q"\r\n\r\n5,a\rb\r\n6,"' + b"y" * 70_000 + b'"\r\n7,no end'
    (tmp_path / "a.csv").write_bytes(data)
    values = ["x", None, "", "q", "a\rb", "y" * 70_000, "no end"]
    assert [row["last"] for _, row in read(tmp_path)] == values


def test_files_with_different_line_ends_can_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,last\r\n1,"a\r\nb"\r\n2,\r\n')
    (tmp_path / "b.csv").write_bytes(b'n,last\n3,"a\r\nb"\n4,\n')
    found = sorted((row["n"], row["last"]) for _, row in read(tmp_path))
    assert found == [("1", "a\r\nb"), ("2", None), ("3", "a\r\nb"), ("4", None)]


def test_a_line_end_that_differs_from_the_header_does_not_end_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,last\r\n1,"a\r\nb"\r\n2,x\n3,y\r\n4,z\r\n')
    whole, broken, after = texts(tmp_path)
    assert (whole[1], broken[1], after[1]) == ('{"n":"1","last":"a\\r\\nb"}', "2,x\n3,y", '{"n":"4","last":"z"}')


def test_many_values_with_line_ends_cross_the_readers_buffers(tmp_path: Path) -> None:
    rows = [[str(n), "x" * (n % 97) + "\r\n" * (n % 3) + "y" * (n % 31)] for n in range(60_000)]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["n", "last"], *rows])
    (tmp_path / "a.csv").write_bytes(text.getvalue().encode())
    assert [[row["n"], row["last"]] for _, row in read(tmp_path)] == rows


def test_lines_that_end_in_a_carriage_return_alone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,last\r1,a\r")
    with pytest.raises(SourceError, match="its first line must name each column once"):
        read(tmp_path)


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
    "blanks after it": ('2,1,"cut he" ', ["cut he"]),
    "an escaped quote, closed": ('2,1,"""x"""', ['"x"']),
    "escaped quotes alone, closed": ('2,1,""""', ['"']),
    "line ends, closed": ('2,1,"\n"\n', ["\n"]),
    "lines, closed": ('2,1,"open\n3,2,b\n"', ["open\n3,2,b\n"]),
    "lines that end alike, closed": ('2,1,"a\na"', ["a\na"]),
    "an empty text": ('2,1,""', [""]),
    "null": ('2,"1",', [None]),
}


@pytest.mark.parametrize("end", LINE_ENDS)
def test_a_quote_that_is_open_at_the_end_of_its_file_is_reported(tmp_path: Path, end: str) -> None:
    wanted = {}
    for number, (text, last) in enumerate(ENDS.values()):
        data = f'n,s,v\n1,1,"x"\n{text}'.replace("\n", LINE_ENDS[end]).encode()
        packed = number % 2 == 0
        name = f"{number:02}.csv{'.gz' if packed else ''}"
        (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
        wanted[name] = ["x", *[value and value.replace("\n", LINE_ENDS[end]) for value in last]]
    assert last_values(rows_at(tmp_path)) == wanted


def test_only_the_last_record_of_a_file_can_have_an_open_quote(tmp_path: Path) -> None:
    """Records that look like the last line of their file."""
    (tmp_path / "a.csv").write_bytes(b'n;s;v\n1;1;"a\n3;""c"\n2;1;c\n2;1;"c')
    assert last_values(rows_at(tmp_path, ";")) == {"a.csv": ['a\n3;"c', "c", OPEN]}


@pytest.mark.parametrize("delimiter", [",", "\u00a7", "\U0001f600"])
def test_text_that_is_not_utf_8_is_rejected_and_other_text_is_exact(tmp_path: Path, delimiter: str) -> None:
    lines = [b"n|s|v", b"1|1|caf\xe9", "2|1|caf\u00e9 \uac00\ufffd".encode(), b'3|\xc3|"\xa7"', b"4|\xff", b"5|1|x"]
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines).replace(b"|", delimiter.encode()))
    no_text = "not taken: not UTF-8 text"
    wanted = [no_text, "caf\u00e9 \uac00\ufffd", no_text, no_text, "x"]
    assert last_values(rows_at(tmp_path, delimiter)) == {"a.csv": wanted}


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_records_are_the_same_for_any_size_of_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_end: str, size: int
) -> None:
    for number, (text, _) in enumerate(ENDS.values()):
        data = f'\ufeffn,s,v\n1,1,"x"\n{text}'.replace("\n", LINE_ENDS[line_end]).encode()
        (tmp_path / f"{number:02}.csv").write_bytes(data)
    whole = records(rows_at(tmp_path))
    monkeypatch.setattr(line_files, "CHUNK_BYTES", size)
    assert records(rows_at(tmp_path)) == whole


def test_a_quote_that_another_record_seems_to_close_rejects_its_record_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,s,v\n1,1,"a\n2,1,"b"\n3,1,c\n')
    stray = "not taken: a quote at the beginning of a value is not closed"
    assert last_values(rows_at(tmp_path)) == {"a.csv": [stray, "b", "c"]}


ESCAPED = "not taken: a quote is escaped with a backslash; it must be doubled"


def test_a_value_with_quotes_escaped_by_backslashes_is_rejected(tmp_path: Path) -> None:
    """Values as Spark writes them by default."""
    cases: dict[str, str | None] = {
        r'"say \"hi\"",1,x': ESCAPED,
        r'1,"say \"hi, you\"",x': ESCAPED,
        r'1,"\"hi\"",x': ESCAPED,
        r'1,2,"say \"hi\""': ESCAPED,
        r'1,2,"say \"hi': ESCAPED,
        r"1,2,say \"hi\"": r"say \"hi\"",
        r'1,2,"C:\"': "C:\\",
        r'1,"C:\",x': "x",
        r'1,2,"say \""hi\"""': 'say \\"hi\\"',
        r'1,2,"a" \b': r'"a" \b',
        "1,2,x": "x",
    }
    (tmp_path / "a.csv").write_text("n,s,v\n" + "".join(f"{line}\n" for line in cases))
    assert last_values(rows_at(tmp_path)) == {"a.csv": list(cases.values())}


def test_a_header_with_quotes_escaped_by_backslashes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('n,"say \\"hi\\"",v\n1,2,3\n')
    with pytest.raises(SourceError, match="its first line must name each column once"):
        read(tmp_path)


def described(path: Path, **settings: Any) -> SourceSpec:
    return SourceSpec("rows", str(path), rows=RowsSpec("a.b", (("n", "any"),), **settings))


def test_the_spec_names_the_columns_of_files_without_a_header(tmp_path: Path) -> None:
    """Files as AWS DMS writes them: by default, a full load has no column Op."""
    (tmp_path / "LOAD00000001.csv").write_bytes(b'\xef\xbb\xbf101,"Smith, J.",New York\n102,,"Bos\nton"\n')
    (tmp_path / "20141029-1134010000.csv").write_bytes(b"I,101,Smith,New York\r\nD,102,Unknown,Boston\r\nU,103\r\n")
    columns = ("id", "name", "city")
    header = (("LOAD*.csv", columns), ("*", ("Op", *columns)))
    found = records(described(tmp_path, header=header))
    assert [(Path(r.file).name[0], r.line, r.problem or json.loads(r.text)) for r in found] == [
        ("2", 1, {"Op": "I", "id": "101", "name": "Smith", "city": "New York"}),
        ("2", 2, {"Op": "D", "id": "102", "name": "Unknown", "city": "Boston"}),
        ("2", 3, "not as many values as the file has columns"),
        ("L", 1, {"id": "101", "name": "Smith, J.", "city": "New York"}),
        ("L", 2, {"id": "102", "name": None, "city": "Bos\nton"}),
    ]
    with pytest.raises(SourceError, match=r"no pattern of source.header matches its name"):
        records(described(tmp_path, header=header[:1]))


def test_another_text_can_mean_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,a,b\n1,NULL,\n2,"NULL",x"y\n3,"",NULL\n')
    values = [json.loads(r.text) for r in records(described(tmp_path, null_value="NULL"))]
    assert [(row["a"], row["b"]) for row in values] == [(None, ""), ("NULL", 'x"y'), ("", None)]
