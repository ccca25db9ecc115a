"""The environment in which the figures were measured: machine, kernel, versions, revision. Only reads; a missing tool is recorded as missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
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


def locked(peer: str, name: str) -> str:
    """The version of a crate in a peer's lock file."""
    found = re.search(rf'name = "{name}"\nversion = "([^"]+)"', (BENCH / "peers" / peer / "Cargo.lock").read_text())
    return found.group(1) if found else "missing"


def built_from(program: Path) -> str:
    """The version of the module that a Go program was built from: one that `go install` built does not know its own."""
    done = subprocess.run(["go", "version", "-m", str(program)], capture_output=True, text=True, check=False) if shutil.which("go") else None
    found = re.search(r"^\tmod\t\S+\tv(\S+)", done.stdout, re.MULTILINE) if done else None
    return found.group(1) if found else "missing"


def required(peer: str, module: str) -> str:
    """The version of a Go module in a peer's go.mod."""
    found = re.search(rf"{re.escape(module)} v(\S+)", (BENCH / "peers" / peer / "go.mod").read_text())
    return found.group(1) if found else "missing"


def proc_value(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(key):
            return line.partition(":")[2].strip()
    return "unknown"


def swoole() -> str:
    extension = swoole_extension()
    if extension is None or not extension.exists():
        return "missing"
    return first_line("php", "-d", f"extension={extension}", "-r", "echo SWOOLE_VERSION;")


def workerman() -> str:
    if "BENCH_WORKERMAN" not in os.environ:
        return "missing"
    return first_line("php", "-r", "require getenv('BENCH_WORKERMAN'); echo Workerman\\Worker::VERSION;")


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
        "hyper": f"{locked('hyper', 'hyper')} on tokio {locked('hyper', 'tokio')}, rustls {locked('hyper', 'rustls')}",
        "tokio-tungstenite": f"{locked('tungstenite', 'tokio-tungstenite')} on tokio {locked('tungstenite', 'tokio')}",
        "rustc": first_line("rustc", "--version"),
        "Netty": netty.removeprefix("netty-codec-http-"),
        "java": first_line("java", "-version"),
        "Go": first_line("go", "version"),
        "gorilla/websocket": required("go_push", "github.com/gorilla/websocket"),
        "Centrifugo": built_from(BENCH / "peers" / "centrifugo" / "target" / "centrifugo"),
        "nginx": first_line("nginx", "-v"),
        "php-fpm": first_line(PHP_FPM, "--version"),
        "Swoole": swoole(),
        "Workerman": workerman(),
        "RoadRunner": first_line("rr", "--version"),
        "FrankenPHP": first_line("frankenphp", "version"),
        "wrk": first_line("wrk", "-v"),
        "ab": first_line("ab", "-V"),
        "h2load": first_line("h2load", "--version"),
        "strace": first_line("strace", "-V"),
    }


def summary(facts: dict[str, str]) -> str:
    """One sentence for below a table."""
    names = ("processor", "memory", "kernel", "distribution", "weft", "MariaDB", "Redis", "wrk")
    return "; ".join(facts[name] for name in names if name in facts) + "."
