"""The scenario of whole applications as Debian packages them, in their usual state: no page waits for a slow server.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn. Each round starts its
servers anew: starts of one server, php-fpm's as well, differ by up to 10 % where its windows differ by 2, so that one start of each
compares nothing.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache

from . import backends, load, proc, sites
from .measure import Column, Measured, Metrics, Scenario, Settings
from .peers import APPLICATIONS, SERVER_CORE, Peer, Running
from .visitors import Page, Visitors

CLIENTS = 30
FIRST_PAGES_S = 180  # the first page of each visitor may compile everything
SETTLE_S = 15  # weft's further worker, forked while all was compiled, has gone by then


@lru_cache(maxsize=1)
def installed(core: int) -> dict[str, dict[str, str]]:
    """All applications on one MariaDB, for the whole run: what is told to the servers of each."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(sites.applications(core))


def served(server: Running, path: str, settings: Settings, pages: tuple[Page, ...] = ()) -> Metrics:
    """Thirty visitors, each of whom asks again as soon as he has his answer, beside the kernel's accounting."""
    with Visitors(server.port, path, CLIENTS, pages) as crowd:
        proc.wait_for(f"each of {CLIENTS} visitors to be answered once", crowd.settled, FIRST_PAGES_S)
        crowd.watch(SETTLE_S)
        return window(server, crowd, settings.seconds)


def window(server: Running, crowd: Visitors, seconds: float) -> Metrics:
    roots = [process.pid for process in server.processes]
    before, busy_before = proc.tree_cpu(roots), proc.core_busy_s(SERVER_CORE)
    seen = crowd.watch(seconds)
    used, busy = proc.tree_cpu(roots) - before, proc.core_busy_s(SERVER_CORE)
    held = proc.memory(server.pids())
    return {"cpu_ms": used.total_s * 1e3 / seen.answers, "user_ms": used.user_s * 1e3 / seen.answers,
            "kernel_ms": used.kernel_s * 1e3 / seen.answers, "rate": seen.rate, "p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms,
            "pss_mb": held.pss / 1e6, "server_core_percent": 100 * used.total_s / seconds,
            "foreign_percent": max(0.0, 100 * (busy[0] - busy_before[0] - used.total_s) / seconds)}


@contextmanager
def started(peer: Peer, name: str, core: int) -> Iterator[Running]:
    """A server of one application."""
    with backends.told(**installed(core)[name]), Running(peer, "applications", APPLICATIONS[name]) as server:
        yield server


def applications(peer: Peer, settings: Settings) -> Measured:
    """Each application by a server of its own, so that its memory is its own."""
    for name, path in APPLICATIONS.items():
        for _ in range(settings.rounds):
            with started(peer, name, settings.backend_core) as server:
                metrics = served(server, path, settings)
            yield name, metrics


def mix(peer: Peer, settings: Settings) -> Measured:
    """WordPress's front page, a post, a search and, for its administrator, the list of posts, as often each."""
    for _ in range(settings.rounds):
        with started(peer, "WordPress", settings.backend_core) as server:
            login = load.log_in(server.port, "/wp-login.php", {"log": "boss", "pwd": "a long pass phrase", "testcookie": "1"})
            pages: tuple[Page, ...] = (("/", {}), ("/?p=1", {}), ("/?s=hello", {}), ("/wp-admin/edit.php", login))
            metrics = served(server, "/", settings, pages)
        yield f"c={CLIENTS}", metrics


EACH = (Column("user_ms", "user ms", 1), Column("kernel_ms", "kernel ms", 1), Column("rate", "requests/s", 1), Column("p50_ms", "p50 ms", 0),
        Column("p99_ms", "p99 ms", 0), Column("pss_mb", "Pss MB in all", 0), Column("server_core_percent", "server core %", 0),
        Column("foreign_percent", "foreign %", 1))
SCENARIOS = (
    Scenario("applications", "Applications of Debian's packages, thirty visitors", "Does one process compute whole applications as cheaply as many?",
             Column("cpu_ms", "CPU ms/request"),
             EACH,
             applications, role="applications", goal="CPU and p99 no more than php-fpm's, memory no more than that of 30 children",
             limit=("ratio", 1.0), reference="fpm-8", in_turns=len(APPLICATIONS)),
    Scenario("mix", "WordPress, four of its pages in turn, thirty visitors", "Is a usual mix of pages as fast as with php-fpm?",
             Column("p99_ms", "p99 ms", 0), (Column("cpu_ms", "CPU ms/request"), *(column for column in EACH if column.metric != "p99_ms")), mix,
             role="applications", goal="requests per second, p50 and p99 no worse than php-fpm's with 8 or 30 children", limit=("ratio", 1.0), reference="fpm-8",
             in_turns=1),
)
