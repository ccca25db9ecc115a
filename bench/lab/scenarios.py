"""What is measured and how: one function per question, one row each in SCENARIOS.

A scenario function starts its peer afresh, warms it, measures, stops it, and yields (variant, metrics). The driver calls
it once per peer and round, A B C A B C, so that drift of the machine hits all peers alike. instances.py has the
scenarios of document roots and whole applications. It must not know how results are written or drawn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from . import (applications, backends, containers, evolution, fair, hostile, hosts, instances, load, manysites, micro, popups, proc, push, secure,
               shapes, spans, stalled, trace)
from .measure import CPU, RATE, SHARE, WAITED, Column, Curve, Measured, Scenario, Settings, per_connection, timed, warm
from .peers import FPM_CHILDREN, SERVER_CORE, Peer, Running


def hello(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hello") as server:
        warm(server, settings)
        for connections in (100, 1000):
            yield f"c={connections}", timed(server, settings, connections)


def sleep10(peer: Peer, settings: Settings) -> Measured:
    """A closed loop of c connections cannot ask for more than c / 10 ms: `reach` is the rate against that bound too."""
    connections = 1000
    with Running(peer, "hello", peer.paths.get("hello", "/")) as server:
        warm(server, settings, connections)
        hello_rate = timed(server, settings, connections)["rate"]
    with Running(peer, "sleep") as server:
        warm(server, settings, 10 if peer.blocks else connections)
        metrics = timed(server, settings, connections)
    reachable = min(hello_rate, connections / 0.010)
    metrics |= {"hello_rate": hello_rate, "to_hello": metrics["rate"] / hello_rate, "reach": metrics["rate"] / reachable}
    yield f"c={connections}", metrics


def short(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hello") as server:
        warm(server, settings, close=True)
        yield "c=100", timed(server, settings, 100, close=True)


def parked(peer: Peer, settings: Settings) -> Measured:
    """Memory before and after all requests are held. With a process per request there is no before: the processes are the cost."""
    count = FPM_CHILDREN - 2 if peer.process_per_request else settings.parked
    with Running(peer, "park") as server, load.Held() as held:
        server.path = "/" if not peer.process_per_request else peer.paths["hello"]
        warm(server, settings)
        proc.wait_quiet(server.pids())
        before, kernel_before = proc.memory(server.workers()), proc.kernel_memory()
        held.parked(server.port, count, peer.paths["park"])
        proc.wait_for("the server to receive every request", lambda: proc.unread_bytes(server.port) == 0)
        proc.wait_quiet(server.pids())
        held.require_silence()
        after, kernel_after = proc.memory(server.workers()), proc.kernel_memory()
    if peer.process_per_request:
        before = proc.Memory(0, 0, 0)
        after = proc.Memory(*(value * count // FPM_CHILDREN for value in (after.rss, after.pss, after.anonymous)))
    yield "each", per_connection(before, after, kernel_after - kernel_before, count)


def idle(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hello") as server, load.Held() as held:
        warm(server, settings)
        proc.wait_quiet(server.pids())
        before, kernel_before = proc.memory(server.workers()), proc.kernel_memory()
        held.idle(server.port, settings.idle, server.path)
        proc.wait_quiet(server.pids())
        held.require_silence()
        after, kernel_after = proc.memory(server.workers()), proc.kernel_memory()
    yield "each", per_connection(before, after, kernel_after - kernel_before, settings.idle)


def soak(peer: Peer, settings: Settings) -> Measured:
    """Yields one sample per step, then the verdict as the variant `growth`."""
    with Running(peer, "hello") as server:
        workers = server.workers()
        done = settings.soak_mark
        load.drive(server.port, server.path, done)
        first = rss = proc.memory(workers).rss
        yield "step", {"requests": done, "rss_mib": rss / 2**20}
        while done < settings.soak_requests:
            done += load.wrk(server.port, server.path, 100, settings.soak_step_s).requests
            rss = proc.memory(workers).rss
            yield "step", {"requests": done, "rss_mib": rss / 2**20}
    yield "growth", {"requests": done, "rss_mib": rss / 2**20, "first_rss_mib": first / 2**20,
                     "growth_mib": (rss - first) / 2**20}


def syscalls(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hello") as server:
        load.wrk(server.port, server.path, 100, 1)
        yield "keep-alive", trace.per_request(server, settings.traced_requests)


def queries(peer: Peer, settings: Settings) -> Measured:
    with backends.mariadb(settings.backend_core), Running(peer, "db3") as server:
        load.wrk(server.port, server.path, 100, 1)
        yield "20 at once", trace.per_request(server, settings.traced_requests, 20)


def database(role: str, connections: tuple[int, ...], sleeps: bool = False) -> Callable[[Peer, Settings], Measured]:
    """Up and down again: how a server and the database share a core changes during the run, whatever the number of connections. Each
    server has a database of its own, which is idle while others have their turn. A query that `sleeps` keeps its thread meanwhile."""
    def measure(peer: Peer, settings: Settings) -> Measured:
        core = settings.backend_core
        with backends.mariadb(core, pooled=core != SERVER_CORE and not sleeps), Running(peer, role) as server:
            warm(server, settings)
            for _ in range(settings.rounds):
                for count in (*connections, *reversed(connections)):
                    yield f"c={count}", timed(server, settings, count)
    return measure


def slow_query(peer: Peer, settings: Settings) -> Measured:
    """No more queries can be asked at once than there are connections to the database, or clients: `reach` is the rate against that
    bound. With a process for each connection the load of a thousand clients would only wait in a queue."""
    processes = re.fullmatch(r"(?:weft-sync|fpm)-(\d+)", peer.name)
    most = int(processes[1]) if processes else int(os.environ.get("BENCH_CONNECTIONS", SLOW_CONNECTIONS))
    for variant, metrics in database("db10", (100, 300) if processes else (100, 300, 1000), sleeps=True)(peer, settings):
        yield variant, metrics | {"reach": metrics["rate"] * 0.010 / min(most, int(variant.removeprefix("c=")))}


def redis(peer: Peer, settings: Settings) -> Measured:
    with backends.redis(settings.backend_core), Running(peer, "redis") as server:
        warm(server, settings)
        yield "c=100", timed(server, settings, 100)


def scope(peer: Peer, settings: Settings) -> Measured:
    with backends.upstream(settings.backend_core), Running(peer, "scope") as server:
        warm(server, settings, 10)
        yield "c=10", timed(server, settings, 10)


SLOW_CONNECTIONS = 128  # that a coroutine server shares in db10, see bench/apps/queries.php
MEMORY = (Column("pss_kib", "Pss KiB"), Column("anonymous_kib", "anonymous KiB"),
          Column("kernel_both_ends_kib", "kernel KiB (both ends)"), Column("total_rss_mib", "workers' Rss MiB", 1),
          Column("count", "held", 0))

SCENARIOS = (
    Scenario("hello", "Hello, keep-alive", "What does one answer cost when the handler does nothing?", CPU, SHARE, hello, traced=("hello", 1),
             goal="at most 1.15 x bare, user share at most 0.7 us", limit=("ratio", 1.15)),
    Scenario("short", "One request per connection", "What do accept and close add?", CPU, SHARE, short,
             goal="at most 1.1 x bare", limit=("ratio", 1.1)),
    Scenario("sleep10", "A handler that sleeps 10 ms, c=1000", "Does waiting cost anything but time?",
             Column("to_hello", "rate / own hello rate"),
             (Column("reach", "rate / reachable"), Column("rate", "requests/s", 0), Column("hello_rate", "hello/s", 0), CPU,
              Column("p50_ms", "p50 ms", 1), Column("p99_ms", "p99 ms", 1), *SHARE[:2], *SHARE[6:]),
             sleep10, role="sleep", traced=("sleep", 100), lower_is_better=False, goal="at least 0.85, p99 below 25 ms", limit=("value", 0.85)),
    Scenario("db3", "Three PDO queries", "Who serves most, and stays flat?", RATE, WAITED, database("db3", (100, 300, 500, 1000)),
             role="db3", lower_is_better=False, goal="weft ahead of all, c=500 at least 95 % of c=100, p99 at most 2 x p50", reference="weft",
             in_turns=8),
    Scenario("db10", "One query of 10 ms", "What do processes cost that wait?", RATE, (Column("reach", "rate / reachable"), *WAITED), slow_query,
             role="db10", lower_is_better=False, goal="weft at least 5 x 8 processes, and 0.9 of what its connections can reach", reference="weft",
             in_turns=6),
    Scenario("redis", "One Redis GET", "Does waiting together pay even when the wait is short?", RATE, WAITED, redis, role="redis",
             lower_is_better=False, goal="weft at least 1.5 x weft-sync-1"),
    Scenario("scope", "Ten upstream calls of 50 ms in a Scope", "Do they take as long as one?", Column("p99_ms", "p99 ms"),
             (Column("p50_ms", "p50 ms"), Column("rate", "requests/s", 0), CPU), scope, role="scope", goal="a request takes at most 70 ms",
             limit=("value", 70.0)),
    Scenario("parked", "Requests parked at once in one worker", "What does a waiting request keep resident?",
             Column("rss_kib", "Rss KiB each"), MEMORY, parked, role="park", goal="at most 12 KB each", limit=("value", 12.0)),
    Scenario("idle", "Idle keep-alive connections", "What does a connection that says nothing keep resident?",
             Column("rss_kib", "Rss KiB each"), MEMORY, idle, goal="at most 1 KB of user memory each", limit=("value", 1.0)),
    Scenario("syscalls", "System calls per keep-alive request", "One recv and one send?", Column("all", "all calls/request"),
             (Column("recv", "recv"), Column("send", "send"), Column("wait", "epoll/poll wait"), Column("other", "other")),
             syscalls, goal="one recv, one send", rounds=1),
    Scenario("querycalls", "System calls of three PDO queries", "Is anything asked that is known?", Column("all", "all calls/request"),
             (Column("recv", "recv"), Column("send", "send"), Column("wait", "epoll/poll wait"), Column("other", "other")),
             queries, role="db3", goal="at most 9.2: four recv, four send, and a part of a wait", limit=("value", 9.2), rounds=1),
    Scenario("micro", "Micro costs", "What do the parts cost on this machine?", Column("ns", "ns", 1), (), micro.measure,
             role=None, goal="the floor under the figures above"),
    Scenario("soak", "Ten million requests", "Does memory stay where it was?", Column("growth_mib", "Rss growth MiB"),
             (Column("first_rss_mib", "Rss MiB after 100,000"), Column("rss_mib", "Rss MiB at the end"),
              Column("requests", "requests", 0)),
             soak, goal="within 1 MB of the first 100,000", limit=("value", 1.0), rounds=1,
             curves=(Curve("step", "requests", "rss_mib", "requests answered", "resident memory of the worker, MiB"),)),
    *instances.SCENARIOS,
    *fair.SCENARIOS,
    *hostile.SCENARIOS,
    *applications.SCENARIOS,
    *secure.SCENARIOS,
    *manysites.SCENARIOS,
    *push.SCENARIOS,
    *stalled.SCENARIOS,
    *hosts.SCENARIOS,
    *spans.SCENARIOS,
    *shapes.SCENARIOS,
    *evolution.SCENARIOS,
    *containers.SCENARIOS,
    *popups.SCENARIOS,
)
CONNECTIONS_MAX = shapes.CONNECTIONS_MAX
