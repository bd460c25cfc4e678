"""Run one command of siltstone, and kill it and its JVM at a commit with SIGKILL, as if the machine failed.

    python -m tests.crash.victim before|after NUMBER LOG catch-up --project siltstone.yaml

NUMBER is the number of the commit, from 1. With 0, the command is not killed. Each commit adds a line to LOG. Commits
are counted where they reach the JVM, so that none is missed: every call and every statement that changes a table or the
catalog.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Final

from py4j.java_gateway import GatewayClient

COMMIT_CALLS: Final = frozenset({"commit", "append", "overwrite", "execute", "createNamespace"})
STATEMENT: Final = re.compile(r"\s*(MERGE|CREATE|ALTER|DROP|DELETE|UPDATE|INSERT|CALL)\b[^\n]{0,120}", re.IGNORECASE)


class Victim:
    """Counts commits, and kills the process at one of them."""

    def __init__(self, moment: str, number: int, log: Path) -> None:
        self.moment = moment
        self.number = number
        self.log = log
        self.seen = 0
        self.lock = Lock()

    def commit(self, what: str, do: Callable[[], Any]) -> Any:
        """Do a commit, and kill the process before or after it if it is the chosen one."""
        with self.lock:
            self.seen += 1
            mine = self.seen
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"{what}\n")
        if mine == self.number and self.moment == "before":
            kill_process()
        result = do()
        if mine == self.number:
            kill_process()
        return result

    def watch(self) -> None:
        """Count the commits in the commands that are sent to the JVM."""
        send = GatewayClient.send_command

        def watched(this: Any, command: str, *more: Any, **named: Any) -> Any:
            what = commit_of(command)
            if what is None:
                return send(this, command, *more, **named)
            return self.commit(what, lambda: send(this, command, *more, **named))

        GatewayClient.send_command = watched


def commit_of(command: str) -> str | None:
    """What a Py4J command commits; None: nothing. A call has the parts c, the object, the method, the arguments."""
    parts = command.split("\n", 4)
    if parts[0] != "c" or len(parts) < 4:
        return None
    if parts[2] == "sql":
        found = STATEMENT.match(parts[3].removeprefix("s"))
        return None if found is None else found[0].strip()
    return parts[2] if parts[2] in COMMIT_CALLS else None


def kill_process() -> None:
    """Kill the process group: Python, the JVM and what they started."""
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Command line: see the module's docstring."""
    moment, number, log, *arguments = sys.argv[1:]
    victim = Victim(moment, int(number), Path(log))
    victim.watch()
    from siltstone.engine.cli import main as siltstone

    siltstone(arguments)


if __name__ == "__main__":
    main()
