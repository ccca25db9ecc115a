"""Two hosts that share their topics through Redis or NATS: how long a message takes from one to the other.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from . import backends, proc, talk
from .measure import CPU, Column, Measured, Scenario, Settings, accounted
from .peers import Peer, Running, secure_port
from .push import NOISE, SHARE, latencies

JOINED = "topics are shared with other hosts"
JOINED_DEADLINE_S = 20.0
BACKPLANES: dict[str, Callable[[int], AbstractContextManager[int]]] = {"redis": backends.redis, "nats": backends.nats}


def hosts(peer: Peer, settings: Settings) -> Measured:
    """Beside the same messages through the backplane alone, in the same minute."""
    for name, started in BACKPLANES.items():
        with started(settings.backend_core) as port:
            alone = latencies(talk.through(name, port, settings.publish_rate, settings.seconds))
            yield f"{name} alone", alone
            with backends.told(BENCH_BACKPLANE=f"{name}://127.0.0.1:{port}"), Running(peer, "hosts") as server:
                proc.wait_for("both hosts to be joined", lambda s=server: s.log.read_text().count(JOINED) == 2, JOINED_DEADLINE_S)
                other = secure_port(server.run)
                talk.talk("publish", server.port, settings.publish_rate, settings.warmup_s, other)
                seen: list[dict[str, int]] = []

                def work(server: Running = server, other: int = other, seen: list[dict[str, int]] = seen) -> tuple[int, float]:
                    seen.append(talk.talk("publish", server.port, settings.publish_rate, settings.seconds, other))
                    return seen[0]["messages"], seen[0]["wall_us"] / 1e6

                metrics = accounted(server, work) | latencies(seen[0])
                yield f"by {name}", metrics | {"more_ms": metrics["p99_ms"] - alone["p99_ms"]}


SCENARIOS = (
    Scenario("hosts", "Published at one host, heard by a client of another", "How long does it take?", Column("p99_ms", "p99 ms"),
             (Column("more_ms", "more than alone"), Column("p50_ms", "p50 ms"), Column("max_ms", "max ms"), CPU, *SHARE, *NOISE), hosts, role="hosts",
             goal="at most 2 ms more than the backplane alone, at 10,000 messages/s"),
)
