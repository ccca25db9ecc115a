"""The progress of a run: lines of what has been measured, and under them, on a terminal, a line of what goes on and how long it takes.

It must not know what is measured. Invariant: what is written to something other than a terminal has whole lines only.
"""

from __future__ import annotations

import sys
import threading
import time

EVERY_S = 0.5
CLEAR = "\r\033[K"


def duration(seconds: float) -> str:
    """For people: 45 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def status(done: int, total: int, now: str, since_s: float, spent_s: float) -> str:
    """The line: how many turns of how many, what goes on, and what is left if the others take as long as those so far."""
    left = f"; about {duration(spent_s / done * (total - done))} left" if done > 0 else ""
    return f"[{done}/{total}] {now}, {duration(since_s)}{left}"


class Progress:
    """`with Progress(turns) as shown`: shown.begin(what) before each turn, shown.say(line) for what is to stay."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.now = total, -1, ""
        self.started = self.since = time.monotonic()
        self.live = sys.stdout.isatty()
        self.over, self.lock = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Progress:
        if self.live:
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        if self.live:
            self.thread.join()
            sys.stdout.write(CLEAR)

    def begin(self, what: str) -> None:
        with self.lock:
            self.done, self.now, self.since = self.done + 1, what, time.monotonic()

    def say(self, line: str) -> None:
        with self.lock:
            print(f"{CLEAR if self.live else ''}{line}", flush=True)

    def _watch(self) -> None:
        while not self.over.wait(EVERY_S):
            with self.lock:
                if self.now:
                    clock = time.monotonic()
                    sys.stdout.write(CLEAR + status(self.done, self.total, self.now, clock - self.since, clock - self.started))
                    sys.stdout.flush()
