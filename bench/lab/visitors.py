"""A closed loop of visitors for pages that take milliseconds: each sends its next request as soon as it has its answer.

wrk counts from its first request to its last answer; if a page takes two seconds, the requests in flight at both ends would be
a large part of that. Here the loop runs all the time, and the answers between two moments are counted. It must not know which
server answers. Any answer but 200 fails the run.
"""

from __future__ import annotations

import itertools
import socket
import statistics
import threading
import time
from dataclasses import dataclass, field

from . import load, proc

Page = tuple[str, dict[str, str]]  # a path, and the cookies that a visitor has for it at first


@dataclass(frozen=True)
class Seen:
    """Answers between two moments."""

    answers: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


@dataclass
class Visitors:
    """`with Visitors(port, path, count) as crowd`: they all send requests when the block begins, and have stopped when it ends.
    With `pages` each visitor goes from one page to the next and begins with another one than his neighbour."""

    port: int
    path: str
    count: int
    pages: tuple[Page, ...] = ()
    answered: list[tuple[float, float]] = field(default_factory=list)  # (when, how long it took), in seconds
    served: set[int] = field(default_factory=set)
    failed: list[Exception] = field(default_factory=list)

    def __enter__(self) -> Visitors:
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._visit, args=(number,), daemon=True) for number in range(self.count)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def _visit(self, number: int) -> None:
        pages = [(path, dict(cookies)) for path, cookies in self.pages or ((self.path, {}),)]
        turns = itertools.count(number)
        try:
            while not self.stopping.is_set():
                with load.connect(self.port, number) as client:
                    while self._turn(client, number, *pages[next(turns) % len(pages)]) and not self.stopping.is_set():
                        pass
        except (OSError, proc.BenchError) as error:
            self.failed.append(error)

    def _turn(self, client: socket.socket, number: int, path: str, cookies: dict[str, str]) -> bool:
        """One request; whether its connection stays open."""
        begun = time.monotonic()
        stays = load.ask_again(client, path, number, cookies)
        now = time.monotonic()
        self.answered.append((now, now - begun))
        self.served.add(number)
        return stays

    def _check(self) -> None:
        if self.failed:
            raise proc.BenchError(f"a visitor of {self.path} was not served: {self.failed[0]}")

    def settled(self) -> bool:
        """Each has had an answer: from here on the loop runs evenly."""
        self._check()
        return len(self.served) == self.count

    def watch(self, seconds: float) -> Seen:
        """Counts their answers within the next seconds."""
        begin = time.monotonic()
        end = begin + seconds
        while time.monotonic() < end:
            time.sleep(min(0.2, max(0.0, end - time.monotonic())))
            self._check()
        times = sorted(took * 1e3 for at, took in list(self.answered) if begin <= at < end)
        if len(times) < 2:
            raise proc.BenchError(f"{len(times)} answers for {self.path} in {seconds:.0f} s")
        return Seen(len(times), seconds, statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.99))])
