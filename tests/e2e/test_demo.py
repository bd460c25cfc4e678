"""The demo, in the session of the test run: it prints the contents of the tables."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import demo
from siltstone.engine.demo.folder import MARK, make_folder
from siltstone.engine.errors import SpecError


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "siltstone-demo"


@pytest.mark.timeout(900)  # three folds with their checks
@pytest.mark.slow
def test_the_demo_prints_the_contents_of_the_tables(
    spark: SparkSession, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = demo.run(root)
    printed = capsys.readouterr().out
    assert code == 0, printed
    first, second, third, moment, checks, where = sections(printed)

    assert re.search(r"inventory.customers +ok +1 ", first)
    assert re.search(r"inventory.customers +chain_break +error +failed", second)
    held_up = "2026-11-21T08:41:46.552013Z"
    assert held_up not in second
    assert held_up in third
    assert "customers existed at this time" in moment
    assert re.search(r"inventory.customers +chain_break +error +passed", checks)
    assert not re.search(r"error +failed", checks)
    page = root / "report" / "index.html"
    assert str(page) in where
    assert page.is_file()
    assert spark.table("demo.inventory.customers_history").where("id = 3080 AND _is_current").count() == 1


def test_a_second_demo_removes_only_the_files_of_the_first(tmp_path: Path) -> None:
    root, replaced = make_folder(tmp_path / "here")
    assert not replaced
    (root / "events" / "old.jsonl.gz").write_bytes(b"")
    (root / "mine.txt").write_text("kept", encoding="utf-8")
    root, replaced = make_folder(tmp_path / "here")
    assert replaced
    assert list((root / "events").iterdir()) == []
    assert (root / "mine.txt").read_text(encoding="utf-8") == "kept"


def test_a_demo_refuses_a_folder_that_no_demo_made_and_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    with pytest.raises(SpecError, match="no demo made"):
        make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    assert not (tmp_path / MARK).exists()


def sections(printed: str) -> list[str]:
    """The sections of the output, split at their titles."""
    return re.split(r"\n\S[^\n]* ─{8,}\n", printed)[1:]
