"""The scenario of pages that compute beside a small page: who else waits, in weft and in php-fpm?

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import statistics
import threading
import time

from . import load, proc
from .measure import Column, Measured, Metrics, Scenario, Settings
from .peers import Peer, Running
from .visitors import Visitors

KINDS = ("loop", "preg_match", "gzencode", "imagescale", "password_hash")
COMPUTING = (1, 2, 4, 8, 16)
SMALL_PER_S = 20
SMALL = "/hello.php"


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

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(int(seconds * SMALL_PER_S))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
                yield f"{kind} c={clients}", beside(server, kind, clients, 2 * settings.seconds)


SCENARIOS = (
    Scenario("fair", "A small page beside pages that compute", "Does anybody wait for another one's computation?", Column("p99_ms", "p99 ms of the small page"),
             (Column("p50_ms", "p50 ms", 1), Column("computed_rate", "computed pages/s", 2)), fair, role="fair",
             goal="p50 and p99 at most 1.5 x php-fpm's with 8 children up to 8 computing clients", limit=("ratio", 1.5), reference="fpm-8", rounds=1),
)
