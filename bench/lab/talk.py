"""The clients of push: bench/push/crowd holds connections and counts what they hear, bench/push/talk times what comes back, or keeps
connections that talk little or do not read, bench/push/backplane does without a server.

It must not know which server answers. No public load generator holds a million WebSockets and accounts for every message,
so these are the bench's own; all run on the load's core.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

from .load import LOAD_CORE
from .peers import BENCH
from .proc import BenchError

PROGRAMS = BENCH / "push" / "target"
AT_ONCE = 1_000  # handshakes under way, of all processes together
STALLED_S = 30.0
LOOK_EVERY_S = 0.02
CLIENT_TIMEOUT_S = 120.0
MESSAGE_BYTES = 100
KEPT_S = 600.0


def pinned(program: str, *arguments: object) -> list[str]:
    path = PROGRAMS / program
    if not path.exists():
        raise BenchError(f"{path} is missing: bench/setup makes it")
    return ["taskset", "-c", str(LOAD_CORE), str(path), *map(str, arguments)]


def get(port: int, target: str) -> None:
    with urlopen(f"http://127.0.0.1:{port}{target}", timeout=CLIENT_TIMEOUT_S) as answer:
        answer.read()


def publish(port: int, sequence: int, speaks: str = "") -> None:
    """Says something to all of a crowd."""
    if not speaks:
        get(port, f"/common?sequence={sequence}")
        return
    said = json.dumps({"channel": "all", "data": f"c {sequence} ".ljust(MESSAGE_BYTES, ".")}).encode()
    with urlopen(Request(f"http://127.0.0.1:{port}/api/publish", said, {"Content-Type": "application/json"}), timeout=CLIENT_TIMEOUT_S) as answer:
        if "error" in json.load(answer):
            raise BenchError("the message was not published")


class Crowd:
    """So many clients, at most `each` in a process. Its counts only grow, but for `open`."""

    def __init__(self, port: int, count: int, each: int, speaks: str = "") -> None:
        """`speaks`: what a server of its own protocol is called."""
        self.count, self.began_ns = count, time.monotonic_ns()
        command = pinned("crowd", port, count, each, AT_ONCE, *filter(None, [speaks]))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.process.communicate(timeout=CLIENT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its processes end with it
            self.process.wait()

    def counts(self) -> dict[str, int]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f"the clients have ended with {self.process.wait()}")
        return json.loads(line)

    def until(self, what: str, enough: int, seen: Callable[[dict[str, int]], object] = lambda _counts: None) -> dict[str, int]:
        """Waits until a count is reached, and shows all of them on the way. Clients that hear nothing more are an error, and so is a
        connection that was lost, or a message twice, missing, or for somebody else."""
        last, since = -1, time.monotonic()
        while True:
            counts = self.counts()
            seen(counts)
            self.require_order(counts)
            if counts[what] >= enough:
                return counts
            if counts[what] != last:
                last, since = counts[what], time.monotonic()
            elif time.monotonic() - since > STALLED_S:
                raise BenchError(f"{what} stays at {last:,} of {enough:,}: {counts}")
            time.sleep(LOOK_EVERY_S)

    def require_order(self, counts: dict[str, int]) -> None:
        bad = {name: counts[name] for name in ("lost", "twice", "missing", "wrong") if counts[name]}
        if bad or self.process.poll() is not None:
            raise BenchError(f"not every client has heard everything once: {bad or 'one of their processes has ended'}; {counts}")


def talk(what: str, port: int, amount: int, seconds: float, *more: int) -> dict[str, int]:
    return said_by(pinned("talk", what, port, amount, max(1, round(seconds)), *more), seconds)


def through(backplane: str, port: int, rate: int, seconds: float) -> dict[str, int]:
    """The same through Redis or NATS alone."""
    return said_by(pinned("backplane", backplane, port, rate, max(1, round(seconds))), seconds)


def said_by(command: list[str], seconds: float) -> dict[str, int]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + CLIENT_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed ({done.returncode}): {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


@contextmanager
def kept(what: str, port: int, count: int) -> Iterator[None]:
    """Connections that "hold" or "stall", as talk.c says, while the block lasts."""
    process = subprocess.Popen(pinned("talk", what, port, count, round(KEPT_S)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stderr
        if process.stdout.readline() != "there\n":
            raise BenchError(f"not all of {count:,} clients came: {process.stderr.read().strip()[-400:]}")
        yield
        if process.poll() is not None:
            raise BenchError(f"the clients have ended with {process.returncode}")
    finally:
        try:
            process.communicate(timeout=CLIENT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
