"""The memory and the cores that this process may use: the machine's, or less if a container limits them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Final

GIGABYTE: Final = 1 << 30
CGROUPS: Final = Path("/sys/fs/cgroup")
OWN_GROUPS: Final = Path("/proc/self/cgroup")


def memory_bytes() -> int:
    """The memory of the machine, or the container's limit if that is less. Four gigabytes if neither is known."""
    limits = [limit for folder in _folders("memory") for limit in (_memory_limit(folder),) if limit is not None]
    return min([_machine_memory(), *limits])


def cores() -> int:
    """The cores that this process may use, at least one. A part of a core counts as one."""
    quotas = [quota for folder in _folders("cpu") for quota in (_cpu_quota(folder),) if quota is not None]
    return max(1, ceil(min([_machine_cores(), *quotas])))


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * GIGABYTE


def _machine_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _folders(controller: str) -> Iterator[Path]:
    """The folders with the limits of this process: its own control group, and those above it, in both versions.

    Inside a container the mount usually begins at the container's own group; the path in `/proc` is then not below it.
    """
    for root, path in _groups(controller):
        for group in (path, *path.parents):
            yield root / str(group).lstrip("/")


def _groups(controller: str) -> Iterator[tuple[Path, PurePosixPath]]:
    yield CGROUPS, PurePosixPath("/")
    yield CGROUPS / controller, PurePosixPath("/")
    with suppress(OSError):
        for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield CGROUPS, PurePosixPath(path)
            elif controller in controllers.split(","):
                yield CGROUPS / controller, PurePosixPath(path)


def _memory_limit(folder: Path) -> int | None:
    """The limit of version 2 (`memory.max`) or 1; None if there is none."""
    for name in ("memory.max", "memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return int((folder / name).read_text(encoding="utf-8"))
    return None


def _cpu_quota(folder: Path) -> float | None:
    """The cores of version 2 (`cpu.max`: quota and period) or 1; None if there is no limit."""
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        return int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text(encoding="utf-8") for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None
