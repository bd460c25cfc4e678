"""The files of a run on this machine while it is active: its lock, and a note about it. Read without a JVM."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.sqlite_catalog import sqlite_file


@dataclass(frozen=True)
class Note:
    """A run that has started. `started_at`: ISO 8601, UTC. `process`: its process id on `host`."""

    run_id: str
    started_at: str
    tables: tuple[str, ...]
    process: int
    host: str

    @property
    def at(self) -> datetime:
        """The time when it started."""
        return datetime.fromisoformat(self.started_at)

    def is_dead(self) -> bool:
        """Whether its process is known to have ended. Only its own machine knows."""
        return is_gone(self.host, self.process)


def is_gone(host: str, process: int) -> bool:
    """Whether a process is known to have ended. Only its own machine knows."""
    if os.name != "posix" or host != platform.node():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # the process exists and belongs to another user
        return False
    return False


def lock_file(project: ProjectSpec) -> Path:
    """The lock file: next to the embedded catalog, so that projects that share it exclude each other, else in the
    project."""
    database = sqlite_file(project.catalog)
    if database is not None:
        return database.with_name(database.name + ".run.lock")
    return project.root / ".siltstone" / "run.lock"


def note_file(project: ProjectSpec) -> Path:
    """The note file: next to the lock file, one for each namespace of a shared catalog."""
    lock = lock_file(project)
    return lock.with_name(f"{lock.stem}.{project.namespace}.json")


def new_note(run_id: str, started_at: datetime, tables: tuple[str, ...]) -> Note:
    """A note for a run in this process."""
    return Note(run_id, started_at.astimezone(UTC).isoformat(), tables, os.getpid(), platform.node())


def write_note(project: ProjectSpec, note: Note) -> None:
    """Write the note of a run that has the lock, atomically."""
    path = note_file(project)
    part = path.with_name(f"{path.name}.new")
    part.write_text(json.dumps(asdict(note)), encoding="utf-8")
    part.replace(path)


def read_note(project: ProjectSpec) -> Note | None:
    """The note of a run that is active or has died; None if there is none."""
    try:
        found = json.loads(note_file(project).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Note(found["run_id"], found["started_at"], tuple(found["tables"]), found["process"], found["host"])


def interrupted_run(project: ProjectSpec) -> Note | None:
    """The run that died, if no later run has recorded it in the ledger yet."""
    note = read_note(project)
    return note if note is not None and note.is_dead() else None
