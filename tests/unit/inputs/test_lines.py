"""Lines of text files with their numbers."""

from pathlib import Path

from pyspark.sql import SparkSession

from engine.inputs.lines import read_lines
from engine.inputs.listing import list_files
from engine.inputs.pending import PendingFile


def test_blank_lines_are_counted_and_passed_over_whatever_they_are_blank_of(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n":1}\r\n\r\n  \r\n\t\n \t \r\n\n{"n":2}\r\n\xc2\xa0\n\t{"n":3}\r\n\r')
    pending = [PendingFile(file, "", 0, False) for file in list_files(spark, str(tmp_path))]
    lines, (counted,) = read_lines(spark, pending)
    found = sorted((row.line, row.text) for row in lines.collect())
    assert found == [(1, '{"n":1}\r'), (7, '{"n":2}\r'), (8, "\xa0"), (9, '\t{"n":3}\r')]
    assert (counted.lines, counted.said) == (10, 4)


def test_a_line_that_is_appended_while_a_file_is_read_is_left_for_the_next_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark reads the line that begins where the file ended when it was listed."""
    file = tmp_path / "a.jsonl"
    file.write_text('{"n":1}\n{"n":2}\n', encoding="utf-8")
    pending = [PendingFile(found, "", 0, False) for found in list_files(spark, str(tmp_path))]
    lines, (counted,) = read_lines(spark, pending)
    with file.open("a", encoding="utf-8") as grown:
        grown.write('{"n":3}\n{"n":4}\n')
    assert (sorted(row.line for row in lines.collect()), counted.lines, counted.said) == ([1, 2], 2, 2)
