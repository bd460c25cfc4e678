"""The lake of a release, as a file: later versions have to read it and continue it.

    python -m tests.e2e.released_lake

writes `tests/data/lake-VERSION.tar.gz`: two tables after two batches, with late changes, superseded READs, rejects and
an open gap.
Run it with the code of the release. Iceberg's metadata has absolute paths, so the lake always has the same folder.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Final

from siltstone import __version__
from tests.crash.disk_project import GAP_IS_OPEN, DiskProject
from tests.crash.shop import first_events, second_events, write_specs
from tests.results import ROOT

PLACE: Final = Path("/tmp/siltstone-released")  # the paths in the metadata are absolute
DATA: Final = ROOT / "tests" / "data"


def packed(version: str) -> Path:
    """The file that has the lake of a version."""
    return DATA / f"lake-{version}.tar.gz"


def name_of(version: str) -> str:
    """The name of the folder and of the catalog."""
    return f"released_{version.replace('.', '_')}"


def project_with_two_batches(root: Path) -> DiskProject:
    """A new project that has taken two batches."""
    project = DiskProject(root)
    project.write()
    write_specs(project)
    for name, events in (("a.jsonl", first_events()), ("b.jsonl", second_events())):
        (project.events / name).write_text("".join(events), encoding="utf-8")
        assert project.run_command("catch-up") == GAP_IS_OPEN
    return project


def unpacked(version: str) -> DiskProject:
    """The project of a release, where it was written."""
    root = PLACE / name_of(version)
    shutil.rmtree(root, ignore_errors=True)
    with tarfile.open(packed(version)) as archive:
        archive.extractall(PLACE, filter="data")
    return DiskProject(root)


def main() -> None:
    """Write the lake of this version."""
    root = PLACE / name_of(__version__)
    shutil.rmtree(root, ignore_errors=True)
    project_with_two_batches(root)
    shutil.rmtree(root / "report", ignore_errors=True)  # pages and pictures: they can be written from the tables
    with tarfile.open(packed(__version__), "w:gz") as archive:
        archive.add(root, name_of(__version__))


if __name__ == "__main__":
    main()
