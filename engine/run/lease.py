"""A lease of a catalog that machines share, so that two of them do not run at once.

A commit to a small table takes the lease, others prolong it while the run is at work, and one gives it back. Each says
in its snapshot's summary who holds the lease and until when. The catalog takes a commit only if there was no other one
since the table was loaded: of two runs that begin at the same moment one gets the lease.

A run that dies keeps its lease until it ends; on its own machine the next run sees that the process is gone. A run that
was stopped for longer than its lease can meet another one: then its commits fail, as those of every run that was
overtaken (`engine.table.commit`).
"""

import logging
import os
import platform
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Self, cast

from siltstone.engine.errors import LockedError
from siltstone.engine.names import LEASE
from siltstone.engine.reader import (
    PYICEBERG_TYPES,
    NothingWrittenError,
    is_of_server,
    load_table,
    open_catalog,
    server_catalog,
)
from siltstone.engine.run_lock import is_gone
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

LOG = logging.getLogger("siltstone")
LASTS: Final = timedelta(minutes=5)
PROLONG_SECONDS: Final = 75.0
POLL_SECONDS: Final = 2.0
PREFIX: Final = "siltstone.lease-"
PROPERTIES: Final = {
    "format-version": "2",
    "commit.retry.num-retries": "0",  # a retry would take the lease from the one who was faster
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "5",
}


@dataclass(frozen=True)
class Holder:
    """Who has the lease. `token` is the holder's alone."""

    token: str
    host: str
    process: int
    since: datetime
    until: datetime

    @classmethod
    def new(cls) -> Self:
        """This process, from now on."""
        now = datetime.now(UTC)
        return cls(uuid.uuid4().hex, platform.node(), os.getpid(), now, now + LASTS)

    @classmethod
    def of(cls, table: "Table") -> Self | None:
        """Who the newest commit names; None where it gave the lease back, or none ever took it."""
        snapshot = table.current_snapshot()
        said = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
        if f"{PREFIX}until" not in said:
            return None
        times = (datetime.fromisoformat(said[f"{PREFIX}{name}"]) for name in ("since", "until"))
        return cls(said[f"{PREFIX}token"], said[f"{PREFIX}host"], int(said[f"{PREFIX}process"]), *times)

    def summary(self) -> dict[str, str]:
        """What a commit says of it."""
        names = {"token": self.token, "host": self.host, "process": str(self.process)}
        times = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        return {f"{PREFIX}{name}": value for name, value in (names | times).items()}

    def is_at_work(self) -> bool:
        """Whether it may be at work still."""
        return self.until > datetime.now(UTC) and not is_gone(self.host, self.process)


class Lease:
    """The lease of a project's namespace."""

    def __init__(self, project: ProjectSpec) -> None:
        self._catalog, self._name = _catalog(project.catalog), f"{project.namespace}.{LEASE}"
        self._spec, self._namespace = project.catalog, project.namespace
        self._mine = Holder.new()

    def take(self, wait_seconds: float) -> None:
        """Take the lease.

        Raises: LockedError: another run has it, and still has after `wait_seconds`.
        """
        end = time.monotonic() + wait_seconds
        while (other := self._tried()) is not None:
            if time.monotonic() >= end:
                raise _locked(other, wait_seconds)
            time.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))

    def prolong(self) -> None:
        """Take it for longer; nothing where it was lost."""
        if (table := self._held()) is not None:
            self._mine = replace(self._mine, until=datetime.now(UTC) + LASTS)
            _commit(table, self._mine.summary())

    def give_back(self) -> None:
        """Let others have it; nothing where it was lost."""
        if (table := self._held()) is not None:
            _commit(table, {})

    def keep(self, ended: Event) -> None:
        """Prolong the lease until the run has ended. After a failure the next try comes before the lease ends."""
        while not ended.wait(PROLONG_SECONDS):
            try:
                self.prolong()
            except Exception as error:  # noqa: BLE001  # a catalog's client may raise anything
                LOG.warning("Cannot prolong the lease of the catalog, trying again: %s", error)

    def _held(self) -> "Table | None":
        """The table of the lease, if this run still has it."""
        table = load_table(self._catalog, self._name)
        holder = Holder.of(table)
        return table if holder is not None and holder.token == self._mine.token else None

    def _tried(self) -> Holder | None:
        """Try to take it. Gives who has it instead."""
        from pyiceberg.exceptions import CommitFailedException

        while True:
            table = self._table()
            held = Holder.of(table)
            if held is not None and held.token != self._mine.token and held.is_at_work():
                return held
            self._mine = replace(self._mine, until=datetime.now(UTC) + LASTS)
            with suppress(CommitFailedException):  # another one was faster, or gave it back
                _commit(table, self._mine.summary())
                return None

    def _table(self) -> "Table":
        if not self._catalog.table_exists(self._name):
            try:
                self._make_table()
            except Exception:  # noqa: BLE001  # two runs made the namespace at once, which catalogs say in many ways
                self._make_table()
        return load_table(self._catalog, self._name)

    def _make_table(self) -> None:
        import pyarrow as pa

        place = f"{(self._spec.warehouse or '').rstrip('/')}/{self._name.replace('.', '/')}"
        location = place if is_of_server(self._spec) else None
        self._catalog.create_namespace_if_not_exists(self._namespace)
        schema = pa.schema([("note", pa.string())])
        self._catalog.create_table_if_not_exists(self._name, schema, location=location, properties=PROPERTIES)


def is_shared(spec: CatalogSpec) -> bool:
    """Whether other machines can use a catalog, and PyIceberg can write to it."""
    return spec.type in PYICEBERG_TYPES or is_of_server(spec)


@contextmanager
def leased(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lease of a shared catalog during the block; nothing for another one.

    Raises: LockedError: another run has it, and still has after `wait_seconds`.
    """
    if not is_shared(project.catalog):
        yield
        return
    lease, ended = Lease(project), Event()
    lease.take(wait_seconds)
    keeper = Thread(target=lease.keep, args=(ended,), name="lease", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()
        _given_back(lease)


def refuse_leased(project: ProjectSpec) -> None:
    """See that no run has the lease, without taking it.

    Raises: LockedError: one has.
    """
    if not is_shared(project.catalog):
        return
    try:
        catalog = open_catalog(project.catalog)
    except NothingWrittenError:
        return
    name = f"{project.namespace}.{LEASE}"
    held = Holder.of(load_table(catalog, name)) if catalog.table_exists(name) else None
    if held is not None and held.is_at_work():
        raise _locked(held, 0.0)


def _given_back(lease: Lease) -> None:
    """Give a lease back. A failure is no reason to fail: the run has done its work, and the lease ends by itself."""
    try:
        lease.give_back()
    except Exception as error:  # noqa: BLE001  # a catalog's client may raise anything
        LOG.warning("Cannot give the lease of the catalog back, it ends by itself: %s", error)


def _catalog(spec: CatalogSpec) -> "Catalog":
    if is_of_server(spec):
        return server_catalog(spec, create=True)
    return cast("Catalog", open_catalog(spec))


def _commit(table: "Table", summary: Mapping[str, str]) -> None:
    """Commit no rows, only what the summary says.

    Raises: CommitFailedException: another commit was made since the table was loaded.
    """
    table.append(table.schema().as_arrow().empty_table(), snapshot_properties=dict(summary))


def _locked(held: Holder, wait_seconds: float) -> LockedError:
    return LockedError(
        f"Cannot start: another run is at work on this catalog (process {held.process} on {held.host} since"
        f" {held.since:%Y-%m-%dT%H:%M:%SZ}; its lease ends at {held.until:%H:%M:%SZ} if it is not prolonged; waited"
        f" {wait_seconds:g} s).",
        "run again later, or wait for it with --wait",
    )
