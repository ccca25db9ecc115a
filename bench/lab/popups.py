"""The pop-up service's mix as a scenario: its ceiling, by wrk with bench/popup/mix.lua. bench/popup/run measures the rest of it.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import time

from . import proc
from .measure import CPU, Column, Measured, Scenario, Settings
from .peers import SERVER_CORE, Peer
from .proc import BenchError

CONNECTIONS = 100


def popup(_peer: Peer, settings: Settings) -> Measured:
    """On MariaDB, which is on the load's core. Each confirmed operation has to be in the database afterwards."""
    from popup import loads
    from popup.service import Stage

    with Stage("mariadb") as stage, stage.serve("keepalive") as service:
        if settings.warmup_s > 0:
            with loads.started(loads.wrk(service.site.port, CONNECTIONS, max(1, round(settings.warmup_s)), True)) as load:
                load.process.wait()
            proc.wait_for("the first operations to be written", lambda: service.site.health()["queues"]["depth"] == 0)
            time.sleep(1.5)  # the workers report their queues once a second
        rows, database = service.database.rows(), proc.cpu([service.database.pid]).total_s
        before, switched, busy = proc.cpu(service.weft), proc.switches(service.weft), proc.core_busy_s(SERVER_CORE)
        with loads.started(loads.wrk(service.site.port, CONNECTIONS, max(1, round(settings.seconds)), True)) as load:
            load.process.wait()
            seen = load.result()
        used, switched, database = proc.cpu(service.weft) - before, proc.switches(service.weft) - switched, proc.cpu([service.database.pid]).total_s - database
        others = proc.core_busy_s(SERVER_CORE)[0] - busy[0] - used.total_s
        proc.wait_for("all operations to be written", lambda: service.site.health()["queues"]["depth"] == 0)
        time.sleep(1.5)  # the workers report their queues once a second
        lost = max(0, (seen.returned or 0) + seen.recorded - (service.database.rows() - rows))
        if lost or seen.failed:
            raise BenchError(f"{lost} confirmed operations are not in the database, {seen.failed} requests failed")
        wall_s, count = seen.wall_us / 1e6, seen.requests
        yield f"c={CONNECTIONS}", {
            "rate": count / wall_s, "cpu_us": used.total_s * 1e6 / count, "user_us": used.user_s * 1e6 / count, "kernel_us": used.kernel_s * 1e6 / count,
            "server_core_percent": 100 * used.total_s / wall_s, "database_percent": 100 * database / wall_s, "p50_ms": seen.p50_us / 1e3,
            "p99_ms": seen.p99_us / 1e3, "max_ms": seen.max_us / 1e3, "voluntary": switched.voluntary / count,
            "involuntary": switched.involuntary / count, "pss_mib": proc.memory(service.weft).pss / 2**20,
            "foreign_percent": max(0.0, 100 * others / wall_s)}


SCENARIOS = (
    Scenario("popup", "The pop-up service's mix", "How many pop-up requests does a core serve?", Column("rate", "requests/s", 0),
             (CPU, Column("user_us", "user us"), Column("kernel_us", "kernel us"), Column("p50_ms", "p50 ms", 1), Column("p99_ms", "p99 ms", 1),
              Column("max_ms", "max ms", 1), Column("server_core_percent", "server core %", 0), Column("database_percent", "database core %", 0),
              Column("voluntary", "switches", 2), Column("involuntary", "involuntary", 2), Column("pss_mib", "Pss MiB", 1),
              Column("foreign_percent", "foreign %", 1)),
             popup, role="popup", lower_is_better=False, goal="at least 30,000 requests/s, none lost", limit=("value", 30_000.0)),
)
