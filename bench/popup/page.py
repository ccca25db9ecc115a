"""The measurements for readers: tables in Markdown for a guide, and out/popup.html with a plot of everything over time.

It must not measure. The style is that of bench/run's report.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from lab import report, svg
from lab.proc import BenchError

COLOURS = {"first": "--weft", "second": "--hyper", "third": "--netty", "fourth": "--fpm", "fifth": "--bare"}
Point = tuple[float, float]


def cell(value: Any, digits: int = 1) -> str:
    if value is None:
        return "–"
    return f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def markdown(figures: list[dict[str, Any]]) -> str:
    """A row for each measurement."""
    head = ["step", "load", "requests/s", "weft µs per request", "weft's core %", "database %", "Redis %", "statements per operation",
            "p50 ms", "p99 ms", "not answered well %", "lost"]
    rows = [[f["step"], f["load"], cell(f["rate"], 0), cell(f["weft_us_per_request"]), cell(f["weft_percent"], 0), cell(f["database_percent"]),
             cell(f["redis_percent"]), cell(f["statements_per_operation"], 4), cell(f["p50_ms"], 2), cell(f["p99_ms"], 2),
             cell(f["failed_percent"], 2), cell(f["lost"])] for f in figures]
    return table(head, rows)


def goals(figures: list[dict[str, Any]]) -> str:
    """The limits that the finished service must keep, and its worst values."""
    last = [f for f in figures if f["step"] == "keepalive"]
    ceiling = [f for f in last if f["load"] == "ceiling"]
    paced = [f for f in last if f["load"].startswith("paced")]
    required = [f for f in last if f["load"].endswith("/s")]
    kept = (
        ("weft's CPU per request at the ceiling, µs", 25, 1, "weft_us_per_request", ceiling),
        ("p99 at the required rate, ms", 20, 1, "p99_ms", required),
        ("p99 at 70 % of weft's core, ms", 20, 1, "p99_ms", paced),
        ("database at the required rate, % of a core", 10, 1, "database_percent", required),
        ("database at 70 % of weft's core, % of a core", 10, 1, "database_percent", paced),
        ("database statements per operation", 0.01, 4, "statements_per_operation", ceiling + required + paced),
        ("requests not answered well", 0, 0, "failed", last),
        ("confirmed operations that are not in the database", 0, 0, "lost", last),
        ("connections to the database in use at once", 800, 0, "connections_used", last),
    )
    rows = []
    for what, goal, digits, name, parts in kept:
        values = [float(f[name]) for f in parts if f[name] is not None]
        if values:
            rows.append([what, f"≤ {goal}" if goal else "0", cell(max(values), digits), "yes" if max(values) <= goal else "no"])
    return table(["what", "goal", "measured", "met"], rows)


def pieces(figures: list[dict[str, Any]], samples: str, name: str, scale: float = 1.0) -> list[list[Point]]:
    """One line for each part of the run; a part that does not know the value has none."""
    lines = [[(s["at_s"], s[name] * scale) for s in f[samples] if name in s] for f in figures]
    return [line for line in lines if line]


def latencies(figures: list[dict[str, Any]], name: str) -> list[list[Point]]:
    """Percentiles of each second; where the load tells only those of a whole part, a level line."""
    lines = []
    for f in figures:
        seconds = [(s["at_s"], s[name] / 1e3) for s in f["seconds"] if name in s]
        whole = f.get(name.replace("_us", "_ms"))
        if not seconds and whole is not None and f["seconds"]:
            seconds = [(f["seconds"][0]["at_s"], whole), (f["seconds"][-1]["at_s"], whole)]
        lines.append(seconds)
    return [line for line in lines if line]


def plots(figures: list[dict[str, Any]]) -> str:
    marks = [(f["began_s"], f"{f['load']}" if len({x["step"] for x in figures}) == 1 else f["step"]) for f in figures]
    cpu = [("weft, user", "weft_user_percent"), ("weft, kernel", "weft_kernel_percent"), ("database", "database_percent"),
           ("Redis", "redis_percent"), ("load", "load_percent")]
    names = list(COLOURS)
    drawn = [
        ("Rate", [("answered", names[0], pieces(figures, "seconds", "answered"))], "requests answered per second"),
        ("Latency", [(p, names[i], latencies(figures, f"{p}_us")) for i, p in enumerate(("p50", "p90", "p99"))], "milliseconds"),
        ("Errors", [("not answered well", names[0], pieces(figures, "seconds", "errors"))], "requests per second"),
        ("CPU", [(label, names[i], pieces(figures, "samples", name)) for i, (label, name) in enumerate(cpu)], "per cent of a core"),
        ("Database", [("statements", names[2], pieces(figures, "samples", "statements_per_s"))], "statements per second"),
        ("Queue", [("written", names[1], pieces(figures, "samples", "written_per_s")), ("waiting", names[0], pieces(figures, "samples", "depth"))],
         "operations written per second; operations in the queue"),
    ]
    return "".join(f"<h3>{escape(title)}</h3>{svg.timeline(series, marks, axis)}" for title, series, axis in drawn)


def html_table(markdown_table: str) -> str:
    head, _, *rows = [[c.strip() for c in line.strip("|").split("|")] for line in markdown_table.strip().splitlines()]
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{escape(c)}</th>" for c in head)}</tr>{body}</table></div>'


def put(guide: Path, name: str, tables: str) -> None:
    """Replaces the text between the comments of this name."""
    text, begin, end = guide.read_text(), f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        raise BenchError(f"{guide} has no place for these tables: the lines {begin.strip()} and {end}")
    before, rest = text.split(begin, 1)
    guide.write_text(f"{before}{begin}\n{tables}\n\n{end}{rest.split(end, 1)[1]}")


def write(path: Path, figures: list[dict[str, Any]], facts: dict[str, str], command: str) -> None:
    """One self-contained page: inline SVG, no script."""
    styles = "".join(f"polyline.{name}, line.{name} {{ stroke: var({colour}); }} circle.{name} {{ fill: var({colour}); }}\n"
                     for name, colour in COLOURS.items()) + ".part { stroke: var(--soft); stroke-dasharray: 2 3; }\n"
    journey = '<p><a href="popup-locust.html">Locust\'s own report</a></p>' if any(f["load"] == "journey" for f in figures) else ""
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>The pop-up service, measured</title><style>{report.STYLE.read_text()}{styles}</style></head><body>"
        f'<h1>The pop-up service</h1><p class="soft">weft on one core, its database, Redis and the load on the other; '
        f'{escape(figures[0]["backend"])}. <code>{escape(command)}</code></p>'
        f"<section><h2>Goals</h2>{html_table(goals(figures))}</section>"
        f"<section><h2>Figures</h2>{html_table(markdown(figures))}{journey}</section>"
        f"<section><h2>Over time</h2>{plots(figures)}</section>"
        f"<section><h2>Machine and versions</h2>{report.facts(facts, False)}</section></body></html>\n")
