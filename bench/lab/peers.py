"""The servers: how each is started, what its routes are, and what it cannot do. One table, PEERS.

A peer runs pinned to SERVER_CORE, listens on 127.0.0.1 only, logs into its own temporary directory and is stopped by
its process ids. Ready means: it accepted a connection and gave one good answer.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import load, proc
from .proc import BenchError

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
SERVER_CORE = 0
READY_DEADLINE_S = 30.0
STOP_DEADLINE_S = 10.0
PARKED_STOP_DEADLINE_S = 1.0  # ten-minute requests are not worth draining
NGINX_FPM = BENCH / "peers" / "nginx_fpm"
PAGES = BENCH / "sites" / "pages"
FPM_CHILDREN = 32
CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "16"))  # to the database, of each server that shares them

# Only the settings that the scenarios need: connections that may idle for minutes, and room for everything parked. And the setting
# for an application that waits only for so many connections: further requests wait as requests, not as coroutines with stacks.
WEFT_FLAGS = {"hello": ["--idle-timeout-ms", "600000"], "park": ["--coroutines-max", "12000"], "db3": ["--coroutines-max", str(CONNECTIONS * 5 // 4)]}
# What has a second address, with TLS: of hello, of a large file beside it, of requests that wait.
SECURE = {"tls": "hello", "download": "hello", "streams": "park"}
# Another setting of the same application.
SAME = {"spans": "hello"}
# Scenarios of WebSockets.
PUSH = ("push", "broadcast", "crowd", "publish")
LARGE_BYTES = 2**30
# As many instances as requests that wait at once, if that is more than usual.
INSTANCES = {"sleep": 1000, "wait1": 100, "wordpress": 60, "beside": 210}
INSTANCES_USUAL = 50

# Of PHP's command line, as weft has them by itself.
CLI_SETTINGS = ("opcache.enable_cli=1", "opcache.jit_buffer_size=64M", "opcache.jit=tracing")

Commands = list[list[str]]


def php_series() -> str:
    """The PHP that weft is built for here, as Debian names it: 8.2."""
    config = os.environ.get("PHP_CONFIG", "php-config")
    if not shutil.which(config):
        raise BenchError(f"{config} is missing: bench/setup installs it")
    return ".".join(subprocess.run([config, "--version"], capture_output=True, text=True, check=True).stdout.split(".")[:2])


PHP = f"php{php_series()}"
PHP_FPM = f"php-fpm{php_series()}"


def weft_binary() -> Path:
    """The binary under test: $BENCH_WEFT, or the release build of this checkout."""
    return Path(os.environ.get("BENCH_WEFT", ROOT / "target" / "release" / "weft"))


def weft(role: str, port: int, run: Path) -> Commands:
    """$BENCH_WEFT_FLAGS are added. (Not WEFT_*: weft reads those variables as its own configuration.)"""
    if role in PUSH:
        return weft_push(1)(role, port, run)
    app_name = (SECURE | SAME).get(role, role)
    extra = WEFT_FLAGS.get(app_name, []) + os.environ.get("BENCH_WEFT_FLAGS", "").split()
    app = str(BENCH / "apps" / f"{app_name}.php")
    if role in SECURE:
        certificate, key = certified(run)
        extra += ["--listen", f"https://127.0.0.1:{secure_port(run)}", "--tls-certificates", str(certificate), "--tls-keys", str(key)]
    if role == "download":
        extra += ["--files", str(files(run))]
    return [[str(weft_binary()), "serve", app, "--listen", f"127.0.0.1:{port}", "--workers", "2" if role == "container" else "1", *extra]]


def weft_push(workers: int, limits: Sequence[str] = ()) -> Callable[[str, int, Path], Commands]:
    """The application with WebSockets, so many workers of it; its second port is TCP without frames."""
    def commands(_role: str, port: int, run: Path) -> Commands:
        listen = ["--listen", f"127.0.0.1:{port}", "--listen", f"tcp://127.0.0.1:{secure_port(run)}/raw", "--idle-timeout-ms", "600000"]
        extra = [*limits, *os.environ.get("BENCH_WEFT_FLAGS", "").split()]
        return [[str(weft_binary()), "serve", str(BENCH / "apps" / "push.php"), *listen, "--workers", str(workers), *extra]]
    return commands


def bare_push(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "bare" / "target" / "push"), str(port)]]


def tungstenite(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "tungstenite" / "target" / "release" / "bench-tungstenite"), str(port)]]


def go_push(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "go_push" / "target" / "bench-go-push"), str(port)]]


def netty_push(role: str, port: int, run: Path) -> Commands:
    return [[*netty(role, port, run)[0][:-2], "bench.Push", str(port)]]


def centrifugo(_role: str, port: int, run: Path) -> Commands:
    """Whoever connects may subscribe, and who publishes needs no key; it sends no pings meanwhile."""
    config = {"http_server": {"address": "127.0.0.1", "port": port}, "health": {"enabled": True}, "http_api": {"insecure": True},
              "client": {"insecure": True, "ping_interval": "3600s", "pong_timeout": "60s"}, "log": {"level": "error"}}
    (run / "centrifugo.json").write_text(json.dumps(config))
    return [[str(BENCH / "peers" / "centrifugo" / "target" / "centrifugo"), "--config", str(run / "centrifugo.json")]]


def bare(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "bare" / "target" / "bare"), str(port)]]


def go(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "go" / "target" / "bench-go"), str(port)]]


def evolution(model: str) -> Callable[[str, int, Path], Commands]:
    return lambda _role, port, _run: [[str(model_program(model)), str(port)]]


def model_program(model: str) -> Path:
    return BENCH / "evolution" / "target" / model


def named_file(variable: str) -> Callable[[], Path | None]:
    """What an environment variable names: for software that is in no package."""
    def look() -> Path | None:
        return Path(os.environ[variable]) if variable in os.environ else None
    return look


def workerman(loop: str) -> Callable[[str, int, Path], Commands]:
    """With opcache and the JIT, as Swoole has them."""
    def commands(role: str, port: int, _run: Path) -> Commands:
        flags = [part for setting in CLI_SETTINGS for part in ("-d", setting)]
        return [["php", *flags, str(BENCH / "peers" / "workerman" / "server.php"), role, str(port), loop]]
    return commands


def ext_event() -> Path | None:
    """PHP's extension `event`, if Workerman is there as well."""
    folder = subprocess.run(["php", "-r", "echo extension_loaded('event') ? PHP_EXTENSION_DIR : '';"], capture_output=True, text=True, check=False).stdout
    return Path(folder) / "event.so" if folder and "BENCH_WORKERMAN" in os.environ else None


def roadrunner(role: str, port: int, run: Path) -> Commands:
    flags = " ".join(f"-d {setting}" for setting in CLI_SETTINGS)
    values = {"@WORKER@": f"{flags} {BENCH / 'peers' / 'roadrunner' / 'worker.php'}", "@PORT@": str(port),
              "@PROCESSES@": str(FPM_CHILDREN if role == "sleep" else 1)}
    text = (BENCH / "peers" / "roadrunner" / "rr.yaml.in").read_text()
    for key, value in values.items():
        text = text.replace(key, value)
    (run / "rr.yaml").write_text(text)
    return [["rr", "serve", "-c", str(run / "rr.yaml")]]


def frankenphp(_role: str, port: int, _run: Path) -> Commands:
    """The script of weft's resident mode; by FrankenPHP's defaults there are twice as many workers as cores."""
    return [["frankenphp", "php-server", "--listen", f"127.0.0.1:{port}", "--root", str(PAGES),
             "--worker", str(BENCH / "sites" / "resident" / "index.php")]]


def hyper(role: str, port: int, run: Path) -> Commands:
    secure = [str(secure_port(run)), *map(str, certified(run))] if role in SECURE else []
    return [[str(BENCH / "peers" / "hyper" / "target" / "release" / "bench-hyper"), str(port), *secure]]


def netty(transport: str, in_container: int = 2) -> Callable[[str, int, Path], Commands]:
    """One event loop; in a container two, or where handlers block eight, which is what Netty has by itself on four cores."""
    def commands(role: str, port: int, _run: Path) -> Commands:
        target = BENCH / "peers" / "netty" / "target"
        threads = str(in_container) if role == "container" else "1"
        return [["java", "-cp", f"{target}/classes:{target}/lib/*", "bench.Hello", str(port), transport, threads]]
    return commands


def weft_sync(workers: int) -> Callable[[str, int, Path], Commands]:
    """Resident and synchronous: each worker handles one request at a time; the others wait in its queue."""
    def commands(role: str, port: int, _run: Path) -> Commands:
        app = str(BENCH / "apps" / f"{role}_sync.php")
        return [[str(weft_binary()), "serve", app, "--listen", f"127.0.0.1:{port}", "--workers", str(workers), "--coroutines-max", "1"]]
    return commands


def weft_channel(role: str, port: int, _run: Path) -> Commands:
    app = str(BENCH / "apps" / f"{role}_channel.php")
    return [[str(weft_binary()), "serve", app, "--listen", f"127.0.0.1:{port}", "--workers", "1"]]


def swoole_extension() -> Path | None:
    """Swoole, where the machine has it: $BENCH_SWOOLE names the extension, or it lies among PHP's own."""
    named = os.environ.get("BENCH_SWOOLE")
    if named is None and shutil.which("php-config"):
        folder = subprocess.run(["php-config", "--extension-dir"], capture_output=True, text=True, check=True).stdout.strip()
        named = f"{folder}/swoole.so"
    return Path(named) if named else None


def swoole(role: str, port: int, _run: Path) -> Commands:
    """With opcache and the JIT as weft has them: PHP's command line has them off."""
    settings = [f"extension={swoole_extension()}", *CLI_SETTINGS]
    flags = [part for setting in settings for part in ("-d", setting)]
    return [["php", *flags, str(BENCH / "peers" / "swoole" / "server.php"), role, str(port)]]


def secure_port(run: Path) -> int:
    """The second port of a server that speaks TLS: the same one whenever it is asked for."""
    kept = run / "secure.port"
    if not kept.exists():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            kept.write_text(str(probe.getsockname()[1]))
    return int(kept.read_text())


def certified(run: Path) -> tuple[Path, Path]:
    """A new certificate for P-256, and its key."""
    certificate, key = run / "certificate.pem", run / "key.pem"
    if not key.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key


def files(run: Path) -> Path:
    """A directory with a small file and a large one, which has no blocks on the disk."""
    made = run / "files"
    made.mkdir(exist_ok=True)
    (made / "hello.txt").write_text("Hello World")
    with (made / "large.bin").open("wb") as large:
        large.truncate(LARGE_BYTES)
    return made


def nginx_tls(_role: str, port: int, run: Path, with_fpm: bool = False) -> Commands:
    """Static files; with php-fpm behind it for pages."""
    commands = nginx_fpm(_role, port, run)[:1] if with_fpm else []
    certified(run)
    files(run)
    values = {"@RUN@": str(run), "@PORT@": str(port), "@TLS@": str(secure_port(run)), "@USER@": getpass.getuser(), "@PAGES@": str(PAGES)}
    text = (BENCH / "peers" / "nginx_tls" / "nginx.conf.in").read_text()
    for key, value in values.items():
        text = text.replace(key, value)
    (run / "nginx.conf").write_text(text)
    return [*commands, ["nginx", "-c", str(run / "nginx.conf"), "-e", str(run / "nginx.log")]]


def nginx_fpm_tls(role: str, port: int, run: Path) -> Commands:
    return nginx_tls(role, port, run, with_fpm=True)


def site_roots(run: Path, count: int) -> list[Path]:
    """Document roots with a page of their own each."""
    roots = [run / f"site{number}" for number in range(count)]
    for root in roots:
        root.mkdir(exist_ok=True)
        (root / "index.php").write_text(f"<?php\n// {root.name}\n" + (PAGES / "hello.php").read_text().removeprefix("<?php\n"))
    return roots


def weft_sites(count: int) -> Callable[[str, int, Path], Commands]:
    def commands(_role: str, port: int, run: Path) -> Commands:
        sites = "".join(f'[[site]]\nnames = ["{root.name}.test"]\nroot = "{root}"\n' for root in site_roots(run, count))
        (run / "weft.toml").write_text(sites)
        return [[str(weft_binary()), "serve", "--config", str(run / "weft.toml"), "--listen", f"127.0.0.1:{port}", "--workers", "1",
                 "--queue-timeout-ms", "60000"]]
    return commands


def fpm_pools(count: int) -> Callable[[str, int, Path], Commands]:
    """A pool for each site, whose processes come on demand and go after ten idle seconds, as Debian's comment says."""
    def commands(role: str, port: int, run: Path) -> Commands:
        roots = site_roots(run, count)
        fpm, server = nginx_fpm(role, port, run)
        user = getpass.getuser()
        head = (run / "fpm.conf").read_text().partition("[bench]")[0]
        (run / "fpm.conf").write_text(head + "".join(
            f"[{root.name}]\nuser = {user}\ngroup = {user}\nlisten = {root}.sock\nlisten.owner = {user}\nlisten.backlog = 4096\n"
            "pm = ondemand\npm.max_children = 5\npm.process_idle_timeout = 10s\n" for root in roots))
        text = (run / "nginx.conf").read_text()
        text = text.replace(f"root {docroot()};", f"server_name ~^(?<site>[a-z0-9]+)\\.test$;\n        root {run}/$site;")
        (run / "nginx.conf").write_text(text.replace("/hello.php$is_args", "/index.php$is_args").replace(f"{run}/fpm.sock", f"{run}/$site.sock"))
        return [fpm, server]
    return commands


def docroot() -> Path:
    """The application that a scenario made ($BENCH_DOCROOT), or pages of a few lines; the same for all servers."""
    return Path(os.environ.get("BENCH_DOCROOT", PAGES))


def weft_docroot(role: str, port: int, _run: Path, instances: int = 0) -> Commands:
    """Classic mode in one process. The queue waits as long as nginx waits for php-fpm: waiting requests are measured, not refused."""
    count = instances or INSTANCES.get(role, INSTANCES_USUAL)
    extra = os.environ.get("BENCH_WEFT_FLAGS", "").split()
    return [[str(weft_binary()), "serve", str(docroot()), "--listen", f"127.0.0.1:{port}", "--workers", "1",
             "--instances", str(count), "--queue-timeout-ms", "60000", *extra]]


def weft_one(role: str, port: int, run: Path) -> Commands:
    return weft_docroot(role, port, run, 1)


def weft_resident(role: str, port: int, run: Path) -> Commands:
    """The application stays loaded in each instance: the site's script for this mode lies beside its document root."""
    command = weft_docroot(role, port, run)[0]
    return [["env", "APP_RUNTIME=Weft\\Symfony\\Runtime", *command, "--worker", str(docroot().parent / "resident" / "index.php")]]


def fpm_with(children: int) -> Callable[[str, int, Path], Commands]:
    return lambda _role, port, run: nginx_fpm(_role, port, run, children)


def nginx_fpm(_role: str, port: int, run: Path, children: int = FPM_CHILDREN) -> Commands:
    front = "index.php" if (docroot() / "index.php").exists() else "hello.php"
    values = {"@RUN@": str(run), "@PORT@": str(port), "@USER@": getpass.getuser(), "@DOCROOT@": str(docroot()),
              "@FRONT@": front, "@CHILDREN@": str(children)}
    for name in ("nginx.conf", "fpm.conf"):
        text = (NGINX_FPM / f"{name}.in").read_text()
        for key, value in values.items():
            text = text.replace(key, value)
        (run / name).write_text(text)
    fpm = [PHP_FPM, "--nodaemonize", "--fpm-config", str(run / "fpm.conf")]
    as_root = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
    return [fpm + as_root, ["nginx", "-c", str(run / "nginx.conf"), "-e", str(run / "nginx.log")]]


@dataclass(frozen=True)
class Peer:
    """One row of PEERS. `paths` names the roles it can play; a scenario skips a peer without the role it needs."""

    name: str
    label: str
    commands: Callable[[str, int, Path], Commands]
    artefact: Callable[[], Path | None]
    paths: dict[str, str] = field(default_factory=dict)
    warmup_factor: int = 1  # of the usual warm-up: a JIT compiler needs more
    process_per_request: bool = False
    soaks: bool = True
    made_by: str = "bench/setup"
    sites: int = 0  # how many it has, each with a name of its own
    blocks: bool = False  # a request that waits keeps others waiting: what a load of many leaves behind would take long
    forks: bool = False  # processes end while it serves: their time is their parent's then


def found(command: str) -> Callable[[], Path | None]:
    def look() -> Path | None:
        path = shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        return Path(path) if path else None
    return look


BODIES = {"json": "/json", "received": "/received", "sent": "/sent"}
SERVES = {"hello": "/", "sleep": "/sleep", **BODIES}
ROUTES = {**SERVES, "park": "/park"}
PHP_BODIES = {role: f"{path}.php" for role, path in BODIES.items()}
PHP_FILES = {"hello": "/hello.php", "sleep": "/sleep.php", "park": "/park.php", **PHP_BODIES}
WAITS = {"db3": "/", "db10": "/", "redis": "/", "scope": "/", "hostile": "/"}
SYNC = {"db3": "/", "db10": "/"}
SYNC_FPM = {"db3": "/db3.php", "db10": "/db10.php"}
FPM_WAITS = {**SYNC_FPM, "redis": "/redis.php"}
CLASSIC = {"classic": "/hello.php", "symfony": "/", "slow": "/endpoint.php", "hostile": "/hostile.php"}
# The applications of sites.py: the page of each that is measured.
APPLICATIONS = {"MediaWiki": "/index.php?title=Bench", "DokuWiki": "/doku.php?id=start",
                "phpMyAdmin": "/index.php?route=/database/structure&db=bench", "WordPress": "/"}
WHOLE = {"applications": "/", "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "switch": "/turns.php", "instances": "/wait1.php", "fair": "/hello.php", "beside": "/waited.php"}
def netty_classes() -> Path:
    return BENCH / "peers" / "netty" / "target" / "classes"


PEERS = (
    Peer("weft", "weft (coroutine mode)", weft, weft_binary,
         {**ROUTES, **WAITS, "container": "/", "evolution": "/", "popup": "/", **dict.fromkeys((*SECURE, *SAME, *PUSH), "/")}),
    Peer("swoole", "Swoole (coroutines, a channel of connections)", swoole, swoole_extension,
         {**dict.fromkeys((*SERVES, "container"), "/"), "db3": "/", "db10": "/", "redis": "/", "scope": "/"},
         made_by="installing it, or BENCH_SWOOLE=path/to/swoole.so,"),
    Peer("weft-channel", "weft, connections in a channel", weft_channel, weft_binary, {"db3": "/"}),
    Peer("weft-sync-1", "weft, synchronous, 1 process", weft_sync(1), weft_binary, {"redis": "/"}),
    Peer("weft-sync-8", "weft, synchronous, 8 processes", weft_sync(8), weft_binary, SYNC),
    Peer("weft-sync-50", "weft, synchronous, 50 processes", weft_sync(50), weft_binary, SYNC),
    Peer("weft-instances", "weft, one process of instances", weft_docroot, weft_binary,
         {"hello": "/hello.php", "sleep": "/sleep.php", **PHP_BODIES, **CLASSIC, **WHOLE}, soaks=False),
    Peer("weft-one", "weft, one process, one request at a time", weft_one, weft_binary, {"classic": "/hello.php"}),
    Peer("weft-resident", "weft, resident instances", weft_resident, weft_binary, {**SERVES, "symfony": "/"}, soaks=False),
    Peer("fpm-8", "nginx + php-fpm, 8 processes", fpm_with(8), found(PHP_FPM),
         {**FPM_WAITS, **CLASSIC, "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "fair": "/hello.php", "applications": "/"},
         ),
    Peer("fpm-30", "nginx + php-fpm, 30 processes", fpm_with(30), found(PHP_FPM), {"applications": "/"}),
    Peer("fpm-16", "nginx + php-fpm, 16 processes", fpm_with(16), found(PHP_FPM), {"wordpress": "/", "fair": "/hello.php"}),
    Peer("fpm-64", "nginx + php-fpm, 64 processes", fpm_with(64), found(PHP_FPM), {"wordpress": "/", "fair": "/hello.php"}),
    Peer("fpm-50", "nginx + php-fpm, 50 processes", fpm_with(50), found(PHP_FPM), SYNC_FPM),
    Peer("bare", "bare epoll (C)", bare, lambda: BENCH / "peers" / "bare" / "target" / "bare", {"hello": "/"}),
    Peer("hyper", "hyper (tokio current_thread), rustls", hyper,
         lambda: BENCH / "peers" / "hyper" / "target" / "release" / "bench-hyper", {**ROUTES, "tls": "/"}),
    Peer("go", "Go net/http", go, lambda: BENCH / "peers" / "go" / "target" / "bench-go", {**ROUTES, "container": "/"}),
    Peer("netty", "Netty 4.1 (native epoll)", netty("epoll"), netty_classes, {**ROUTES, "container": "/"}, warmup_factor=4),
    Peer("netty-nio", "Netty 4.1 (NIO)", netty("nio"), netty_classes, {"hello": "/", "sleep": "/sleep"}, warmup_factor=4, soaks=False),
    Peer("netty-blocking", "Netty 4.1, a handler that sleeps", netty("epoll", 8), netty_classes, {"sleep": "/block", "container": "/block"},
         warmup_factor=4, blocks=True),
    Peer("workerman", "Workerman (its own loop)", workerman("select"), named_file("BENCH_WORKERMAN"), {**dict.fromkeys((*SERVES, "container"), "/")},
         made_by="installing it, and BENCH_WORKERMAN=path/to/vendor/autoload.php,"),
    Peer("workerman-event", "Workerman (ext-event)", workerman("event"), ext_event, {**dict.fromkeys((*SERVES, "container"), "/")},
         made_by="installing it with PHP's extension event, and BENCH_WORKERMAN=path/to/vendor/autoload.php,"),
    Peer("roadrunner", "RoadRunner", roadrunner, lambda: found("rr")() and named_file("BENCH_ROADRUNNER")(), SERVES,
         made_by="rr in PATH, and BENCH_ROADRUNNER=path/to/vendor/autoload.php with spiral/roadrunner-http,"),
    Peer("frankenphp", "FrankenPHP (worker mode)", frankenphp, found("frankenphp"), SERVES, made_by="frankenphp in PATH"),
    Peer("fork", "a process for each request (C)", evolution("fork"), lambda: model_program("fork"), {"evolution": "/"}, forks=True),
    Peer("prefork", "a pool of 128 processes (C)", evolution("prefork"), lambda: model_program("prefork"), {"evolution": "/"}),
    Peer("threads", "a pool of 128 threads (C)", evolution("threads"), lambda: model_program("threads"), {"evolution": "/"}),
    Peer("loop", "an event loop with callbacks (C)", evolution("loop"), lambda: model_program("loop"), {"evolution": "/"}),
    Peer("coroutine", "coroutines on an event loop (C)", evolution("coroutine"), lambda: model_program("coroutine"), {"evolution": "/"}),
    Peer("bare-push", "bare epoll (C), without WebSocket's frames", bare_push, lambda: BENCH / "peers" / "bare" / "target" / "push",
         {"push": "/", "broadcast": "/"}),
    Peer("tungstenite", "tokio-tungstenite (tokio current_thread)", tungstenite,
         lambda: BENCH / "peers" / "tungstenite" / "target" / "release" / "bench-tungstenite", {"push": "/", "broadcast": "/"}),
    Peer("go-push", "Go, gorilla/websocket", go_push, lambda: BENCH / "peers" / "go_push" / "target" / "bench-go-push",
         {"push": "/", "broadcast": "/"}, warmup_factor=2),
    Peer("netty-push", "Netty 4.1 (native epoll)", netty_push, lambda: BENCH / "peers" / "netty" / "target" / "classes" / "bench" / "Push.class",
         {"push": "/", "broadcast": "/"}, warmup_factor=4),
    Peer("centrifugo", "Centrifugo 6, its JSON protocol", centrifugo, lambda: BENCH / "peers" / "centrifugo" / "target" / "centrifugo",
         {"broadcast": "/health"}, warmup_factor=2),
    Peer("weft-1-site", "weft, one site", weft_sites(1), weft_binary, {"sites": "/index.php"}, sites=1),
    Peer("weft-300-sites", "weft, 300 sites", weft_sites(300), weft_binary, {"sites": "/index.php"}, sites=300),
    Peer("fpm-300-pools", "nginx + php-fpm, 300 pools on demand", fpm_pools(300), found(PHP_FPM), {"sites": "/index.php"}, sites=300),
    Peer("nginx", "nginx, a static file", nginx_tls, found("nginx"), {"tls": "/", "download": "/"}),
    Peer("nginx-tls-fpm", "nginx with TLS + php-fpm", nginx_fpm_tls, found(PHP_FPM), {"tls": "/hello.php"}),
    Peer("nginx-fpm", "nginx + php-fpm", nginx_fpm, found(PHP_FPM), PHP_FILES, process_per_request=True, soaks=False),
)


class Running:
    """A started peer: `with Running(peer, role) as server`. Leaving the block stops what it started, and only that."""

    def __init__(self, peer: Peer, role: str, path: str = "", within: Sequence[str] = ("taskset", "-c", str(SERVER_CORE))) -> None:
        """`path`: of the page, if it is not the one that the peer has for this role. `within`: what starts it in its place."""
        self.peer, self.role, self.path, self.within = peer, role, path or peer.paths[role], within
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Running:
        self.run = Path(tempfile.mkdtemp(prefix=f"bench-{self.peer.name}-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.log = self.run / "server.log"
        try:
            for command in self.peer.commands(self.role, self.port, self.run):
                with self.log.open("ab") as log:
                    self.processes.append(subprocess.Popen(
                        [*self.within, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                        cwd=self.run, env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin"}))
            proc.wait_for(f"{self.peer.name} to answer on 127.0.0.1:{self.port}", self._answers, READY_DEADLINE_S)
            proc.share_nice(self.pids())
        except BaseException as error:
            said = self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""
            self.__exit__()
            if isinstance(error, BenchError):
                raise BenchError(f"{error}\n--- {self.peer.name} said:\n{said}") from None
            raise
        return self

    def _answers(self) -> bool:
        for process in self.processes:
            if process.poll() is not None:
                raise BenchError(f"{self.peer.name} ended with {process.returncode} before it was ready: {process.args!r}")
        try:
            with load.connect(self.port, 0) as client:
                load.ask(client, "/" if self.role == "park" else self.path, 0, "site0.test" if self.peer.sites else "127.0.0.1")
            return True
        except (OSError, BenchError):
            return False

    def __exit__(self, *_: object) -> None:
        everyone = proc.tree(p.pid for p in self.processes if p.poll() is None)
        deadline_s = PARKED_STOP_DEADLINE_S if self.role == "park" else STOP_DEADLINE_S
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(deadline_s)
            except subprocess.TimeoutExpired:
                for pid in everyone:  # our descendants, collected before the first signal
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                process.wait()
        shutil.rmtree(self.run, ignore_errors=True)

    def pids(self) -> list[int]:
        """All processes of the peer: their CPU time is its cost."""
        return proc.tree(p.pid for p in self.processes)

    def workers(self) -> list[int]:
        """The processes that serve: the children of a master, or the one process there is."""
        roots = {p.pid for p in self.processes}
        return [pid for pid in self.pids() if pid not in roots] or list(roots)
