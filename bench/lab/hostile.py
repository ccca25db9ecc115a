"""Requests made to be expensive: the server's cost per byte of each, compared with a byte of an ordinary request.

A client that makes the server work more per byte than ordinary clients do needs only few bytes to keep it busy. The inputs drive the
loops over a client's bytes to their limits: paths, queries, cookies, header lines, lists in headers, forms, chunks. It must not know how
results are written or drawn.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

from . import load, proc
from .measure import Column, Measured, Metrics, Scenario, Settings
from .peers import Peer, Running

HEAD_BYTES = 7_900  # of one target or one header line: what weft and nginx take by default
TICKS_LEAST = 30  # of 10 ms each: fewer are too close to no CPU time at all
REQUESTS_AT_ONCE = 20
WARM_UP = 1_000
FILE = "/hostile.txt"


def filled(piece: str, size: int = HEAD_BYTES) -> str:
    return piece * (size // len(piece))


def request(target: str, fields: str = "", method: str = "GET", body: bytes = b"") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}{fields}\r\n".encode() + body


def multipart(parts: int) -> bytes:
    part = b'--x\r\nContent-Disposition: form-data; name="%d"\r\n\r\n1\r\n'
    return b"".join(part % n for n in range(parts)) + b"--x--\r\n"


def of_scripts(path: str) -> Iterator[tuple[str, bytes]]:
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    yield "ordinary", request(f"{path}?page=2&q=words", "User-Agent: bench/1.0\r\nAccept: text/html\r\nCookie: session=0123456789abcdef\r\n")
    yield "query of names", request(f"{path}?" + filled("a=&"))
    yield "query that nests", request(f"{path}?a" + filled("[a]") + "=1")
    yield "query of escapes", request(f"{path}?a=" + filled("%61"))
    yield "cookies", request(path, "Cookie: " + filled("a=; ") + "\r\n")
    yield "header lines", request(path, "".join(f"X-{n}: 1\r\n" for n in range(95)))
    yield "same header line", request(path, filled("X-A: 1\r\n", 700))
    yield "Forwarded", request(path, "Forwarded: " + filled("for=a,") + "for=a\r\nX-Forwarded-For: " + filled("a,") + "a\r\n")
    yield "form of names", request(path, form, "POST", filled("a=&", 60_000).encode())
    yield "multipart", request(path, "Content-Type: multipart/form-data; boundary=x\r\n", "POST", multipart(900))
    yield "multipart, no end", request(path, "Content-Type: multipart/form-data; boundary=x\r\n", "POST", filled("\r\n--", 60_000).encode())
    yield "chunks of a byte", request(path, form + "Transfer-Encoding: chunked\r\n", "POST") + b"1\r\na\r\n" * 5_000 + b"0\r\n\r\n"


def of_documents(_path: str) -> Iterator[tuple[str, bytes]]:
    yield "scripts on the way", request(filled("/a.php"))
    yield "behind a file", request(FILE + filled("/a.php", HEAD_BYTES - len(FILE)))
    yield "deep path", request(filled("/a"))
    yield "slashes", request(filled("/"))
    yield "escaped path", request("/" + filled("%61"))
    yield "dots", request(filled("/."))
    yield "ranges", request(FILE, "Range: bytes=" + filled("0-0,") + "0-0\r\n")
    yield "entity tags", request(FILE, "If-None-Match: " + filled('"a", ') + '"a"\r\n')
    yield "codings", request(FILE, "Accept-Encoding: " + filled("gzip;q=0, ") + "br\r\n")


def answer(client: socket.socket) -> bool:
    """Reads one answer, whatever its status. False: the server ends the connection with it."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        piece = client.recv(65536)
        if not piece:
            return False
        seen += piece
    head, _, body = seen.partition(b"\r\n\r\n")
    fields, status = head.lower(), int(head.split()[1])
    length = re.search(rb"\r\ncontent-length: *([0-9]+)", fields)
    chunked = b"transfer-encoding: chunked" in fields
    while status != 304 and (not (b"\r\n" + body).endswith(b"\r\n0\r\n\r\n") if chunked else length is not None and len(body) < int(length[1])):
        piece = client.recv(65536)
        if not piece:
            return False
        body += piece
    return b"connection: close" not in fields and (length is not None or chunked or status == 304)


def cost(server: Running, sent: bytes) -> Metrics:
    """CPU time of one such request, from enough of them to be measurable."""
    pids, count = server.pids(), 0
    before = proc.cpu(pids)
    client = load.connect(server.port, 0)
    try:
        while (used := (proc.cpu(pids) - before).total_s) * proc.TICKS_PER_S < TICKS_LEAST:
            for _ in range(REQUESTS_AT_ONCE):
                client.sendall(sent)
                count += 1
                if not answer(client):
                    client.close()
                    client = load.connect(server.port, 0)
    finally:
        client.close()
    return {"cpu_us": used * 1e6 / count, "bytes": len(sent), "byte_ns": used * 1e9 / count / len(sent)}


def hostile(peer: Peer, settings: Settings) -> Measured:
    with Running(peer, "hostile") as server:
        load.drive(server.port, server.path, WARM_UP, 10)
        inputs = [*of_scripts(server.path), *(of_documents(server.path) if server.path != "/" else ())]
        ordinary = cost(server, inputs[0][1])
        for name, sent in inputs:
            metrics = ordinary if name == "ordinary" else cost(server, sent)
            yield name, metrics | {"times": metrics["byte_ns"] / ordinary["byte_ns"], "requests": metrics["cpu_us"] / ordinary["cpu_us"]}


SCENARIOS = (
    Scenario("hostile", "Requests made to be expensive", "Can a client have the server work for little?", Column("times", "a byte / an ordinary byte"),
             (Column("requests", "a request / an ordinary one", 1), Column("cpu_us", "CPU us/request", 1), Column("byte_ns", "ns/byte", 1), Column("bytes", "bytes", 0)),
             hostile, role="hostile", goal="no byte costs more than one of an ordinary request", limit=("value", 1.0), rounds=1),
)
