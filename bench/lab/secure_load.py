"""The load over TLS and HTTP/2: h2load, curl and openssl's s_time for what is timed, a small client for what is held.

It must not know which server answers. As for load.py: a run in which anything failed is refused.
"""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import tempfile
from functools import cache

from . import load
from .load import LOAD_CORE
from .proc import BenchError

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
VARIANTS = 499  # a prime, as in lua/vary.lua
SETTINGS, DATA, HEADERS = 4, 0, 1
END_STREAM, END_HEADERS, ACK = 1, 4, 1
RESUMED = re.compile(r"^[*tr]+$", re.MULTILINE)


def on_the_load_core(command: list[str], seconds: float) -> str:
    try:
        done = subprocess.run(["taskset", "-c", str(LOAD_CORE), *command], capture_output=True, text=True, timeout=seconds + 60, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{command[0]} did not end: {error}") from None
    if done.returncode != 0:
        raise BenchError(f"{command[0]} failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def h2load(url: str, clients: int, streams: int, seconds: float, http1: bool = False) -> tuple[int, float]:
    """Answers, and the time that they took."""
    span = max(1, round(seconds))
    with tempfile.NamedTemporaryFile("w", prefix="bench-h2load-") as addresses:
        addresses.writelines(varied(url))
        addresses.flush()
        said = on_the_load_core(["h2load", f"--duration={span}", f"--clients={clients}", f"--max-concurrent-streams={streams}",
                                 *(["--h1"] if http1 else []), f"--input-file={addresses.name}"], seconds)
    return read_h2load(said), float(span)


def varied(url: str) -> list[str]:
    """Lines of addresses that differ, which each client asks for in turn: no two requests in a row have the same bytes."""
    return [f"{url}?id={number * 7919}&part={number % 11}\n" for number in range(1, VARIANTS + 1)]


def read_h2load(said: str) -> int:
    """How many requests were answered."""
    seen = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", said)
    if seen is None or int(seen[1]) == 0 or any(int(seen[i]) for i in (2, 3, 4)):
        raise BenchError(f"the server did not answer every request: {said.strip()[-400:]}")
    return int(seen[1])


def handshakes(port: int, path: str, seconds: float, version: str, resumed: bool) -> tuple[int, float]:
    """One connection after another, each with one request. Says how many there were; all of them resume, but the first, or none."""
    span = max(1, round(seconds))
    said = on_the_load_core(["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-reuse" if resumed else "-new", "-time", str(span),
                             f"-tls{version.replace('.', '_')}", "-www", path], seconds)
    # Of a run that resumes, a first connection is made before the clock starts.
    counted = re.search(r"(\d+) connections in (\d+) real seconds", said)
    marks = "".join(RESUMED.findall(said))
    if counted is None or int(counted[1]) == 0 or ("*" if resumed else "r") in marks:
        raise BenchError(f"not every connection {'resumed' if resumed else 'was new'}: {said.strip()[-400:]}")
    return int(counted[1]), float(counted[2])


def download(url: str, protocol: str) -> tuple[int, float]:
    """Bytes, and the time that they took."""
    said = on_the_load_core(["curl", "--silent", "--fail", "--insecure", f"--{protocol}", "--output", "/dev/null",
                             "--write-out", "%{size_download} %{time_total}", url], 60)
    size, took = said.split()
    return int(size), float(took)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request_frame(stream: int, path: str, secure: bool) -> bytes:
    """A GET in HPACK's simplest form: fields of the static table, and two that name one of it."""
    fields = bytes([0x82, 0x87 if secure else 0x86])
    for name, value in ((0x04, path), (0x01, "127.0.0.1")):
        fields += bytes([name, len(value)]) + value.encode()
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, fields)


def await_end(client: socket.socket, stream: int) -> None:
    """Reads frames until this stream's answer is complete, and says that the settings have come."""
    seen = b""
    while True:
        while len(seen) < 9 or len(seen) < 9 + int.from_bytes(seen[:3], "big"):
            piece = client.recv(65536)
            if not piece:
                raise BenchError("the server closed an HTTP/2 connection")
            seen += piece
        length, kind, flags, number = int.from_bytes(seen[:3], "big"), seen[3], seen[4], int.from_bytes(seen[5:9], "big")
        seen = seen[9 + length:]
        if kind == SETTINGS and not flags & ACK:
            client.sendall(frame(SETTINGS, ACK, 0))
        elif number == stream and kind in (DATA, HEADERS) and flags & END_STREAM:
            return


@cache
def trusting(protocol: str) -> ssl.SSLContext:
    """For clients that want this protocol and take any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


class HeldSecurely(load.Held):
    """Connections held open with TLS, HTTP/2 or both."""

    def _open(self, port: int, number: int, protocol: str | None) -> socket.socket:
        client = load.connect(port, number)
        if protocol is None:
            return client
        return trusting(protocol).wrap_socket(client)

    def secure(self, port: int, count: int, path: str) -> None:
        for number in range(count):
            self.clients.append(self._open(port, number, "http/1.1"))
            load.ask(self.clients[-1], path, number)

    def http2(self, port: int, count: int, path: str, secure: bool) -> None:
        for number in range(count):
            self.clients.append(self._open(port, number, "h2" if secure else None))
            self.clients[-1].sendall(PREFACE + frame(SETTINGS, 0, 0) + request_frame(1, path, secure))
            await_end(self.clients[-1], 1)

    def streams(self, port: int, connections: int, each: int, first: str, path: str) -> None:
        """Connections with so many requests each that are not answered, behind one that is."""
        self.http2(port, connections, first, secure=False)
        for client in self.clients:
            client.sendall(b"".join(request_frame(3 + 2 * number, path, secure=False) for number in range(each)))
