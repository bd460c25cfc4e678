"""Targets of rows and results: files that cannot be written, a full disk, a reader that leaves."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from siltstone.engine.cli import table_export
from siltstone.engine.cli.options import ExportFormat
from siltstone.engine.cli.table_export import export_rows
from siltstone.engine.errors import SpecError

READ = """
import itertools, pyarrow as pa
from siltstone.engine.cli import table_export, options, standard_output
def batches():
    for turn in range(1000):
        assert turn < 50, "no reader is left"
        yield pa.record_batch({"id": range(10_000)})
standard_output.install()
reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), batches())
table_export.export_rows(reader, options.ExportFormat.FORM, None)
standard_output.finish()
"""


def rows(count: int = 3) -> pa.RecordBatchReader:
    return pa.table({"id": range(count)}).to_reader()


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("folder", "it is a folder"),
        ("file/below.jsonl", "Not a directory|File exists"),
        ("pipe", "it is not a regular file"),
        (f"{'x' * 300}.jsonl", "File name too long"),
    ],
)
def test_a_target_that_cannot_be_written_is_named(tmp_path: Path, goal: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError, match=rf"^Cannot write {tmp_path / goal}: ({words})\.") as refused:
        export_rows(rows(), ExportFormat.jsonl, tmp_path / goal)
    assert refused.value.hint == "name another file with -o"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "pipe"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_is_reported_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(table_export, "_jsonl", full)
    with pytest.raises(SpecError, match=rf"^Cannot write .*a\.jsonl: {os.strerror(number)}\. Hint: free some space"):
        export_rows(rows(), ExportFormat.jsonl, tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_read_error_is_not_reported_as_a_write_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> int:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(table_export, "_jsonl", missing)
    with pytest.raises(FileNotFoundError):
        export_rows(rows(), ExportFormat.jsonl, tmp_path / "a.jsonl")


def unread(*arguments: str) -> tuple[int, str]:
    """Exit code and messages of Python if its standard output has no reader."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("form", list(ExportFormat))
def test_an_export_ends_when_its_reader_has_left(form: ExportFormat) -> None:
    assert unread("-c", READ.replace("FORM", form)) == (0, "")


def test_a_command_without_a_reader_ends_with_its_usual_exit_code(tmp_path: Path) -> None:
    assert unread("-m", "siltstone", "schema") == (0, "")
    (tmp_path / "wrong.yaml").write_text("table: 1\n")
    assert unread("-m", "siltstone", "validate", "--json", str(tmp_path)) == (2, "")


def test_a_full_standard_output_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "siltstone", "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "Cannot write to standard output: No space left on device.",
        "Hint: free some space, or write to another place",
    ]
