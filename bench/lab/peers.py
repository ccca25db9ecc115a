"""The servers: how each is started, what its routes are, and what it cannot do. One table, PEERS.

A peer runs pinned to SERVER_CORE, listens on 127.0.0.1 only, logs into its own temporary directory and is stopped by
its process ids. Ready means: it accepted a connection and gave one good answer.
"""

from __future__ import annotations

import getpass
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
PUSH = ("push", "crowd", "publish")
LARGE_BYTES = 2**30
# As many instances as requests that wait at once, if that is more than usual.
INSTANCES = {"wait1": 100, "wordpress": 60, "beside": 210}
INSTANCES_USUAL = 50

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
    return [[str(weft_binary()), "serve", app, "--listen", f"127.0.0.1:{port}", "--workers", "1", *extra]]


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


def bare(_role: str, port: int, _run: Path) -> Commands:
    return [[str(BENCH / "peers" / "bare" / "target" / "bare"), str(port)]]


def hyper(role: str, port: int, run: Path) -> Commands:
    secure = [str(secure_port(run)), *map(str, certified(run))] if role in SECURE else []
    return [[str(BENCH / "peers" / "hyper" / "target" / "release" / "bench-hyper"), str(port), *secure]]


def netty(_role: str, port: int, _run: Path) -> Commands:
    target = BENCH / "peers" / "netty" / "target"
    return [["java", "-cp", f"{target}/classes:{target}/lib/*", "bench.Hello", str(port)]]


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
    settings = [f"extension={swoole_extension()}", "opcache.enable_cli=1", "opcache.jit_buffer_size=64M", "opcache.jit=tracing"]
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
    variant: bool = False  # takes part only where it has a role; elsewhere its absence is not reported


def found(command: str) -> Callable[[], Path | None]:
    def look() -> Path | None:
        path = shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        return Path(path) if path else None
    return look


ROUTES = {"hello": "/", "sleep": "/sleep", "park": "/park"}
PHP_FILES = {"hello": "/hello.php", "sleep": "/sleep.php", "park": "/park.php"}
WAITS = {"db3": "/", "db10": "/", "redis": "/", "scope": "/", "hostile": "/"}
SYNC = {"db3": "/", "db10": "/"}
SYNC_FPM = {"db3": "/db3.php", "db10": "/db10.php"}
FPM_WAITS = {**SYNC_FPM, "redis": "/redis.php"}
CLASSIC = {"classic": "/hello.php", "symfony": "/", "slow": "/endpoint.php", "hostile": "/hostile.php"}
# The applications of sites.py: the page of each that is measured.
APPLICATIONS = {"MediaWiki": "/index.php?title=Bench", "DokuWiki": "/doku.php?id=start",
                "phpMyAdmin": "/index.php?route=/database/structure&db=bench", "WordPress": "/"}
WHOLE = {"applications": "/", "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "switch": "/turns.php", "instances": "/wait1.php", "fair": "/hello.php", "beside": "/waited.php"}
PEERS = (
    Peer("weft", "weft (coroutine mode)", weft, weft_binary, {**ROUTES, **WAITS, **dict.fromkeys((*SECURE, *SAME, *PUSH), "/")}),
    Peer("swoole", "Swoole (coroutines, a channel of connections)", swoole, swoole_extension,
         {"hello": "/", "sleep": "/", "db3": "/", "db10": "/", "redis": "/", "scope": "/"},
         made_by="installing it, or BENCH_SWOOLE=path/to/swoole.so,", variant=True),
    Peer("weft-channel", "weft, connections in a channel", weft_channel, weft_binary, {"db3": "/"}, variant=True),
    Peer("weft-sync-1", "weft, synchronous, 1 process", weft_sync(1), weft_binary, {"redis": "/"}, variant=True),
    Peer("weft-sync-8", "weft, synchronous, 8 processes", weft_sync(8), weft_binary, SYNC, variant=True),
    Peer("weft-sync-50", "weft, synchronous, 50 processes", weft_sync(50), weft_binary, SYNC, variant=True),
    Peer("weft-instances", "weft, one process of instances", weft_docroot, weft_binary, {**CLASSIC, **WHOLE}, variant=True),
    Peer("weft-one", "weft, one process, one request at a time", weft_one, weft_binary, {"classic": "/hello.php"}, variant=True),
    Peer("weft-resident", "weft, resident instances", weft_resident, weft_binary, {"symfony": "/"}, variant=True),
    Peer("fpm-8", "nginx + php-fpm, 8 processes", fpm_with(8), found(PHP_FPM),
         {**FPM_WAITS, **CLASSIC, "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "fair": "/hello.php", "applications": "/"},
         variant=True),
    Peer("fpm-30", "nginx + php-fpm, 30 processes", fpm_with(30), found(PHP_FPM), {"applications": "/"}, variant=True),
    Peer("fpm-16", "nginx + php-fpm, 16 processes", fpm_with(16), found(PHP_FPM), {"wordpress": "/", "fair": "/hello.php"}, variant=True),
    Peer("fpm-64", "nginx + php-fpm, 64 processes", fpm_with(64), found(PHP_FPM), {"wordpress": "/", "fair": "/hello.php"}, variant=True),
    Peer("fpm-50", "nginx + php-fpm, 50 processes", fpm_with(50), found(PHP_FPM), SYNC_FPM, variant=True),
    Peer("bare", "bare epoll (C)", bare, lambda: BENCH / "peers" / "bare" / "target" / "bare", {"hello": "/"}),
    Peer("hyper", "hyper (tokio current_thread), rustls", hyper,
         lambda: BENCH / "peers" / "hyper" / "target" / "release" / "bench-hyper", {**ROUTES, "tls": "/"}),
    Peer("netty", "Netty 4.1 (native epoll)", netty, lambda: BENCH / "peers" / "netty" / "target" / "classes", ROUTES,
         warmup_factor=4),
    Peer("bare-push", "bare epoll (C), without WebSocket's frames", bare_push, lambda: BENCH / "peers" / "bare" / "target" / "push",
         {"push": "/"}, variant=True),
    Peer("tungstenite", "tokio-tungstenite (tokio current_thread)", tungstenite,
         lambda: BENCH / "peers" / "tungstenite" / "target" / "release" / "bench-tungstenite", {"push": "/"}, variant=True),
    Peer("weft-1-site", "weft, one site", weft_sites(1), weft_binary, {"sites": "/index.php"}, variant=True, sites=1),
    Peer("weft-300-sites", "weft, 300 sites", weft_sites(300), weft_binary, {"sites": "/index.php"}, variant=True, sites=300),
    Peer("fpm-300-pools", "nginx + php-fpm, 300 pools on demand", fpm_pools(300), found(PHP_FPM), {"sites": "/index.php"}, variant=True, sites=300),
    Peer("nginx", "nginx, a static file", nginx_tls, found("nginx"), {"tls": "/", "download": "/"}, variant=True),
    Peer("nginx-tls-fpm", "nginx with TLS + php-fpm", nginx_fpm_tls, found(PHP_FPM), {"tls": "/hello.php"}, variant=True),
    Peer("nginx-fpm", "nginx + php-fpm", nginx_fpm, found(PHP_FPM), PHP_FILES, process_per_request=True, soaks=False),
)


class Running:
    """A started peer: `with Running(peer, role) as server`. Leaving the block stops what it started, and only that."""

    def __init__(self, peer: Peer, role: str, path: str = "") -> None:
        """`path`: of the page, if it is not the one that the peer has for this role."""
        self.peer, self.role, self.path = peer, role, path or peer.paths[role]
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
                        ["taskset", "-c", str(SERVER_CORE), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
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
