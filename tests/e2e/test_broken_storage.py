"""Disks and catalogs that fail under a run: one line with a hint, exit code 6; the next run gives what it should."""

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
    """The same on a disk of its own, of two megabytes."""
    with mounted(lake, "-t", "tmpfs", "-o", "size=2m", "tmpfs"):
        (lake / "w").mkdir()
        yield lake


class mounted:  # noqa: N801  a context manager, as contextlib has them
    """Mounts something on a folder. Skips the test where the user may not mount."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.arguments = folder, arguments

    def __enter__(self) -> None:
        if shutil.which("mount") is None or _mount(*self.arguments, str(self.folder)):
            pytest.skip("mounting a disk needs root")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], check=False, stderr=subprocess.DEVNULL).returncode


class Story:
    """A project that took its first events, and one that lives through the same with a sound disk."""

    def __init__(self, root: Path, lake: Path, capsys: Capsys) -> None:
        self.lake, self.capsys = lake, capsys
        self.sound = self._project(root / "sound", root / "sound_lake")
        self.project = self._project(root / "project", lake)
        for project in (self.sound, self.project):
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
        """What a command says that ends with exit code 6."""
        said = self.project.run(self.capsys, *arguments, ends=6)
        assert "Traceback" not in said
        assert "Hint: " in said
        return said

    def ends_well(self, spark: SparkSession) -> None:
        """See that runs go on, to the tables of the sound disk."""
        for project in (self.sound, self.project):
            project.run(self.capsys, "catch-up")
        assert self.project.tables(spark) == self.sound.tables(spark)
        assert "nothing new" in self.project.run(self.capsys, "catch-up")


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [4, 40, 120, 250])
def test_a_disk_that_is_full(
    spark: SparkSession, tmp_path: Path, small_disk: Path, capsys: Capsys, kilobytes: int
) -> None:
    """`kilobytes`: so many are left when the run begins: it fails at another write for each."""
    story = Story(tmp_path, small_disk, capsys)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - (kilobytes << 10)))
    assert "no space is left" in story.fails("catch-up")
    filler.unlink()
    story.ends_well(spark)


@pytest.mark.slow
def test_a_warehouse_that_is_read_only(spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys) -> None:
    story = Story(tmp_path, lake, capsys)
    warehouse = lake / "w"
    with mounted(warehouse, "--bind", str(warehouse)):
        assert _mount("-o", "remount,bind,ro", str(warehouse)) == 0
        for command in (("catch-up",), ("maintain",), ("rebuild",)):
            assert "it cannot be written" in story.fails(*command)
        assert "Charlie" in story.project.run(capsys, "show", "shop.things")
    story.ends_well(spark)


@pytest.mark.slow
def test_a_catalog_that_another_program_locks_is_waited_for(
    spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys
) -> None:
    story = Story(tmp_path, lake, capsys)
    with closing(sqlite3.connect(lake / "c.db", check_same_thread=False, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        end = Timer(LOCK_SECONDS, lambda: other.execute("COMMIT"))
        end.start()
        story.project.run(capsys, "catch-up")
        end.join()
    story.ends_well(spark)


def test_a_catalog_whose_file_is_gone_is_refused(
    spark: SparkSession, tmp_path: Path, lake: Path, capsys: Capsys
) -> None:
    story = Story(tmp_path, lake, capsys)
    file, away = lake / "c.db", lake / "away.db"
    file.rename(away)
    for command in (("catch-up",), ("show", "shop.things"), ("report",), ("runs",), ("rebuild",)):
        said = story.fails(*command)
        assert f"{file} does not exist, but there are tables in {lake}/w" in said
    found = story.project.run(capsys, "doctor", ends=2)
    assert "bring the file back" in found
    assert not file.exists()
    away.rename(file)
    story.ends_well(spark)
