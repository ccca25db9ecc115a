"""Three drawings as inline SVG: a dot plot with spread, a curve, and a timeline of parts. Text in, text out; it must not know the bench.

Colours and fonts come from CSS classes of the page, so that light and dark both work. Every dot carries a title.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH, RIGHT, ROW, TOP, BOTTOM = 860, 110, 26, 14, 44
LABEL_CHARACTER, LABELS_MIN = 6.6, 110
CURVE_HEIGHT, CURVE_LEFT = 300, 64


@dataclass(frozen=True)
class Dots:
    """One row of a dot plot: its runs, their median, and the text at its end."""

    label: str
    css: str
    runs: list[float]
    median: float
    text: str


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round values inside [low, high]: 1-2-5 steps, or whole decades where those would run into each other."""
    if logarithmic:
        steps = (1, 2, 5) if high / low < 1e3 else (1,)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [v for e in decades for m in steps if low <= (v := m * 10.0**e) <= high]
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 6)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def short(value: float) -> str:
    """A tick's text: no needless digits."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if abs(value) >= 1e4 else f"{float(f'{value:.6g}'):g}"


def text(x: float, y: float, css: str, content: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def dot(x: float, y: float, radius: float, css: str, title: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{css}"><title>{escape(title)}</title></circle>'


def frame(height: float, caption: str, parts: list[str]) -> str:
    return (f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(caption)}">' + "".join(parts) + "</svg>")


def dot_plot(rows: list[Dots], axis: str, mark: tuple[float, str] | None = None) -> str:
    """Rows of dots on one axis; logarithmic when the values span more than a decade. `mark` is a vertical line with its name."""
    values = [v for row in rows for v in row.runs] + ([mark[0]] if mark else [])
    logarithmic = min(values) > 0 and max(values) / min(values) > 8
    low, high = (min(values) / 1.3, max(values) * 1.3) if logarithmic else (min(0.0, *values), max(values) * 1.08 or 1.0)
    labels = max(LABELS_MIN, 24 + LABEL_CHARACTER * max(len(row.label) for row in rows))
    plot = WIDTH - labels - RIGHT

    def x(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if logarithmic else (value - low) / (high - low)
        return labels + plot * share

    bottom = TOP + ROW * len(rows) + 6
    parts = []
    for tick in ticks(low, high, logarithmic):
        parts += [line(x(tick), TOP, x(tick), bottom, "grid"), text(x(tick), bottom + 15, "tick", short(tick), "middle")]
    if mark:
        parts += [line(x(mark[0]), TOP - 8, x(mark[0]), bottom, "goal"), text(x(mark[0]) + 4, TOP - 3, "goal-text", mark[1])]
    for index, row in enumerate(rows):
        y = TOP + ROW * index + ROW / 2 + 3
        parts.append(text(labels - 12, y + 4, "row", row.label, "end"))
        parts.append(line(x(min(row.runs)), y, x(max(row.runs)), y, f"spread {row.css}"))
        parts += [dot(x(run), y, 2.5, f"run {row.css}", f"{run:.4g}") for run in row.runs]
        parts.append(dot(x(row.median), y, 5.5, f"median {row.css}", row.text))
        parts.append(text(x(max(*row.runs, row.median)) + 10, y + 4, "value", row.text))
    scale = f"{axis} (logarithmic)" if logarithmic else axis
    parts.append(text(labels + plot / 2, bottom + 34, "axis", scale, "middle"))
    return frame(bottom + BOTTOM - 4, axis, parts)


def curve(series: list[tuple[str, str, list[tuple[float, float]]]], x_axis: str, y_axis: str, logarithmic: bool = False) -> str:
    """Curves of (label, css, points); the y axis starts at zero so that growth is seen in proportion. `logarithmic`: the x axis."""
    xs, ys = ([p[i] for _, _, points in series for p in points] for i in (0, 1))
    right, bottom, top = WIDTH - 150, CURVE_HEIGHT - 48, TOP + 18
    width, height, x_high, y_high = right - CURVE_LEFT, bottom - top, max(xs), max(ys) * 1.1

    x_low = min(xs) if logarithmic else 0.0

    def place(point: tuple[float, float]) -> tuple[float, float]:
        share = math.log(max(point[0], x_low) / x_low) / math.log(x_high / x_low) if logarithmic and x_high > x_low else point[0] / x_high
        return CURVE_LEFT + width * share, bottom - height * point[1] / y_high

    parts = []
    for tick in ticks(0, y_high, False):
        y = place((0, tick))[1]
        parts += [line(CURVE_LEFT, y, right, y, "grid"), text(CURVE_LEFT - 8, y + 4, "tick", short(tick), "end")]
    for tick in sorted(set(xs)) if logarithmic else ticks(0, x_high, False):
        parts.append(text(place((tick, 0))[0], bottom + 16, "tick", short(tick), "middle"))
    taken: list[float] = []
    for label, css, points in sorted(series, key=lambda s: -s[2][-1][1]):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(place, points))
        end = place(points[-1])
        y = max([end[1], *(t + 14 for t in taken)])
        taken.append(y)
        if logarithmic:
            parts += [dot(*place(point), 2.6, css, f"{label}: {point[1]:.4g} at {point[0]:.4g}") for point in points]
        parts += [f'<polyline points="{path}" class="curve {css}"/>', text(right + 8, y + 4, f"value {css}", label)]
    parts += [text(CURVE_LEFT + width / 2, CURVE_HEIGHT - 10, "axis", x_axis, "middle"), text(4, TOP, "axis", y_axis)]
    return frame(CURVE_HEIGHT, y_axis, parts)


def timeline(series: list[tuple[str, str, list[list[tuple[float, float]]]]], marks: list[tuple[float, str]], y_axis: str) -> str:
    """Lines of (label, css, pieces) over seconds, with a legend; each mark is where a part of the run begins, and its name."""
    points = [point for _, _, pieces in series for piece in pieces for point in piece] or [(1.0, 1.0)]
    right, bottom, top = WIDTH - 20, CURVE_HEIGHT - 66, TOP + 22
    width, height = right - CURVE_LEFT, bottom - top
    x_high, y_high = max(x for x, _ in points) or 1.0, max(y for _, y in points) * 1.1 or 1.0

    def x(value: float) -> float:
        return CURVE_LEFT + width * value / x_high

    def y(value: float) -> float:
        return bottom - height * value / y_high

    parts = []
    for tick in ticks(0, y_high, False):
        parts += [line(CURVE_LEFT, y(tick), right, y(tick), "grid"), text(CURVE_LEFT - 8, y(tick) + 4, "tick", short(tick), "end")]
    parts += [text(x(tick), bottom + 16, "tick", short(tick), "middle") for tick in ticks(0, x_high, False)]
    for at, name in marks:
        parts += [line(x(at), top - 6, x(at), bottom, "part"), text(x(at) + 4, top - 8, "goal-text", name)]
    for _, css, pieces in series:
        for piece in pieces:
            path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in piece)
            parts.append(f'<polyline points="{path}" class="curve {css}"/>' if len(piece) > 1 else "".join(
                dot(x(a), y(b), 2.5, css, f"{b:.4g}") for a, b in piece))
    place = float(CURVE_LEFT)
    for label, css, _ in series:
        parts += [line(place, CURVE_HEIGHT - 12, place + 18, CURVE_HEIGHT - 12, f"curve {css}"), text(place + 24, CURVE_HEIGHT - 8, "value", label)]
        place += 44 + LABEL_CHARACTER * len(label)
    parts += [text(CURVE_LEFT + width / 2, bottom + 32, "axis", "seconds", "middle"), text(4, TOP - 2, "axis", y_axis)]
    return frame(CURVE_HEIGHT, y_axis, parts)
