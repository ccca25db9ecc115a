"""out/report.html: one self-contained page, inline SVG, no script, light and dark.

It draws what results saved and must not measure. The style is report.css, copied into the page.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from . import panels, svg
from .proc import BenchError
from .results import cells, disturbed, header, number, ordered

STYLE = Path(__file__).with_suffix(".css")
PEERS = ("weft", "bare", "hyper", "netty", "fpm", "tungstenite", "kernel", "php", "weft-php", "go", "nginx", "swoole", "workerman", "roadrunner",
         "frankenphp", "fork", "prefork", "threads", "loop", "coroutine")


def css(peer: str) -> str:
    """The peer whose colour is used: variants of a peer share its colour, and their curves are dashed."""
    family = peer if peer in PEERS else "fpm" if "fpm" in peer else peer.partition("-")[0]
    return f"peer-{family}" + ("" if peer == family else " other")


def peer_styles() -> str:
    """Dots take a fill, curves and spreads a stroke, labels a fill: one colour per peer everywhere."""
    rule = "circle.peer-{0}, text.peer-{0}, rect.peer-{0} {{ fill: var(--{0}); }} line.peer-{0}, polyline.peer-{0} {{ stroke: var(--{0}); }}\n"
    return "".join(map(rule.format, PEERS))


def plots(result: dict[str, Any]) -> str:
    """A dot plot per variant; one plot of all variants for the micro costs; curves where a scenario has them."""
    if result.get("spends"):
        return panels.spending(result)
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
        steps = [s["metrics"] for s in result["samples"]
                 if (s["peer"], s["variant"]) == (peer, curve["variant"]) and s["round"] == 1 and curve["y"] in s["metrics"]]
        lines += [(peer, css(peer), [(m[curve["x"]], m[curve["y"]]) for m in steps])] if steps else []
    return svg.curve(lines, curve["x_label"], curve["y_label"], curve.get("logarithmic", False)) if lines else ""


def plot(result: dict[str, Any], rows: list[dict[str, Any]], label: Any) -> str:
    headline = result["headline"]
    metric, dots = headline["metric"], []
    for row in rows:
        runs = [s["metrics"][metric] for s in result["samples"] if (s["peer"], s["variant"]) == (row["peer"], row["variant"]) and metric in s["metrics"]]
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


def notes(result: dict[str, Any]) -> str:
    """What to know before the figures are believed: disturbance, failures, who is absent."""
    wrong = [*disturbed(result), *(f"{peer} failed: {why[:300]}" for peer, why in result["failures"].items())]
    told = [f"{peer} is absent: {why}" for peer, why in result.get("absent", {}).items()]
    if repeated := len(result.get("discarded", [])):
        told.append(f"{repeated} disturbed samples were measured again and do not count; they are in the JSON file")
    return ("".join(f'<p class="failed">{escape(text)}</p>' for text in wrong)
            + (f'<p class="soft small">{escape("; ".join(told))}.</p>' if told else ""))


def section(result: dict[str, Any]) -> str:
    body = plots(result) + panels.grid(result, css) + html_table(result) if result["summary"] else "<p>No server took part.</p>"
    runs = max((row["runs"] for row in result["summary"]), default=0)
    how = f"Median, spread and single runs of {runs}" if runs > 1 else "One run"
    settings = {"command": result["command"], **result["commands"]}
    return (f'<section id="{escape(result["scenario"])}"><h2>{escape(result["title"])}</h2><p>{escape(result["question"])} '
            f'<span class="soft">Goal: {escape(result["goal"])}. {how}.</span></p>'
            f'{notes(result)}{body}<details><summary>Commands and settings, {escape(result["started"])}, '
            f'{escape(result["machine"].get("weft revision", ""))}</summary>'
            f'{facts(settings, True)}{facts(result["settings"], False)}</details></section>')


def glance(results: list[dict[str, Any]]) -> str:
    """A line for each scenario: weft's best row, and the best of the others in the same variant."""
    lines = []
    for result in results:
        rows, headline = ordered(result), result["headline"]
        variant = rows[0]["variant"] if rows else ""
        here = [row for row in rows if row["variant"] == variant]
        shown = [next((row for row in here if row["peer"].startswith("weft") == ours), None) for ours in (True, False)]
        values = [f"{escape(row['peer'])} <b>{number(row['metrics'][headline['metric']]['median'], headline['digits'])}</b>" if row else ""
                  for row in shown]
        lines.append(f'<tr><td><a href="#{escape(result["scenario"])}">{escape(result["title"])}</a></td><td>{escape(variant)}</td>'
                     f'<td>{escape(headline["label"])}, {"less" if result["lower_is_better"] else "more"} is better</td>'
                     f"<td>{values[0]}</td><td>{values[1]}</td></tr>")
    head = "<tr><th>scenario</th><th></th><th>figure</th><th>weft</th><th>the best of the others</th></tr>"
    return f'<section><h2>At a glance</h2><div class="scroll"><table class="glance">{head}{"".join(lines)}</table></div></section>'


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
        + glance(results) + "".join(map(section, results))
        + f"<section><h2>Machine and versions</h2>{facts(newest['machine'], False)}</section></body></html>\n")
    return page
