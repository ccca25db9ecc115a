"""Servers without PHP: in C, Rust, Java and Go, for HTTP and for WebSockets, and the models of the scenario evolution.

It must not know the servers for PHP, nor what a scenario asks. Invariant: a server here is what bench/setup has built from
bench/peers and bench/evolution, with its library's default settings and with one thread where the library leaves the number open.
"""

from __future__ import annotations

import json
from pathlib import Path

from . import made
from .peer import BENCH, DIALOGUES, MESSAGES, PEER_SOURCES, ROUTES, SECURE, Commands, Peer, Starter

NETTY = PEER_SOURCES / "netty" / "target"
JAVA_WARMUP = 4
GO_WARMUP = 2


def program(*place: str) -> Path:
    """What bench/setup has built of a peer."""
    return PEER_SOURCES.joinpath(*place)


def on_port(built: Path) -> Starter:
    """A program whose one argument is the port."""
    return lambda _role, port, _run: [[str(built), str(port)]]


def hyper(role: str, port: int, run: Path) -> Commands:
    secure = [str(made.secure_port(run)), *map(str, made.certified(run))] if role in SECURE else []
    return [[str(program("hyper", "target", "release", "bench-hyper")), str(port), *secure]]


def java(main: str, *arguments: str) -> Commands:
    return [["java", "-cp", f"{NETTY}/classes:{NETTY}/lib/*", f"bench.{main}", *arguments]]


def netty(transport: str, in_container: int = 2) -> Starter:
    """One event loop; in a container two, or where handlers block eight, which is what Netty has by itself on four cores."""
    return lambda role, port, _run: java("Hello", str(port), transport, str(in_container) if role == "container" else "1")


def netty_push(_role: str, port: int, _run: Path) -> Commands:
    return java("Push", str(port))


def centrifugo(_role: str, port: int, run: Path) -> Commands:
    """Whoever connects may subscribe, and who publishes needs no key; it sends no pings meanwhile."""
    config = {"http_server": {"address": "127.0.0.1", "port": port}, "health": {"enabled": True}, "http_api": {"insecure": True},
              "client": {"insecure": True, "ping_interval": "3600s", "pong_timeout": "60s"}, "log": {"level": "error"}}
    (run / "centrifugo.json").write_text(json.dumps(config))
    return [[str(program("centrifugo", "target", "centrifugo")), "--config", str(run / "centrifugo.json")]]


def model_program(model: str) -> Path:
    return BENCH / "evolution" / "target" / model


def built(name: str, label: str, place: Path, paths: dict[str, str], commands: Starter | None = None, warmup_factor: int = 1,
          forks: bool = False) -> Peer:
    """A server that is one program; it gets the port, if nothing else is said."""
    return Peer(name, label, commands or on_port(place), lambda: place, paths, warmup_factor=warmup_factor, forks=forks)


def on_java(name: str, label: str, commands: Starter, paths: dict[str, str], main: str = "Hello", soaks: bool = True, blocks: bool = False) -> Peer:
    return Peer(name, label, commands, lambda: NETTY / "classes" / "bench" / f"{main}.class", paths, warmup_factor=JAVA_WARMUP,
                soaks=soaks, blocks=blocks)


SERVERS = (
    built("bare", "bare epoll (C)", program("bare", "target", "bare"), {"hello": "/"}),
    built("hyper", "hyper (tokio current_thread), rustls", program("hyper", "target", "release", "bench-hyper"), {**ROUTES, "tls": "/"}, hyper),
    built("go", "Go net/http", program("go", "target", "bench-go"), {**ROUTES, "container": "/"}),
    on_java("netty", "Netty 4.1 (native epoll)", netty("epoll"), {**ROUTES, "container": "/"}),
    on_java("netty-nio", "Netty 4.1 (NIO)", netty("nio"), {"hello": "/", "sleep": "/sleep"}, soaks=False),
    on_java("netty-blocking", "Netty 4.1, a handler that sleeps", netty("epoll", 8), {"sleep": "/block", "container": "/block"}, blocks=True),
)
MODELS = (
    built("fork", "a process for each request (C)", model_program("fork"), {"evolution": "/"}, forks=True),
    built("prefork", "a pool of 128 processes (C)", model_program("prefork"), {"evolution": "/"}),
    built("threads", "a pool of 128 threads (C)", model_program("threads"), {"evolution": "/"}),
    built("loop", "an event loop with callbacks (C)", model_program("loop"), {"evolution": "/"}),
    built("coroutine", "coroutines on an event loop (C)", model_program("coroutine"), {"evolution": "/"}),
)
PUSH = (
    built("bare-push", "bare epoll (C), without WebSocket's frames", program("bare", "target", "push"), MESSAGES),
    built("tungstenite", "tokio-tungstenite (tokio current_thread)", program("tungstenite", "target", "release", "bench-tungstenite"), DIALOGUES),
    built("go-push", "Go, gorilla/websocket", program("go_push", "target", "bench-go-push"), DIALOGUES, warmup_factor=GO_WARMUP),
    on_java("netty-push", "Netty 4.1 (native epoll)", netty_push, MESSAGES, main="Push"),
    built("centrifugo", "Centrifugo 6, its JSON protocol", program("centrifugo", "target", "centrifugo"), {"broadcast": "/health"}, centrifugo,
          warmup_factor=GO_WARMUP),
)
