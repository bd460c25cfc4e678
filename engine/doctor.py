"""Check whether this machine is ready. Each check gives a finding: its result, and what to do if it failed."""

import platform
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote, urlparse

from siltstone.engine.errors import SiltstoneError, SpecError, StorageError
from siltstone.engine.inputs.file_store import read_bytes, store_of
from siltstone.engine.inputs.kafka import cluster_of
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.jars import jar_paths
from siltstone.engine.java import INSTALL_HINT, NEEDED_JAVA, java_program, java_version
from siltstone.engine.machine import GIGABYTE, memory_bytes
from siltstone.engine.names import LEASE
from siltstone.engine.session import default_driver_gigabytes, needed_jars
from siltstone.engine.spec import load_specs
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, SourceSpec
from siltstone.engine.sqlite_catalog import refuse_lost_catalog, sqlite_file
from siltstone.engine.storage import FILE_IO, StoreSettings, is_remote, of_stores, scheme_of, storage_error

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

CHOSEN: Final = "chosen by the catalog; can be checked after the first run"
PROBE: Final = b"siltstone doctor"
PYTHONS = ((3, 11), (3, 14))
LOW_DISK_BYTES = 2 * GIGABYTE
LOW_MEMORY_BYTES = 4 * GIGABYTE


@dataclass(frozen=True)
class Finding:
    """The result of one check. `hint`: what to do if it is not ok."""

    matter: str
    ok: bool
    found: str
    hint: str = ""


Progress = Callable[[str], None]


def examine(project: ProjectSpec, progress: Progress) -> Iterator[Finding]:
    """All findings, in the order of the checks."""
    yield java()
    yield python()
    yield memory()
    yield jars(project.catalog, progress)
    yield catalog(project.catalog)
    yield from tables(project)
    yield warehouse(project)
    yield from sources(project)
    yield disk(warehouse_folder(project.catalog) or project.root)


def java() -> Finding:
    version = java_version()
    if version is None:
        return Finding("Java", False, "none", INSTALL_HINT)
    return Finding("Java", version >= NEEDED_JAVA, f"{version} at {java_program()}", INSTALL_HINT)


def python() -> Finding:
    oldest, newest = PYTHONS
    return Finding(
        "Python",
        oldest <= sys.version_info[:2] <= newest,
        f"{platform.python_version()} at {sys.executable}",
        f"Use Python {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}.",
    )


def memory() -> Finding:
    size = memory_bytes()
    return Finding(
        "memory",
        size >= LOW_MEMORY_BYTES,
        f"{size / GIGABYTE:.1f} GB, of which Spark takes {default_driver_gigabytes(size)}",
        f"Spark needs a machine with {LOW_MEMORY_BYTES // GIGABYTE} GB or more.",
    )


def jars(spec: CatalogSpec, progress: Progress) -> Finding:
    try:
        paths = jar_paths(needed_jars(spec), progress)
    except (SiltstoneError, OSError) as error:
        return Finding("jars", False, *_problem(error, "Make the cache folder writable."))
    return Finding("jars", True, f"{len(paths)} in {paths[0].parent}, checksums right")


def catalog(spec: CatalogSpec) -> Finding:
    """Whether the catalog answers, and whether a namespace can be created."""
    matter = f"catalog {spec.name}"
    database = sqlite_file(spec)
    try:
        refuse_lost_catalog(spec)
    except StorageError as error:
        return Finding(matter, False, *_problem(error, ""))
    if database and not database.exists():
        hint = "Make its folder writable, or set catalog.uri to another place."
        return Finding(matter, _writable(database.parent), f"{database}, created by the first run", hint)
    from siltstone.engine.reader import NothingWrittenError, open_catalog

    try:
        reader = open_catalog(spec)
        namespaces = reader.list_namespaces()
        if not database:
            _make_namespace(cast("Catalog", reader))
    except NothingWrittenError as error:
        return Finding(matter, True, f"{spec.type}, empty: the first run creates its tables ({_first_line(error)})")
    except Exception as error:  # noqa: BLE001  a catalog's client can raise any error, and the error is the finding
        return Finding(matter, False, *_problem(error, "Check catalog.type, catalog.uri and catalog.properties."))
    made = "" if database else ", a namespace can be created"
    return Finding(matter, True, f"{spec.type}, {len(namespaces)} namespaces{made}")


def _make_namespace(catalog: "Catalog") -> None:
    """Create a namespace and remove it."""
    name = f"siltstone_doctor_{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    catalog.drop_namespace(name)


def tables(project: ProjectSpec) -> Iterator[Finding]:
    """Whether the files of tables are where the catalog has them.

    For an embedded catalog all tables, for others those of the project's namespace. No finding if there are none, or if
    the catalog cannot be read.
    """
    from siltstone.engine.reader import MOVED_HINT, missing_file, open_catalog

    database = sqlite_file(project.catalog)
    if database and not database.exists():
        return
    try:
        reader = open_catalog(project.catalog)
        namespaces = reader.list_namespaces() if database else [tuple(project.namespace.split("."))]
        known = [".".join(table) for namespace in namespaces for table in reader.list_tables(namespace)]
        missing = {name: file for name in known if (file := missing_file(reader, name))}
    except Exception:  # noqa: BLE001  a catalog's client can raise any error, which the finding of the catalog reports
        return
    if missing:
        first = next(f"{name} ({file} does not exist)" for name, file in missing.items())
        found = f"{len(missing)} of {len(known)} are not where the catalog has them: {first}"
        yield Finding("tables", False, found, f"{MOVED_HINT}.")
    elif known:
        yield Finding("tables", True, f"{len(known)}, where the catalog has them")


def warehouse(project: ProjectSpec) -> Finding:
    """Whether files can be written, read and removed where the tables are."""
    spec = project.catalog
    folder = warehouse_folder(spec)
    if folder:
        hint = "Make it writable, or set catalog.warehouse to another place."
        return Finding("warehouse", _writable(folder), str(folder), hint)
    if is_remote(spec.warehouse or "") and scheme_of(spec.warehouse or "") not in FILE_IO:
        return Finding("warehouse", True, f"{spec.warehouse}, not checked: only Spark can reach it")
    try:
        place = _tried(project)
    except Exception as error:  # noqa: BLE001  a store's client can raise any error, and the error is the finding
        return Finding("warehouse", False, *_problem(error, "Check store and catalog.properties."))
    return Finding("warehouse", True, f"{place}: written, read and removed a file" if place else CHOSEN)


def _tried(project: ProjectSpec) -> str | None:
    """Write a small file where tables are, and give the place; None if the catalog chooses it and has no table yet."""
    from siltstone.engine.reader import load_table, open_catalog

    spec = project.catalog
    if spec.warehouse and is_remote(spec.warehouse):
        _write_read_remove(spec.warehouse, of_stores(spec.properties))
        return spec.warehouse
    reader, name = open_catalog(spec), f"{project.namespace}.{LEASE}"
    if not reader.table_exists(name):
        return None
    table = load_table(reader, name)  # the catalog gives its settings, with credentials
    place = str(table.location())
    _write_read_remove(place, of_stores(table.io.properties))
    return place


def _write_read_remove(folder: str, settings: StoreSettings) -> None:
    """Write, read and remove a small file in a store.

    Raises: StorageError, SourceError: one of them fails.
    """
    path, store = f"{folder.rstrip('/')}/siltstone-doctor-{uuid.uuid4().hex}", store_of(folder, settings)
    with store.writer(path) as out:
        out.write(PROBE)
    try:
        if read_bytes(path, 0, len(PROBE), settings) != PROBE:
            raise StorageError(f"Cannot use {folder}: it returns other bytes than were written.")
    finally:
        store.remove(path)


def sources(project: ProjectSpec) -> Iterator[Finding]:
    """Whether the files of sources in object stores, and the partitions of topics, can be listed.

    No finding if the specs do not load: `validate` reports why.
    """
    try:
        listed = {spec.source.path: spec.source for spec in load_specs(None, project)}
    except SpecError:
        return
    for path, source in listed.items():
        if source.kafka is not None or is_remote(path):
            try:
                found = _counted(source)
            except SiltstoneError as error:
                yield Finding("source", False, *_problem(error, ""))
            else:
                yield Finding("source", True, f"{path}: {found}")


def _counted(source: SourceSpec) -> str:
    """The number of files or partitions of a source, in words.

    Raises: SourceError, SpecError: they cannot be listed.
    """
    if source.kafka is None:
        return f"{len(list_files(source.path, settings=source.store))} files"
    return f"{len(cluster_of(source.kafka, source.path).partitions())} partitions"


def disk(folder: Path) -> Finding:
    free = shutil.disk_usage(_existing(folder)).free
    found = f"{free / GIGABYTE:.1f} GB free at {folder}"
    return Finding("disk", free >= LOW_DISK_BYTES, found, "Free some space: Spark spills to disk while it sorts.")


def warehouse_folder(spec: CatalogSpec) -> Path | None:
    """The folder of a warehouse on this machine; None for a warehouse elsewhere."""
    address = urlparse(spec.warehouse or "")
    is_path = address.path.startswith("/") and address.scheme in ("", "file")  # else a URI, or a catalog's own name
    return Path(unquote(address.path)) if is_path else None


def _writable(folder: Path) -> bool:
    """Whether a file can be created in the folder, or in its nearest parent that exists."""
    try:
        with tempfile.NamedTemporaryFile(dir=_existing(folder)):
            return True
    except OSError:
        return False


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.is_dir())


def _problem(error: Exception, hint: str) -> tuple[str, str]:
    """The message and the hint of an error."""
    known = error if isinstance(error, SiltstoneError) else storage_error(error)
    return (_first_line(error), hint) if known is None else (known.message, known.hint or hint)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
