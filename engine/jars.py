"""The jars that Spark needs in addition to its own: pinned, fetched once into a cache, and checked by SHA-256."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from siltstone.engine.atomic_file import whole_file
from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    import requests

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
CHUNK_BYTES = 1 << 20
STREAM_ATTEMPTS = 3
OFFLINE_HINT = (
    "Without access to Maven Central set SILTSTONE_MAVEN_URL to a mirror, "
    "or SILTSTONE_JARS_DIR to a folder that has the jars (`siltstone jars` fetches and lists them where there "
    "is access)."
)


@dataclass(frozen=True)
class Jar:
    """One pinned artifact of a Maven repository."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file}"


SQLITE_JDBC = Jar(
    "org.xerial", "sqlite-jdbc", "3.54.1.0", "f8dce420a6016278497f4f0560f65602b9db858de141b541cf91a4644ebe4639"
)
POSTGRESQL_JDBC = Jar(
    "org.postgresql", "postgresql", "42.7.8", "2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7"
)
MYSQL_JDBC = Jar(
    "com.mysql", "mysql-connector-j", "9.5.0", "f2ca3dfaf00d4aa311470db7ea3051962944ba0cb60005a2f75467549c39f425"
)
ICEBERG_AWS = Jar(
    "org.apache.iceberg",
    "iceberg-aws-bundle",
    "1.12.0",
    "dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
)

Progress = Callable[[str], None]


def print_progress(message: str) -> None:
    """Print progress to standard error."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def cache_folder() -> Path:
    """The folder for fetched files: SILTSTONE_CACHE, or the user's cache folder."""
    chosen = os.environ.get("SILTSTONE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("siltstone", appauthor=False))


def jar_paths(jars: Iterable[Jar], progress: Progress = print_progress) -> list[Path]:
    """The checked files of these jars: in SILTSTONE_JARS_DIR if it is set, else in the cache, which is filled."""
    folder = os.environ.get("SILTSTONE_JARS_DIR")
    if folder:
        return _offline(list(jars), Path(folder).expanduser())
    return [_cached(jar, cache_folder() / "jars", progress) for jar in jars]


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _offline(jars: Sequence[Jar], folder: Path) -> list[Path]:
    missing = [jar for jar in jars if not (folder / jar.file).is_file()]
    if missing:
        files, paths = (", ".join(getattr(jar, name) for jar in missing) for name in ("file", "path"))
        raise SpecError(
            f"Cannot find {files} in SILTSTONE_JARS_DIR ({folder}).",
            hint=f"Put {paths} of Maven Central there, or unset SILTSTONE_JARS_DIR to fetch from Maven Central.",
        )
    return [_of_folder(jar, folder) for jar in jars]


def _of_folder(jar: Jar, folder: Path) -> Path:
    path = folder / jar.file
    found = sha256(path)
    if found != jar.sha256:
        raise SpecError(
            f"Cannot use {path}: its SHA-256 is not the pinned one (found {found}, pinned {jar.sha256}).",
            hint=f"Replace it with {jar.path} of Maven Central.",
        )
    return path


def _cached(jar: Jar, folder: Path, progress: Progress) -> Path:
    path = folder / jar.file
    if path.is_file():
        if sha256(path) == jar.sha256:
            return path
        progress(f"{jar.file} in the cache is damaged, fetching a new copy")
    base = os.environ.get("SILTSTONE_MAVEN_URL", MAVEN_CENTRAL).rstrip("/")
    _download(jar, f"{base}/{jar.path}", path, progress)
    return path


def _download(jar: Jar, url: str, path: Path, progress: Progress) -> None:
    """Fetch a jar. If its checksum is wrong, nothing is kept."""
    with whole_file(path) as out:
        found = _fetch(jar, url, out, progress)
        if found != jar.sha256:
            raise SpecError(
                f"Cannot use {jar.file}: the fetched file is not the pinned file "
                f"(found SHA-256 {found}, pinned {jar.sha256}).",
                hint="Check SILTSTONE_MAVEN_URL and the proxy in between; nothing was kept.",
            )


def _fetch(jar: Jar, url: str, out: BinaryIO, progress: Progress) -> str:
    """Stream one file into `out` and give its SHA-256. A stream that breaks off is restarted."""
    import requests
    from requests.adapters import HTTPAdapter, Retry

    retry = Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=retry))
        session.mount("http://", HTTPAdapter(max_retries=retry))
        for left in reversed(range(STREAM_ATTEMPTS)):
            try:
                return _stream(jar, session.get(url, stream=True, timeout=(20, 60)), out, progress)
            except requests.HTTPError as error:
                raise SpecError(f"Cannot fetch {jar.file}: {error}.", hint=OFFLINE_HINT) from error
            except requests.RequestException as error:
                if not left:
                    raise SpecError(f"Cannot fetch {jar.file}: {error}.", hint=OFFLINE_HINT) from error
                progress(f"Fetching {jar.file} broke off, starting over")
    raise AssertionError("unreachable: the last attempt returns or raises")


def _stream(jar: Jar, response: "requests.Response", out: BinaryIO, progress: Progress) -> str:
    with response:
        response.raise_for_status()
        megabytes = int(response.headers.get("content-length") or 0) / 1e6
        progress(f"Fetching {jar.file} ({megabytes:.0f} MB), only once")
        out.seek(0)
        out.truncate()
        digest = hashlib.sha256()
        for chunk in response.iter_content(CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()
