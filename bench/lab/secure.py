"""The scenarios of TLS and HTTP/2: weft beside nginx with the same certificate, a static file as nginx's answer.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

from . import load, proc, secure_load
from .measure import CPU, Column, Measured, Scenario, Settings, accounted, per_connection, warm
from .peers import Peer, Running, secure_port

HELD = 2_000
CARRIERS, STREAMS = 100, 100
DETAILS = (Column("user_us", "user us"), Column("kernel_us", "kernel us"), Column("rate", "per s", 0),
           Column("server_core_percent", "server core %", 0), Column("foreign_percent", "foreign %", 1), Column("stolen_percent", "stolen %", 1))


def tls(peer: Peer, settings: Settings) -> Measured:
    """The same server and page without and with TLS, one after the other."""
    with Running(peer, "tls") as server:
        warm(server, settings)
        plain: dict[str, float] = {}
        for scheme, port in (("http", server.port), ("https", secure_port(server.run))):
            def work(scheme: str = scheme, port: int = port) -> tuple[int, float]:
                seen = load.wrk(port, server.path, 100, settings.seconds, scheme=scheme)
                return seen.requests, seen.wall_us / 1e6
            metrics = accounted(server, work)
            if plain:
                metrics["added_us"] = metrics["cpu_us"] - plain["cpu_us"]
            plain = plain or metrics
            yield scheme, metrics


def http2(peer: Peer, settings: Settings) -> Measured:
    """All by the same client. HTTP/1.1 without pipelining has as many connections as HTTP/2, and then ten times as many."""
    with Running(peer, "tls") as server:
        warm(server, settings)
        url = f"https://127.0.0.1:{secure_port(server.run)}{server.path}"
        for variant, clients, streams in (("HTTP/2, 10 x 100", 10, 100), ("HTTP/1.1, c=10", 10, 0), ("HTTP/1.1, c=100", 100, 0)):
            yield variant, accounted(server, lambda c=clients, s=streams: secure_load.h2load(url, c, max(1, s), settings.seconds, http1=s == 0))


def handshakes(peer: Peer, settings: Settings) -> Measured:
    """A connection with one request. `per_core`: how many a core would make that did nothing else."""
    with Running(peer, "tls") as server:
        port = secure_port(server.run)
        secure_load.handshakes(port, server.path, 1, "1.3", resumed=False)
        for version in ("1.3", "1.2"):
            for resumed in (False, True):
                metrics = accounted(server, lambda v=version, r=resumed: secure_load.handshakes(port, server.path, settings.seconds, v, r))
                yield f"TLS {version}, {'resumed' if resumed else 'full'}", metrics | {"per_core": 1e6 / metrics["cpu_us"]}

        def many() -> tuple[int, float]:
            seen = load.wrk(port, server.path, 100, settings.seconds, close=True, scheme="https")
            return seen.requests, seen.wall_us / 1e6

        metrics = accounted(server, many)
        yield "TLS 1.3, full, c=100", metrics | {"per_core": 1e6 / metrics["cpu_us"]}


def download(peer: Peer, settings: Settings) -> Measured:
    """CPU time per GiB, in milliseconds: bytes are counted in units of a MiB."""
    with Running(peer, "download") as server:
        for protocol in ("http1.1", "http2"):
            def work(protocol: str = protocol) -> tuple[int, float]:
                size, took = secure_load.download(f"https://127.0.0.1:{secure_port(server.run)}/large.bin", protocol)
                return size >> 20, took
            work()  # the file is in memory from now on
            metrics = accounted(server, work)
            yield protocol, metrics | {"cpu_ms_gib": metrics["cpu_us"] * 1024 / 1e3}


def held(peer: Peer, settings: Settings) -> Measured:
    """Connections that were answered once and say nothing more."""
    kinds = {"TLS, HTTP/1.1": lambda client, server: client.secure(secure_port(server.run), HELD, server.path),
             "TLS, HTTP/2": lambda client, server: client.http2(secure_port(server.run), HELD, server.path, secure=True)}
    if peer.name == "weft":
        kinds["HTTP/2"] = lambda client, server: client.http2(server.port, HELD, server.path, secure=False)
    for kind, open_all in kinds.items():
        with Running(peer, "tls") as server, secure_load.HeldSecurely() as client:
            warm(server, settings)
            proc.wait_quiet(server.pids())
            before, kernel = proc.memory(server.workers()), proc.kernel_memory()
            open_all(client, server)
            proc.wait_quiet(server.pids())
            after = proc.memory(server.workers())
            yield kind, per_connection(before, after, proc.kernel_memory() - kernel, HELD)


def parked(peer: Peer, settings: Settings) -> Measured:
    """Requests that wait, as streams of few connections."""
    with Running(peer, "streams") as server, secure_load.HeldSecurely() as client:
        server.path = "/"
        warm(server, settings)
        proc.wait_quiet(server.pids())
        before, kernel = proc.memory(server.workers()), proc.kernel_memory()
        client.streams(server.port, CARRIERS, STREAMS, "/", "/park")
        proc.wait_for("the server to receive every request", lambda: proc.unread_bytes(server.port) == 0)
        proc.wait_quiet(server.pids())
        after = proc.memory(server.workers())
        yield "each", per_connection(before, after, proc.kernel_memory() - kernel, CARRIERS * STREAMS)


MEMORY = (Column("anonymous_kib", "anonymous KiB"), Column("kernel_both_ends_kib", "kernel KiB (both ends)"),
          Column("total_rss_mib", "workers' Rss MiB", 1), Column("count", "held", 0))
EACH = Column("rss_kib", "Rss KiB each")

SCENARIOS = (
    Scenario("tls", "Hello over TLS 1.3, keep-alive", "What does TLS add to a request?", CPU, (Column("added_us", "added by TLS, us"), *DETAILS), tls,
             role="tls", goal="at most 1.3 us above plain; ten times below nginx with php-fpm", reference="nginx"),
    Scenario("http2", "Hello over HTTP/2", "What does a stream cost?", CPU, DETAILS, http2, role="tls",
             goal="below HTTP/1.1's, and below nginx's static answer", reference="nginx", limit=("ratio", 1.0)),
    Scenario("handshakes", "Connections with TLS and one request each", "What does a handshake cost?", CPU, (Column("per_core", "per s and core", 0), *DETAILS),
             handshakes, role="tls", goal="at least as many as nginx", reference="nginx", limit=("ratio", 1.0)),
    Scenario("download", "1 GiB over TLS", "What do bytes cost?", Column("cpu_ms_gib", "CPU ms/GiB", 0),
             (Column("rate", "MiB/s", 0), Column("server_core_percent", "server core %", 0), Column("foreign_percent", "foreign %", 1)), download,
             role="download", goal="at least 0.9 x nginx's rate per CPU", reference="nginx", limit=("ratio", 1 / 0.9)),
    Scenario("held", "Idle connections with TLS and HTTP/2", "What does one keep resident?", EACH, MEMORY, held, role="tls",
             goal="at most 6 KB with TLS, 8 KB with HTTP/2"),
    Scenario("streams", "Requests parked as streams", "What does a waiting stream keep resident?", EACH, MEMORY, parked, role="streams",
             goal="at most 13 KB each", limit=("value", 13.0)),
)
