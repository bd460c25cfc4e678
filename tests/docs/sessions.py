"""Sessions of the documentation: blocks of a page in the language `console`, run in order as one shell.

A line that begins with `$ ` is a command; one that ends with a backslash goes on in the next line. The lines after it
are what it prints. `...` alone in a line is any number of lines, `...` inside of a line is any text. Spaces at the end
of lines and empty lines around an output do not count.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.markdown import ROOT, blocks

LANGUAGE: Final = "console"
PROMPT: Final = "$ "
ANY: Final = "..."
_OF_SPARK: Final = re.compile(
    r"\bsiltstone (catch-up|check|plan|explain|verify|rebuild|maintain|drop|demo|rejects replay)\b(?!.* --help)"
)
_CLONE: Final = "CLONE"
"""The variable of the pages for the folder of a clone."""


class SessionError(Exception):
    """A session that is not what the page shows."""


@dataclass(frozen=True)
class Step:
    """One command, what the page shows of its output, and the line where the page has it."""

    command: str
    expected: tuple[str, ...]
    line: int

    @property
    def shows_output(self) -> bool:
        """Whether the page shows a line of the output as it is."""
        return any(line.strip() not in ("", ANY) for line in self.expected)

    @property
    def starts_spark(self) -> bool:
        """Whether the command starts Spark."""
        return _OF_SPARK.search(self.command) is not None


def steps_of(text: str) -> list[Step]:
    """The commands of a page, in order."""
    return [step for block in blocks(text) if block.language == LANGUAGE for step in _steps(block.text, block.line)]


def _steps(text: str, fence: int) -> Iterator[Step]:
    lines = iter(enumerate(text.splitlines(), fence + 1))
    command, start, expected = None, 0, []
    for number, line in lines:
        if line.startswith(PROMPT):
            if command is not None:
                yield Step(command, trimmed(expected), start)
            command, start, expected = line.removeprefix(PROMPT), number, []
            while command.endswith("\\"):
                command += f"\n{next(lines, (0, ''))[1]}"
        elif command is None:
            raise SessionError(f"line {number}: a session begins with a command, not with {line!r}")
        else:
            expected.append(line)
    if command is not None:
        yield Step(command, trimmed(expected), start)


def trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without spaces at their ends, and without empty ones around them."""
    return tuple("\n".join(line.rstrip() for line in lines).strip("\n").splitlines())


def first_difference(expected: Sequence[str], printed: Sequence[str]) -> str | None:
    """The first line of an output that is not what the page shows; None where all are."""
    reached = {0}  # how many lines may have been printed so far
    for line in expected:
        furthest = max(reached)
        if line.strip() == ANY:
            reached = set(range(min(reached), len(printed) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(printed) and is_like(line, printed[at])}
        if not reached:
            found = repr(printed[furthest]) if furthest < len(printed) else "the end of the output"
            return f"the page shows {line!r}, the program printed {found}"
    if len(printed) in reached:
        return None
    return f"the page does not show {printed[max(reached)]!r}"


def is_like(expected: str, printed: str) -> bool:
    """Whether a line is what the page shows, with any text for `...`."""
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split(ANY)), printed) is not None


def environment() -> dict[str, str]:
    """The variables of a session: the program of this environment comes first, and nothing shows colours."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    inherited = {name: value for name, value in os.environ.items() if name not in ("SILTSTONE_DEBUG", "COLUMNS")}
    return {**inherited, "PATH": programs, _CLONE: str(ROOT), "TZ": "UTC", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def run_session(
    steps: Sequence[Step], folder: Path, variables: Mapping[str, str] | None = None, seconds: float = 800
) -> None:
    """Run a session in a folder, in one shell.

    Raises: SessionError: an output is not the one of the page, or a command failed and the page does not show it.
    """
    outputs = _outputs([step.command for step in steps], folder, variables or environment(), seconds)
    for number, step in enumerate(steps):
        if number >= len(outputs):
            raise SessionError(f"line {step.line}: $ {step.command}\nwas not run: the shell had ended")
        text, code = outputs[number]
        printed = trimmed(text.splitlines())
        problem = first_difference(step.expected, printed)
        if problem is None and code and not step.shows_output:
            problem = f"it failed with exit code {code}, and the page shows no error"
        if problem:
            shown = "\n".join(printed)
            raise SessionError(f"line {step.line}: $ {step.command}\n{problem}\nAll it printed:\n{shown}")


def _outputs(
    commands: Sequence[str], folder: Path, variables: Mapping[str, str], seconds: float
) -> list[tuple[str, int]]:
    """What each command printed, and its exit code. One shell runs all, so that `cd` and `export` last."""
    mark = f"--{uuid.uuid4().hex}--"
    script = "".join(f"eval {shlex.quote(command)}\nprintf '\\n%s%d\\n' {mark} $?\n" for command in commands)
    try:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script],
            stdin=subprocess.DEVNULL,  # a command that wants an answer gets none
            cwd=folder,
            env=dict(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            encoding="utf-8",
        )
    except subprocess.TimeoutExpired as error:
        raise SessionError(f"the session took longer than {seconds:g} seconds") from error
    parts = re.split(rf"\n{mark}(\d+)\n", done.stdout)
    return [(parts[at], int(parts[at + 1])) for at in range(0, len(parts) - 1, 2)]
