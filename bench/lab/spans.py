"""Scenarios of what it costs a request to be looked at: its spans, by the part of the requests that is recorded, and its figures.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .measure import CPU, SHARE, Column, Measured, Scenario, Settings, timed, warm
from .peers import Commands, Peer, Running, free_port

CONNECTIONS = 100
PARTS = {"off": None, "0 %": 0.0, "1 %": 0.01, "10 %": 0.1, "100 %": 1.0}


@dataclass
class Collector:
    """Takes what is sent and counts the requests among it."""

    port: int = 0
    requests: int = 0


@contextmanager
def collector() -> Iterator[Collector]:
    seen = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.requests += body.count(b'"name":"php"')
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()


def flagged(peer: Peer, *flags: str) -> Peer:
    def commands(role: str, port: int, run: Path) -> Commands:
        return [[*command, *flags] for command in peer.commands(role, port, run)]

    return replace(peer, commands=commands)


def recording(peer: Peer, part: float | None, port: int) -> Peer:
    """The peer with its spans sent to this port."""
    return peer if part is None else flagged(peer, "--trace-url", f"http://127.0.0.1:{port}", "--trace-ratio", str(part))


def spans(peer: Peer, settings: Settings) -> Measured:
    """`collected`: of the requests that were to be recorded, the part whose spans had come by the end of the load. A server keeps a
    bounded number of them, and drops the rest."""
    for name, part in PARTS.items():
        with collector() as seen, Running(recording(peer, part, seen.port), "spans") as server:
            warm(server, settings, CONNECTIONS)
            before = seen.requests
            metrics = timed(server, settings, CONNECTIONS)
            expected = metrics["rate"] * settings.seconds * (part or 0)
            collected = {"collected_percent": 100 * (seen.requests - before) / expected} if expected else {}
            yield f"{name} recorded", metrics | collected


def figures(peer: Peer, settings: Settings) -> Measured:
    """A server that counts by route for its operator, and one that does not: both run, and have work in turn."""
    counting = flagged(peer, "--listen", f"admin://127.0.0.1:{free_port()}")
    with Running(peer, "figures") as plain, Running(counting, "figures") as counted:
        for server in (plain, counted):
            warm(server, settings, CONNECTIONS)
        for number in range(settings.rounds):
            # Whoever is second finds the machine as the first has left it.
            order = (plain, counted) if number % 2 else (counted, plain)
            seen = {server is counted: timed(server, settings, CONNECTIONS) for server in order}
            metrics, without = seen[True], seen[False]
            added = 100 * (metrics["cpu_us"] / without["cpu_us"] - 1)
            yield f"c={CONNECTIONS}", metrics | {"plain_us": without["cpu_us"], "added_percent": added}


SCENARIOS = (
    Scenario("spans", "Hello, with its spans recorded", "What does a trace cost the request?", CPU,
             (Column("collected_percent", "collected %", 0), *SHARE), spans, role="spans"),
    Scenario("figures", "Hello, with its figures counted by route", "What does it cost that the operator sees routes, waits and latencies?",
             Column("added_percent", "added CPU %", 1), (CPU, Column("plain_us", "without, us"), *SHARE), figures, role="figures",
             goal="less than 1 % of the CPU time of hello", limit=("value", 1.0), in_turns=1),
)
