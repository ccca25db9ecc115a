"""The three loads, each a separate process on the load's core, and what each of them measured.

wrk asks as fast as it gets answers: the ceiling. pace sends requests at a fixed rate whatever happens: latency below the ceiling. Locust
uses the service as users do. It must not know the service's processes.
"""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab import backends, proc
from lab.peers import BENCH

from .service import OTHER_CORE

HERE = BENCH / "popup"
PACE = HERE / "target" / "pace"
LOCUST = HERE / "target" / "locust" / "bin" / "locust"
SEED = 20_261_121
PINNED = ["taskset", "-c", str(OTHER_CORE)]


@dataclass
class Seen:
    """What a load counted. Times in microseconds; a second has at_s since the load began, answered, errors and percentiles if known."""

    requests: int
    wall_us: int
    p50_us: int
    p99_us: int
    max_us: int
    recorded: int
    returned: int | None  # None: the load does not tell pop-ups from other answers
    failed: int
    seconds: list[dict[str, float]] = field(default_factory=list)


@dataclass
class Load:
    """A running load; result() is available once it has ended."""

    process: subprocess.Popen[bytes]
    output: Path

    def result(self) -> Seen:
        text = self.output.read_text()
        lines = text.splitlines()
        line = next((x for x in lines if x.startswith("BENCH ")), None)
        if self.process.returncode != 0 or line is None:
            raise proc.BenchError(f"the load failed ({self.process.returncode}): {text.strip()[-400:]}")
        seen = json.loads(line.removeprefix("BENCH "))
        seconds = [json.loads(x.removeprefix("SECOND ")) for x in lines if x.startswith("SECOND ")]
        failed = seen["refused"] + seen["mistakes"] + seen["errors"]
        return Seen(seen["requests"], seen["wall_us"], seen["p50_us"], seen["p99_us"], seen["max_us"], seen["recorded"],
                    seen["returned"], failed, seconds)


@contextmanager
def started(command: list[str]) -> Iterator[Load]:
    with tempfile.TemporaryDirectory(prefix="bench-load-") as run:
        output = Path(run) / "output"
        with output.open("wb") as file:
            process = subprocess.Popen([*PINNED, *command], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            yield Load(process, output)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(30)


def wrk(port: int, connections: int, seconds: int, keeps_alive: bool) -> list[str]:
    return [backends.need("wrk"), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(HERE / "mix.lua"),
            f"http://127.0.0.1:{port}/", "--", "keep" if keeps_alive else "close"]


def pace(port: int, rate: float, connections: int, seconds: int) -> list[str]:
    if not PACE.exists():
        raise proc.BenchError(f"{PACE} is missing: bench/setup makes it")
    return [str(PACE), str(port), f"{rate:.0f}", str(seconds), str(connections), str(SEED)]


def locust(port: int, users: int, processes: int, seconds: int, out: Path) -> list[str]:
    if not LOCUST.exists():
        raise proc.BenchError(f"{LOCUST} is missing: bench/setup installs it")
    return [str(LOCUST), "-f", str(HERE / "locustfile.py"), "--host", f"http://127.0.0.1:{port}", "--headless", "--users", str(users),
            "--spawn-rate", str(max(1, users // 4)), "--run-time", f"{seconds}s", "--stop-timeout", "10", "--processes", str(processes),
            "--html", str(out / "popup-locust.html"), "--csv", str(out / "popup-locust"), "--csv-full-history", "--exit-code-on-error", "0"]


def locust_result(load: Load, out: Path) -> Seen:
    """From Locust's own tables; its times are whole milliseconds."""
    if load.process.returncode != 0:
        raise proc.BenchError(f"Locust failed ({load.process.returncode}): {load.output.read_text().strip()[-400:]}")
    with (out / "popup-locust_stats.csv").open() as file:
        rows = {row["Name"]: row for row in csv.DictReader(file)}
    total = rows["Aggregated"]

    def done(name: str) -> int:
        return int(rows[name]["Request Count"]) - int(rows[name]["Failure Count"]) if name in rows else 0

    with (out / "popup-locust_stats_history.csv").open() as file:
        history = [row for row in csv.DictReader(file) if row["Name"] == "Aggregated"]
    seconds, before = [], None
    for row in history:
        count, failures, at = int(row["Total Request Count"]), int(row["Total Failure Count"]), int(row["Timestamp"])
        if before is not None and at > before[0]:
            second = {"at_s": float(at - int(history[0]["Timestamp"])), "answered": (count - before[1]) / (at - before[0]),
                      "errors": failures - before[2]}
            second |= {name: 1e3 * float(row[column]) for name, column in (("p50_us", "50%"), ("p90_us", "90%"), ("p99_us", "99%"))
                       if row[column] not in ("", "N/A")}
            seconds.append(second)
        before = (at, count, failures)
    wall_s = max(1, int(history[-1]["Timestamp"]) - int(history[0]["Timestamp"]))
    recorded = sum(done(f"/v1/operations {operation}") for operation in ("shown", "clicked", "closed"))
    return Seen(int(total["Request Count"]), wall_s * 1_000_000, round(1e3 * float(total["50%"])), round(1e3 * float(total["99%"])),
                round(1e3 * float(total["Max Response Time"])), recorded, None, int(total["Failure Count"]), seconds)
