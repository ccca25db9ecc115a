"""The scenario of pages that compute beside a small page: who else waits, in weft and in php-fpm?

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

from . import load, proc
from .measure import Column, Measured, Metrics, Scenario, Settings
from .peers import Peer, Running
from .visitors import Visitors

KINDS = ("loop", "preg_match", "gzencode", "imagescale", "password_hash")
COMPUTING = (1, 2, 4, 8, 16)
SMALL_PER_S = 20
SMALL = "/hello.php"
WAITED = "/waited.php"
WAITING = 200


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Does the work with each number below `count`, all in threads of their own, and waits for them."""
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ask_small(port: int, seconds: float) -> list[float]:
    """The small page at a fixed rate, each time on a new connection; how long each answer took from its planned moment on, in seconds."""
    took: list[float] = []
    failed: list[Exception] = []
    begun = time.monotonic()

    def one(number: int) -> None:
        planned = begun + number / SMALL_PER_S
        time.sleep(max(0.0, planned - time.monotonic()))
        try:
            with load.connect(port, number) as client:
                load.ask(client, SMALL, number)
            took.append(time.monotonic() - planned)
        except (OSError, proc.BenchError) as error:
            failed.append(error)

    at_once(int(seconds * SMALL_PER_S), one)
    if failed:
        raise proc.BenchError(f"the small page was not answered {len(failed)} times: {failed[0]}")
    return took


def beside(server: Running, kind: str, clients: int, seconds: float) -> Metrics:
    """The small page's latency, and the rate of the page that computes."""
    with Visitors(server.port, f"/compute.php?kind={kind}", clients) as crowd:
        proc.wait_for("each computing client to be answered once", crowd.settled, 120)
        before, begun = len(crowd.answered), time.monotonic()
        took = sorted(ask_small(server.port, seconds))
        rate = (len(crowd.answered) - before) / (time.monotonic() - begun)
    cuts = statistics.quantiles(took, n=100)
    return {"p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3, "computed_rate": rate}


def fair(peer: Peer, settings: Settings) -> Measured:
    """20 requests a second for a page that prints a line, beside clients that ask again and again for one that computes."""
    for kind in KINDS:
        with Running(peer, "fair") as server:
            for clients in COMPUTING:
                for _ in range(settings.rounds):
                    yield f"{kind} c={clients}", beside(server, kind, clients, 2 * settings.seconds)


def lateness(port: int, seconds: float) -> list[float]:
    """Requests that wait for a slow upstream, again and again; how long after its answer each one's own was here, in seconds."""
    late: list[float] = []
    failed: list[Exception] = []
    end = time.monotonic() + seconds

    def one(number: int) -> None:
        try:
            with load.connect(port, number) as client:
                while time.monotonic() < end:
                    due = float(load.ask(client, WAITED, number))
                    late.append(time.time() - due)
        except (OSError, ValueError, proc.BenchError) as error:
            failed.append(error)

    at_once(WAITING, one)
    if failed:
        raise proc.BenchError(f"{len(failed)} requests that waited were not answered: {failed[0]}")
    return late


def beside_waits(peer: Peer, settings: Settings) -> Measured:
    """200 requests that wait for a second, alone and beside 4 that compute for about two seconds each; one worker."""
    with Running(peer, "beside") as server:
        for clients in (0, 4):
            with Visitors(server.port, "/compute.php?kind=loop&rounds=15", clients) as crowd:
                proc.wait_for("each computing client to be answered once", crowd.settled, 120)
                cuts = statistics.quantiles(sorted(lateness(server.port, 2 * settings.seconds)), n=100)
            yield f"c={clients}", {"p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3}


SCENARIOS = (
    Scenario("fair", "A small page beside pages that compute", "Does anybody wait for another one's computation?", Column("p99_ms", "p99 ms of the small page"),
             (Column("p50_ms", "p50 ms", 1), Column("computed_rate", "computed pages/s", 2)), fair, role="fair",
             goal="p50 and p99 at most 1.5 x php-fpm's with 8 children up to 8 computing clients", limit=("ratio", 1.5), reference="fpm-8",
             in_turns=len(KINDS) * len(COMPUTING)),
    Scenario("beside", "200 requests that wait, beside 4 that compute", "How late is an answer that only had to wait?",
             Column("p99_ms", "p99 ms after the upstream's answer"), (Column("p50_ms", "p50 ms", 1),), beside_waits, role="beside",
             goal="p99 at most 100 ms", limit=("value", 100), rounds=1),
)
