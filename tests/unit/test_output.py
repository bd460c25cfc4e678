"""What the command line prints: counts, paths and tables at every width."""

from io import StringIO
from pathlib import Path

import pytest

from siltstone.engine.cli import output
from siltstone.engine.cli.output import cut_middle, grid, print_grid, shown_path, with_changed
from siltstone.engine.counts import counted

NAMES = ("table", "status")
LONG = ("inventory.customer_addresses_of_the_archive_history", "ok")


@pytest.mark.parametrize(
    ("value", "noun", "expected"),
    [(1, "record", "1 record"), (0, "record", "0 records"), (2000, "row", "2,000 rows"), (2, "batch", "2 batches"),
     (2, "entry", "2 entries"), (1, "entry", "1 entry"), (2, "key", "2 keys")],
)  # fmt: skip
def test_a_count_agrees_with_its_noun(value: int, noun: str, expected: str) -> None:
    assert counted(value, noun) == expected


def test_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(str(tmp_path / "specs" / "a.yaml")) == "specs/a.yaml"
    assert shown_path("/elsewhere/a.yaml") == "/elsewhere/a.yaml"
    assert shown_path("s3://bucket/a") == "s3://bucket/a"
    assert shown_path(f"{tmp_path}er/a.yaml") == f"{tmp_path}er/a.yaml"


def test_a_long_word_keeps_its_beginning_and_its_end() -> None:
    assert cut_middle("inventory.customers", 11) == "inven…omers"
    assert cut_middle("inventory", 9) == "inventory"


def test_a_table_in_a_pipe_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_grid(("table", "message"), [(LONG[0], "word " * 100)])
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "word" in line]
    assert LONG[0] in row
    assert row.count("word") == 100


@pytest.mark.parametrize("width", [30, 40, 80, 120])
def test_a_name_is_cut_in_its_middle_and_never_folded(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    narrow = Console(width=width, record=True, file=StringIO())
    monkeypatch.setattr(output, "console", lambda **_: narrow)
    narrow.print(grid(NAMES, [LONG]))
    (row,) = [line for line in narrow.export_text().splitlines() if "ok" in line]
    name = row.split()[0]
    assert name == LONG[0] if width >= 80 else (name.startswith("inven") and "…" in name and name.endswith("story"))


def test_versions_name_the_columns_in_which_they_differ_from_the_one_before() -> None:
    rows = [
        {"_op": "insert", "id": 1, "a": 1, "b": None},
        {"_op": "insert", "id": 2, "a": 5, "b": 5},
        {"_op": "update", "id": 1, "a": 2, "b": 3},
        {"_op": "update", "id": 1, "a": 2, "b": 3},
    ]
    marked = with_changed(rows, ("id",), ("a", "b"), "_op")
    assert [row["_changed"] for row in marked] == [None, None, "a, b", ""]
    assert list(marked[0]) == ["_op", "_changed", "id", "a", "b"]
