"""The environment in which the figures were measured: machine, kernel, versions, revision. Only reads; a missing tool is recorded as missing."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from .peers import BENCH, PHP_FPM, ROOT, swoole_extension, weft_binary


def first_line(*command: str) -> str:
    """The first line that a version command prints, on either stream."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False,
                              env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin"})
    except OSError:
        return "missing"
    return next(iter((done.stdout + done.stderr).strip().splitlines()), "").strip() or "missing"


def locked(name: str) -> str:
    """The version of a crate in the hyper peer's lock file."""
    found = re.search(rf'name = "{name}"\nversion = "([^"]+)"', (BENCH / "peers" / "hyper" / "Cargo.lock").read_text())
    return found.group(1) if found else "missing"


def proc_value(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.partition(":")[2].strip()
    return "unknown"


def has_swoole() -> bool:
    extension = swoole_extension()
    return extension is not None and extension.exists()


def describe() -> dict[str, str]:
    """Name and value of each fact, in the order the report shows them."""
    netty = next((BENCH / "peers" / "netty" / "target" / "lib").glob("netty-codec-http-*.jar"), Path("missing")).stem
    return {
        "processor": f"{proc_value('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores",
        "memory": proc_value("/proc/meminfo", "MemTotal"),
        "kernel": f"{platform.system()} {platform.release()}",
        "spectre_v2": Path("/sys/devices/system/cpu/vulnerabilities/spectre_v2").read_text().strip(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME", "unknown"),
        "weft": first_line(str(weft_binary()), "version"),
        "weft revision": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "gcc": first_line("gcc", "--version"),
        "hyper": f"{locked('hyper')} on tokio {locked('tokio')}, rustls {locked('rustls')}",
        "rustc": first_line("rustc", "--version"),
        "Netty": netty.removeprefix("netty-codec-http-"),
        "java": first_line("java", "-version"),
        "Go": first_line("go", "version"),
        "nginx": first_line("nginx", "-v"),
        "php-fpm": first_line(PHP_FPM, "--version"),
        "Swoole": first_line("php", "-d", f"extension={swoole_extension()}", "-r", "echo SWOOLE_VERSION;") if has_swoole() else "missing",
        "wrk": first_line("wrk", "-v"),
        "ab": first_line("ab", "-V"),
        "h2load": first_line("h2load", "--version"),
        "strace": first_line("strace", "-V"),
    }


def summary(facts: dict[str, str]) -> str:
    """One sentence for below a table."""
    names = ("processor", "memory", "kernel", "distribution", "weft", "MariaDB", "Redis", "wrk")
    return "; ".join(facts[name] for name in names if name in facts) + "."
