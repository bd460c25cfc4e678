"""One run at a time: a second one waits, or ends with exit code 75."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from engine.at_work import lock_file, read_note
from engine.errors import LockedError
from engine.spec.model import ProjectSpec


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
        note = read_note(project)
        who = f", process {note.process} on {note.host} since {note.at:%Y-%m-%dT%H:%M:%SZ}" if note else ""
        raise LockedError(
            f"Cannot start: another run is at work on this catalog (lock {path}{who}; waited {wait_seconds:g} s).",
            "run again later, or wait for it with --wait",
        ) from error
    try:
        yield
    finally:
        lock.release()
