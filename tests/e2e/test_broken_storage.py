"""If a disk or a catalog fails, commands end with exit code 6 and a hint. The next run gives the correct tables."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest
from pyspark.sql import SparkSession

from tests.e2e.store_projects import FIRST, SECOND, StoreProject, delivered

Capsys = pytest.CaptureFixture[str]
LOCK_SECONDS = 5
_numbers = itertools.count(1)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The folder of the catalog and the tables."""
    folder = tmp_path / "lake"
    (folder / "w").mkdir(parents=True)
    return folder


@pytest.fixture
def small_disk(lake: Path) -> Iterator[Path]:
    """The same folder on a separate disk of two megabytes."""
    with mounted(lake, "-t", "tmpfs", "-o", "size=2m", "tmpfs"):
        (lake / "w").mkdir()
        yield lake


class mounted:  # noqa: N801  a context manager, named as those of contextlib
    """Mounts a disk on a folder. Skips the test if the user may not mount."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.arguments = folder, arguments

    def __enter__(self) -> None:
        if shutil.which("mount") is None or _mount(*self.arguments, str(self.folder)):
            pytest.skip("mounting a disk needs root")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], check=False, stderr=subprocess.DEVNULL).returncode


class Comparison:
    """A project on the storage under test, and one on a working disk with the same events. Both took the first file."""

    def __init__(self, root: Path, lake: Path, capsys: Capsys) -> None:
        self.lake, self.capsys = lake, capsys
        self.healthy = self._project(root / "healthy", root / "healthy_lake")
        self.project = self._project(root / "project", lake)
        for project in (self.healthy, self.project):
            self.deliver(project, "a.jsonl", FIRST)
            project.run(capsys, "catch-up")
            self.deliver(project, "b.jsonl", SECOND)

    def _project(self, root: Path, lake: Path) -> StoreProject:
        (root / "events").mkdir(parents=True)
        (lake / "w").mkdir(parents=True, exist_ok=True)
        text = f"type: jdbc, uri: 'jdbc:sqlite:{lake}/c.db', warehouse: 'file://{lake}/w'"
        return StoreProject.make(root / "project", f"broken_{next(_numbers)}", str(root / "events"), text)

    def deliver(self, project: StoreProject, name: str, lines: tuple[str, ...]) -> None:
        (Path(project.events) / name).write_bytes(delivered(lines))

    def fails(self, *arguments: str) -> str:
        """Run a command that must end with exit code 6. Gives its output."""
        printed = self.project.run(self.capsys, *arguments, ends=6)
        assert "Traceback" not in printed
        assert "Hint: " in printed
        return printed

    def check_recovery(self, spark: SparkSession) -> None:
        """Check that the next run gives the tables of the working disk."""
        for project in (self.healthy, self.project):
            project.run(self.capsys, "catch-up")
        assert self.project.tables(spark) == self.healthy.tables(spark)
        assert "nothing new" in self.project.run(self.capsys, "catch-up")


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [4, 40, 120, 250])
def test_a_run_on_a_full_disk_fails_and_the_next_run_recovers(
    spark: SparkSession, tmp_path: Path, small_disk: Path, capsys: Capsys, kilobytes: int
) -> None:
    """`kilobytes`: the free space when the run starts. With each value, another write fails."""
    comparison = Comparison(tmp_path, small_disk, capsys)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - (kilobytes << 10)))
    assert "no space is left" in comparison.fails("catch-up")
    filler.unlink()
    comparison.check_recovery(spark)


@pytest.mark.slow
def test_only_commands_that_write_fail_on_a_read_only_warehouse(
    spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys
) -> None:
    comparison = Comparison(tmp_path, lake, capsys)
    warehouse = lake / "w"
    with mounted(warehouse, "--bind", str(warehouse)):
        assert _mount("-o", "remount,bind,ro", str(warehouse)) == 0
        for command in (("catch-up",), ("maintain",), ("rebuild",)):
            assert "it cannot be written" in comparison.fails(*command)
        assert "Charlie" in comparison.project.run(capsys, "show", "shop.things")
    comparison.check_recovery(spark)


@pytest.mark.slow
def test_a_run_waits_for_a_catalog_that_another_program_locks(
    spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys
) -> None:
    comparison = Comparison(tmp_path, lake, capsys)
    with closing(sqlite3.connect(lake / "c.db", check_same_thread=False, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        end = Timer(LOCK_SECONDS, lambda: other.execute("COMMIT"))
        end.start()
        comparison.project.run(capsys, "catch-up")
        end.join()
    comparison.check_recovery(spark)


@pytest.mark.slow
def test_commands_refuse_a_catalog_whose_file_is_missing(
    spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys
) -> None:
    comparison = Comparison(tmp_path, lake, capsys)
    file, away = lake / "c.db", lake / "away.db"
    file.rename(away)
    for command in (("catch-up",), ("show", "shop.things"), ("report",), ("runs",), ("rebuild",)):
        printed = comparison.fails(*command)
        assert f"{file} does not exist, but there are tables in {lake}/w" in printed
    found = comparison.project.run(capsys, "doctor", ends=2)
    assert "bring the file back" in found
    assert not file.exists()
    away.rename(file)
    comparison.check_recovery(spark)
