"""One run at a time: a second one waits, or ends with exit code 75."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from engine.errors import LockedError
from engine.session import sqlite_file
from engine.spec.model import ProjectSpec


def lock_file(project: ProjectSpec) -> Path:
    """Beside the embedded catalog, so that projects that share it exclude each other; else in the project."""
    database = sqlite_file(project.catalog)
    if database is not None:
        return database.with_name(database.name + ".run.lock")
    return project.root / ".siltstone" / "run.lock"


@contextmanager
def one_run(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lock during the block.

    Raises: LockedError: another run holds it, and still does after `wait_seconds`.
    """
    path = lock_file(project)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        raise LockedError(
            f"Cannot start: another run is at work on this catalog (lock {path}, waited {wait_seconds:g} s).",
            "run again later, or wait for it with --wait",
        ) from error
    try:
        yield
    finally:
        lock.release()
