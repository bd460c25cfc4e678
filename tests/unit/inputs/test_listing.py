"""Files as they are listed, and pieces of them, from the disk and through the JVM."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.errors import SourceError
from engine.inputs.lines import read_lines
from engine.inputs.listing import Look, bytes_through_jvm, file_system, list_files, read_bytes
from engine.inputs.pending import pending_file

SIZE = 100_000
CONTENT = random.Random(1).randbytes(SIZE)


@pytest.mark.parametrize("name", ["plain.jsonl", "with a blank, 100%25 ü.jsonl"])
@pytest.mark.parametrize(("start", "length"), [(0, SIZE), (7, 65_536), (SIZE - 3, 3), (5, 0)])
def test_a_piece_is_the_same_from_the_disk_and_through_the_jvm(
    spark: SparkSession, tmp_path: Path, name: str, start: int, length: int
) -> None:
    file = tmp_path / name
    file.write_bytes(CONTENT)
    system, root = file_system(spark, str(file))
    expected = CONTENT[start : start + length]
    assert read_bytes(spark, str(file), start, length) == expected
    assert read_bytes(spark, str(root.makeQualified(system.getUri(), root)), start, length) == expected
    assert bytes_through_jvm(spark, system.open(root), start, length) == expected


def test_names_with_a_colon_are_listed_and_read_and_stop_no_pattern(spark: SparkSession, tmp_path: Path) -> None:
    names = ["2026-11-23T08:00:00Z.jsonl", "a.jsonl", "b:1/x:y.jsonl", "b:1/z.txt", "c/.h:i.jsonl", "d/e:f.jsonl"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'"{name}"\n', encoding="utf-8")
    for pattern, expected in {
        "": [0, 1, 2, 3, 5], "*.jsonl": [0, 1], "a.js*": [1], "{a,b:1/*}.jsonl": [1, 2], "2026-*T08:*": [0],
        r"\d/e:f.jsonl": [5], "*/[wx]:?.jsonl": [2],
    }.items():  # fmt: skip
        files = list_files(spark, f"{tmp_path}/{pattern}")
        assert [file.path for file in files] == [f"file:{tmp_path}/{names[n]}" for n in expected]
    files = list_files(spark, str(tmp_path))
    pending = [entry for file in files if (entry := pending_file(Look(spark), file, None, "")) is not None]
    lines, _ = read_lines(spark, pending)
    assert {row.text for row in lines.collect()} == {f'"{name}"' for name in names if ".h" not in name}
    with pytest.raises(SourceError, match="matches no file"):
        list_files(spark, f"{tmp_path}/*.csv")


def test_a_file_that_became_shorter_is_told(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_bytes(CONTENT)
    with pytest.raises(SourceError, match=f"became shorter while it was looked at.*{SIZE} bytes"):
        read_bytes(spark, str(file), SIZE - 3, 10)
    system, root = file_system(spark, str(file))
    assert bytes_through_jvm(spark, system.open(root), SIZE - 3, 10) == CONTENT[-3:]


def test_a_file_that_java_cannot_name_is_not_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    system = spark._jvm.java.lang.System  # type: ignore[union-attr]
    (tmp_path / "plain.jsonl").write_text("{}\n")
    odd = tmp_path / "in" / "ümlaut.jsonl"
    odd.parent.mkdir()
    odd.write_text("{}\n")
    before = system.setProperty("sun.jnu.encoding", "ANSI_X3.4-1968")
    try:
        assert len(list_files(spark, f"{tmp_path}/plain.jsonl")) == 1
        with pytest.raises(SourceError, match=f"cannot name {odd} in its encoding ANSI_X3.4-1968"):
            list_files(spark, f"{tmp_path}/*/*.jsonl")
    finally:
        system.setProperty("sun.jnu.encoding", before)
    assert list_files(spark, str(odd.parent))[0].path.endswith("/ümlaut.jsonl")
