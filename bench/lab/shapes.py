"""Scenarios of the load's shape and the answer's: how many connections, at which rate, how many bytes.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

from . import load
from .measure import CPU, RATE, SHARE, Column, Curve, Measured, Scenario, Settings, loaded, timed, warm
from .peers import BENCH, Peer, Running
from .proc import BenchError

CONNECTIONS = (1, 8, 64, 512, 4_096)
CONNECTIONS_MAX = max(CONNECTIONS)
PACE = BENCH / "popup" / "target" / "pace"
PACED_RATES = (10_000, 30_000, 60_000)
PACED_CONNECTIONS = 1_000  # an open loop needs one for each concurrent request
PACED_OF_CEILING = 0.9  # beyond this share of its own closed-loop rate a server is not asked
SEED = 20_261_125
JSON_CONNECTIONS, BODY_CONNECTIONS = 100, 20
BODY_BYTES = 1 << 20


def concurrency(peer: Peer, settings: Settings) -> Measured:
    """Points of a curve, and the best of them. A server gets a closed loop of so many connections, whatever it thinks of them."""
    points = []
    with Running(peer, "hello") as server:
        warm(server, settings)
        for connections in CONNECTIONS:
            metrics = timed(server, settings, connections) | {"connections": connections}
            points.append(metrics)
            yield "step", metrics
    yield "best", max(points, key=lambda metrics: metrics["rate"])


def pace(port: int, path: str, rate: int, seconds: float) -> load.Load:
    """An open loop: arrivals at random at this mean rate; a request's time counts from its arrival, also where it had to wait for a
    connection, so that a stalled server is charged for all whom it kept waiting."""
    command = ["taskset", "-c", str(load.LOAD_CORE), str(PACE), str(port), str(rate), str(max(1, round(seconds))), str(PACED_CONNECTIONS),
               str(SEED), path]
    if not PACE.exists():
        raise BenchError(f"{PACE} is missing: bench/setup makes it")
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    if done.returncode != 0:
        raise BenchError(f"pace failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
    return read_pace(done.stdout)


def read_pace(said: str) -> load.Load:
    line = next((x for x in said.splitlines() if x.startswith("BENCH ")), None)
    if line is None:
        raise BenchError(f"pace did not say what it measured: {said.strip()[-400:]}")
    seen = json.loads(line.removeprefix("BENCH "))
    errors = {name: seen[name] for name in ("refused", "mistakes", "errors")}
    if any(errors.values()) or seen["requests"] == 0:
        raise BenchError(f"the server did not answer every request: {seen['requests']} answered, {errors}")
    return load.Load(seen["requests"], seen["wall_us"], seen["p50_us"], seen["p90_us"], seen["p99_us"], seen["max_us"])


def paced(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hello") as server:
        warm(server, settings)
        ceiling = load.wrk(server.port, server.path, 100, settings.seconds).rate
        for rate in PACED_RATES:
            if rate <= PACED_OF_CEILING * ceiling:
                yield f"{rate:,}/s", loaded(server, lambda r=rate: pace(server.port, server.path, r, settings.seconds)) | {"ceiling": ceiling}


def encoded(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "json") as server:
        warm(server, settings)
        yield f"c={JSON_CONNECTIONS}", timed(server, settings, JSON_CONNECTIONS)


def body(peer: Peer, settings: Settings) -> Measured:
    """The whole body reaches the application's code, or comes from it."""
    for role, name, size in (("received", "1 MiB received", BODY_BYTES), ("sent", "1 MiB sent", 0)):
        with Running(peer, role) as server:
            warm(server, settings, BODY_CONNECTIONS, body=size)
            yield name, timed(server, settings, BODY_CONNECTIONS, body=size)


FEWER = tuple(column for column in SHARE if column.metric != "calls")

SCENARIOS = (
    Scenario("concurrency", "Hello by number of connections", "Does the rate hold as connections become many?", RATE,
             (Column("connections", "at connections", 0), CPU, *(c for c in FEWER if c.metric != "rate")), concurrency, lower_is_better=False,
             goal="the rate at 4,096 connections close to the best",
             curves=(Curve("step", "connections", "rate", "connections", "requests per second", logarithmic=True),
                     Curve("step", "connections", "cpu_us", "connections", "CPU us a request", logarithmic=True),
                     Curve("step", "connections", "p99_ms", "connections", "p99, ms (closed loop)", logarithmic=True))),
    Scenario("paced", "Hello at a constant rate", "How long does it take when nobody waits for the last answer before asking?",
             Column("p99_ms", "p99 ms"), (*(replace(c, label="p50 ms") if c.metric == "p50_ms" else c for c in FEWER if c.metric != "p99_ms"),
                                          CPU, Column("ceiling", "closed loop/s", 0)),
             paced, goal="none; an open loop, so that coordinated omission is accounted for"),
    Scenario("json", "10 KB of JSON", "What does encoding cost, beside sending?", CPU, SHARE, encoded, role="json", reference="hyper",
             traced=("json", 1), goal="below php-fpm's; the encoder's share is the language's"),
    Scenario("body", "A body of 1 MiB", "What do bytes cost on their way to the application and from it?", CPU, FEWER, body, role="received",
             reference="hyper", goal="below php-fpm's"),
)
