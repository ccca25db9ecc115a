"""Clients whose worker crashes: what each of them is told, over TLS and over HTTP/2.

goodbye.py PLAIN TLS ADMIN, the ports. It prints what became of each request.
"""

import json
import os
import socket
import ssl
import sys
import time
import urllib.request

import h2.config
import h2.connection
import h2.errors
import h2.events

PLAIN, TLS, ADMIN = (int(port) for port in sys.argv[1:4])
PATIENCE = 60


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def has_begun(line):
    until(line, lambda: os.path.exists("begun") and f"{line}\n" in open("begun").read())


def waiting(count):
    def asked():
        with urllib.request.urlopen(f"http://127.0.0.1:{ADMIN}/status", timeout=PATIENCE) as answer:
            return json.load(answer)["requests"]["queued"]

    until(f"{count} requests to wait", lambda: asked() == count)


def connect(protocol):
    """A socket, which over TLS speaks that protocol."""
    plain = socket.create_connection(("127.0.0.1", TLS if protocol else PLAIN), timeout=PATIENCE)
    if not protocol:
        return plain
    context = ssl.create_default_context(cafile="ca.pem")
    context.set_alpn_protocols([protocol])
    # An end without close_notify is an error, which Python would not show otherwise.
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    sock = context.wrap_socket(plain, server_hostname="a.example", suppress_ragged_eofs=False)
    assert sock.selected_alpn_protocol() == protocol
    return sock


def rest(sock):
    """What comes until the end, and whether it was a clean one."""
    received = b""
    try:
        while piece := sock.recv(65536):
            received += piece
        return received, "clean"
    except ssl.SSLError:
        return received, "cut"


def one(method, path):
    sock = connect("http/1.1")
    body = "Content-Length: 3\r\n\r\nabc" if method == "POST" else "\r\n"
    sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: a.example\r\n{body}".encode())
    return sock


def told(sock, first=b""):
    received, end = rest(sock)
    received = first + received
    head = received.split(b"\r\n\r\n")[0].decode().split("\r\n")
    retry = " Retry-After" if any(line.startswith("Retry-After:") for line in head) else ""
    return f"{head[0] or 'nothing'}{retry}, {end}"


class Two:
    """A connection of HTTP/2 with requests that are answered later."""

    def __init__(self, protocol):
        self.sock = connect(protocol)
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.names, self.fates, self.away = {}, {}, None

    def ask(self, path):
        stream = self.connection.get_next_available_stream_id()
        fields = [(":method", "GET"), (":scheme", "https"), (":path", path), (":authority", "a.example")]
        self.connection.send_headers(stream, fields, end_stream=True)
        self.sock.sendall(self.connection.data_to_send())
        self.names[stream] = path

    def told(self):
        received, end = rest(self.sock)
        for event in self.connection.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                self.fates[event.stream_id] = dict(event.headers)[":status"] + " begun"
            elif isinstance(event, h2.events.StreamEnded):
                self.fates[event.stream_id] = self.fates[event.stream_id].removesuffix(" begun")
            elif isinstance(event, h2.events.StreamReset):
                reason = h2.errors.ErrorCodes(event.error_code).name
                self.fates[event.stream_id] = f"{self.fates.get(event.stream_id, '')} {reason}".strip()
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.away = f"GOAWAY {h2.errors.ErrorCodes(event.error_code).name}"
        lines = [f"{path}: {self.fates.get(stream, 'nothing')}" for stream, path in self.names.items()]
        return "; ".join([*lines, self.away or "no GOAWAY", end])


idle = one("GET", "/idle")
assert idle.recv(65536).startswith(b"HTTP/1.1 200")
safe, posting = one("GET", "/waits/safe"), one("POST", "/waits/post")
streaming = one("GET", "/streams")
# More than a socket takes: its client reads no more than this.
large = one("GET", "/large")
first = large.recv(1)
encrypted, clear = Two("h2"), Two(None)
encrypted.ask("/waits/h2")
clear.ask("/waits/h2c")
for line in ("GET /waits/safe", "POST /waits/post", "GET /streams", "GET /waits/h2", "GET /waits/h2c"):
    has_begun(line)
until("a piece", lambda: os.path.exists("streaming"))
crashing = one("GET", "/boom")
has_begun("GET /boom")
# Every place is taken: these wait.
late = one("POST", "/late")
waiting(1)
encrypted.ask("/late/h2")
waiting(2)
clear.ask("/late/h2c")
waiting(3)
open("boom", "w").close()

print("idle:", told(idle))
print("safe:", told(safe))
print("posting:", told(posting))
print("streaming:", told(streaming))
print("crashing:", told(crashing))
print("large:", told(large, first))
print("late:", told(late))
print("h2:", encrypted.told())
print("h2c:", clear.told())
