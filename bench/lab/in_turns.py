"""Servers that are measured in turn, some seconds each: their ratios hold on a machine whose speed drifts.

It must not know what a window measures. Invariants: one server has work at a time; the windows of one number are neighbours in
time, and all that is compared is compared within them; every second time the order is reversed, so that a machine which becomes
slower favours nobody; a server that fails leaves the turns, and the others go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from .measure import Measured, Metrics
from .results import Sample

Failing = Callable[[str, Callable[[], None]], None]  # does the work of a peer, and takes what it fails with


def alternate(measured: dict[str, Measured], failing: Failing) -> Iterable[Sample]:
    """The next window of each peer, again and again. A sample's round is the number of its window among those of its variant."""
    counts: dict[tuple[str, str], int] = {}
    for is_reversed in itertools.cycle((False, True)):
        if not measured:
            return
        order = list(measured.items())
        for peer, windows in reversed(order) if is_reversed else order:
            found: list[tuple[str, Metrics]] = []

            def look(windows: Measured = windows, found: list[tuple[str, Metrics]] = found) -> None:
                found.extend(one for one in [next(windows, None)] if one)

            failing(peer, look)
            if not found:
                del measured[peer]
            for variant, metrics in found:
                number = counts[peer, variant] = counts.get((peer, variant), 0) + 1
                yield Sample(number, peer, variant, metrics)
