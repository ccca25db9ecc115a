"""The scenarios of connections that live long: idle ones by the million, a broadcast, an echo, and publishing to another worker.

Like scenarios.py, whose table ends with these SCENARIOS; it must not know how results are written or drawn.
"""

from __future__ import annotations

import dataclasses
import statistics
import time

from . import load, proc, talk
from .measure import CPU, Column, Curve, Measured, Metrics, Scenario, Settings, accounted, timed, warm
from .peers import Peer, Running, secure_port, weft_push

MESSAGES = 3  # to all of the crowd, one after the other
OWN_AT_ONCE = 500  # published by one request
OWN_AHEAD = 20_000  # published, and not yet heard
WARM_CONVERSATIONS = 50  # that come before the others: code is loaded and compiled
SPARE = 500  # descriptors of a worker that are no client's
STEPS = 40  # points of a curve
STEADY = 0.002  # memory that changes by less in a second has settled
SETTLED_DEADLINE_S = 60.0


def of_crowd(peer: Peer, settings: Settings) -> Peer:
    """As many workers as their descriptors make necessary, and two at least: what is published crosses the bus."""
    workers = max(2, -(-settings.crowd // settings.crowd_each))
    limits = ["--connections-max", str(settings.crowd_each + SPARE), "--websocket-ping-ms", str(round(settings.crowd_ping_s * 1000))]
    return dataclasses.replace(peer, commands=weft_push(workers, limits))


def of_two(peer: Peer, _settings: Settings) -> Peer:
    return dataclasses.replace(peer, commands=weft_push(2))


def settled(server: Running) -> proc.Memory:
    """The memory of a server when it stands still and all its workers are there. Their CPU clock does not: clients are sent pings."""
    last, end = proc.memory(server.pids()), time.monotonic() + SETTLED_DEADLINE_S
    while time.monotonic() < end:
        time.sleep(1.0)
        now = proc.memory(server.pids())
        if abs(now.pss - last.pss) <= STEADY * last.pss:
            return now
        last = now
    raise proc.BenchError(f"waited {SETTLED_DEADLINE_S:.0f} s in vain: the server's memory does not settle")


def crowd(peer: Peer, settings: Settings) -> Measured:
    """User memory is the Pss of all processes of the server, the shared memory of the bus included."""
    count = settings.crowd
    with Running(peer, "crowd") as server:
        talk.get(server.port, "/")
        before, kernel_before = settled(server), proc.kernel_memory()
        with talk.Crowd(server.port, count, settings.crowd_each) as clients:
            metrics: Metrics = {"count": count, "workers": len(server.workers())}
            opening: list[Metrics] = []
            metrics |= opened(server, clients, before, opening)
            after, kernel = settled(server), proc.kernel_memory() - kernel_before
            metrics |= {"user_kib": (after.pss - before.pss) / 1024 / count, "anonymous_kib": (after.anonymous - before.anonymous) / 1024 / count,
                        "kernel_both_ends_kib": kernel / 1024 / count, "total_pss_mib": after.pss / 2**20}
            metrics |= held(server, clients, settings)
            metrics |= told_apart(server, clients, min(count, settings.crowd_own or count))
            told: list[Metrics] = []
            metrics |= told_all(server, clients, told)
            metrics["user_kib_at_the_end"] = (settled(server).pss - before.pss) / 1024 / count
            last = clients.counts()
            clients.require_order(last)
            if last["open"] != count:
                raise proc.BenchError(f"{last['open']} of {count} connections are still open")
    yield from (("step opening", point) for point in opening)
    yield from (("step delivery", point) for point in told)
    yield "each", metrics


def opened(server: Running, clients: talk.Crowd, before: proc.Memory, curve: list[Metrics]) -> Metrics:
    pids, cpu = server.pids(), proc.cpu(server.pids())

    def note(counts: dict[str, int]) -> None:
        if counts["open"] * STEPS >= len(curve) * clients.count:
            curve.append({"open": counts["open"], "user_mib": (proc.memory(pids).pss - before.pss) / 2**20})

    counts = clients.until("open", clients.count, note)
    took_s = (counts["last_open_ns"] - clients.began_ns) / 1e9
    return {"open_s": took_s, "open_rate": clients.count / took_s, "open_cpu_us": (proc.cpu(pids) - cpu).total_s * 1e6 / clients.count}


def held(server: Running, clients: talk.Crowd, settings: Settings) -> Metrics:
    """Nothing happens but pings."""
    pids, pings = server.pids(), clients.counts()["pings"]
    began, cpu = time.monotonic(), proc.cpu(server.pids())
    while (left := began + settings.crowd_hold_s - time.monotonic()) > 0:
        time.sleep(min(1.0, left))
        clients.require_order(clients.counts())
    took_s, used_s = time.monotonic() - began, (proc.cpu(pids) - cpu).total_s
    heard = clients.counts()["pings"] - pings
    # A ping may be late by a tick of the server's clock, and its answer takes a moment.
    if heard < clients.count * int(settings.crowd_hold_s / (1.05 * settings.crowd_ping_s + 0.5)):
        raise proc.BenchError(f"{heard} pings within {took_s:.0f} s, although each of {clients.count} clients gets one every {settings.crowd_ping_s} s")
    return {"held_s": took_s, "idle_core_percent": 100 * used_s / took_s, "pings": heard}


def told_apart(server: Running, clients: talk.Crowd, count: int) -> Metrics:
    """A message to each own topic: to so many, spread over all."""
    began, stride = time.monotonic_ns(), max(1, clients.count // count)
    sent = 0
    for first in range(0, clients.count, OWN_AT_ONCE * stride):
        here = min(OWN_AT_ONCE, clients.count - first, count - sent)
        if here <= 0:
            break
        talk.get(server.port, f"/own?sequence=1&first={first}&count={here}")
        sent += here
        clients.until("own", sent - OWN_AHEAD)
    counts = clients.until("own", sent)
    took_s = (counts["last_own_ns"] - began) / 1e9
    return {"own": counts["own"], "own_rate": counts["own"] / took_s}


def told_all(server: Running, clients: talk.Crowd, curve: list[Metrics]) -> Metrics:
    """Messages to all, one after the other; the curve is the first one's."""
    lasts: list[float] = []
    pids, cpu = server.pids(), proc.cpu(server.pids())
    for sequence in range(1, MESSAGES + 1):
        began, heard = time.monotonic_ns(), (sequence - 1) * clients.count

        def note(counts: dict[str, int], began: int = began, is_first: bool = sequence == 1) -> None:
            if is_first and counts["common"] * STEPS >= len(curve) * clients.count:
                curve.append({"at_ms": (time.monotonic_ns() - began) / 1e6, "delivered": counts["common"]})

        talk.get(server.port, f"/common?sequence={sequence}")
        counts = clients.until("common", heard + clients.count, note)
        lasts.append((counts["last_common_ns"] - began) / 1e6)
    last_ms = statistics.median(lasts)
    used = (proc.cpu(pids) - cpu).total_s
    return {"common": counts["common"], "last_ms": last_ms, "slowest_ms": max(lasts), "delivery_rate": clients.count / last_ms * 1e3,
            "delivery_cpu_us": used * 1e6 / counts["common"]}


def broadcast(peer: Peer, settings: Settings) -> Measured:
    """One message at a time: the next one when all have heard the last."""
    speaks = peer.name if peer.name == "centrifugo" else ""
    with Running(peer, "broadcast") as server, talk.Crowd(server.port, settings.broadcast, settings.broadcast, speaks) as clients:
        clients.until("open", settings.broadcast)
        proc.wait_quiet(server.pids())
        sent, lasts = 0, []

        def send_for(seconds: float) -> tuple[int, float]:
            nonlocal sent
            began = time.monotonic()
            before = sent
            while time.monotonic() - began < seconds:
                sent, at = sent + 1, time.monotonic_ns()
                talk.publish(server.port, sent, speaks)
                lasts.append((clients.until("common", sent * settings.broadcast)["last_common_ns"] - at) / 1e6)
            return (sent - before) * settings.broadcast, time.monotonic() - began

        send_for(settings.warmup_s * peer.warmup_factor)
        lasts.clear()
        metrics = accounted(server, lambda: send_for(settings.seconds))
    yield f"{settings.broadcast:,} clients", metrics | {"last_ms": statistics.median(lasts)}


def echo(peer: Peer, settings: Settings) -> Measured:
    """Beside hello over HTTP on the same server, and, where it has such a service, TCP without frames."""
    with Running(peer, "push") as server:
        kinds = [("", "echo", server.port)]
        kinds += [("TCP, ", "raw", secure_port(server.run) if peer.name == "weft" else server.port)] if peer.name in ("weft", "bare-push") else []
        warm(server, settings)
        for connections in (100, 1000):
            hello = timed(server, settings, connections)
            yield f"hello over HTTP, c={connections}", hello
            for label, kind, port in kinds:
                talk.talk(kind, port, connections, settings.warmup_s * peer.warmup_factor)
                seen: list[dict[str, int]] = []

                def work(kind: str = kind, port: int = port, connections: int = connections) -> tuple[int, float]:
                    seen.append(talk.talk(kind, port, connections, settings.seconds))
                    return seen[-1]["messages"], seen[-1]["wall_us"] / 1e6

                metrics = accounted(server, work)
                yield f"{label}c={connections}", metrics | latencies(seen[-1]) | {"to_hello": metrics["cpu_us"] / hello["cpu_us"]}


def publish(peer: Peer, settings: Settings) -> Measured:
    """A client says something to its worker, whose PHP publishes it; a client of another worker hears it."""
    with Running(peer, "publish") as server:
        talk.talk("publish", server.port, settings.publish_rate, settings.warmup_s)
        seen: list[dict[str, int]] = []

        def work() -> tuple[int, float]:
            seen.append(talk.talk("publish", server.port, settings.publish_rate, settings.seconds))
            return seen[-1]["messages"], seen[-1]["wall_us"] / 1e6

        metrics = accounted(server, work)
    yield f"{settings.publish_rate:,}/s", metrics | latencies(seen[-1])


def conversations(peer: Peer, settings: Settings) -> Measured:
    """Each client has said something and heard it. User memory is the Pss of all processes of the server."""
    with Running(peer, "conversations") as server:
        with talk.kept("hold", server.port, WARM_CONVERSATIONS):
            before = settled(server)
            with talk.kept("hold", server.port, settings.parked):
                after = settled(server)
    count = settings.parked
    yield "each", {"user_kib": (after.pss - before.pss) / 1024 / count, "anonymous_kib": (after.anonymous - before.anonymous) / 1024 / count,
                   "total_pss_mib": after.pss / 2**20, "count": count}


def latencies(seen: dict[str, int]) -> Metrics:
    return {"p50_ms": seen["p50_us"] / 1e3, "p99_ms": seen["p99_us"] / 1e3, "max_ms": seen["max_us"] / 1e3}


EACH = Column("cpu_us", "CPU us/message")
SHARE = (Column("user_us", "user us"), Column("kernel_us", "kernel us"), Column("rate", "per s", 0), Column("server_core_percent", "server core %", 0))
NOISE = (Column("foreign_percent", "foreign %", 1), Column("stolen_percent", "stolen %", 1))
LATENCY = (Column("p50_ms", "p50 ms"), Column("p99_ms", "p99 ms"))

SCENARIOS = (
    Scenario("crowd", "Idle WebSocket clients with a topic of all and one of their own", "What does one keep, and does each hear everything once?",
             Column("user_kib", "user KiB each"),
             (Column("count", "open", 0), Column("idle_core_percent", "idle, core %", 1), Column("open_rate", "opened/s", 0), Column("last_ms", "last delivery ms", 0),
              Column("delivery_rate", "deliveries/s", 0), Column("delivery_cpu_us", "CPU us/delivery"), Column("common", "heard by all", 0),
              Column("own", "heard alone", 0), Column("own_rate", "own/s", 0), Column("pings", "pings", 0), Column("held_s", "held s", 0),
              Column("open_cpu_us", "CPU us/opening", 0), Column("anonymous_kib", "anonymous KiB"), Column("user_kib_at_the_end", "user KiB at the end"),
              Column("kernel_both_ends_kib", "kernel KiB (both ends)"), Column("total_pss_mib", "server's Pss MiB", 0), Column("workers", "workers", 0)),
             crowd, role="crowd", goal="at most 1 KB of user memory each, under 10 % of a core while idle", limit=("value", 1.0), rounds=1, prepare=of_crowd,
             curves=(Curve("step opening", "open", "user_mib", "connections open", "user memory of the server, MiB"),
                     Curve("step delivery", "at_ms", "delivered", "ms since a message to all was published", "clients that have heard it"))),
    Scenario("broadcast", "100 bytes to all clients of one worker", "What does a delivery cost beyond send()?", EACH,
             (Column("last_ms", "last delivery ms", 1), *SHARE[:2], *NOISE), broadcast, role="broadcast", goal="at most 1.15 x a loop of send(), below every peer",
             reference="bare-push", limit=("ratio", 1.15)),
    Scenario("echo", "100 bytes there and back", "What does a message through PHP cost?", EACH,
             (Column("to_hello", "CPU / own hello"), *SHARE, *LATENCY, *NOISE), echo, role="push",
             goal="through PHP at most 1.2 x its own hello over HTTP, below every peer; TCP at most 1.1 x bare", reference="bare-push"),
    Scenario("publish", "Published in one worker, heard by a client of another", "How long does it take?", Column("p99_ms", "p99 ms"),
             (Column("p50_ms", "p50 ms"), Column("max_ms", "max ms"), CPU, *SHARE, *NOISE), publish, role="publish",
             goal="p99 below 2 ms at 10,000 messages/s", limit=("value", 2.0), prepare=of_two),
    Scenario("conversations", "Conversations that wait for their client", "What does a coroutine keep that owns a connection?",
             Column("user_kib", "user KiB each"), (Column("anonymous_kib", "anonymous KiB"), Column("total_pss_mib", "server's Pss MiB", 1), Column("count", "held", 0)),
             conversations, role="conversations", goal="at most 13 KB each", limit=("value", 12.69)),
)
