"""Allow one run at a time: a second run waits, or ends with exit code 75.

A file lock excludes other runs of this machine. A lease in a shared catalog excludes runs of other machines.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from siltstone.engine.errors import LockedError
from siltstone.engine.run.lease import leased, refuse_leased
from siltstone.engine.run_lock import lock_file, read_note
from siltstone.engine.spec.model import ProjectSpec


@contextmanager
def one_run(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lock during the block, and the lease of a shared catalog.

    Raises: LockedError: another run still holds one of them after `wait_seconds`.
    """
    end = time.monotonic() + wait_seconds
    with locked_here(project, wait_seconds), leased(project, max(0.0, end - time.monotonic())):
        yield


@contextmanager
def no_run(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lock during the block, and check that no other machine has the lease. For commands that write nothing.

    Raises: LockedError: another run still holds one of them after `wait_seconds`.
    """
    end = time.monotonic() + wait_seconds
    with locked_here(project, wait_seconds):
        refuse_leased(project, max(0.0, end - time.monotonic()))
        yield


@contextmanager
def locked_here(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lock of this machine during the block.

    Raises: LockedError: another run still holds it after `wait_seconds`.
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
            "retry later, or wait for it with --wait",
        ) from error
    try:
        yield
    finally:
        lock.release()
