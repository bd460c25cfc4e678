"""The folder of a demo: a project with specs, and the events as they arrive."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from siltstone.engine.errors import SpecError, writing

MARK = ".siltstone-demo"
EVENTS = "events"
ANOTHER = "Name another folder: siltstone demo --folder DIR."
MADE = (EVENTS, "specs", "more", "siltstone.yaml", "lake", "report")
"""What a demo leaves in its folder. Nothing else is ever removed."""


def make_folder(folder: Path) -> tuple[Path, bool]:
    """A fresh project in the folder, with no event in it yet. Gives the folder and whether an earlier demo was removed.

    Raises: SpecError: the folder holds something that no demo put there, or cannot be written.
    """
    root = folder.expanduser().resolve()
    with writing(root, ANOTHER):
        return root, _made_afresh(root)


def _made_afresh(root: Path) -> bool:
    """Make the folder. Gives whether an earlier demo was removed."""
    again = (root / MARK).is_file()
    if not again and root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise SpecError(
            f"Cannot make a demo in {root}: something is there that no demo made.",
            hint=ANOTHER,
        )
    if again:
        clear(root)
    with as_file(files("siltstone.engine.demo") / "project") as project:
        shutil.copytree(project, root, dirs_exist_ok=True)
    (root / MARK).write_text("Made by `siltstone demo`, which starts afresh here.\n", encoding="utf-8")
    for name in (EVENTS, "lake"):
        (root / name).mkdir()
    return again


def clear(root: Path) -> None:
    """Remove what an earlier demo made."""
    for path in (root / name for name in MADE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def deliver(root: Path, name: str) -> Path:
    """Let one of the bundled files arrive."""
    arrived = root / EVENTS / name
    with as_file(files("siltstone.engine.demo") / EVENTS / name) as bundled:
        shutil.copyfile(bundled, arrived)
    return arrived
