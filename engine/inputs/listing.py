"""The files of a source, through Hadoop's FileSystem: every place Spark can read is a place siltstone can list."""

import hashlib
import os
import re
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from engine.errors import SourceError
from engine.inputs.globs import is_pattern, plain, plain_start

SAMPLE_BYTES = 65_536
SAMPLES = 16
TAIL_BYTES = 1 << 24
LOCAL = "file"
BAD_NAME = "Relative path in absolute URI"
"""What Hadoop says where it takes a part of a name for a scheme."""
NO_FILE = "check source.path, or how the spec says files are written"


@dataclass(frozen=True)
class InputFile:
    """One file of a source. `mtime` in milliseconds since 1970. `whole`: it is taken as it is, nothing is appended."""

    path: str
    size: int
    mtime: int
    whole: bool = False

    def can_grow(self) -> bool:
        """Whether lines can be appended to what was taken."""
        return not self.whole and not is_compressed(self.path)


def list_files(spark: SparkSession, path: str, until_ms: int | None = None) -> list[InputFile]:
    """The files that a file name, a folder or a glob names, in the order of their names.

    Folders are searched to the bottom; hidden files (``.`` or ``_`` first) are passed over, as Spark does. With
    `until_ms`, files modified later wait for another run.

    Raises: SourceError: nothing is there, or the place cannot be read.
    """
    system, root = file_system(spark, path)
    refuse_unseen(spark, system, path)
    try:
        matched = globbed(spark, system, root)
    except Py4JJavaError as error:
        raise SourceError(f"Cannot list {path}: {first_line(error)}.", "check the path and the permissions") from error
    if not matched:
        kind = "matches no file" if is_pattern(path) else "does not exist"
        raise SourceError(f"Cannot read {path}: it {kind}.", "check source.path in the spec")
    found = [file for status in matched for file in files_below(system, status)]
    if not found:
        raise SourceError(f"Cannot read {path}: the folder holds no files.", "check source.path in the spec")
    kept = [file for file in found if until_ms is None or file.mtime <= until_ms]
    return sorted(kept, key=lambda file: file.path)


def refuse_unseen(spark: SparkSession, system: Any, path: str) -> None:
    """See that Java can name every file below a folder of this machine: it passes over those that it cannot.

    Raises: SourceError: it was started in a locale in which it cannot.
    """
    encoding = spark._jvm.java.lang.System.getProperty("sun.jnu.encoding") if spark._jvm is not None else None
    if encoding is None or encoding.upper() in ("UTF-8", "UTF8") or system.getUri().getScheme() != LOCAL:
        return
    begin = plain_start(path).rpartition("/")[0] if is_pattern(path) else plain(path)
    for below, folders, files in os.walk(os.fsencode(re.sub(r"^file:/*", "/", begin))):
        for name in (*folders, *files):
            if not name.isascii():
                file = Path(os.fsdecode(below), os.fsdecode(name))
                raise SourceError(
                    f"Cannot list {path}: Java cannot name {file} in its encoding {encoding}, and would pass over it.",
                    "start Spark's driver with LC_ALL=C.UTF-8 in its environment",
                )


def globbed(spark: SparkSession, system: Any, root: Any) -> Any:
    """What a name or a pattern names. Hadoop's own search ends in an error where a name with a colon lies in a folder
    that it looks into, be it of the pattern or not: it takes what is before the colon for a scheme."""
    try:
        return system.globStatus(root)
    except IllegalArgumentException as error:
        if BAD_NAME not in str(error):
            raise
        return globbed_by_folders(spark, system, root)


def globbed_by_folders(spark: SparkSession, system: Any, root: Any) -> list[Any]:
    """The same, folder by folder, with Hadoop's own patterns."""
    hadoop: Any = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    expanded = [hadoop.Path(one) for one in hadoop.GlobExpander.expand(str(root.toString()))]
    return [status for one in expanded for status in in_folders(hadoop, system, one)]


def in_folders(hadoop: Any, system: Any, root: Any) -> list[Any]:
    """What a pattern without braces around folders names: nothing above its first sign is listed."""
    written = str(root.toString())
    if not is_pattern(written):
        place = hadoop.Path(plain(written))
        return [system.getFileStatus(place)] if system.exists(place) else []
    name = hadoop.GlobFilter(root.getName())
    folders = [status for status in in_folders(hadoop, system, root.getParent()) if status.isDirectory()]
    return [child for one in folders for child in system.listStatus(one.getPath()) if name.accept(child.getPath())]


def files_below(system: Any, status: Any) -> list[InputFile]:
    """A file itself, or the visible files of a folder."""
    if hidden(status):
        return []
    if status.isDirectory():
        return [file for child in system.listStatus(status.getPath()) for file in files_below(system, child)]
    return [InputFile(str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime()))]


def hidden(status: Any) -> bool:
    """Whether Spark would pass over it."""
    return str(status.getPath().getName()).startswith((".", "_"))


def file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Hadoop's file system of a path, and the path as Hadoop's object."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    root = jvm.org.apache.hadoop.fs.Path(path)
    system = root.getFileSystem(session.sessionState().newHadoopConf())
    if ":" in path.rsplit("/", 1)[-1] and system.getUri().getScheme() == LOCAL:
        system.setVerifyChecksum(False)  # the name of the file that would hold the checksums is none to Hadoop
    return system, root


class Look:
    """Looks into files, once at each piece however many consumers ask: a piece is a call to a store."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._fingerprints: dict[tuple[str, int], str] = {}
        self._tails: dict[InputFile, bytes | None] = {}

    def fingerprint(self, path: str, size: int) -> str:
        """A hash over samples of the first `size` bytes: evenly spread blocks, the first and the last among them.

        Files up to a megabyte are hashed whole. A file that only grew keeps the fingerprint of the part already taken.
        """
        if (path, size) not in self._fingerprints:
            digest = hashlib.blake2b(str(size).encode(), digest_size=16)
            for start, length in samples(size):
                digest.update(read_bytes(self.spark, path, start, length))
            self._fingerprints[path, size] = digest.hexdigest()
        return self._fingerprints[path, size]

    def ends_in_half_line(self, file: InputFile) -> bytes | None:
        """The text after the last line end of an uncompressed file, None when the file ends with a line end.

        A last line longer than 16 MiB is not looked at.
        """
        if file not in self._tails:
            self._tails[file] = unfinished(self.spark, file)
        return self._tails[file]


def samples(size: int) -> list[tuple[int, int]]:
    """The pieces of a file's first `size` bytes that are looked at: (start, length)."""
    if size <= SAMPLES * SAMPLE_BYTES:
        return [(0, size)]
    step = max(SAMPLE_BYTES, (size - SAMPLE_BYTES) // (SAMPLES - 1))
    starts = sorted({*range(0, size - SAMPLE_BYTES + 1, step), size - SAMPLE_BYTES})
    return [(start, SAMPLE_BYTES) for start in starts]


def read_bytes(spark: SparkSession, path: str, start: int, length: int) -> bytes:
    """A piece of a file.

    Raises: SourceError: the file ends before the piece does.
    """
    if length <= 0:
        return b""
    system, root = file_system(spark, path)
    if system.getUri().getScheme() == LOCAL:  # the driver's JVM and Python see the same disk
        with Path(root.toUri().getPath()).open("rb") as file:
            file.seek(start)
            piece = file.read(length)
    else:
        piece = bytes_through_jvm(spark, system.open(root), start, length)
    if len(piece) < length:
        raise SourceError(
            f"Cannot read {path}: it became shorter while it was looked at ({start + len(piece)} bytes are left).",
            "deliver a file under its name only when it is whole, or append to it; then run again",
        )
    return piece


def bytes_through_jvm(spark: SparkSession, stream: Any, start: int, length: int) -> bytes:
    """A piece of what a Java stream reads, shorter where that ends before; the stream is closed.

    It comes as one text in base64: an array of bytes would come byte by byte, a megabyte in half a second.
    """
    jvm: Any = spark._jvm
    try:
        stream.seek(start)
        piece = jvm.org.apache.commons.io.input.BoundedInputStream(stream, length)
        encoded = jvm.org.apache.commons.codec.binary.Base64InputStream(piece, True, 0, b"")
        return b64decode(jvm.org.apache.commons.io.IOUtils.toString(encoded, "US-ASCII"))
    finally:
        stream.close()


def unfinished(spark: SparkSession, file: InputFile) -> bytes | None:
    """The text after the last line end, None where there is none or the file is compressed."""
    if file.size == 0 or not file.can_grow():
        return None
    if read_bytes(spark, file.path, file.size - 1, 1) == b"\n":
        return None
    for length in (SAMPLE_BYTES, TAIL_BYTES):
        start = max(0, file.size - length)
        tail = read_bytes(spark, file.path, start, file.size - start)
        if b"\n" in tail or start == 0:
            return tail.rsplit(b"\n", 1)[-1]
    return None


def is_compressed(path: str) -> bool:
    """Whether Hadoop decompresses the file by its name."""
    return path.endswith((".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".zstd"))


def first_line(error: Py4JJavaError) -> str:
    """What a Java error says, without its stack."""
    return str(error.java_exception.getMessage()).splitlines()[0]
