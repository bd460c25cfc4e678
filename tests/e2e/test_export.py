"""`siltstone export` writes every row and every column."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from siltstone.engine.cli import main

Export = Callable[..., str]


@pytest.fixture
def export(shop_project: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Export:
    """A function that runs `siltstone export` in this process and gives its standard output."""

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["export", *arguments, "--project", str(shop_project)])
        assert not ended.value.code
        return capfdbinary.readouterr().out.decode()

    return run


def test_export_writes_latest_as_json_lines(export: Export) -> None:
    rows = [json.loads(line) for line in export("people").splitlines()]
    assert sorted((row["region"], row["id"], row["balance"], row["_batch"]) for row in rows) == [
        ("eu", 1, "99.99", 2),
        ("us", 1, None, 1),
    ]


def test_export_writes_every_version_of_history(export: Export) -> None:
    rows = [json.loads(line) for line in export("people", "--history").splitlines()]
    assert sorted((row["_op"], row["_valid_to"] or "") for row in rows) == [
        ("delete", ""),
        ("insert", ""),
        ("insert", "2024-02-01T12:00:00.250000Z"),
        ("insert", "2024-02-01T12:00:00.250000Z"),
        ("update", ""),
    ]


def test_csv_has_a_header_and_every_row(export: Export) -> None:
    lines = list(csv.reader(io.StringIO(export("people", "--format", "csv"))))
    assert lines[0] == ["id", "region", "balance", "photo", "seen", "a.b c", "tags", "_batch"]
    assert sorted(line[1] for line in lines[1:]) == ["eu", "us"]


def test_the_suffix_of_the_file_sets_the_format(export: Export, tmp_path: Path) -> None:
    goal = tmp_path / "out" / "people.parquet"
    assert export("people", "-o", str(goal)) == ""
    assert sorted(pq.read_table(goal)["region"].to_pylist()) == ["eu", "us"]
    assert [path.name for path in goal.parent.iterdir()] == [goal.name]


def test_a_failed_export_keeps_the_old_file(shop_project: Path, tmp_path: Path) -> None:
    goal = tmp_path / "people.jsonl"
    goal.write_text("old")
    with pytest.raises(SystemExit) as ended:
        main(["export", "nobody", "-o", str(goal), "--project", str(shop_project)])
    assert ended.value.code == 2
    assert goal.read_text() == "old"
