"""From samples to figures: medians, spread, ratios; one JSON file per scenario; the table in the terminal.

It must not measure and must not draw. A sample is kept as it was taken, so that every figure can be computed again.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .measure import Metrics, Scenario
from .noise import FOREIGN_PERCENT_MAX

SERIES = "step"  # samples of variants that begin so are points of a curve, not repetitions


@dataclass(frozen=True)
class Sample:
    """The result of one measurement. Round 0 is the pass that counts system calls, and adds them to the others."""

    round: int
    peer: str
    variant: str
    metrics: Metrics


def summarise(samples: list[Sample], headline: str, reference: str, in_turns: bool = False) -> list[dict[str, Any]]:
    """One row per variant and peer: median, min, max of each metric; the headline's ratio to the reference peer. Of windows in turns
    it is the median of the ratios within each round, and every metric has such a one."""
    groups: dict[tuple[str, str], list[Metrics]] = {}
    for sample in samples:
        if not sample.variant.startswith(SERIES) and (sample.round > 0 or (sample.variant, sample.peer) in groups):
            groups.setdefault((sample.variant, sample.peer), []).append(sample.metrics)
    rows: list[dict[str, Any]] = []
    for (variant, peer), runs in groups.items():
        spread = {}
        for metric in dict.fromkeys(name for run in runs for name in run):
            values = [run[metric] for run in runs if metric in run]
            spread[metric] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
        rows.append({"variant": variant, "peer": peer, "runs": sum(headline in run for run in runs), "metrics": spread})
    for row in rows:
        base = next((r for r in rows if r["variant"] == row["variant"] and r["peer"] == reference), None)
        value = base["metrics"][headline]["median"] if base else 0
        row["ratio"] = row["metrics"][headline]["median"] / value if value > 0 else None
        if in_turns:
            row["ratios"] = paired(samples, row["variant"], row["peer"], reference)
            row["ratio"] = row["ratios"].get(headline, {"median": None})["median"]
    return rows


def paired(samples: list[Sample], variant: str, peer: str, reference: str) -> dict[str, dict[str, float]]:
    """Median, min, max of each metric's ratios to the reference's in the same round."""
    rounds = {name: {s.round: s.metrics for s in samples if (s.variant, s.peer) == (variant, name)} for name in (peer, reference)}
    ratios: dict[str, list[float]] = {}
    for number, metrics in rounds[peer].items():
        base = rounds[reference].get(number, {})
        for metric, value in metrics.items():
            if base.get(metric, 0) > 0:
                ratios.setdefault(metric, []).append(value / base[metric])
    return {metric: {"median": statistics.median(values), "min": min(values), "max": max(values)} for metric, values in ratios.items()}


def save(directory: Path, scenario: Scenario, samples: list[Sample], facts: dict[str, Any]) -> dict[str, Any]:
    """Writes out/<scenario>.json and returns what it holds."""
    result = {
        "scenario": scenario.name, "title": scenario.title, "question": scenario.question, "goal": scenario.goal,
        "limit": scenario.limit, "reference": scenario.reference, "lower_is_better": scenario.lower_is_better,
        "headline": asdict(scenario.headline), "columns": [asdict(c) for c in scenario.columns],
        "curves": [asdict(c) for c in scenario.curves], "spends": scenario.spends, "in_turns": scenario.in_turns > 0,
        **facts, "summary": summarise(samples, scenario.headline.metric, scenario.reference, scenario.in_turns > 0),
        "samples": [asdict(s) for s in samples],
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{scenario.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def load_all(directory: Path, order: list[str]) -> list[dict[str, Any]]:
    """The saved results, in the order of the scenarios."""
    files = [directory / f"{name}.json" for name in order]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def cells(result: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """One row of the table: variant, peer, headline with spread, ratio, the other columns."""
    headline, metrics = result["headline"], row["metrics"]
    main = metrics[headline["metric"]]
    spread = f"{number(main['min'], headline['digits'])} … {number(main['max'], headline['digits'])}" if row["runs"] > 1 else ""
    ratio = f"{row['ratio']:.2f} x" if row["ratio"] is not None and result["limit"] and result["limit"][0] == "ratio" else ""
    rest = [beside(row, c) if c["metric"] in metrics else "" for c in result["columns"]]
    return [row["variant"], row["peer"], number(main["median"], headline["digits"]), spread, ratio, *rest]


def beside(row: dict[str, Any], column: dict[str, Any]) -> str:
    """A metric's median, with its ratio to the reference's where windows were measured in turns."""
    value = number(row["metrics"][column["metric"]]["median"], column["digits"])
    ratio = row.get("ratios", {}).get(column["metric"])
    return f"{value} ({ratio['median']:.2f} x)" if ratio and "percent" not in column["metric"] else value


def header(result: dict[str, Any]) -> list[str]:
    return ["", "peer", result["headline"]["label"], "min … max", f"to {result.get('reference', 'bare')}", *(c["label"] for c in result["columns"])]


def ordered(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows by variant as first seen, the best headline first within each."""
    variants = list(dict.fromkeys(row["variant"] for row in result["summary"]))
    sign = 1 if result["lower_is_better"] else -1
    metric = result["headline"]["metric"]
    return sorted(result["summary"], key=lambda r: (variants.index(r["variant"]), sign * r["metrics"][metric]["median"]))


def disturbed(result: dict[str, Any]) -> list[str]:
    """A sentence that names the rows whose server shared its core, if any: they must be measured again."""
    shares = [(row, row["metrics"].get("foreign_percent", {"median": 0.0})["median"]) for row in result["summary"]]
    named = [f"{row['peer']} {row['variant']} {share:.0f} %" for row, share in shares if share > FOREIGN_PERCENT_MAX]
    if not named:
        return []
    return [f"disturbed, with the share of their core that other programs took: {', '.join(named)}; measure again in quiet, or with --nice -10"]


def table(result: dict[str, Any]) -> str:
    """The terminal's table; columns without any value are left out."""
    lines = [header(result)] + [cells(result, row) for row in ordered(result)]
    keep = [i for i in range(len(lines[0])) if any(line[i] for line in lines[1:])]
    widths = [max(len(line[i]) for line in lines) for i in keep]
    text = [f"\n{result['title']}: {result['goal'] or result['question']}"]
    for line in lines:
        padded = (line[i].ljust(w) if i < 2 else line[i].rjust(w) for i, w in zip(keep, widths, strict=True))
        text.append("  " + "  ".join(padded).rstrip())
    return "\n".join(text + [f"  {warning}" for warning in disturbed(result)])
