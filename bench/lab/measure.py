"""The parts of every scenario: its settings, its row in the table, one timed run beside the kernel's accounting.

It must not know any one scenario, nor how results are written or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import load, proc
from .peers import SERVER_CORE, Peer, Running

Metrics = dict[str, float]
Measured = Iterator[tuple[str, Metrics]]


@dataclass(frozen=True)
class Settings:
    """Durations and amounts. `quick` reduces them; the results record them."""

    rounds: int = 5
    seconds: float = 5.0
    warmup_s: float = 2.0
    parked: int = 10_000
    idle: int = 15_000
    soak_requests: int = 10_000_000
    soak_mark: int = 100_000  # memory after this many requests is what the soak compares with
    soak_step_s: float = 10.0
    traced_requests: int = 10_000
    repeats: int = 2  # of a disturbed measurement; the quietest one counts
    repeats_s: float = 3_600.0  # of a whole run, after which nothing is repeated any more
    container_requests: int = 1_000_000
    container_s: float = 60.0  # at most, of each load in a container
    crowd: int = 20_000
    crowd_each: int = 18_500  # connections of a worker, and of a process of clients: they have a descriptor each
    crowd_hold_s: float = 100.0
    crowd_ping_s: float = 90.0
    crowd_own: int = 0  # clients that hear something alone; 0: all
    broadcast: int = 15_000
    publish_rate: int = 10_000
    backend_core: int = load.LOAD_CORE  # where MariaDB, Redis and the upstream run


@dataclass(frozen=True)
class Column:
    """One metric of a scenario's table."""

    metric: str
    label: str
    digits: int = 2


@dataclass(frozen=True)
class Curve:
    """The samples of a variant as points of a curve. The variant's name begins with "step"."""

    variant: str
    x: str
    y: str
    x_label: str
    y_label: str
    logarithmic: bool = False  # the x axis


@dataclass(frozen=True)
class Scenario:
    """`limit` is the goal: ("ratio", x) of the headline of the peer `reference`, ("value", x) in its unit, or ("values", {variant: x})."""

    name: str
    title: str
    question: str
    headline: Column
    columns: tuple[Column, ...]
    measure: Callable[[Peer, Settings], Measured]
    role: str | None = "hello"
    lower_is_better: bool = True
    goal: str = ""
    limit: tuple[str, float | dict[str, float]] | None = None
    reference: str = "bare"
    rounds: int | None = None  # None: as the settings say
    prepare: Callable[[Peer, Settings], Peer] | None = None  # the peer as this scenario starts it, if its row in PEERS is not enough
    curves: tuple[Curve, ...] = ()
    traced: tuple[str, int] | None = None  # a pass of its own that counts system calls: of which role, so many requests at once
    spends: bool = False  # the report draws where the CPU time goes, instead of the headline
    in_turns: int = 0  # if not 0, the peers take turns window by window, and `measure` yields so many for each round (in_turns.py)


def accounted(server: Running, work: Callable[[], tuple[int, float]]) -> Metrics:
    """Work that returns how many answers it got in how many seconds, beside the kernel's accounting. Foreign: other work on the
    server's core, as a share of the time. Client: the load generator's own CPU."""
    pids = server.pids()
    count_cpu = proc.tree_cpu if server.peer.forks else proc.cpu
    client, switched = proc.load_cpu_s(), proc.switches(pids)
    before, busy_before = count_cpu(pids), proc.core_busy_s(SERVER_CORE)
    count, wall_s = work()
    used, busy_after = count_cpu(pids) - before, proc.core_busy_s(SERVER_CORE)
    switched = proc.switches(pids) - switched
    return {
        "cpu_us": used.total_s * 1e6 / count,
        "user_us": used.user_s * 1e6 / count,
        "kernel_us": used.kernel_s * 1e6 / count,
        "client_us": (proc.load_cpu_s() - client) * 1e6 / count,
        "requests": count,
        "rate": count / wall_s,
        "server_core_percent": 100 * used.total_s / wall_s,
        "foreign_percent": max(0.0, 100 * (busy_after[0] - busy_before[0] - used.total_s) / wall_s),
        "stolen_percent": 100 * (busy_after[1] - busy_before[1]) / wall_s,
        "voluntary": max(0, switched.voluntary) / count,
        "involuntary": max(0, switched.involuntary) / count,
        "pss_mib": proc.memory(server.pids()).pss / 2**20,
    }


def timed(server: Running, settings: Settings, connections: int, close: bool = False, body: int = 0) -> Metrics:
    """One wrk run beside the kernel's accounting."""
    return loaded(server, lambda: load.wrk(server.port, server.path, connections, settings.seconds, close, body=body))


def loaded(server: Running, run: Callable[[], load.Load]) -> Metrics:
    """The run of a load generator that knows latencies, beside the kernel's accounting."""
    seen: list[load.Load] = []

    def work() -> tuple[int, float]:
        seen.append(run())
        return seen[0].requests, seen[0].wall_us / 1e6

    metrics = accounted(server, work)
    return metrics | latencies(seen[0])


def latencies(seen: load.Load) -> Metrics:
    return {"p50_ms": seen.p50_us / 1e3, "p90_ms": seen.p90_us / 1e3, "p99_ms": seen.p99_us / 1e3, "max_ms": seen.max_us / 1e3,
            "spread": seen.p99_us / max(1, seen.p50_us)}


def per_connection(before: proc.Memory, after: proc.Memory, kernel: int, count: int) -> Metrics:
    """Differences divided by the count, in KiB."""
    each = 1024 * count
    return {
        "rss_kib": (after.rss - before.rss) / each,
        "pss_kib": (after.pss - before.pss) / each,
        "anonymous_kib": (after.anonymous - before.anonymous) / each,
        "kernel_both_ends_kib": kernel / each,
        "total_rss_mib": after.rss / 2**20,
        "count": count,
    }


def warm(server: Running, settings: Settings, connections: int = 100, close: bool = False, body: int = 0) -> None:
    if settings.warmup_s > 0:
        load.wrk(server.port, server.path, connections, settings.warmup_s * server.peer.warmup_factor, close, body=body)


CPU = Column("cpu_us", "CPU us/request")
SHARE = (Column("user_us", "user us"), Column("kernel_us", "kernel us"), Column("rate", "requests/s", 0),
         Column("server_core_percent", "server core %", 0), Column("p50_ms", "p50 ms"), Column("p99_ms", "p99 ms"),
         Column("max_ms", "max ms"), Column("voluntary", "switches", 3), Column("involuntary", "involuntary", 3), Column("calls", "calls"),
         Column("pss_mib", "Pss MiB", 1), Column("client_us", "client us"),
         Column("foreign_percent", "foreign %", 1), Column("stolen_percent", "stolen %", 1))
RATE = Column("rate", "requests/s", 0)
WAITED = (CPU, Column("p50_ms", "p50 ms", 1), Column("p99_ms", "p99 ms", 1), Column("spread", "p99 / p50", 1),
          Column("server_core_percent", "server core %", 0), Column("voluntary", "switches", 2), Column("involuntary", "involuntary", 2),
          Column("pss_mib", "Pss MiB", 1), Column("foreign_percent", "foreign %", 1))
