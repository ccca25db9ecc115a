"""Observations while a load runs, sample by sample: the CPU of each part, the database's statements, the queue.

It must not know the load. Invariant: a sample holds what happened since the one before it.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass

from lab import proc

from .service import Service

EVERY_S = 1.0


@dataclass
class Reading:
    """Counters at one moment."""

    at: float
    weft: proc.Cpu
    database_s: float
    redis_s: float
    load_s: float
    statements: int | None

    @staticmethod
    def of(service: Service, load: list[int]) -> Reading:
        def spent(pids: list[int]) -> float:
            try:
                return proc.cpu(pids).total_s
            except (FileNotFoundError, ProcessLookupError):
                return 0.0  # it has ended

        database = [service.database.pid] if service.database.pid else []
        return Reading(time.monotonic(), proc.cpu(service.weft), spent(database), spent([service.redis] if service.redis else []),
                       spent(load), service.database.status("Questions"))

    def sample(self, before: Reading) -> dict[str, float]:
        wall = self.at - before.at
        share = {"weft_user": self.weft.user_s - before.weft.user_s, "weft_kernel": self.weft.kernel_s - before.weft.kernel_s,
                 "database": self.database_s - before.database_s, "redis": self.redis_s - before.redis_s,
                 "load": max(0.0, self.load_s - before.load_s)}
        told = {f"{name}_percent": 100 * spent / wall for name, spent in share.items()}
        if self.statements is not None and before.statements is not None:
            told["statements_per_s"] = (self.statements - before.statements) / wall
        return told


def watch(name: str, load: subprocess.Popen[str], service: Service, began: float) -> list[dict[str, float]]:
    """A sample and a line a second until the load ends. `began`: where the time axis begins, of time.monotonic()."""
    samples: list[dict[str, float]] = []
    before = Reading.of(service, proc.tree([load.pid]))
    written = service.site.health()["queues"]["written"]
    while load.poll() is None:
        time.sleep(EVERY_S)
        if load.poll() is not None:
            break  # the rest is not a whole sample
        now = Reading.of(service, proc.tree([load.pid]))
        queues = service.site.health()["queues"]
        sample = {"at_s": now.at - began} | now.sample(before)
        sample |= {"depth": queues["depth"], "written_per_s": (queues["written"] - written) / (now.at - before.at)}
        samples.append(sample)
        print(f"  {sample['at_s']:6.1f} s  {name:8} weft {sample['weft_user_percent'] + sample['weft_kernel_percent']:5.1f} %"
              f"   database {sample['database_percent']:5.1f} %   Redis {sample['redis_percent']:5.1f} %"
              f"   load {sample['load_percent']:5.1f} %   queue {sample['depth']:6}   written {sample['written_per_s']:7,.0f}/s", flush=True)
        before, written = now, queues["written"]
    return samples
