"""The scenario of many sites: three hundred in one weft, beside one, and beside a pool of php-fpm for each.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import time

from . import load, proc
from .measure import CPU, Column, Measured, Scenario, Settings, accounted
from .peers import Peer, Running

IDLE_S = 15.0  # half as long again as the idle time after which processes on demand go
CONNECTIONS = 100


def sites(peer: Peer, settings: Settings) -> Measured:
    """Each site is asked in turn. Memory is that of all processes: at once after the load, and when nobody has asked for a while."""
    with Running(peer, "sites") as server:
        def work() -> tuple[int, float]:
            seen = load.wrk(server.port, server.path, CONNECTIONS, settings.seconds, sites=peer.sites)
            return seen.requests, seen.wall_us / 1e6
        work()
        before = proc.tree_cpu(p.pid for p in server.processes)
        seen: list[tuple[int, float]] = []

        def counted() -> tuple[int, float]:
            seen.append(work())
            return seen[0]

        metrics = accounted(server, counted)
        # Processes on demand come and go meanwhile.
        metrics["cpu_us"] = (proc.tree_cpu(p.pid for p in server.processes) - before).total_s * 1e6 / seen[0][0]
        loaded = proc.memory(server.pids())
        processes = len(server.pids())
        time.sleep(IDLE_S)
        idle = proc.memory(server.pids())
    yield f"c={CONNECTIONS}", metrics | {"loaded_mib": loaded.pss / 2**20, "idle_mib": idle.pss / 2**20, "processes": processes}


SCENARIOS = (
    Scenario("sites", "Three hundred sites, each asked in turn", "What do sites cost that share a worker?", CPU,
             (Column("rate", "requests/s", 0), Column("loaded_mib", "Pss MiB, loaded", 1), Column("idle_mib", "Pss MiB, idle", 1),
              Column("processes", "processes", 0), Column("foreign_percent", "foreign %", 1)),
             sites, role="sites", goal="memory and rate as for one site", reference="weft-1-site"),
)
