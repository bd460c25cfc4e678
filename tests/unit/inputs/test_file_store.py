"""Files of object stores: their paths are names, not URIs. The store is PyArrow's own, in memory."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import fastavro
import pytest

from siltstone.engine.decode import avro_files
from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.file_store import ObjectStore, read_pieces, refused, store_of
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.report_pages import KEEP_DAYS
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.report.facts import Facts
from siltstone.quality.report.publish_pages import copy_pages
from siltstone.quality.report.write_report import write_page

NAMES = ["a b.json", "ü.json", "50%20.json", "x#1.json", "y?.json", "z=1.json"]


def written(folder: str, names: list[str]) -> None:
    system: Any = store_of(f"mock:///{folder}")._system  # type: ignore[attr-defined]
    system.create_dir(folder)
    for name in names:
        with system.open_output_stream(f"{folder}/{name}") as out:
            out.write(name.encode())


def test_files_of_a_store_can_have_any_name() -> None:
    written("any", NAMES)
    files = list_files("mock:///any", None)
    assert [file.path for file in files] == sorted(f"mock:///any/{name}" for name in NAMES)
    for file in files:
        name = file.path.rpartition("/")[2].encode()
        assert read_pieces(file.path, [(0, len(name)), (1, 2), (0, 0)]) == [name, name[1:3], b""]


def test_one_store_serves_all_paths_of_its_root() -> None:
    assert store_of("mock:///a/b.json") is store_of("mock:///c/d.json")


@pytest.mark.parametrize("root", ["gs://bucket", "abfss://container@account.dfs.core.windows.net"])
def test_paths_below_a_root_stay_unchanged(root: str) -> None:
    store = ObjectStore(root)
    prefix = root.partition("://")[2].partition("@")[0]
    assert store._inside(f"{root}/folder/a b#.json") == f"{prefix}/folder/a b#.json"
    assert store._inside(root) == prefix


def test_a_file_that_ends_before_a_piece_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"0123456789")
    with pytest.raises(SourceError, match=r"it became shorter while it was read \(10 bytes are left\)"):
        read_pieces(f"file:{file}", [(0, 2), (8, 4)])


def test_a_system_error_is_not_reported_as_a_damaged_avro_file() -> None:
    made = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}
    fastavro.writer(made, schema, [{"id": 1}])

    class Refused(io.BytesIO):
        refuses = False

        def read(self, size: int | None = -1, /) -> bytes:
            if self.refuses and size is not None and size < avro_files.MARKER_BYTES:
                raise PermissionError(13, os.strerror(13))
            return super().read(size)

    file = Refused(made.getvalue())
    header = avro_files.read_header(file)
    file.refuses = True
    with pytest.raises(PermissionError):
        list(avro_files.read_records(file, header))


def write_half(out: BinaryIO) -> None:
    out.write(b"half")
    raise OSError("full")


@pytest.mark.parametrize("place", ["file:{0}/a/b.html", "{0}/a/b.html", "mock:///written/b.html"])
def test_a_file_is_written_completely_or_not_at_all(tmp_path: Path, place: str) -> None:
    path = place.format(tmp_path)
    store = store_of(path)
    if isinstance(store, ObjectStore):
        written("written", [])
    with pytest.raises(OSError, match="full"), store.writer(path) as out:
        write_half(out)
    assert store.entry(path) is None
    with store.writer(path) as out:
        out.write(b"whole")
    assert read_pieces(path, [(0, 5)]) == [b"whole"]
    store.remove(path)
    assert store.entry(path) is None


def test_unchanged_pages_of_the_report_are_not_copied_twice(tmp_path: Path, project_with_docs: ProjectSpec) -> None:
    project = project_with_docs
    pages = {"index.html": "report", "data-docs/index.html": "checks", "data-docs/runs/1.html": "run"}
    for name, text in pages.items():
        (project.root / "report" / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / "report" / name).write_text(text)
    to = tmp_path / "copy"
    assert copy_pages(project, str(to)) == f"{to}/index.html"
    assert {name: (to / name).read_text() for name in pages} == pages
    (to / "data-docs" / "index.html").write_text("edited")  # the same length, but newer
    (project.root / "report" / "index.html").write_text("another report")
    copy_pages(project, str(to))
    assert (to / "data-docs" / "index.html").read_text() == "edited"
    assert (to / "index.html").read_text() == "another report"


def test_one_page_a_day_is_kept_also_if_only_the_copy_has_the_earlier_ones(
    tmp_path: Path, project: ProjectSpec
) -> None:
    copied, first = replace(project, report=str(tmp_path / "copy")), datetime(2026, 3, 1, 3, tzinfo=UTC)
    for day in range(KEEP_DAYS + 2):
        for hour in (0, 1):
            at = first + timedelta(days=day, hours=hour)
            write_page(copied, Facts("shop", "silt", at))
            copy_pages(copied, str(tmp_path / "copy"))
        shutil.rmtree(project.root / "report")  # a job in a container starts without it
    days = [f"{first + timedelta(days=day):%Y-%m-%d}.html" for day in range(2, KEEP_DAYS + 2)]
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [*days, "index.html"]
    newest = (tmp_path / "copy" / "index.html").read_text()
    assert (tmp_path / "copy" / days[-1]).read_text() == newest
    assert re.findall(r"href=\"([-0-9a-z]+\.html)\"", newest) == ["index.html", *reversed(days)]
    assert days[-1] not in (tmp_path / "copy" / days[-2]).read_text()


def test_an_unreadable_file_is_named_with_the_error_of_the_system() -> None:
    error = refused("read", "file:/in/a.jsonl", PermissionError(errno.EACCES, "Permission denied"))
    assert isinstance(error, SourceError)
    assert error.message == "Cannot read file:/in/a.jsonl: Permission denied."
    assert error.hint == "check the path and the permissions"
