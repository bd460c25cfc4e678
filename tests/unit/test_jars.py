"""Jars are fetched completely, with the pinned checksum, from the configured place, or not at all."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from siltstone.engine.errors import SpecError
from siltstone.engine.jars import SQLITE_JDBC, Jar, jar_paths

CONTENT = b"a jar" * 1000
JAR = Jar("org.example", "thing", "1.0", hashlib.sha256(CONTENT).hexdigest())


@dataclass
class Maven:
    """A repository on this machine: its answers in order (the last one repeats), and the requested paths."""

    url: str
    answers: list[tuple[int, bytes, int]] = field(default_factory=lambda: [(200, CONTENT, len(CONTENT))])
    requested: list[str] = field(default_factory=list)


@pytest.fixture
def maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Maven]:
    """SILTSTONE_MAVEN_URL is a repository of this test, SILTSTONE_CACHE at an empty folder."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            repository.requested.append(self.path)
            status, body, length = repository.answers[0]
            del repository.answers[: len(repository.answers) > 1]
            self.send_response(status)
            self.send_header("content-length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    repository = Maven(f"http://127.0.0.1:{server.server_address[1]}/maven2")
    monkeypatch.setenv("SILTSTONE_MAVEN_URL", repository.url + "/")
    monkeypatch.setenv("SILTSTONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SILTSTONE_JARS_DIR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield repository
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def messages() -> list[str]:
    return []


def cached(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "jars").iterdir())


def test_a_jar_is_fetched_once_and_then_taken_from_the_cache(maven: Maven, tmp_path: Path, messages: list[str]) -> None:
    [first] = jar_paths([JAR], messages.append)
    [second] = jar_paths([JAR], messages.append)
    assert first == second
    assert first.read_bytes() == CONTENT
    assert maven.requested == ["/maven2/org/example/thing/1.0/thing-1.0.jar"]
    assert messages == ["Fetching thing-1.0.jar (0 MB), only once"]
    assert cached(tmp_path) == ["thing-1.0.jar"]


def test_a_wrong_checksum_is_an_error_and_leaves_nothing(maven: Maven, tmp_path: Path, messages: list[str]) -> None:
    maven.answers = [(200, b"another jar", 11)]
    with pytest.raises(SpecError, match="not the pinned file") as raised:
        jar_paths([JAR], messages.append)
    assert JAR.sha256 in raised.value.message
    assert cached(tmp_path) == []


def test_a_damaged_file_in_the_cache_is_replaced(maven: Maven, messages: list[str]) -> None:
    [path] = jar_paths([JAR], messages.append)
    path.write_bytes(b"half")
    assert jar_paths([JAR], messages.append) == [path]
    assert path.read_bytes() == CONTENT
    assert "damaged" in messages[1]


def test_a_request_to_a_busy_repository_is_retried(maven: Maven, messages: list[str]) -> None:
    maven.answers = [(503, b"", 0), (200, CONTENT, len(CONTENT))]
    [path] = jar_paths([JAR], messages.append)
    assert path.read_bytes() == CONTENT


def test_an_interrupted_download_starts_over(maven: Maven, messages: list[str]) -> None:
    maven.answers = [(200, CONTENT[:100], len(CONTENT)), (200, CONTENT, len(CONTENT))]
    [path] = jar_paths([JAR], messages.append)
    assert path.read_bytes() == CONTENT
    assert "Fetching thing-1.0.jar broke off, starting over" in messages


def test_the_error_of_a_missing_jar_names_the_solutions(maven: Maven, tmp_path: Path, messages: list[str]) -> None:
    maven.answers = [(404, b"", 0)]
    with pytest.raises(SpecError, match="404") as raised:
        jar_paths([JAR], messages.append)
    assert "SILTSTONE_JARS_DIR" in (raised.value.hint or "")
    assert cached(tmp_path) == []


def test_an_offline_folder_is_used_without_the_network(
    maven: Maven, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SILTSTONE_JARS_DIR", str(tmp_path))
    (tmp_path / JAR.file).write_bytes(CONTENT)
    assert jar_paths([JAR]) == [tmp_path / JAR.file]
    assert maven.requested == []


def test_an_offline_folder_is_checked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SILTSTONE_JARS_DIR", str(tmp_path))
    with pytest.raises(SpecError, match=r"Cannot find thing-1.0.jar in SILTSTONE_JARS_DIR"):
        jar_paths([JAR])
    with pytest.raises(SpecError, match=rf"Cannot find thing-1.0.jar, {SQLITE_JDBC.file} in SILTSTONE_JARS_DIR"):
        jar_paths([JAR, SQLITE_JDBC])
    (tmp_path / JAR.file).write_bytes(b"something else")
    with pytest.raises(SpecError, match="SHA-256 is not the pinned one"):
        jar_paths([JAR])
    assert (tmp_path / JAR.file).exists(), "what the operator put there is the operator's"


def test_a_jar_has_the_path_that_maven_gives_it() -> None:
    assert SQLITE_JDBC.path == "org/xerial/sqlite-jdbc/3.54.1.0/sqlite-jdbc-3.54.1.0.jar"
