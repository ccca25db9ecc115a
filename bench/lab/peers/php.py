"""Servers for PHP beside weft and php-fpm: Swoole, Workerman, RoadRunner, FrankenPHP.

Debian packages none of them: each takes part only where the machine has it. It must not know weft's modes, nor what a scenario asks.
Invariant: each runs with opcache and the JIT as weft has them by itself, and is absent with a reason where its software is not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import made
from .nginx import FPM_CHILDREN
from .peer import BENCH, PEER_SOURCES, QUERIES, SCRIPT, SERVES, Commands, Peer, Starter, found, named_file

# Of PHP's command line, which has them off.
CLI_SETTINGS = ("opcache.enable_cli=1", "opcache.jit_buffer_size=64M", "opcache.jit=tracing")


def php(script: Path, *arguments: str, extension: Path | None = None) -> Commands:
    """PHP's command line with the settings that all of them have."""
    settings = [f"extension={extension}", *CLI_SETTINGS] if extension else CLI_SETTINGS
    return [["php", *(part for setting in settings for part in ("-d", setting)), str(script), *arguments]]


def swoole_extension() -> Path | None:
    """Swoole, where the machine has it: $BENCH_SWOOLE names the extension, or it lies among PHP's own."""
    named = os.environ.get("BENCH_SWOOLE")
    if named is None and shutil.which("php-config"):
        folder = subprocess.run(["php-config", "--extension-dir"], capture_output=True, text=True, check=True).stdout.strip()
        named = f"{folder}/swoole.so"
    return Path(named) if named else None


def swoole(role: str, port: int, _run: Path) -> Commands:
    return php(PEER_SOURCES / "swoole" / "server.php", role, str(port), extension=swoole_extension())


def event_extension() -> Path | None:
    """PHP's extension `event`, where Workerman is there as well: $BENCH_EVENT names it, or PHP loads it by itself."""
    if "BENCH_WORKERMAN" not in os.environ:
        return None
    if "BENCH_EVENT" in os.environ:
        return Path(os.environ["BENCH_EVENT"])
    asked = "echo extension_loaded('event') ? PHP_EXTENSION_DIR : '';"
    folder = subprocess.run(["php", "-r", asked], capture_output=True, text=True, check=False).stdout
    return Path(folder) / "event.so" if folder else None


def workerman(loop: str) -> Starter:
    """On its own loop, `select`, or on that of the extension `event`, which is loaded by its path where $BENCH_EVENT gives one."""
    def commands(role: str, port: int, _run: Path) -> Commands:
        extension = named_file("BENCH_EVENT")() if loop == "event" else None
        return php(PEER_SOURCES / "workerman" / "server.php", role, str(port), loop, extension=extension)
    return commands


def roadrunner_parts() -> Path | None:
    """Its program and the PHP library of its workers: it needs both."""
    return found("rr")() and named_file("BENCH_ROADRUNNER")()


def roadrunner(role: str, port: int, run: Path) -> Commands:
    flags = " ".join(f"-d {setting}" for setting in CLI_SETTINGS)
    values = {"WORKER": f"{flags} {PEER_SOURCES / 'roadrunner' / 'worker.php'}", "PORT": port,
              "PROCESSES": FPM_CHILDREN if role == "sleep" else 1}
    return [["rr", "serve", "-c", str(made.filled(PEER_SOURCES / "roadrunner" / "rr.yaml.in", run / "rr.yaml", values))]]


def frankenphp(_role: str, port: int, _run: Path) -> Commands:
    """The script of weft's resident mode, for every path: it is the index of its root. By FrankenPHP's defaults there are twice as
    many workers as cores."""
    root = BENCH / "sites" / "resident"
    return [["frankenphp", "php-server", "--listen", f"127.0.0.1:{port}", "--root", str(root), "--worker", str(root / "index.php")]]


SWOOLE = (
    Peer("swoole", "Swoole (coroutines, a channel of connections)", swoole, swoole_extension, {**SCRIPT, **QUERIES, "redis": "/", "scope": "/"},
         made_by="installing it brings it, or BENCH_SWOOLE=path/to/swoole.so"),
)
OTHERS = (
    Peer("workerman", "Workerman (its own loop)", workerman("select"), named_file("BENCH_WORKERMAN"), SCRIPT,
         made_by="it has to be installed, and BENCH_WORKERMAN=path/to/vendor/autoload.php has to name what loads its classes"),
    Peer("workerman-event", "Workerman (ext-event)", workerman("event"), event_extension, SCRIPT,
         made_by="it takes BENCH_WORKERMAN=path/to/vendor/autoload.php, and PHP's extension event installed or BENCH_EVENT=path/to/event.so"),
    Peer("roadrunner", "RoadRunner", roadrunner, roadrunner_parts, SERVES,
         made_by="it takes rr in PATH, and BENCH_ROADRUNNER=path/to/vendor/autoload.php with spiral/roadrunner-http and nyholm/psr7"),
    Peer("frankenphp", "FrankenPHP (worker mode)", frankenphp, found("frankenphp"), SERVES,
         made_by="it takes frankenphp in PATH, whose PHP is built for threads, as Debian's is not"),
)
