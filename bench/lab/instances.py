"""Scenarios of document roots and whole applications: instances of weft beside nginx with php-fpm, on the same files.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext

from . import load, proc, sites
from .measure import CPU, RATE, SHARE, WAITED, Column, Measured, Metrics, Scenario, Settings, timed, warm
from .peers import BENCH, INSTANCES, INSTANCES_USUAL, SERVER_CORE, Peer, Running
from .visitors import Visitors

CALL_MS = 500
VISITORS = 60
TURNS = 20_000
MET_LEAST = 0.98  # of all turns, below which the players did not alternate
MB = 1e6
OUT = BENCH / "out"
IDLE_S = 4.0  # twice the idle time after which an instance returns memory
SLOW_CLIENTS = 8  # as many as php-fpm has children
OTHER_CLIENTS = 10
WRITERS = (8, 15, 40)
boards = itertools.count(0x77656674)


def closed_loop(role: str, connections: int, made: bool = False) -> Callable[[Peer, Settings], Measured]:
    """wrk on one page."""
    def measure(peer: Peer, settings: Settings) -> Measured:
        with sites.symfony() if made else nullcontext(), Running(peer, role) as server:
            warm(server, settings, connections)
            yield f"c={connections}", timed(server, settings, connections)
    return measure


def slow(peer: Peer, settings: Settings) -> Measured:
    """Eight clients ask for the slow endpoint again and again; ten others ask for the other nine."""
    with Running(peer, "slow") as server:
        warm(server, settings, OTHER_CLIENTS)
        with Visitors(server.port, "/slow.php", SLOW_CLIENTS) as crowd:
            proc.wait_for("the slow clients to be under way", crowd.settled)
            metrics = timed(server, settings, OTHER_CLIENTS)
            metrics["slow_answers"] = len(crowd.answered)
    yield f"c={OTHER_CLIENTS}", metrics


def database(journal_mode: str) -> None:
    """A new database with one table, beside the results."""
    OUT.mkdir(exist_ok=True)
    for left in OUT.glob(f"{journal_mode}.db*"):
        left.unlink()
    with closing(sqlite3.connect(OUT / f"{journal_mode}.db")) as made:
        made.execute(f"PRAGMA journal_mode = {journal_mode}")
        made.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")


def sqlite(peer: Peer, settings: Settings) -> Measured:
    """Clients that each write a row, again and again: who is told that the database is locked fails the run."""
    for journal_mode in ("wal", "delete"):
        database(journal_mode)
        with Running(peer, "sqlite") as server:
            for clients in WRITERS:
                with crowd(server, f"/sqlite.php?database={journal_mode}", clients) as visitors:
                    seen = visitors.watch(2 * settings.seconds)
                longest = max(took for _, took in visitors.answered)
                yield f"{journal_mode} c={clients}", {"rate": seen.rate, "p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms, "max_ms": longest * 1e3}


def settled_memory(server: Running) -> proc.Memory:
    """The memory that workers keep after they have been idle long enough to return some, once it no longer changes. (Not Pss:
    that changes with other programs' share of the libraries.)"""
    state = {"rss": 0, "since": 0.0}

    def still() -> bool:
        now = proc.memory(server.workers()).rss
        if abs(now - state["rss"]) > 64 * 1024:
            state.update(rss=now, since=time.monotonic())
        return time.monotonic() - state["since"] > IDLE_S

    proc.wait_for("idle instances to give their memory back", still)
    return proc.memory(server.workers())


def grown(one: proc.Memory, many: proc.Memory, instances: int) -> Metrics:
    """What each further instance adds, in MB."""
    return {"each_mb": (many.rss - one.rss) / MB / instances, "anonymous_mb": (many.anonymous - one.anonymous) / MB / instances,
            "total_mb": many.rss / MB, "instances": instances + 1}


def memory(peer: Peer, settings: Settings) -> Measured:
    """One visitor needs one instance; a crowd whose requests wait needs one each. The difference is the cost of these instances."""
    count = INSTANCES_USUAL
    with Running(peer, "instances") as server:
        with Visitors(server.port, "/wait1.php?us=1000", 1) as single:
            single.watch(1)
        one = settled_memory(server)
        with Visitors(server.port, "/wait1.php?us=200000", count) as crowd:
            proc.wait_for("every visitor to be answered", crowd.settled)
            busy = proc.memory(server.workers())
        yield "light, in flight", grown(one, busy, count - 1)
        yield "light, idle", grown(one, settled_memory(server), count - 1)
    count = INSTANCES["wordpress"]
    with sites.wordpress(settings.backend_core), Running(peer, "wordpress") as server:
        with Visitors(server.port, "/", 1) as single:
            single.watch(3)
        one = settled_memory(server)
        with Visitors(server.port, f"/?ms={CALL_MS}", count) as crowd:
            proc.wait_for("every visitor to be answered", crowd.settled)
            crowd.watch(settings.seconds)
            busy = proc.memory(server.workers())
        yield "WordPress, in flight", grown(one, busy, count - 1)
        yield "WordPress, idle", grown(one, settled_memory(server), count - 1)


def take_turns(server: Running, path: str, players: int) -> Metrics:
    """The cost of a zero-length sleep for the process while this many requests alternate."""
    board = next(boards)
    mark = "&" if "?" in path else "?"
    target = f"{path}{mark}rounds={TURNS}&players={players}&board={board}"
    clients = [load.connect(server.port, number) for number in range(players)]
    try:
        for number, client in enumerate(clients):
            client.sendall(load.request_bytes(target, number))
        said = [re.search(r'\{"turn_us":[^}]*\}', load.read_answer(client)[1].decode(errors="replace")) for client in clients]
    finally:
        for client in clients:
            client.close()
    found = [json.loads(one[0]) for one in said if one]
    if len(found) != players:
        raise proc.BenchError(f"{target} did not say what its turns cost")
    return {name: sum(one[name] for one in found) / players for name in ("turn_us", "met")}


def switch(peer: Peer, settings: Settings) -> Measured:
    """Two requests that alternate with zero-length sleeps: each sleep of one is a switch to the other and one back. The same by one
    request alone is the price of sleeping without a switch, of which two share one turn of the loop: so between half of it and
    all of it comes off. `us` takes off half, the upper bound; `least_us` all."""
    for page, role, site in (("hello", "switch", nullcontext()), ("WordPress", "wordpress", sites.wordpress(settings.backend_core))):
        with site, Running(peer, role) as server:
            path = server.path
            for _ in range(2):  # both instances have been used, everything is compiled
                take_turns(server, path, 2)
            alone, pair = take_turns(server, path, 1), take_turns(server, path, 2)
            if pair["met"] < MET_LEAST or alone["met"] > 0:
                raise proc.BenchError(f"the players did not alternate: {pair['met']:.3f} of the turns, alone {alone['met']:.3f}")
            yield page, {"us": (pair["turn_us"] - alone["turn_us"]) / 2, "least_us": pair["turn_us"] / 2 - alone["turn_us"],
                         "alone_us": alone["turn_us"], "met": pair["met"]}


@contextmanager
def crowd(server: Running, path: str, count: int) -> Iterator[Visitors]:
    with Visitors(server.port, path, count) as visitors:
        proc.wait_for(f"each of {count} visitors to be answered once", visitors.settled, 120)
        yield visitors


def watched(server: Running, path: str, seconds: float) -> Metrics:
    """Sixty visitors of one page, beside the kernel's accounting."""
    with crowd(server, path, VISITORS) as visitors:
        before, busy_before = proc.cpu(server.pids()), proc.core_busy_s(SERVER_CORE)
        seen = visitors.watch(seconds)
        used, busy = proc.cpu(server.pids()) - before, proc.core_busy_s(SERVER_CORE)
        held = proc.memory(server.workers())
    return {"rate": seen.rate, "cpu_ms": used.total_s * 1e3 / seen.answers, "p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms,
            "pss_mb": held.pss / MB, "server_core_percent": 100 * used.total_s / seconds,
            "foreign_percent": max(0.0, 100 * (busy[0] - busy_before[0] - used.total_s) / seconds)}


def wordpress(peer: Peer, settings: Settings) -> Measured:
    """The same page without the call is as fast as the core computes it: that rate is what the one with the call is compared with.
    A disturbance of either spoils the comparison."""
    seconds = 4 * settings.seconds
    with sites.wordpress(settings.backend_core), Running(peer, "wordpress") as server:
        computed = watched(server, "/", seconds)
        proc.wait_quiet(server.pids())
        metrics = watched(server, f"/?ms={CALL_MS}", seconds)
    metrics["foreign_percent"] = max(metrics["foreign_percent"], computed["foreign_percent"])
    yield f"c={VISITORS}", metrics | {"share": metrics["rate"] / computed["rate"], "computed_rate": computed["rate"]}


MEGABYTES = (Column("anonymous_mb", "anonymous MB each"), Column("total_mb", "worker's Rss MB", 1), Column("instances", "instances", 0))
LOOP = (CPU, *SHARE[3:])
SCENARIOS = (
    Scenario("switch", "A switch between two instances", "What does it cost to put one PHP aside and another one in place?",
             Column("us", "us, at most"), (Column("least_us", "us, at least"), Column("alone_us", "a sleep without a switch, us"),
             Column("met", "switches per sleep")), switch, role="switch", goal="at most 3.5 us for hello, 9 us in the middle of a WordPress page",
             limit=("values", {"hello": 3.5, "WordPress": 9.0})),
    Scenario("instances", "Memory of an instance", "What does each further PHP in the process keep?", Column("each_mb", "Rss MB each"), MEGABYTES,
             memory, role="instances", goal="idle at most 0.25 MB after light requests, 1 MB after WordPress; WordPress in flight at most 4 MB",
             limit=("values", {"light, idle": 0.25, "WordPress, idle": 1.0, "WordPress, in flight": 4.0}), rounds=1),
    Scenario("classic", "Hello from a document root", "What does weft save where nothing of the application changes?", RATE, LOOP,
             closed_loop("classic", 100), role="classic", lower_is_better=False,
             goal="instances at least 5 x php-fpm, and at least 95 % of one request at a time", limit=("ratio", 5.0), reference="fpm-8"),
    Scenario("wait1", "A page that waits 1 ms", "Do short waits cost anything?", RATE, WAITED, closed_loop("wait1", 100), role="wait1",
             lower_is_better=False, goal="instances at least 4 x php-fpm with 8 children", limit=("ratio", 4.0), reference="fpm-8"),
    Scenario("wordpress", "WordPress with an outgoing call of 0.5 s", "Does one process compute all the time while sixty visitors wait?",
             Column("share", "of its rate without the call"),
             (Column("rate", "requests/s", 1), Column("computed_rate", "without the call/s", 1), Column("cpu_ms", "CPU ms/request", 1),
              Column("pss_mb", "Pss MB in all", 0), Column("p50_ms", "p50 ms", 0), Column("p99_ms", "p99 ms", 0),
              Column("server_core_percent", "server core %", 0), Column("foreign_percent", "foreign %", 1)),
             wordpress, role="wordpress", lower_is_better=False, goal="one process of weft at least 0.9", limit=("value", 0.9)),
    Scenario("symfony", "Symfony's hello", "What does it save to keep the application loaded?", RATE, LOOP, closed_loop("symfony", 50, True),
             role="symfony", lower_is_better=False, goal="resident at least 8 x php-fpm", limit=("ratio", 8.0), reference="fpm-8"),
    Scenario("slow", "Eight clients at an endpoint that takes 2 s", "Do those of the nine others notice?", Column("p99_ms", "p99 ms of the others"),
             (Column("p50_ms", "p50 ms", 1), RATE, Column("slow_answers", "slow answers", 0), Column("foreign_percent", "foreign %", 1)), slow,
             role="slow", goal="p99 of the others below 50 ms", limit=("value", 50.0)),
    Scenario("sqlite", "One row in SQLite per request", "Does everybody who waits for the database get it, and in turn?", Column("p99_ms", "p99 ms"),
             (Column("p50_ms", "p50 ms", 0), Column("max_ms", "longest ms", 0), RATE), sqlite, role="sqlite",
             goal="nobody is told that it is locked (that fails the run); p99 no higher than php-fpm's", limit=("ratio", 1.0), reference="fpm-8"),
)
