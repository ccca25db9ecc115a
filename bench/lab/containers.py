"""The comparison from which the project descends: servers with two workers in containers of 2 CPUs and 1 GB, and ab.

`ab -k -c 1000 -n 1000000` asks for hello, and for an answer that takes 10 ms. ab sends the same bytes each time, which is the
comparison's way and nobody else's here. bench/containers/compose.yaml has the same servers and limits for a container engine. Like scenarios.py,
whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import tempfile
from pathlib import Path

from . import load, proc
from .limits import Limits, limited
from .measure import CPU, RATE, Column, Measured, Metrics, Scenario, Settings, latencies
from .peers import Peer, Running
from .proc import BenchError

CPUS, MEMORY = 2, 1 << 30
CONNECTIONS = 1_000
WARM_REQUESTS = 20_000


def ab_command(port: int, path: str, requests: int, seconds: float, table: Path) -> list[str]:
    """-n stands behind -t, which would set another number."""
    return ["taskset", "-c", str(load.LOAD_CORE), "ab", "-q", "-k", "-t", str(max(1, round(seconds))), "-n", str(requests),
            "-c", str(min(CONNECTIONS, requests)), "-e", str(table), f"http://127.0.0.1:{port}{path}"]


def read_ab(said: str, table: str) -> load.Load:
    """From what ab prints, and the percentiles that it writes to a file (-e)."""
    def value(name: str) -> float:
        found = re.search(rf"^{re.escape(name)}: +([0-9.]+)", said, re.MULTILINE)
        return float(found[1]) if found else 0.0

    wrong = {name: value(name) for name in ("Failed requests", "Write errors", "Non-2xx responses")}
    requests = int(value("Complete requests"))
    if any(wrong.values()) or requests == 0:
        raise BenchError(f"the server did not answer every request: {requests} answered, {wrong}")
    percentiles = {row[0]: float(row[1]) * 1e3 for row in csv.reader(table.splitlines()[1:])}
    return load.Load(requests, round(value("Time taken for tests") * 1e6), round(percentiles["50"]), round(percentiles["90"]),
                     round(percentiles["99"]), round(percentiles["100"]))


def ab(port: int, path: str, requests: int, seconds: float) -> load.Load:
    with tempfile.TemporaryDirectory(prefix="bench-ab-") as run:
        table = Path(run) / "percentiles.csv"
        command = ab_command(port, path, requests, seconds, table)
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120, check=False)
        if done.returncode != 0:
            raise BenchError(f"ab failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
        return read_ab(done.stdout, table.read_text())


def one(server: Running, place: Limits, path: str, settings: Settings) -> Metrics:
    """A warm-up and a load. The generator has a core of the two that the server has: its own CPU time stands beside."""
    ab(server.port, path, min(WARM_REQUESTS, settings.container_requests), settings.container_s / 4)
    pids, throttled, client = server.pids(), place.throttled_s(), proc.load_cpu_s()
    before, switched = proc.cpu(pids), proc.switches(pids)
    seen = ab(server.port, path, settings.container_requests, settings.container_s)
    used, switched = proc.cpu(pids) - before, proc.switches(pids) - switched
    peak, count, wall_s = place.peak_memory(), seen.requests, seen.wall_us / 1e6
    return {
        "rate": count / wall_s, "requests": count, "cpu_us": used.total_s * 1e6 / count, "user_us": used.user_s * 1e6 / count,
        "kernel_us": used.kernel_s * 1e6 / count, "client_us": (proc.load_cpu_s() - client) * 1e6 / count,
        "cpus_percent": 100 * used.total_s / wall_s, "throttled_s": place.throttled_s() - throttled,
        "voluntary": switched.voluntary / count, "involuntary": switched.involuntary / count,
        "pss_mib": proc.memory(server.pids()).pss / 2**20,
    } | ({} if peak is None else {"peak_mib": peak / 2**20}) | latencies(seen)


def containers(peer: Peer, settings: Settings) -> Measured:
    """A container for each load, so that each has a peak of memory of its own."""
    waits = peer.paths.get("sleep", "/sleep")
    loads = [("wait 10 ms", "/block" if waits == "/block" else "/sleep")]
    if waits != "/block":
        loads.insert(0, ("hello", "/"))
    os.environ["BENCH_WORKERS"] = str(CPUS)
    try:
        for name, path in loads:
            with limited(CPUS, MEMORY) as place, Running(peer, "container", path, within=place.within) as server:
                yield name if place.groups else f"{name}, memory not limited", one(server, place, path, settings)
    finally:
        del os.environ["BENCH_WORKERS"]


SCENARIOS = (
    Scenario("containers", "Two workers in a container of 2 CPUs and 1 GB, ab with 1,000 connections",
             "Who serves most with what a small container has?", RATE,
             (CPU, Column("user_us", "user us"), Column("kernel_us", "kernel us"), Column("p50_ms", "p50 ms", 1), Column("p90_ms", "p90 ms", 1),
              Column("p99_ms", "p99 ms", 1), Column("max_ms", "max ms", 1), Column("peak_mib", "peak MiB of the group", 0),
              Column("pss_mib", "Pss MiB", 1), Column("voluntary", "switches", 3), Column("involuntary", "involuntary", 3),
              Column("cpus_percent", "of 200 % CPU", 0), Column("throttled_s", "throttled s"), Column("client_us", "client us"),
              Column("requests", "requests", 0)),
             containers, role="container", lower_is_better=False, goal="weft ahead of Netty and Swoole in rate and memory"),
)
