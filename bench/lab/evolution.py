"""The evolution of servers: the same handler by a process for each request, a pool of processes, a pool of threads, an event loop,
and coroutines, in C; and by weft.

Effective CPU is the share of a server's CPU time that is the handler's own: the CPU time of one handler, measured in a loop in
which nothing else is done (the program's `calibrate`), divided by the CPU time of one request, as the kernel accounts it to all
processes and threads of the server, those that have ended included. What is left is what the model costs: making processes, switching,
accepting, system calls, cold caches. Each request has a connection of its own, as a process for each request needs it; "kept" is the same
without that. Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import os
import signal
import subprocess

from . import load, proc
from .measure import CPU, Column, Measured, Metrics, Scenario, Settings, loaded
from .peers import BENCH, SERVER_CORE, Peer, Running, model_program, weft_binary
from .proc import BenchError

LOADS = (("hello", "/", 100, True), ("hello, kept", "/", 100, False), ("wait 10 ms", "/wait", 1_000, True))
HANDLER = BENCH / "apps" / "evolution.php"
CALIBRATE = BENCH / "evolution" / "calibrate.php"


def handler_us(peer: Peer) -> float:
    """The CPU time of one handler, and nothing else."""
    program = [str(weft_binary()), "php", str(CALIBRATE)] if peer.name == "weft" else [str(model_program(peer.name)), "calibrate"]
    done = subprocess.run(["taskset", "-c", str(SERVER_CORE), *program], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(program)} failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
    return int(done.stdout) / 1e3


def switches(server: Running) -> proc.Switches:
    """Of all threads, those of ended processes included: where processes end, the program says it."""
    if not server.peer.forks:
        return proc.switches(server.pids())
    said = server.run / "switches"
    said.unlink(missing_ok=True)
    os.kill(int((server.processes[0]).pid), signal.SIGUSR1)
    proc.wait_for(f"{server.peer.name} to say how often it was switched", said.exists, 10)
    return proc.Switches(*map(int, said.read_text().split()))


def spent(handler: float, metrics: Metrics) -> Metrics:
    """How the CPU time of a request divides. The kernel's share is sampled by the tick, so the handler's share of the rest is bounded."""
    if metrics["cpu_us"] == 0:
        raise BenchError("the kernel counted no CPU time: the load was too short, or the machine too busy")
    handler = min(handler, metrics["cpu_us"])
    user = max(0.0, metrics["user_us"] - handler)
    return {"handler_us": handler, "model_user_us": user, "model_kernel_us": metrics["cpu_us"] - handler - user,
            "effective_percent": 100 * handler / metrics["cpu_us"]}


def exact(metrics: Metrics, cpu_us: float) -> Metrics:
    """The figures of ticks with this CPU time: the split into user and kernel is theirs."""
    scale = cpu_us / metrics["cpu_us"] if metrics["cpu_us"] else 0.0
    return metrics | {"cpu_us": cpu_us, "user_us": metrics["user_us"] * scale, "kernel_us": metrics["kernel_us"] * scale}


def divided(metrics: Metrics, core: proc.Cpu) -> Metrics:
    """The figures with the split into user and kernel that the whole core has had."""
    if core.total_s <= 0:
        raise BenchError("the kernel counted no CPU time on the server's core")
    return metrics | {"user_us": metrics["cpu_us"] * core.user_s / core.total_s, "kernel_us": metrics["cpu_us"] * core.kernel_s / core.total_s}


def evolution(peer: Peer, settings: Settings) -> Measured:
    handler = handler_us(peer)
    for name, path, connections, close in LOADS:
        if peer.forks and not close:
            continue  # its processes answer once
        with Running(peer, "evolution", path) as server:
            load.wrk(server.port, path, connections, max(1, settings.warmup_s), close)
            before, ran, core = switches(server), proc.run_time_s(server.pids()), proc.core_cpu(SERVER_CORE)
            metrics = loaded(server, lambda p=path, n=connections, c=close, s=server: load.wrk(s.port, p, n, settings.seconds, c))
            switched = switches(server) - before
            count = metrics["requests"]
            if peer.forks:
                metrics = divided(metrics, proc.core_cpu(SERVER_CORE) - core)
            else:  # ticks of 10 ms are too coarse for a pool whose processes use a few each
                metrics = exact(metrics, (proc.run_time_s(server.pids()) - ran) * 1e6 / count)
            yield name, metrics | spent(handler, metrics) | {"voluntary": switched.voluntary / count, "involuntary": switched.involuntary / count,
                                                             "all_switches": (switched.voluntary + switched.involuntary) / count}


SCENARIOS = (
    Scenario("evolution", "The evolution of servers", "Which part of the CPU time is the application's?", Column("effective_percent", "effective CPU %", 1),
             (Column("all_switches", "switches", 2), Column("rate", "requests/s", 0), CPU, Column("handler_us", "handler us"),
              Column("model_user_us", "other user us"), Column("model_kernel_us", "kernel us"), Column("voluntary", "voluntary"),
              Column("involuntary", "involuntary"), Column("server_core_percent", "server core %", 0), Column("p50_ms", "p50 ms", 1),
              Column("p99_ms", "p99 ms", 1), Column("pss_mib", "Pss MiB", 1), Column("foreign_percent", "foreign %", 1)),
             evolution, role="evolution", lower_is_better=False, spends=True, goal="each model above the one before it"),
)
