"""The folder of a demo: a project with specs, and the events that have arrived."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from siltstone.engine.errors import SpecError, writing

MARK = ".siltstone-demo"
EVENTS = "events"
ANOTHER = "use another folder: siltstone demo --folder DIR"
MADE = (EVENTS, "specs", "more", "siltstone.yaml", "lake", "report")
"""The files and folders that a demo creates. Nothing else is ever removed."""


def make_folder(folder: Path) -> tuple[Path, bool]:
    """Create a project without events in the folder. Gives the folder, and whether an earlier demo was removed.

    Raises: SpecError: the folder contains files that no demo made, or cannot be written.
    """
    root = folder.expanduser().resolve()
    with writing(root, ANOTHER):
        return root, _create(root)


def _create(root: Path) -> bool:
    """Create the folder. Gives whether an earlier demo was removed."""
    replaced = (root / MARK).is_file()
    if not replaced and root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise SpecError(
            f"Cannot create a demo in {root}: it contains files that no demo made.",
            hint=ANOTHER,
        )
    if replaced:
        clear(root)
    with as_file(files("siltstone.engine.demo") / "project") as project:
        shutil.copytree(project, root, dirs_exist_ok=True)
    (root / MARK).write_text(
        "Made by `siltstone demo`. The next demo removes its files here and starts from the beginning.\n",
        encoding="utf-8",
    )
    for name in (EVENTS, "lake"):
        (root / name).mkdir()
    return replaced


def clear(root: Path) -> None:
    """Remove the files of an earlier demo."""
    for path in (root / name for name in MADE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def deliver(root: Path, name: str) -> Path:
    """Copy one of the bundled files into the folder of events."""
    arrived = root / EVENTS / name
    with as_file(files("siltstone.engine.demo") / EVENTS / name) as bundled:
        shutil.copyfile(bundled, arrived)
    return arrived
