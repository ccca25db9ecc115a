"""Small drawings beside a scenario's main one: where CPU time goes, how long answers take, memory, switches, system calls; and the
evolution of servers in one plot.

Text in, text out, from a saved result; it must not measure. A panel is drawn where the result has its figures. All axes begin at
zero, except that of times, which is logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from .results import number, ordered
from .svg import dot, line, short, text, ticks

WIDTH, ROW, TOP, BOTTOM, RIGHT = 500, 22, 26, 26, 76
LABEL_CHARACTER, LABELS_MIN = 7.6, 60
TIMES = (("p50_ms", 5.0), ("p90_ms", 4.0), ("p99_ms", 3.2), ("max_ms", 2.2))
MODELS = ("fork", "prefork", "threads", "loop", "coroutine", "weft")
WIDE, BAR = 900, 16
SHARES, SWITCHES, FIGURES = (168, 600), (622, 722), 770  # where the columns of the evolution stand


@dataclass(frozen=True)
class Bar:
    """A row: pieces one behind the other (class, size, title), and the text at its end."""

    label: str
    pieces: list[tuple[str, float, str]]
    text: str


def median(row: dict[str, Any], metric: str) -> float | None:
    found = row["metrics"].get(metric)
    return None if found is None else found["median"]


def panel(title: str, height: float, parts: list[str]) -> str:
    head = text(0, 13, "panel-title", title)
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">{head}{"".join(parts)}</svg>'


def axis(low: float, high: float, logarithmic: bool, place: Callable[[float], float], bottom: float) -> list[str]:
    parts = []
    for tick in ticks(low, high, logarithmic):
        parts += [line(place(tick), TOP, place(tick), bottom, "grid"), text(place(tick), bottom + 14, "tick", short(tick), "middle")]
    return parts


def labels_width(names: list[str]) -> float:
    return max(LABELS_MIN, 10 + LABEL_CHARACTER * max(map(len, names)))


def bars(title: str, rows: list[Bar]) -> str:
    left, bottom = labels_width([row.label for row in rows]), TOP + ROW * len(rows)
    high = max(sum(size for _, size, _ in row.pieces) for row in rows) or 1.0

    def place(value: float) -> float:
        return left + (WIDTH - left - RIGHT) * value / high

    parts = axis(0, high, False, place, bottom)
    for index, row in enumerate(rows):
        y, at = TOP + ROW * index, 0.0
        parts.append(text(left - 8, y + 15, "row", row.label, "end"))
        for css, size, what in row.pieces:
            parts.append(f'<rect x="{place(at):.1f}" y="{y + 4}" width="{max(0.5, place(at + size) - place(at)):.1f}" height="{ROW - 8}" '
                         f'class="{css}"><title>{escape(what)}</title></rect>')
            at += size
        parts.append(text(place(at) + 6, y + 15, "value", row.text))
    return panel(title, bottom + BOTTOM, parts)


def times(rows: list[dict[str, Any]], css: Callable[[str], str]) -> str:
    """From the median to the longest, one row a server."""
    seen = [(row, [(value, radius, name) for name, radius in TIMES if (value := median(row, name)) is not None]) for row in rows]
    values = [max(value, 0.01) for _, points in seen for value, _, _ in points]
    low, high = min(values) / 1.4, max(values) * 1.4
    left, bottom = labels_width([row["peer"] for row in rows]), TOP + ROW * len(rows)

    def place(value: float) -> float:
        return left + (WIDTH - left - RIGHT) * math.log(max(value, 0.01) / low) / math.log(high / low)

    parts = axis(low, high, True, place, bottom)
    for index, (row, points) in enumerate(seen):
        y, colour = TOP + ROW * index + ROW / 2, css(row["peer"])
        parts.append(text(left - 8, y + 4, "row", row["peer"], "end"))
        parts.append(line(place(points[0][0]), y, place(points[-1][0]), y, f"spread {colour}"))
        parts += [dot(place(value), y, radius, colour, f"{name.removesuffix('_ms')} {value:.3g} ms") for value, radius, name in points]
        p99 = median(row, "p99_ms")
        parts.append(text(place(points[-1][0]) + 8, y + 4, "value", "" if p99 is None else number(p99, 0 if p99 >= 100 else 1 if p99 >= 10 else 2)))
    shown = [name.removesuffix("_ms") for name, _ in TIMES if any(median(row, name) is not None for row in rows)]
    return panel(f"Latency, ms (logarithmic): {', '.join(shown)}; p99 in figures", bottom + BOTTOM, parts)


def stacked(title: str, rows: list[dict[str, Any]], css: Callable[[str], str], metrics: tuple[tuple[str, str, str], ...], digits: int) -> str:
    """Bars of the medians of these metrics (name, class, title), for the rows that have them."""
    drawn = []
    for row in rows:
        pieces = [(f"{css(row['peer'])} {kind}", value, f"{what}: {value:.4g}") for name, kind, what in metrics
                  if (value := median(row, name)) is not None]
        if pieces:
            drawn.append(Bar(row["peer"], pieces, number(sum(size for _, size, _ in pieces), digits)))
    return bars(title, drawn) if drawn else ""


def grid(result: dict[str, Any], css: Callable[[str], str]) -> str:
    """The panels of a result, a row of them for each variant."""
    every, drawn = ordered(result), []
    variants = list(dict.fromkeys(row["variant"] for row in every))
    for variant in variants:
        rows = [row for row in every if row["variant"] == variant]
        found = []
        if any(median(row, "user_us") is not None for row in rows):
            found.append(stacked("CPU a request, us: user | kernel", rows, css, (("user_us", "", "user"), ("kernel_us", "pale", "kernel")), 1))
        if sum(median(row, "p99_ms") is not None for row in rows) == len(rows):
            found.append(times(rows, css))
        found.append(stacked("Memory of all processes (Pss), MiB", rows, css, (("pss_mib", "", "Pss"),), 1))
        found.append(stacked("Context switches a request: voluntary | involuntary", rows, css,
                             (("voluntary", "", "voluntary"), ("involuntary", "pale", "involuntary")), 3))
        found.append(stacked("System calls a request (counted in a pass of its own)", rows, css, (("calls", "", "calls"),), 2))
        found = [one for one in found if one]
        if found:
            title = f"<h3>{escape(variant)}</h3>" if len(variants) > 1 else ""
            drawn.append(f'{title}<div class="panels">{"".join(found)}</div>')
    return "".join(drawn)


def spending(result: dict[str, Any]) -> str:
    """Where each model's CPU time goes, and how often it is switched: two bars for each load, the handler's share first. The models in
    the order of their history."""
    rows = {(row["peer"], row["variant"]): row for row in result["summary"]}
    variants = list(dict.fromkeys(row["variant"] for row in result["summary"]))
    models = [model for model in MODELS if any((model, variant) in rows for variant in variants)]
    most = max((median(row, "all_switches") or 0 for row in rows.values()), default=0) or 1.0
    parts, y = [text(SWITCHES[0], 14, "value", "context switches"), text(SWITCHES[0], 36, "tick", "a request")], 44.0
    for share in (0, 25, 50, 75, 100):
        parts.append(text(SHARES[0] + (SHARES[1] - SHARES[0]) * share / 100, 36, "tick", f"{share} %", "middle"))
    legend = (("handler", "the handler: effective CPU"), ("other-user", "the model: user land"), ("other-kernel", "kernel"))
    for x, (css, name) in zip((SHARES[0], SHARES[0] + 184, SHARES[0] + 334), legend, strict=True):
        parts += [f'<rect x="{x}" y="4" width="12" height="12" class="{css}"/>', text(x + 16, 14, "value", name)]
    for model in models:
        parts.append(text(0, y + 12, "model", model))
        for variant in variants:
            if row := rows.get((model, variant)):
                parts += [text(SHARES[0] - 8, y + 12, "tick", variant, "end"), *spent(row, y), *switched(row, most, y)]
                parts.append(text(FIGURES, y + 12, "value", f"{median(row, 'cpu_us'):.0f} us, {number(median(row, 'rate') or 0, 0)}/s"))
                y += BAR + 4
        y += 10
    return f'<svg viewBox="0 0 {WIDE} {y:.0f}" role="img" aria-label="{escape(result["title"])}">{"".join(parts)}</svg>'


def spent(row: dict[str, Any], y: float) -> list[str]:
    """The bar of the CPU time, as wide for each: what differs is its division."""
    pieces = [("handler", median(row, "handler_us") or 0), ("other-user", median(row, "model_user_us") or 0),
              ("other-kernel", median(row, "model_kernel_us") or 0)]
    whole, at, parts = sum(size for _, size in pieces) or 1.0, float(SHARES[0]), []
    for css, size in pieces:
        width = (SHARES[1] - SHARES[0]) * size / whole
        parts.append(f'<rect x="{at:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" class="{css}"><title>{size:.1f} us</title></rect>')
        at += width
    if pieces[0][1] / whole > 0.12:
        parts.append(text(SHARES[0] + 6, y + 12, "inside", f"{100 * pieces[0][1] / whole:.0f} %"))
    return parts


def switched(row: dict[str, Any], most: float, y: float) -> list[str]:
    """The bar of the context switches of a request: the longest one is that of the most."""
    count = median(row, "all_switches") or 0.0
    width = max(0.5, (SWITCHES[1] - SWITCHES[0]) * count / most)
    title = f"{median(row, 'voluntary') or 0:.3g} voluntary, {median(row, 'involuntary') or 0:.3g} involuntary"
    return [f'<rect x="{SWITCHES[0]}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" class="switched"><title>{title}</title></rect>',
            text(SWITCHES[0] + width + 5, y + 12, "value", f"{count:.2f}")]
