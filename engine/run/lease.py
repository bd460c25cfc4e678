"""A lease on a shared catalog, so that only one machine runs at a time.

A commit to a small table takes the lease, further commits extend it while the run is active, and a last one releases
it. The snapshot summary of each commit names the holder and the end of the lease. The catalog accepts a commit only if
there was no other commit since the table was loaded: of two runs that start at the same time, one gets the lease.

The lease of a run that died lasts until its end, but on the same machine the next run sees that the process is gone. A
run that was suspended for longer than its lease can overlap with another run. Then its commits fail, as those of every
run that another run has overtaken (`engine.table.commit`).
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
from siltstone.engine.schema.comments import ledger_comments, ledger_properties
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

LOG = logging.getLogger("siltstone")
LASTS: Final = timedelta(minutes=5)
EXTEND_SECONDS: Final = 75.0
POLL_SECONDS: Final = 2.0
PREFIX: Final = "siltstone.lease-"
PROPERTIES: Final = {
    **ledger_properties(LEASE),
    "commit.retry.num-retries": "0",  # a retry would take the lease from the run that was faster
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "5",
}


@dataclass(frozen=True)
class Holder:
    """The holder of the lease. `token` is unique to the holder."""

    token: str
    host: str
    process: int
    since: datetime
    until: datetime

    @classmethod
    def new(cls) -> Self:
        """This process as the holder, from now on."""
        now = datetime.now(UTC)
        return cls(uuid.uuid4().hex, platform.node(), os.getpid(), now, now + LASTS)

    @classmethod
    def of(cls, table: "Table") -> Self | None:
        """The holder that the newest commit names. None if the lease was released, or never taken."""
        snapshot = table.current_snapshot()
        recorded = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
        if f"{PREFIX}until" not in recorded:
            return None
        times = (datetime.fromisoformat(recorded[f"{PREFIX}{name}"]) for name in ("since", "until"))
        return cls(recorded[f"{PREFIX}token"], recorded[f"{PREFIX}host"], int(recorded[f"{PREFIX}process"]), *times)

    def summary(self) -> dict[str, str]:
        """The holder as summary properties of a commit."""
        names = {"token": self.token, "host": self.host, "process": str(self.process)}
        times = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        return {f"{PREFIX}{name}": value for name, value in (names | times).items()}

    def is_active(self) -> bool:
        """Whether its run can still be active."""
        return self.until > datetime.now(UTC) and not is_gone(self.host, self.process)


class Lease:
    """The lease of a project's namespace."""

    def __init__(self, project: ProjectSpec) -> None:
        self._catalog, self._name = _catalog(project.catalog), f"{project.namespace}.{LEASE}"
        self._spec, self._namespace = project.catalog, project.namespace
        self._mine = Holder.new()

    def take(self, wait_seconds: float) -> None:
        """Take the lease.

        Raises: LockedError: another run still has it after `wait_seconds`.
        """
        end = time.monotonic() + wait_seconds
        while (other := self._try_take()) is not None:
            if time.monotonic() >= end:
                raise _locked(other, wait_seconds)
            time.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))

    def extend(self) -> None:
        """Extend the lease. Does nothing if this run has lost it."""
        if (table := self._held()) is not None:
            self._mine = replace(self._mine, until=datetime.now(UTC) + LASTS)
            _commit(table, self._mine.summary())

    def release(self) -> None:
        """Release the lease. Does nothing if this run has lost it."""
        if (table := self._held()) is not None:
            _commit(table, {})

    def keep(self, ended: Event) -> None:
        """Extend the lease until the run has ended. After a failure the next attempt comes before the lease ends."""
        while not ended.wait(EXTEND_SECONDS):
            try:
                self.extend()
            except Exception as error:  # noqa: BLE001  # a catalog's client may raise anything
                LOG.warning("Cannot extend the lease of the catalog, will retry: %s", error)

    def _held(self) -> "Table | None":
        """The table of the lease, if this run still holds the lease."""
        table = load_table(self._catalog, self._name)
        holder = Holder.of(table)
        return table if holder is not None and holder.token == self._mine.token else None

    def _try_take(self) -> Holder | None:
        """Try to take the lease. Gives its present holder if it is another run."""
        from pyiceberg.exceptions import CommitFailedException

        while True:
            table = self._table()
            held = Holder.of(table)
            if held is not None and held.token != self._mine.token and held.is_active():
                return held
            self._mine = replace(self._mine, until=datetime.now(UTC) + LASTS)
            with suppress(CommitFailedException):  # another run was faster, or released it
                _commit(table, self._mine.summary())
                return None

    def _table(self) -> "Table":
        if not self._catalog.table_exists(self._name):
            try:
                self._make_table()
            except Exception:  # noqa: BLE001  # two runs created the namespace at once; catalogs report it differently
                self._make_table()
        return load_table(self._catalog, self._name)

    def _make_table(self) -> None:
        import pyarrow as pa

        place = f"{(self._spec.warehouse or '').rstrip('/')}/{self._name.replace('.', '/')}"
        location = place if is_of_server(self._spec) else None
        self._catalog.create_namespace_if_not_exists(self._namespace)
        schema = pa.schema([pa.field("note", pa.string(), metadata={"doc": ledger_comments(LEASE)["note"]})])
        self._catalog.create_table_if_not_exists(self._name, schema, location=location, properties=PROPERTIES)


def is_shared(spec: CatalogSpec) -> bool:
    """Whether other machines can use the catalog, and PyIceberg can write to it."""
    return spec.type in PYICEBERG_TYPES or is_of_server(spec)


@contextmanager
def leased(project: ProjectSpec, wait_seconds: float) -> Iterator[None]:
    """Hold the lease of a shared catalog during the block. Does nothing for a catalog that is not shared.

    Raises: LockedError: another run still has the lease after `wait_seconds`.
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
        _release(lease)


def refuse_leased(project: ProjectSpec, wait_seconds: float = 0.0) -> None:
    """Check that no run has the lease, without taking it.

    Raises: LockedError: a run still has it after `wait_seconds`.
    """
    end = time.monotonic() + wait_seconds
    while (held := active_holder(project)) is not None:
        if time.monotonic() >= end:
            raise _locked(held, wait_seconds)
        time.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))


def active_holder(project: ProjectSpec) -> Holder | None:
    """The run that has the lease."""
    if not is_shared(project.catalog):
        return None
    try:
        catalog = open_catalog(project.catalog)
    except NothingWrittenError:
        return None
    name = f"{project.namespace}.{LEASE}"
    held = Holder.of(load_table(catalog, name)) if catalog.table_exists(name) else None
    return held if held is not None and held.is_active() else None


def _release(lease: Lease) -> None:
    """Release a lease. A failure is only logged: the run is complete, and the lease expires."""
    try:
        lease.release()
    except Exception as error:  # noqa: BLE001  # a catalog's client may raise anything
        LOG.warning("Cannot release the lease of the catalog, it expires by itself: %s", error)


def _catalog(spec: CatalogSpec) -> "Catalog":
    if is_of_server(spec):
        return server_catalog(spec, create=True)
    return cast("Catalog", open_catalog(spec))


def _commit(table: "Table", summary: Mapping[str, str]) -> None:
    """Commit no rows, only the summary.

    Raises: CommitFailedException: another commit was made since the table was loaded.
    """
    table.append(table.schema().as_arrow().empty_table(), snapshot_properties=dict(summary))


def _locked(held: Holder, wait_seconds: float) -> LockedError:
    return LockedError(
        f"Cannot start: another run is at work on this catalog (process {held.process} on {held.host} since"
        f" {held.since:%Y-%m-%dT%H:%M:%SZ}; its lease ends at {held.until:%H:%M:%SZ} if it is not extended; waited"
        f" {wait_seconds:g} s).",
        "retry later, or wait for it with --wait",
    )
