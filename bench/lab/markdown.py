"""out/report.md: the same figures as report.html, as tables for people who read text, and for other documents.

It writes what results saved and must not measure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .results import cells, disturbed, header, ordered


def row(values: list[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def table(result: dict[str, Any]) -> list[str]:
    """Columns without any value are left out."""
    lines = [header(result)] + [cells(result, one) for one in ordered(result)]
    keep = [i for i in range(len(lines[0])) if any(line[i] for line in lines[1:])]
    rows = [row([line[i] for i in keep]) for line in lines]
    return [rows[0], "|" + "---|" * len(keep), *rows[1:]]


def section(result: dict[str, Any]) -> list[str]:
    said = [f"## {result['title']}", "", f"{result['question']} Goal: {result['goal']}.", ""]
    said += [*table(result), ""] if result["summary"] else ["No server took part.", ""]
    said += [f"- {warning}" for warning in disturbed(result)]
    if repeated := len(result.get("discarded", [])):
        said.append(f"- {repeated} disturbed samples were measured again and do not count; they are in the JSON file")
    said += [f"- {name} failed: {why.splitlines()[0][:300]}" for name, why in result["failures"].items()]
    said += [f"- {name} is absent: {why}" for name, why in result.get("absent", {}).items()]
    said += ["", f"`{result['command']}`, {result['started']} to {result['finished']}, {result['machine'].get('weft revision', '')}", ""]
    said += ["```", *(f"{name}: {command}" for name, command in result["commands"].items()), "```", ""]
    return said


def write(directory: Path, results: list[dict[str, Any]]) -> Path:
    """Writes report.md beside the results and returns its path."""
    newest = max(results, key=lambda r: r["finished"])
    lines = ["# weft beside its peers", "",
             "One server worker on one core, the load on another. Each figure is the median of its runs, with the least and the largest.", ""]
    for result in results:
        lines += section(result)
    lines += ["## Machine and versions", "", row(["what", "which"]), "|---|---|", *(row([name, value]) for name, value in newest["machine"].items()), ""]
    page = directory / "report.md"
    page.write_text("\n".join(lines))
    return page
