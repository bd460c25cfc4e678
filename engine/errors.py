"""All errors that siltstone raises. The class says what the operator should do:

    SiltstoneError                  exit  action
    ├── SpecError                      2  edit the spec or the project file
    ├── SourceError                    3  fix the source
    ├── SchemaEvolutionError           4  allow the schema change
    ├── QualityError                   5  look at the failed checks
    │   └── ForeignWriteError          5  look at the rows that another program wrote, then rebuild or roll back
    ├── StorageError                   6  make the catalog or its store reachable, then retry
    ├── CommitConflictError           75  retry
    │   └── LockedError               75  retry when the other run has ended
    ├── CommitStateUnknownError       70  do not retry: find out whether the commit succeeded
    └── InvariantViolation            70  do not retry: report it

Messages have one form: ``Cannot <verb> <object>: <why> (<values>). Hint: ...``. They carry columns and counts, never
row data and never a value that came from the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from siltstone.engine.counts import plural


class SiltstoneError(Exception):
    """The root of the tree: a message, an optional hint, and the exit code of its class."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} Hint: {self.hint}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing wrong in a spec: where (`$.source.format`), what, what to do, and in which file."""

    path: str
    message: str
    hint: str | None = None
    file: Path | None = None
    line: int | None = None
    column: int | None = None

    @property
    def place(self) -> str:
        """`file:line:column: $.path`, as far as it is known."""
        marks = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        return f"{':'.join(marks)}: {self.path}" if marks else self.path

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}"
        return text if self.hint is None else f"{text}. Hint: {self.hint}"


class SpecError(SiltstoneError):
    """The spec or the project file has something wrong or unknown. `violations` has every violation found."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None, violations: Iterable[Violation] = ()) -> None:
        super().__init__(message, hint)
        self.violations: list[Violation] = list(violations)

    @classmethod
    def from_violations(cls, violations: Iterable[Violation]) -> SpecError:
        """One error for all violations, in the order of files, then of lines."""
        found = sorted(violations, key=lambda v: (str(v.file or ""), v.line or 0, v.column or 0))
        return cls(f"Cannot use the spec: {len(found)} {plural('violation', len(found))}.", violations=found)

    def __str__(self) -> str:
        return super().__str__() + "".join(f"\n  {violation}" for violation in self.violations)


def gist(error: BaseException) -> str:
    """The first useful line of an error. Py4J's first line only names the call; the JVM's message comes after it."""
    lines = str(error).strip().splitlines() or [""]
    return next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])


@contextmanager
def writing(place: Path, hint: str) -> Iterator[None]:
    """Around writes to a place that the operator chose: raise OSError as SpecError.

    Raises: SpecError: the place cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise SpecError(f"Cannot write {place}: {error.strerror or error}.", hint) from error


class SourceError(SiltstoneError):
    """The source cannot be read, or does not match the spec."""

    exit_code = 3


class SchemaEvolutionError(SiltstoneError):
    """The events carry a schema change that the spec's evolution policy does not allow."""

    exit_code = 4


class QualityError(SiltstoneError):
    """A check failed, and the spec lets a failed check stop the run."""

    exit_code = 5


class ForeignWriteError(QualityError):
    """Another program changed rows of a table that siltstone writes. A run would hide or overwrite these changes."""


class StorageError(SiltstoneError):
    """The catalog, or the store of the tables, cannot be reached, or refuses an operation."""

    exit_code = 6


class CommitConflictError(SiltstoneError):
    """Another writer committed first. Nothing was changed, so a retry is safe."""

    exit_code = 75


class LockedError(CommitConflictError):
    """Another run holds the lock."""


class CommitStateUnknownError(SiltstoneError):
    """The catalog did not report whether the commit succeeded. Never retried, never cleaned up."""

    exit_code = 70


class InvariantViolation(SiltstoneError):  # noqa: N818 - the name is what happened
    """An invariant does not hold: siltstone has a bug, or another program wrote to a table."""

    exit_code = 70
