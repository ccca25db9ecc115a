"""The report: every record is drawn, the page is well formed and complete in itself, and Markdown has the same figures."""

from __future__ import annotations

import re
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from lab import markdown, panels, report, results

from .test_figures import records


def models() -> dict:
    """A result of the evolution's form."""
    rows = []
    for peer, handler in (("fork", 10.0), ("weft", 60.0)):
        metrics = {"handler_us": handler, "model_user_us": 10.0, "model_kernel_us": 90.0 - handler, "cpu_us": 100.0, "all_switches": 2.0,
                   "rate": 1000.0, "effective_percent": handler}
        rows.append({"variant": "hello", "peer": peer, "runs": 1, "ratio": None,
                     "metrics": {name: dict.fromkeys(("median", "min", "max"), value) for name, value in metrics.items()}})
    return {"title": "Evolution", "summary": rows}


class Pages(unittest.TestCase):
    def test_every_record_is_drawn_and_written(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            saved = list(records().values())
            page = report.write(Path(place), saved).read_text()
            text = markdown.write(Path(place), saved).read_text()
        self.assertNotRegex(page, r'<script|src=|href="http|url\(')
        for result in saved:
            self.assertIn(f'id="{result["scenario"]}"', page)
            self.assertIn(f"## {result['title']}", text)
            self.assertIn(f"`{result['command']}`", text)
        drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        self.assertGreater(len(drawings), len(saved))
        for drawing in drawings:
            ElementTree.fromstring(drawing)
            self.assertNotIn("nan", drawing)

    def test_markdown_has_the_medians(self) -> None:
        result = records()["tls.json"]
        table = "\n".join(markdown.table(result))
        for row in result["summary"]:
            self.assertIn(f"| {results.number(row['metrics']['cpu_us']['median'], 2)} |", table)

    def test_who_is_absent_is_named(self) -> None:
        result = records()["tls.json"] | {"absent": {"swoole": "its program is not on this machine"}}
        self.assertIn("swoole is absent", report.section(result))
        self.assertIn("swoole is absent", "\n".join(markdown.section(result)))

    def test_a_bar_is_divided_in_proportion(self) -> None:
        drawing = panels.spending(models())
        ElementTree.fromstring(drawing)
        widths = [float(width) for width in re.findall(r'width="([0-9.]+)" height="16" class="handler"', drawing)]
        self.assertEqual(len(widths), 2)
        self.assertAlmostEqual(widths[1] / widths[0], 6.0, places=1)
        self.assertLess(drawing.index(">fork<"), drawing.index(">weft<"))


if __name__ == "__main__":
    unittest.main()
