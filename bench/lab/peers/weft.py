"""weft's own modes: coroutines, instances, resident applications, synchronous workers, many sites.

It must not know the other servers, nor what a scenario asks. Invariant: a mode differs from the usual settings only where a scenario
could not be run otherwise, and $BENCH_WEFT_FLAGS are added to each mode that a single application or document root has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import made
from .peer import BENCH, CLASSIC, PHP_BODIES, QUERIES, ROOT, ROUTES, SECURE, SERVES, Commands, Peer, Starter, docroot

CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "16"))  # to the database, of each server that shares them
# As long as nginx waits for php-fpm: waiting requests are measured, not refused.
QUEUE = ("--queue-timeout-ms", "60000")
# Only the settings that the scenarios need: connections that may idle for minutes, and room for everything parked. And the setting
# for an application that waits only for so many connections: further requests wait as requests, not as coroutines with stacks. In
# their line those of the clients before, which have gone, may still stand.
FLAGS = {"hello": ["--idle-timeout-ms", "600000"], "park": ["--coroutines-max", "12000"],
         "db3": ["--coroutines-max", str(CONNECTIONS * 5 // 4), "--queue-max", "4000", *QUEUE]}
# Another setting of the same application.
SAME = {"spans": "hello", "figures": "hello"}
# Scenarios of WebSockets.
PUSH = ("push", "broadcast", "crowd", "publish", "conversations", "stalled")
# As many instances as requests that wait at once, if that is more than usual.
INSTANCES = {"sleep": 1000, "wait1": 100, "wordpress": 60, "beside": 210}
INSTANCES_USUAL = 50
SITE_COUNT = 300
WAITS = {**QUERIES, "redis": "/", "scope": "/", "hostile": "/"}
WHOLE = {"applications": "/", "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "switch": "/turns.php",
         "instances": "/wait1.php", "fair": "/hello.php", "beside": "/waited.php"}


def weft_binary() -> Path:
    """The binary under test: $BENCH_WEFT, or the release build of this checkout."""
    return Path(os.environ.get("BENCH_WEFT", ROOT / "target" / "release" / "weft"))


def further_flags() -> list[str]:
    """(Not WEFT_*: weft reads those variables as its own configuration.)"""
    return os.environ.get("BENCH_WEFT_FLAGS", "").split()


def serve(what: Path, port: int, workers: int = 1, *flags: str) -> Commands:
    return [[str(weft_binary()), "serve", str(what), "--listen", f"127.0.0.1:{port}", "--workers", str(workers), *flags]]


def weft(role: str, port: int, run: Path) -> Commands:
    """Coroutine mode: the application of the role."""
    if role == "hosts":
        return weft_hosts(port, run)
    if role in PUSH:
        return weft_push(1, ["--tasks-max", "12000"] if role == "conversations" else [])(role, port, run)
    app_name = (SECURE | SAME).get(role, role)
    flags = [*FLAGS.get(app_name, []), *further_flags()]
    if role in SECURE:
        certificate, key = made.certified(run)
        flags += ["--listen", f"https://127.0.0.1:{made.secure_port(run)}", "--tls-certificates", str(certificate), "--tls-keys", str(key)]
    if role == "download":
        flags += ["--files", str(made.files(run))]
    return serve(BENCH / "apps" / f"{app_name}.php", port, 2 if role == "container" else 1, *flags)


def weft_push(workers: int, limits: Sequence[str] = ()) -> Starter:
    """The application with WebSockets, so many workers of it; its second port is TCP without frames."""
    def commands(_role: str, port: int, run: Path) -> Commands:
        raw = ["--listen", f"tcp://127.0.0.1:{made.secure_port(run)}/raw", "--idle-timeout-ms", "600000"]
        return serve(BENCH / "apps" / "push.php", port, workers, *raw, *limits, *further_flags())
    return commands


def weft_hosts(port: int, run: Path) -> Commands:
    """Two hosts of one worker each, joined by $BENCH_BACKPLANE; the port of the other one is the second port."""
    backplane = os.environ.get("BENCH_BACKPLANE", "redis://127.0.0.1:6379")
    return [serve(BENCH / "apps" / "push.php", each, 1, "--topics-backplane", backplane, *further_flags())[0]
            for each in (port, made.secure_port(run))]


def weft_sync(workers: int) -> Starter:
    """Resident and synchronous: each worker handles one request at a time; the others wait in its queue."""
    return lambda role, port, _run: serve(BENCH / "apps" / f"{role}_sync.php", port, workers, "--coroutines-max", "1")


def weft_channel(role: str, port: int, _run: Path) -> Commands:
    return serve(BENCH / "apps" / f"{role}_channel.php", port)


def weft_docroot(role: str, port: int, _run: Path, instances: int = 0) -> Commands:
    """Classic mode in one process."""
    count = instances or INSTANCES.get(role, INSTANCES_USUAL)
    return serve(docroot(), port, 1, "--instances", str(count), *QUEUE, *further_flags())


def weft_no_jit(role: str, port: int, run: Path) -> Commands:
    """As php-fpm in Debian: PHP code is not compiled."""
    return [[*weft_docroot(role, port, run)[0], "--define", "opcache.jit=off"]]


def weft_one(role: str, port: int, run: Path) -> Commands:
    return weft_docroot(role, port, run, 1)


def weft_resident(role: str, port: int, run: Path) -> Commands:
    """The application stays loaded in each instance: the site's script for this mode lies beside its document root."""
    command = weft_docroot(role, port, run)[0]
    return [["env", "APP_RUNTIME=Weft\\Symfony\\Runtime", *command, "--worker", str(docroot().parent / "resident" / "index.php")]]


def weft_sites(count: int) -> Starter:
    def commands(_role: str, port: int, run: Path) -> Commands:
        sites = "".join(f'[[site]]\nnames = ["{root.name}.test"]\nroot = "{root}"\n' for root in made.site_roots(run, count))
        (run / "weft.toml").write_text(sites)
        return [[str(weft_binary()), "serve", "--config", str(run / "weft.toml"), "--listen", f"127.0.0.1:{port}", "--workers", "1", *QUEUE]]
    return commands


def weft_one_of_many_pages(_role: str, port: int, run: Path) -> Commands:
    """The pages of as many sites in the only one, so that as much code is used: what is left is what sites cost."""
    made.site_roots(run, SITE_COUNT)
    return serve(run, port, 1, *QUEUE)


def row(name: str, label: str, commands: Starter, paths: dict[str, str], soaks: bool = True, sites: int = 0) -> Peer:
    return Peer(name, label, commands, weft_binary, paths, soaks=soaks, sites=sites, made_by="cargo build --release makes it")


WEFT = (
    row("weft", "weft (coroutine mode)", weft,
        {**ROUTES, **WAITS, "container": "/", "evolution": "/", "popup": "/", **dict.fromkeys((*SECURE, *SAME, *PUSH, "hosts"), "/")}),
)
MODES = (
    row("weft-channel", "weft, connections in a channel", weft_channel, {"db3": "/"}),
    row("weft-sync-1", "weft, synchronous, 1 process", weft_sync(1), {"redis": "/"}),
    row("weft-sync-8", "weft, synchronous, 8 processes", weft_sync(8), QUERIES),
    row("weft-sync-50", "weft, synchronous, 50 processes", weft_sync(50), QUERIES),
    row("weft-instances", "weft, one process of instances", weft_docroot,
        {"hello": "/hello.php", "sleep": "/sleep.php", **PHP_BODIES, **CLASSIC, **WHOLE}, soaks=False),
    row("weft-no-jit", "weft, one process of instances, no JIT", weft_no_jit, {"applications": "/", "fair": "/hello.php", "wordpress": "/"}, soaks=False),
    row("weft-one", "weft, one process, one request at a time", weft_one, {"classic": "/hello.php"}),
    row("weft-resident", "weft, resident instances", weft_resident, {**SERVES, "symfony": "/"}, soaks=False),
)
SITES = (
    row("weft-1-site", "weft, one site", weft_sites(1), {"sites": "/index.php"}, sites=1),
    row("weft-300-pages", "weft, one site of 300 pages", weft_one_of_many_pages, {"sites": "/site{site}/index.php"}, sites=SITE_COUNT),
    row("weft-300-sites", "weft, 300 sites", weft_sites(SITE_COUNT), {"sites": "/index.php"}, sites=SITE_COUNT),
)
