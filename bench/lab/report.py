"""out/report.html: one self-contained page, inline SVG, no script, light and dark. Draws what results saved, measures nothing."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from . import svg
from .proc import BenchError
from .results import SERIES, cells, header, number, ordered

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5d6675; --paper: #fbfbf9; --card: #fff; --rule: #e2e4e8; --goal: #b3261e;
  --weft: #c2410c; --bare: #475569; --hyper: #1d4ed8; --netty: #047857; --fpm: #7e22ce; --weft-php: #c2410c; --kernel: #475569; --php: #7e22ce; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --soft: #9aa3b2; --paper: #14171c; --card: #1b1f26; --rule: #303641; --goal: #ff8a80;
  --weft: #fb923c; --bare: #94a3b8; --hyper: #7aa2ff; --netty: #34d399; --fpm: #c792ea; --weft-php: #fb923c; --kernel: #94a3b8; --php: #c792ea; } }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 960px; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.2rem; margin: 0; } p { margin: .3rem 0; } .soft, summary { color: var(--soft); }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 1.1rem 1.3rem; margin-top: 1.3rem; }
h3 { font-size: .95rem; margin: 1rem 0 0; } svg { width: 100%; height: auto; display: block; margin-top: .5rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; margin-top: .6rem; width: 100%; }
th, td { text-align: right; padding: .28rem .55rem; border-bottom: 1px solid var(--rule); white-space: nowrap; } th { color: var(--soft); font-weight: 600; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; } table.facts td { white-space: normal; text-align: left; }
details { margin-top: .7rem; font-size: .85rem; } code { font-size: .8rem; overflow-wrap: anywhere; } .failed { color: var(--goal); }
svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); } svg .tick, svg .axis { fill: var(--soft); }
.grid { stroke: var(--rule); } .goal { stroke: var(--goal); stroke-dasharray: 4 3; } svg .goal-text { fill: var(--goal); font-size: 11px; }
.spread { stroke-width: 3; opacity: .35; } .run { opacity: .55; } .median { stroke: var(--card); stroke-width: 1.5; } .curve { fill: none; stroke-width: 2.2; }
"""
PEER_CSS = {"nginx-fpm": "fpm"}
PEERS = ("weft", "bare", "hyper", "netty", "fpm", "kernel", "php", "weft-php")


def css(peer: str) -> str:
    return "peer-" + PEER_CSS.get(peer, peer)


def peer_styles() -> str:
    """Dots take a fill, curves and spreads a stroke, labels a fill: one colour per peer everywhere."""
    return "".join(f"circle.peer-{p}, text.peer-{p} {{ fill: var(--{p}); }} line.peer-{p}, polyline.peer-{p} {{ stroke: var(--{p}); }}\n" for p in PEERS)


def plots(result: dict[str, Any]) -> str:
    """A dot plot per variant; one plot of all variants for the micro costs; a curve for the soak."""
    curves = [(p, css(p), points) for p in result["labels"] if (points := curve_of(result, p))]
    if curves:
        return svg.curve(curves, "requests answered", "resident memory of the worker, MiB")
    rows = ordered(result)
    if len({r["variant"] for r in rows}) == len(rows) or result["scenario"] == "micro":
        return plot(result, rows, lambda r: r["variant"] if result["scenario"] == "micro" else r["peer"])
    drawn = []
    for variant in dict.fromkeys(r["variant"] for r in rows):
        title = f"<h3>{escape(variant)}</h3>" if len({r["variant"] for r in rows}) > 1 else ""
        drawn.append(title + plot(result, [r for r in rows if r["variant"] == variant], lambda r: r["peer"]))
    return "".join(drawn)


def curve_of(result: dict[str, Any], peer: str) -> list[tuple[float, float]]:
    steps = [s["metrics"] for s in result["samples"] if s["peer"] == peer and s["variant"] == SERIES]
    return [(m["requests"], m["rss_mib"]) for m in steps]


def plot(result: dict[str, Any], rows: list[dict[str, Any]], label: Any) -> str:
    headline = result["headline"]
    metric, dots = headline["metric"], []
    for row in rows:
        runs = [s["metrics"][metric] for s in result["samples"] if (s["peer"], s["variant"]) == (row["peer"], row["variant"])]
        median = row["metrics"][metric]["median"]
        ratio = f"  ({row['ratio']:.2f} x)" if row["ratio"] and result["limit"] and result["limit"][0] == "ratio" else ""
        dots.append(svg.Dots(label(row), css(row["peer"]), runs, median, number(median, headline["digits"]) + ratio))
    direction = "less is better" if result["lower_is_better"] else "more is better"
    return svg.dot_plot(dots, f"{headline['label']}, {direction}", goal_mark(result, rows))


def goal_mark(result: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[float, str] | None:
    """The goal as a place on the axis: a value, or a multiple of the reference measured in the same run."""
    if not result["limit"]:
        return None
    kind, amount = result["limit"]
    if kind == "value":
        return amount, f"goal {amount:g}"
    base = next((r for r in rows if r["peer"] == "bare"), None)
    return (amount * base["metrics"][result["headline"]["metric"]]["median"], f"goal {amount:g} x bare") if base else None


def html_table(result: dict[str, Any]) -> str:
    lines = [header(result)] + [cells(result, row) for row in ordered(result)]
    keep = [i for i in range(len(lines[0])) if any(line[i] for line in lines[1:])]
    head = "".join(f"<th>{escape(lines[0][i])}</th>" for i in keep)
    body = "".join("<tr>" + "".join(f"<td>{escape(line[i])}</td>" for i in keep) + "</tr>" for line in lines[1:])
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def facts(pairs: dict[str, Any], code: bool) -> str:
    cell = "<code>{}</code>" if code else "{}"
    return '<table class="facts">' + "".join(f"<tr><td>{escape(k)}</td><td>{cell.format(escape(str(v)))}</td></tr>" for k, v in pairs.items()) + "</table>"


def section(result: dict[str, Any]) -> str:
    failed = "".join(f'<p class="failed">{escape(peer)} failed: {escape(why[:300])}</p>' for peer, why in result["failures"].items())
    body = plots(result) + html_table(result) if result["summary"] else "<p>No peer took part.</p>"
    runs = max((row["runs"] for row in result["summary"]), default=0)
    return (f'<section><h2>{escape(result["title"])}</h2><p>{escape(result["question"])} '
            f'<span class="soft">Goal: {escape(result["goal"])}. {"Median, spread and single runs of " + str(runs) if runs > 1 else "One run"}.</span></p>'
            f'{failed}{body}<details><summary>Commands and settings, {escape(result["started"])}</summary>'
            f'{facts(result["commands"], True)}{facts(result["settings"], False)}</details></section>')


def write(directory: Path, results: list[dict[str, Any]]) -> Path:
    """Writes report.html beside the results and returns its path."""
    if not results:
        raise BenchError(f"no results in {directory}: run bench/run quick first")
    newest = max(results, key=lambda r: r["finished"])
    page = directory / "report.html"
    page.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>weft bench</title><style>{STYLE}{peer_styles()}</style></head><body>"
        f'<h1>weft beside its peers</h1><p class="soft">One server worker on one core, the load on another. CPU time as the kernel '
        f'accounts it. {escape(newest["machine"]["processor"])}, {escape(newest["machine"]["kernel"])}, {escape(newest["finished"])}.</p>'
        + "".join(map(section, results))
        + f"<section><h2>Machine and versions</h2>{facts(newest['machine'], False)}</section></body></html>\n")
    return page
