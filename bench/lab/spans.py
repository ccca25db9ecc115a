"""The scenario of spans: what recording them costs a request, by the part of the requests that is recorded.

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
from .peers import Commands, Peer, Running

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


def recording(peer: Peer, part: float | None, port: int) -> Peer:
    """The peer with its spans sent to this port."""
    if part is None:
        return peer

    def commands(role: str, own_port: int, run: Path) -> Commands:
        flags = ["--trace-url", f"http://127.0.0.1:{port}", "--trace-ratio", str(part)]
        return [[*command, *flags] for command in peer.commands(role, own_port, run)]

    return replace(peer, commands=commands)


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


SCENARIOS = (
    Scenario("spans", "Hello, with its spans recorded", "What does a trace cost the request?", CPU,
             (Column("collected_percent", "collected %", 0), *SHARE), spans, role="spans"),
)
