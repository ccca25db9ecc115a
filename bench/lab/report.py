"""out/report.html: one self-contained page, inline SVG, no script, light and dark.

It draws what results saved and must not measure. The style is report.css, copied into the page.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from . import svg
from .proc import BenchError
from .results import cells, disturbed, header, number, ordered

STYLE = Path(__file__).with_suffix(".css")
PEERS = ("weft", "bare", "hyper", "netty", "fpm", "tungstenite", "kernel", "php", "weft-php")


def css(peer: str) -> str:
    """The peer whose colour is used: variants of a peer share its colour."""
    family = "fpm" if "fpm" in peer else peer.partition("-")[0]
    return "peer-" + (peer if peer in PEERS else family)


def peer_styles() -> str:
    """Dots take a fill, curves and spreads a stroke, labels a fill: one colour per peer everywhere."""
    rule = "circle.peer-{0}, text.peer-{0} {{ fill: var(--{0}); }} line.peer-{0}, polyline.peer-{0} {{ stroke: var(--{0}); }}\n"
    return "".join(map(rule.format, PEERS))


def plots(result: dict[str, Any]) -> str:
    """A dot plot per variant; one plot of all variants for the micro costs; curves where a scenario has them."""
    drawn = [curves(result, curve) for curve in result.get("curves", [])]
    if any(drawn):
        return "".join(drawn)
    rows = ordered(result)
    if result["scenario"] == "micro":
        return plot(result, rows, lambda r: r["variant"])
    drawn = []
    for variant in dict.fromkeys(r["variant"] for r in rows):
        title = f"<h3>{escape(variant)}</h3>" if len({r["variant"] for r in rows}) > 1 else ""
        drawn.append(title + plot(result, [r for r in rows if r["variant"] == variant], lambda r: r["peer"]))
    return "".join(drawn)


def curves(result: dict[str, Any], curve: dict[str, str]) -> str:
    """One line per peer."""
    lines = []
    for peer in result["labels"]:
        steps = [s["metrics"] for s in result["samples"] if (s["peer"], s["variant"]) == (peer, curve["variant"])]
        lines += [(peer, css(peer), [(m[curve["x"]], m[curve["y"]]) for m in steps])] if steps else []
    return svg.curve(lines, curve["x_label"], curve["y_label"]) if lines else ""


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
    if kind == "values":
        kind, amount = "value", amount.get(rows[0]["variant"])
    if kind == "value":
        return (amount, f"goal {amount:g}") if amount is not None else None
    reference = result.get("reference", "bare")
    base = next((r for r in rows if r["peer"] == reference), None)
    value = amount * base["metrics"][result["headline"]["metric"]]["median"] if base else 0
    return (value, f"goal {amount:g} x {reference}") if base else None


def html_table(result: dict[str, Any]) -> str:
    lines = [header(result)] + [cells(result, row) for row in ordered(result)]
    keep = [i for i in range(len(lines[0])) if any(line[i] for line in lines[1:])]
    head = "".join(f"<th>{escape(lines[0][i])}</th>" for i in keep)
    body = "".join("<tr>" + "".join(f"<td>{escape(line[i])}</td>" for i in keep) + "</tr>" for line in lines[1:])
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def facts(pairs: dict[str, Any], code: bool) -> str:
    cell = "<code>{}</code>" if code else "{}"
    rows = (f"<tr><td>{escape(key)}</td><td>{cell.format(escape(str(value)))}</td></tr>" for key, value in pairs.items())
    return f'<table class="facts">{"".join(rows)}</table>'


def section(result: dict[str, Any]) -> str:
    noise = "".join(f'<p class="failed">{escape(warning)}</p>' for warning in disturbed(result))
    failed = noise + "".join(f'<p class="failed">{escape(peer)} failed: {escape(why[:300])}</p>'
                             for peer, why in result["failures"].items())
    body = plots(result) + html_table(result) if result["summary"] else "<p>No peer took part.</p>"
    runs = max((row["runs"] for row in result["summary"]), default=0)
    how = f"Median, spread and single runs of {runs}" if runs > 1 else "One run"
    return (f'<section><h2>{escape(result["title"])}</h2><p>{escape(result["question"])} '
            f'<span class="soft">Goal: {escape(result["goal"])}. {how}.</span></p>'
            f'{failed}{body}<details><summary>Commands and settings, {escape(result["started"])}</summary>'
            f'{facts(result["commands"], True)}{facts(result["settings"], False)}</details></section>')


def write(directory: Path, results: list[dict[str, Any]]) -> Path:
    """Writes report.html beside the results and returns its path."""
    if not results:
        raise BenchError(f"no results in {directory}: run bench/run quick first")
    newest = max(results, key=lambda r: r["finished"])
    measured_on = ", ".join([newest["machine"]["processor"], newest["machine"]["kernel"], newest["finished"]])
    page = directory / "report.html"
    page.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>weft bench</title><style>{STYLE.read_text()}{peer_styles()}</style></head><body>"
        '<h1>weft beside its peers</h1><p class="soft">One server worker on one core, the load on another. '
        f'CPU time as the kernel accounts it. {escape(measured_on)}.</p>'
        + "".join(map(section, results))
        + f"<section><h2>Machine and versions</h2>{facts(newest['machine'], False)}</section></body></html>\n")
    return page
