"""PostgreSQL from the system's packages (`apt install postgresql`). It cannot run as root, so another user runs it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.process import PATIENCE, free_port, running

USER, PASSWORD = "siltstone", "PasswordOfTheTests"


@dataclass(frozen=True)
class PostgreSql:
    """A server that can create empty databases."""

    port: int

    def uri(self, database: str) -> str:
        """The JDBC address of a new database."""
        with self.connected() as connection:
            connection.execute(f'CREATE DATABASE "{database}"')  # type: ignore[arg-type]  # the tests choose the name
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"

    def connected(self) -> psycopg.Connection[Any]:
        """A connection to the server's own database."""
        address = f"host=127.0.0.1 port={self.port} dbname=postgres user={USER} password={PASSWORD}"
        return psycopg.connect(address, autocommit=True)

    def wait(self) -> None:
        """Wait until the server accepts connections, which is later than when it listens."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connected().close()
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
            else:
                return


@contextmanager
def postgresql_server() -> Iterator[PostgreSql]:
    """A server with one user, who has a password."""
    programs, port = _programs(), free_port()
    with tempfile.TemporaryDirectory(prefix="siltstone-postgresql-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        _give_away(folder)
        data = str(folder / "data")
        made = [str(programs / "initdb"), "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={folder}/password"]
        subprocess.run(_as_user(made), check=True, capture_output=True, cwd=folder)
        options = ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"]
        settings = [word for option in options for word in ("-c", option)]
        command = [str(programs / "postgres"), "-D", data, "-p", str(port), *settings]
        with running(_as_user(command), port, folder / "log"):
            server = PostgreSql(port)
            server.wait()
            yield server


def _programs() -> Path:
    """The folder of the server's programs. Debian's is not on the path."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        pytest.skip("PostgreSQL's server is not installed (apt install postgresql)")
    return places[-1]


def _as_user(command: Sequence[str]) -> list[str]:
    if os.getuid() != 0:
        return list(command)
    return ["setpriv", f"--reuid={_owner().pw_uid}", f"--regid={_owner().pw_gid}", "--clear-groups", *command]


def _give_away(folder: Path) -> None:
    if os.getuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, _owner().pw_uid, _owner().pw_gid)


def _owner() -> pwd.struct_passwd:
    """The user who runs the server if the tests run as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")
