"""The kernel's figures about processes: CPU time, memory, queues. Reads /proc, changes nothing but our own limits.

It must not know which server it observes. Every figure of the bench comes from here or from the load generator.
Sources: proc(5), proc_pid_stat(5), proc_pid_smaps(5).
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TCP_LISTEN = "0A"


class BenchError(Exception):
    """An error for the person at the terminal: what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Cpu:
    """CPU time in seconds. The sum is exact to one tick (10 ms); the user/kernel split is sampled by the timer tick."""

    user_s: float
    kernel_s: float

    @property
    def total_s(self) -> float:
        return self.user_s + self.kernel_s

    def __sub__(self, before: Cpu) -> Cpu:
        return Cpu(self.user_s - before.user_s, self.kernel_s - before.kernel_s)


@dataclass(frozen=True)
class Memory:
    """Resident memory of some processes in bytes. Pss shares a page among those that map it, Rss counts it for each."""

    rss: int
    pss: int
    anonymous: int


def stat_fields(pid: int) -> list[str]:
    """/proc/PID/stat after the command name, which may itself hold spaces: index 0 is the state (field 3)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def tree(roots: Iterable[int]) -> list[int]:
    """The given processes and all their living descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                children.setdefault(int(stat_fields(int(entry))[1]), []).append(int(entry))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
    found, waiting = [], list(roots)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting.extend(children.get(pid, []))
    return found


def cpu(pids: Iterable[int]) -> Cpu:
    """CPU used so far by the processes, all their threads included, also those that have ended."""
    user = kernel = 0
    for pid in pids:
        fields = stat_fields(pid)
        user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return Cpu(user / TICKS_PER_S, kernel / TICKS_PER_S)


def tree_cpu(roots: Iterable[int]) -> Cpu:
    """CPU used so far by the processes and all their descendants, also by those that have ended and been waited for."""
    user = kernel = 0
    for pid in tree(roots):
        try:
            fields = stat_fields(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile: its parent has its time
        user, kernel = user + int(fields[11]) + int(fields[13]), kernel + int(fields[12]) + int(fields[14])
    return Cpu(user / TICKS_PER_S, kernel / TICKS_PER_S)


@dataclass(frozen=True)
class Switches:
    """Context switches. Voluntary: the thread waited for something; involuntary: the kernel took the core away."""

    voluntary: int
    involuntary: int

    def __sub__(self, before: Switches) -> Switches:
        return Switches(self.voluntary - before.voluntary, self.involuntary - before.involuntary)


def switches(pids: Iterable[int]) -> Switches:
    """Switches so far of all threads that live. Those of threads that have ended are in no file of /proc."""
    counts = {"voluntary_ctxt_switches:": 0, "nonvoluntary_ctxt_switches:": 0}
    for pid in pids:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            try:
                text = status.read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            for line in text.splitlines()[-2:]:
                name, _, count = line.partition("\t")
                if name in counts:
                    counts[name] += int(count)
    return Switches(*counts.values())


def run_time_s(pids: Iterable[int]) -> float:
    """CPU used so far by all threads that live, in nanoseconds' steps: many processes that each use less than a tick are counted right."""
    total = 0
    for pid in pids:
        for schedstat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(schedstat.read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
    return total / 1e9


def load_cpu_s() -> float:
    """CPU used so far by our own children that have been waited for: the load generators."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pids: Iterable[int]) -> Memory:
    """Resident memory of the processes, summed, from smaps_rollup."""
    sums = {"Rss:": 0, "Pss:": 0, "Anonymous:": 0}
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        for line in text.splitlines():
            words = line.split()
            if words[0] in sums:
                sums[words[0]] += int(words[1]) * 1024
    return Memory(*sums.values())


def kernel_memory() -> int:
    """Bytes the kernel holds for sockets, machine-wide: slab plus TCP buffer pages. Both ends of a loopback connection."""
    slab = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Slab:"))
    tcp = next(line for line in Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:"))
    return int(slab.split()[1]) * 1024 + int(tcp.split()[-1]) * PAGE_BYTES


def core_times_s(core: int) -> list[float]:
    """Seconds of a core since boot, sampled by the tick: user, nice, system, idle, iowait, irq, softirq, steal."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith(f"cpu{core} "):
            return [int(ticks) / TICKS_PER_S for ticks in line.split()[1:9]]
    raise BenchError(f"core {core} is not in /proc/stat: the bench needs two cores, 0 for servers and 1 for load")


def core_busy_s(core: int) -> tuple[float, float]:
    """(busy, stolen) seconds of a core since boot. Stolen: the hypervisor ran another guest."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = core_times_s(core)
    return user + nice + system + irq + softirq + steal, steal


def core_cpu(core: int) -> Cpu:
    """CPU that all programs together have used on a core. Of a server whose processes live for less than a tick only this has a split
    into user and kernel: of a process in which no tick has fallen the kernel says that all its time was user time."""
    user, nice, system, _idle, _iowait, irq, softirq, _steal = core_times_s(core)
    return Cpu(user + nice, system + irq + softirq)


def unread_bytes(port: int) -> int:
    """Bytes that clients sent to 127.0.0.1:port and the server has not yet received."""
    total = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].partition(":")[2], 16) == port and fields[3] != TCP_LISTEN:
            total += int(fields[4].partition(":")[2], 16)
    return total


def wait_for(what: str, ready: Callable[[], bool], deadline_s: float = 60.0) -> None:
    """Polls a condition every 20 ms until it holds; past the deadline it is an error that names the condition."""
    end = time.monotonic() + deadline_s
    while not ready():
        if time.monotonic() > end:
            raise BenchError(f"waited {deadline_s:.0f} s in vain: {what}")
        time.sleep(0.02)


def wait_quiet(pids: list[int], deadline_s: float = 60.0) -> None:
    """Returns when the processes have used at most one tick of CPU over a third of a second."""
    state = {"since": time.monotonic(), "cpu": cpu(pids).total_s}

    def quiet() -> bool:
        now = cpu(pids).total_s
        if now - state["cpu"] > 1.5 / TICKS_PER_S:
            state.update(since=time.monotonic(), cpu=now)
        return time.monotonic() - state["since"] > 0.33

    wait_for("the server to become idle", quiet, deadline_s)


def set_nice(nice: int) -> None:
    """Sets our nice value, which servers and load inherit, and that of our session's autogroup where we have one:
    between sessions only the latter counts (sched(7), The autogroup feature)."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    if autogroup_nice(Path("/proc/self/autogroup")) is not None:
        Path("/proc/self/autogroup").write_text(f"{nice}\n")


def share_nice(pids: list[int]) -> None:
    """Gives processes that have begun a session of their own, as php-fpm does, the nice value of our autogroup."""
    ours = autogroup_nice(Path("/proc/self/autogroup"))
    for pid in pids if ours is not None else []:
        group = Path(f"/proc/{pid}/autogroup")
        if autogroup_nice(group) not in (None, ours):
            group.write_text(f"{ours}\n")


def autogroup_nice(file: Path) -> int | None:
    """The nice value of a process's autogroup; None where it has none. The kernel may lack autogroups, and a process
    whose ancestors never began a session, as in a bare container, is in the root group: its file is there and empty,
    a write is refused with EINVAL, and its plain nice value counts (kernel/sched/autogroup.c)."""
    try:
        said = file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(said.split()[-1]) if said.strip() else None


def require_files(needed: int) -> None:
    """Raises our own open-file limit, which servers and generators inherit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= needed:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, max(hard, needed)))
    except (ValueError, PermissionError):
        raise BenchError(
            f"{needed} open files are needed and this shell allows {hard}: raise it (ulimit -n {needed} as root, "
            "or LimitNOFILE= of the service you run in), or ask for fewer connections with --idle and --parked"
        ) from None
