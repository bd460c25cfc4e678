"""Limits of containers, from control groups of both versions."""

from pathlib import Path

import pytest

from siltstone.engine import machine
from siltstone.engine.machine import GIGABYTE


@pytest.fixture(autouse=True)
def a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 gigabytes and 16 cores, whose control groups are in a folder."""
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(machine, "_machine_memory", lambda: 64 * GIGABYTE)
    monkeypatch.setattr(machine, "_machine_cores", lambda: 16)
    return tmp_path


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_without_a_limit_the_machine_is_the_limit(a_machine: Path) -> None:
    assert (machine.memory_bytes(), machine.cores()) == (64 * GIGABYTE, 16)
    write(a_machine, memory_dot_max="max\n", cpu_dot_max="max 100000\n")
    assert (machine.memory_bytes(), machine.cores()) == (64 * GIGABYTE, 16)


def test_a_container_with_its_own_view_of_version_2_has_its_own_limit(a_machine: Path) -> None:
    write(a_machine, own="0::/\n", memory_dot_max=f"{4 * GIGABYTE}\n", cpu_dot_max="150000 100000\n")
    assert (machine.memory_bytes(), machine.cores()) == (4 * GIGABYTE, 2)


def test_the_least_limit_of_a_group_and_its_parents_counts(a_machine: Path) -> None:
    write(a_machine, own="0::/kubepods/pod1/c\n", kubepods__pod1__memory_dot_max=f"{2 * GIGABYTE}\n",
          kubepods__pod1__c__memory_dot_max=f"{3 * GIGABYTE}\n", kubepods__cpu_dot_max="50000 100000\n")  # fmt: skip
    assert (machine.memory_bytes(), machine.cores()) == (2 * GIGABYTE, 1)


def test_version_1_has_a_folder_per_controller(a_machine: Path) -> None:
    write(a_machine, own="4:memory:/job\n3:cpu,cpuacct:/job\n", memory__job__memory_dot_limit_in_bytes=f"{GIGABYTE}\n",
          cpu__job__cpu_dot_cfs_quota_us="300000\n", cpu__job__cpu_dot_cfs_period_us="100000\n")  # fmt: skip
    assert (machine.memory_bytes(), machine.cores()) == (GIGABYTE, 3)
    write(a_machine, cpu__job__cpu_dot_cfs_quota_us="-1\n", memory__job__memory_dot_limit_in_bytes=f"{1 << 62}\n")
    assert (machine.memory_bytes(), machine.cores()) == (64 * GIGABYTE, 16)


def test_this_machine_has_memory_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert machine.memory_bytes() > 0
    assert machine.cores() >= 1
