"""The lease of a shared catalog excludes runs on other machines, and a dead run does not hold it."""

from __future__ import annotations

import itertools
import platform
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from siltstone.engine.errors import LockedError
from siltstone.engine.names import LEASE
from siltstone.engine.run import lease as leases
from siltstone.engine.run.exclusive_run import no_run, one_run
from siltstone.engine.run.lease import Holder, Lease, leased, refuse_leased
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec
from tests.servers.postgresql import PASSWORD, USER, PostgreSql
from tests.servers.rest import rest_server
from tests.servers.s3 import S3

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def rest(s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogSpec]:
    bucket = s3.bucket("leases")
    store = s3.settings | {"s3.path-style-access": "true"}
    with rest_server(tmp_path_factory.mktemp("rest"), f"{bucket}/w", store) as uri:
        yield CatalogSpec("lake", "rest", uri, None, dict(s3.settings))


@pytest.fixture(scope="module")
def database(postgresql: PostgreSql, tmp_path_factory: pytest.TempPathFactory) -> CatalogSpec:
    warehouse = f"file://{tmp_path_factory.mktemp('leases')}"
    user = {"jdbc.user": USER, "jdbc.password": PASSWORD}
    return CatalogSpec("lake", "jdbc", postgresql.uri("leases"), warehouse, user)


@pytest.fixture(params=["database", "rest"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> ProjectSpec:
    """A project with its own namespace in one of the catalogs."""
    catalog = request.getfixturevalue(request.param)
    return ProjectSpec(tmp_path, None, catalog, f"ns{next(_numbers)}", SparkSpec(), QualitySpec())


def on_another_machine(project: ProjectSpec) -> ProjectSpec:
    """The same project on another machine, where the run lock is another file."""
    return replace(project, root=project.root / "other")


def set_holder(lease: Lease, host: str, process: int, until: timedelta) -> None:
    """Record another run as the holder of the lease."""
    now = datetime.now(UTC)
    leases._commit(lease._table(), Holder("other", host, process, now, now + until).summary())


def test_a_run_excludes_runs_on_other_machines(project: ProjectSpec) -> None:
    with one_run(project, 0):
        with pytest.raises(LockedError, match=rf"process \d+ on {platform.node()} since .*its lease ends at"):
            one_run(on_another_machine(project), 0).__enter__()
        with pytest.raises(LockedError):
            no_run(on_another_machine(project), 0).__enter__()
    with no_run(on_another_machine(project), 0):
        pass
    with one_run(on_another_machine(project), 0):
        pass


def test_only_one_of_several_concurrent_runs_gets_the_lease(project: ProjectSpec) -> None:
    candidates = [Lease(project) for _ in range(4)]

    def gets_lease(lease: Lease) -> bool:
        try:
            lease.take(0)
        except LockedError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(gets_lease, candidates)) == [False, False, False, True]


def test_a_waiting_run_gets_the_lease_when_the_holder_releases_it(
    project: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "POLL_SECONDS", 0.05)
    first, second = Lease(project), Lease(project)
    first.take(0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.take, 60)
        first.release()
        waiting.result()
    first.release()  # has no effect: the second run holds the lease now
    with pytest.raises(LockedError):
        refuse_leased(project)


def test_a_command_that_writes_nothing_waits_for_the_lease_of_another_run(
    project: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "POLL_SECONDS", 0.05)
    lease = Lease(project)
    lease.take(0)
    with pytest.raises(LockedError), no_run(project, 0):
        pass
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(refuse_leased, project, 60)
        lease.release()
        waiting.result()
    with no_run(project, 0):
        pass


def test_a_run_takes_an_expired_lease_and_the_lease_of_a_dead_local_process(project: ProjectSpec) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lease, hour = Lease(project), timedelta(hours=1)
    set_holder(lease, "elsewhere", dead.pid, hour)
    with pytest.raises(LockedError, match=f"process {dead.pid} on elsewhere"):
        lease.take(0)
    for host, until in ((platform.node(), hour), ("elsewhere", -hour)):
        set_holder(lease, host, dead.pid, until)
        refuse_leased(project)
        lease.take(0)


def test_a_long_run_extends_its_lease(project: ProjectSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LASTS", timedelta(seconds=0))
    lease = Lease(project)
    lease.take(0)
    refuse_leased(project)
    monkeypatch.setattr(leases, "LASTS", timedelta(hours=1))
    lease.extend()
    with pytest.raises(LockedError):
        refuse_leased(project)


def test_a_local_catalog_has_no_lease(tmp_path: Path) -> None:
    catalog = CatalogSpec("lake", "jdbc", f"jdbc:sqlite:{tmp_path}/c.db", f"file://{tmp_path}/w")
    project = ProjectSpec(tmp_path, None, catalog, "silt", SparkSpec(), QualitySpec())
    with leased(project, 0):
        refuse_leased(project)
    assert not (tmp_path / "c.db").exists()
    assert not (tmp_path / "w" / "silt" / LEASE).exists()
