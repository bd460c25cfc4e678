"""Files as they are listed, and pieces of them, from the disk and through the JVM."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.errors import SourceError
from engine.inputs.listing import bytes_through_jvm, file_system, list_files, read_bytes

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
