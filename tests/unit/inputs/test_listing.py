"""Files as they are listed, and pieces of them."""

import random
from pathlib import Path

import pytest

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.file_store import read_bytes
from siltstone.engine.inputs.listing import list_files, listed

SIZE = 100_000
CONTENT = random.Random(1).randbytes(SIZE)
NAMES = ["2026-11-23T08:00:00Z.jsonl", "a.jsonl", "b:1/x:y.jsonl", "b:1/z.txt", "c/.h:i.jsonl", "d/e:f.jsonl"]
PATTERNS = {
    "": [0, 1, 2, 3, 5], "*.jsonl": [0, 1], "a.js*": [1], "{a,b:1/*}.jsonl": [1, 2], "2026-*T08:*": [0],
    r"\d/e:f.jsonl": [5], "*/[wx]:?.jsonl": [2], "[^2b]*": [1, 5], "{b:1,d}": [2, 3, 5], "a.jsonl": [1],
}  # fmt: skip


@pytest.mark.parametrize("name", ["plain.jsonl", "with a blank, 100%25 ü.jsonl"])
@pytest.mark.parametrize(("start", "length"), [(0, SIZE), (7, 65_536), (SIZE - 3, 3), (5, 0)])
def test_a_piece_of_a_file_is_read_under_every_spelling_of_its_path(
    tmp_path: Path, name: str, start: int, length: int
) -> None:
    file = tmp_path / name
    file.write_bytes(CONTENT)
    for path in (str(file), f"file:{file}", f"file://{file}"):
        assert read_bytes(path, start, length) == CONTENT[start : start + length]


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS.items())
def test_patterns_list_visible_files_in_the_order_of_their_names(
    tmp_path: Path, pattern: str, expected: list[int]
) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    files = list_files(f"{tmp_path}/{pattern}")
    assert [file.path for file in files] == [f"file:{tmp_path}/{NAMES[n]}" for n in expected]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("*.csv", "matches no file"), ("none.jsonl", "does not exist"), ("{a,b", "a brace is not closed")],
)
def test_a_path_without_files_is_an_error(tmp_path: Path, pattern: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        list_files(f"{tmp_path}/{pattern}")


def test_files_that_changed_later_wait(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n", encoding="utf-8")
    (file,) = list_files(str(tmp_path))
    assert list_files(str(tmp_path), file.mtime) == [file]
    assert list_files(str(tmp_path), file.mtime - 1) == []


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_bytes(CONTENT)
    with pytest.raises(SourceError, match=f"became shorter while it was read.*{SIZE} bytes"):
        read_bytes(str(file), SIZE - 3, 10)


def test_a_deleted_file_is_not_listed(tmp_path: Path) -> None:
    assert listed(str(tmp_path / "none.jsonl")) is None
