"""What else the machine did during a measurement, and whether the measurement is repeated for it.

It must not know what is measured. Invariant: an attempt is either the one that counts or kept among the discarded ones; which of
them counts depends on the disturbance alone, never on the figure.
"""

from __future__ import annotations

from collections.abc import Callable

from .measure import Metrics

FOREIGN_PERCENT_MAX = 5.0  # of the server's core, above which a measurement is called disturbed
Attempt = list[tuple[str, Metrics]]


def disturbance(attempt: Attempt) -> float:
    """The largest share of the server's core, in percent, that others took during one of these. Includes what the hypervisor took."""
    return max((metrics.get("foreign_percent", 0.0) for _, metrics in attempt), default=0.0)


def quietest(measure: Callable[[], Attempt], repeats: int, say: Callable[[str], None]) -> tuple[Attempt, list[Attempt]]:
    """Measures, and again while the last attempt was disturbed, at most `repeats` times. The attempt that counts, and the others."""
    attempts = [measure()]
    while disturbance(attempts[-1]) > FOREIGN_PERCENT_MAX and len(attempts) <= repeats:
        say(f"others took {disturbance(attempts[-1]):.0f} % of the core: measured again ({len(attempts)} of {repeats})")
        attempts.append(measure())
    best = min(attempts, key=disturbance)
    return best, [attempt for attempt in attempts if attempt is not best]
