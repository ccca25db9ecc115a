"""The load: wrk for everything that is timed, a plain blocking client for connections that are counted or held.

It must not know which server answers. wrk sends varied requests (lua/vary.lua) from its own core; a run with any
socket error or bad status is refused, so no figure can come from a server that failed quickly.
"""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from .proc import BenchError

LOAD_CORE = 1
SCRIPT = Path(__file__).resolve().parent.parent / "lua" / "vary.lua"
CLIENT_TIMEOUT_S = 30
CONNECTIONS_PER_SOURCE = 5_000  # well inside one address's ephemeral ports
ERRORS = ("bad_status", "connect_errors", "read_errors", "write_errors", "timeouts")


@dataclass(frozen=True)
class Load:
    """What wrk saw: requests answered, wall time and the latency percentiles in microseconds."""

    requests: int
    wall_us: int
    p50_us: int
    p90_us: int
    p99_us: int
    max_us: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / (self.wall_us / 1e6)


def wrk_command(port: int, path: str, connections: int, seconds: float, close: bool = False, scheme: str = "http", sites: int = 0,
                body: int = 0) -> list[str]:
    """The exact command, also recorded in the results. With a body of so many bytes, requests are POST."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    command += ["--timeout", "30s", "-s", str(SCRIPT), f"{scheme}://127.0.0.1:{port}/"]
    return command + ["--", path, "close" if close else "keep", *([str(sites)] if sites or body else []), *([str(body)] if body else [])]


def wrk(port: int, path: str, connections: int, seconds: float, close: bool = False, scheme: str = "http", sites: int = 0,
        body: int = 0) -> Load:
    """One wrk run."""
    command = wrk_command(port, path, connections, seconds, close, scheme, sites, body)
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 120, check=False)
    if done.returncode != 0:
        raise BenchError(f"wrk failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
    return read_wrk(done.stdout)


def read_wrk(said: str) -> Load:
    """What lua/vary.lua prints at the end of a run."""
    line = next((x for x in said.splitlines() if x.startswith("BENCH ")), None)
    if line is None:
        raise BenchError(f"wrk did not say what it measured: {said.strip()[-400:]}")
    seen = json.loads(line.removeprefix("BENCH "))
    errors = {name: seen.pop(name) for name in ERRORS}
    if any(errors.values()) or seen["requests"] == 0:
        raise BenchError(f"the server did not answer every request: {seen['requests']} answered, {errors}")
    return Load(**seen)


def request_bytes(path: str, number: int, cookies: str = "", host: str = "127.0.0.1") -> bytes:
    """A small GET, different for each number."""
    mark = "&" if "?" in path else "?"
    kept = f"Cookie: {cookies}\r\n" if cookies else ""
    return f"GET {path}{mark}visitor={number} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bench/{number % 17}\r\n{kept}\r\n".encode()


def connect(port: int, number: int) -> socket.socket:
    """Connects from one of several loopback addresses, so that no address runs out of ports."""
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    client.settimeout(CLIENT_TIMEOUT_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: the port is chosen at connect
    client.bind((f"127.0.0.{2 + number // CONNECTIONS_PER_SOURCE}", 0))
    client.connect(("127.0.0.1", port))
    return client


def read_answer(client: socket.socket) -> tuple[bytes, bytes]:
    """Reads one answer to its end, so that the next answer on this connection is not mistaken for it. Its head and body, as sent."""
    seen = b""
    while True:
        piece = client.recv(65536)
        if not piece:
            raise BenchError(f"the server closed the connection after {seen[:200]!r}")
        seen += piece
        head, complete, body = seen.partition(b"\r\n\r\n")
        if not complete:
            continue
        if not head.startswith(b"HTTP/1.1 200"):
            raise BenchError(f"not a 200: {head[:200]!r}")
        fields = head.lower()
        length = re.search(rb"\r\ncontent-length: *([0-9]+)", fields)
        ended = (b"\r\n" + body).endswith(b"\r\n0\r\n\r\n") if b"transfer-encoding: chunked" in fields else length and len(body) >= int(length[1])
        if ended:
            return head, body


def ask(client: socket.socket, path: str, number: int, host: str = "127.0.0.1") -> str:
    """One request, one answer, the connection stays open."""
    client.sendall(request_bytes(path, number, host=host))
    return read_answer(client)[1].decode(errors="replace")


def ask_again(client: socket.socket, path: str, number: int, cookies: dict[str, str]) -> bool:
    """The same by a client that keeps cookies, as a browser does. Whether the connection stays open for another request."""
    client.sendall(request_bytes(path, number, "; ".join(f"{name}={value}" for name, value in cookies.items())))
    head, _ = read_answer(client)
    cookies.update(set_cookies(head))
    return b"\r\nconnection: close" not in head.lower()


def set_cookies(head: bytes) -> dict[str, str]:
    pairs = re.findall(rb"\r\nset-cookie: *([^;\r]+)", head, re.IGNORECASE)
    return {name: value for name, _, value in (pair.decode(errors="replace").partition("=") for pair in pairs)}


def log_in(port: int, path: str, form: dict[str, str]) -> dict[str, str]:
    """Sends a form as a browser does that has been at the page before. The cookies that a successful login sets."""
    body = urlencode(form).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with connect(port, 0) as client:
        client.sendall(f"{head}Cookie: wordpress_test_cookie=WP%20Cookie%20check\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = b"".join(iter(lambda: client.recv(65536), b""))
    if not answered.startswith(b"HTTP/1.1 302"):
        raise BenchError(f"the login was refused: {answered[:200]!r}")
    return set_cookies(answered.partition(b"\r\n\r\n")[0])


def drive(port: int, path: str, requests: int, connections: int = 100) -> None:
    """Exactly this many requests over keep-alive connections, one after another. For counting, never for timing."""
    clients = [connect(port, number) for number in range(connections)]
    try:
        for number in range(requests):
            ask(clients[number % connections], path, number)
    finally:
        for client in clients:
            client.close()


class Held:
    """Connections held open: `idle` after one answered request each, `parked` with a request that has no answer yet."""

    def __init__(self) -> None:
        self.clients: list[socket.socket] = []

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()

    def idle(self, port: int, count: int, path: str) -> None:
        for number in range(count):
            self.clients.append(connect(port, number))
            ask(self.clients[-1], path, number)

    def parked(self, port: int, count: int, path: str) -> None:
        for number in range(count):
            self.clients.append(connect(port, number))
            self.clients[-1].sendall(request_bytes(path, number))

    def require_silence(self) -> None:
        """All connections must still be open and have no unread byte; otherwise the measurement is invalid."""
        poll = select.poll()
        for client in self.clients:
            poll.register(client, select.POLLIN | select.POLLHUP)
        spoken = poll.poll(0)
        if spoken:
            first = next(c for c in self.clients if c.fileno() == spoken[0][0])
            raise BenchError(f"{len(spoken)} of {len(self.clients)} held connections were answered or closed, "
                             f"the first with {first.recv(200)!r}: look at the server's limits")
