"""The demo, in the session of the test run: what it prints is what the tables hold."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine import demo
from engine.demo.folder import MARK, make_folder
from engine.errors import SpecError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "siltstone-demo"


def test_the_demo_tells_its_story_from_the_tables(
    spark: SparkSession, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = demo.run(root)
    told = capsys.readouterr().out
    assert code == 0, told
    first, second, third, moment, checks, where = parts(told)

    assert line(first, "inventory.customers") != []
    assert "Ünal" not in first
    held_up, redelivered = "2026-11-21 08:41:46.552013", "redelivered"
    assert held_up not in second
    assert held_up in third
    assert redelivered in third
    assert "08:41:47" in moment
    assert "versions_tile_time" in checks
    assert "failed" not in checks
    pages = root / "report" / "data-docs" / "index.html"
    assert str(pages) in where
    assert pages.is_file()
    customers = spark.table("demo.inventory.customers_history")
    assert customers.where("id = 3080 AND _is_current").count() == 1


def test_a_second_demo_starts_afresh_and_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    root, again = make_folder(tmp_path / "here")
    assert not again
    (root / "events" / "old.jsonl.gz").write_bytes(b"")
    (root / "mine.txt").write_text("kept", encoding="utf-8")
    root, again = make_folder(tmp_path / "here")
    assert again
    assert list((root / "events").iterdir()) == []
    assert (root / "mine.txt").read_text(encoding="utf-8") == "kept"


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    with pytest.raises(SpecError, match="no demo made"):
        make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    assert not (tmp_path / MARK).exists()


def parts(told: str) -> list[str]:
    """The story cut at its heads."""
    return re.split(r"\n[^\n]* ─{8,}\n", told)[1:]


def line(text: str, start: str) -> list[str]:
    return [one for one in text.splitlines() if one.strip().startswith(start)]
