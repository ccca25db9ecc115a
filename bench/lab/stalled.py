"""Clients that never read, under a broadcast of 1 MB/s to each: what others notice, and what memory does.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import threading

from . import proc, talk
from .measure import CPU, Column, Measured, Metrics, Scenario, Settings, accounted
from .peers import Peer, Running
from .push import NOISE, latencies

CLIENTS = 1_000
RATE = 1_000  # messages a second there and back, of the client that does read
PHASES = 4  # under broadcast, of the scenario's seconds each: the kernel's buffers are full after the first ones


def others(server: Running, settings: Settings) -> Metrics:
    seen: list[dict[str, int]] = []

    def work() -> tuple[int, float]:
        seen.append(talk.talk("steady", server.port, RATE, settings.seconds))
        return seen[0]["messages"], seen[0]["wall_us"] / 1e6

    metrics = accounted(server, work)
    return metrics | latencies(seen[0])


def stalled(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "stalled") as server:
        talk.talk("steady", server.port, RATE, settings.warmup_s)
        yield "nobody else", others(server, settings)
        with talk.kept("stall", server.port, CLIENTS):
            yield "nothing published", others(server, settings)
            kernel = proc.kernel_memory()
            seconds = (PHASES + 1) * settings.seconds
            flood = threading.Thread(target=talk.get, args=(server.port, f"/flood?seconds={seconds}"))
            flood.start()
            try:
                for phase in range(1, PHASES + 1):
                    yield f"broadcast, part {phase}", others(server, settings) | {"kernel_mib": (proc.kernel_memory() - kernel) / 2**20}
            finally:
                flood.join()


SCENARIOS = (
    Scenario("stalled", "1,000 clients that never read, 1 MB/s to each", "What does another client notice?", Column("p99_ms", "p99 ms", 3),
             (Column("p50_ms", "p50 ms", 3), Column("max_ms", "max ms"), Column("pss_mib", "server's Pss MiB", 1), Column("kernel_mib", "kernel MiB", 0),
              Column("server_core_percent", "server core %", 0), CPU, *NOISE),
             stalled, role="stalled", goal="the p99 of the others does not move, and memory stays within its bound"),
)
