"""Micro costs: small programs that each time one primitive, which the large figures can be compared with.

bench/micro/floor.c times the kernel's part (a system call, a loopback round trip, a context switch in user space);
bench/micro/engine.php times PHP's (a call, a fiber switch), under php and, where it is built, under `weft php`.
Each program prints one JSON object of nanoseconds per operation; this file only runs them and must not interpret.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

from .peers import BENCH, SERVER_CORE, Peer, weft_binary
from .proc import BenchError

OPCACHE = ["-d", "opcache.enable_cli=1"]
FLOOR = [str(BENCH / "micro" / "target" / "floor")]
ENGINE = str(BENCH / "micro" / "engine.php")


def measure(peer: Peer, _settings: object) -> Iterator[tuple[str, dict[str, float]]]:
    command = peer.commands("", 0, BENCH)[0]
    pinned = ["taskset", "-c", str(SERVER_CORE), *command]
    done = subprocess.run(pinned, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed ({done.returncode}): {(done.stderr or done.stdout).strip()[-400:]}")
    for name, nanoseconds in json.loads(done.stdout.splitlines()[-1]).items():
        yield name, {"ns": float(nanoseconds)}


PROGRAMS = (
    Peer("kernel", "kernel and libc (C)", lambda *_: [FLOOR], lambda: BENCH / "micro" / "target" / "floor"),
    Peer("php", "php (CLI, opcache)", lambda *_: [["php", *OPCACHE, ENGINE]], lambda: BENCH / "micro" / "engine.php"),
    Peer("weft-php", "weft php", lambda *_: [[str(weft_binary()), "php", ENGINE]], weft_binary),
)
