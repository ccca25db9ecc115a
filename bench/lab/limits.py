"""A place with limits for a server, as a container has them: so many CPUs and so much memory, by control groups of either version.

It must not know what runs there. Where the machine does not let us make a group, `how` says so, and only the cores are limited.
Sources: cgroups(7), the kernel's cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .proc import wait_for

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
# Enters the groups that are named before "--", and becomes the command that stands behind it.
ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"'


@dataclass(frozen=True)
class Limits:
    """A place. `within` is put before the command of the server."""

    how: str
    within: list[str]
    groups: list[Path] = field(default_factory=list)

    def _read(self, *names: str) -> str:
        found = (group / name for group in self.groups for name in names)
        return next((path.read_text() for path in found if path.exists()), "")

    def peak_memory(self) -> int | None:
        """The most memory that the group had, in bytes; None where there is no group, or a kernel older than 5.19 with version 2."""
        text = self._read("memory.peak", "memory.max_usage_in_bytes")
        return int(text) if text else None

    def throttled_s(self) -> float:
        """For how long the group was stopped, because it had used its CPU time."""
        counts = dict(line.split() for line in self._read("cpu.stat").splitlines())
        return int(counts.get("throttled_usec", 0)) / 1e6 + int(counts.get("throttled_time", 0)) / 1e9


def settings(root: Path, name: str, cpus: int, memory: int) -> list[tuple[Path, dict[str, str]]]:
    """The groups and what is written to their files, for the version that is mounted at `root`."""
    if (root / "cgroup.controllers").exists():
        return [(root / name, {"cpu.max": f"{cpus * PERIOD_US} {PERIOD_US}", "memory.max": str(memory)})]
    return [(root / "cpu" / name, {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(cpus * PERIOD_US)}),
            (root / "memory" / name, {"memory.limit_in_bytes": str(memory)})]


def make(root: Path, name: str, cpus: int, memory: int) -> list[Path]:
    """Makes the groups. OSError where this is not allowed; then none is left."""
    made: list[Path] = []
    try:
        if (root / "cgroup.controllers").exists():
            (root / "cgroup.subtree_control").write_text("+cpu +memory")
        for group, files in settings(root, name, cpus, memory):
            group.mkdir()
            made.append(group)
            for file, value in files.items():
                (group / file).write_text(value)
    except OSError:
        remove(made)
        raise
    return made


def remove(groups: list[Path]) -> None:
    def gone(group: Path) -> bool:
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError:  # a process that was killed is still ending
            return False
        return True

    for group in groups:
        wait_for(f"{group} to be left", lambda g=group: gone(g), 20)


@contextmanager
def limited(cpus: int, memory: int, root: Path = ROOT) -> Iterator[Limits]:
    """A place with these limits, or with what can be had of them."""
    cores = min(cpus, os.cpu_count() or 1)
    pinned = ["taskset", "-c", f"0-{cores - 1}"]
    try:
        groups = make(root, f"weft-bench-{os.getpid()}", cpus, memory)
    except OSError as error:
        yield Limits(f"{cores} cores by taskset; memory is not limited, because a control group cannot be made: {error}", pinned)
        return
    version = 2 if (root / "cgroup.controllers").exists() else 1
    try:
        yield Limits(f"control groups, version {version}: {cpus} CPUs, {memory >> 20} MiB; {cores} cores by taskset",
                     ["sh", "-c", ENTER, "sh", *map(str, groups), "--", *pinned], groups)
    finally:
        remove(groups)
