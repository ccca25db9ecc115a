"""nginx: with php-fpm behind it, with TLS, and with a static file as its answer.

It must not know the other servers, nor what a scenario asks. Invariant: nginx and php-fpm run with Debian's settings but for those in
bench/peers/nginx_*/*.in, and an nginx with php-fpm costs what both of them cost, because both are started here.
"""

from __future__ import annotations

import getpass
import os
from pathlib import Path

from . import made
from .peer import CLASSIC, PAGES, PEER_SOURCES, PHP_FILES, PHP_FPM, Commands, Peer, Starter, docroot, found

FPM = PEER_SOURCES / "nginx_fpm"
FPM_CHILDREN = 32
SYNC_FPM = {"db3": "/db3.php", "db10": "/db10.php"}
FPM_WAITS = {**SYNC_FPM, "redis": "/redis.php"}


def server(run: Path) -> list[str]:
    return ["nginx", "-c", str(run / "nginx.conf"), "-e", str(run / "nginx.log")]


def nginx_fpm(_role: str, port: int, run: Path, children: int = FPM_CHILDREN) -> Commands:
    front = "index.php" if (docroot() / "index.php").exists() else "hello.php"
    values = {"RUN": run, "PORT": port, "USER": getpass.getuser(), "DOCROOT": docroot(), "FRONT": front, "CHILDREN": children}
    for name in ("nginx.conf", "fpm.conf"):
        made.filled(FPM / f"{name}.in", run / name, values)
    fpm = [PHP_FPM, "--nodaemonize", "--fpm-config", str(run / "fpm.conf")]
    as_root = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
    return [fpm + as_root, server(run)]


def fpm_with(children: int) -> Starter:
    return lambda role, port, run: nginx_fpm(role, port, run, children)


def fpm_pools(count: int) -> Starter:
    """A pool for each site, whose processes come on demand and go after ten idle seconds, as Debian's comment says."""
    def commands(role: str, port: int, run: Path) -> Commands:
        roots = made.site_roots(run, count)
        both = nginx_fpm(role, port, run)
        user = getpass.getuser()
        head = (run / "fpm.conf").read_text().partition("[bench]")[0]
        (run / "fpm.conf").write_text(head + "".join(
            f"[{root.name}]\nuser = {user}\ngroup = {user}\nlisten = {root}.sock\nlisten.owner = {user}\nlisten.backlog = 4096\n"
            "pm = ondemand\npm.max_children = 5\npm.process_idle_timeout = 10s\n" for root in roots))
        text = (run / "nginx.conf").read_text()
        text = text.replace(f"root {docroot()};", f"server_name ~^(?<site>[a-z0-9]+)\\.test$;\n        root {run}/$site;")
        (run / "nginx.conf").write_text(text.replace("/hello.php$is_args", "/index.php$is_args").replace(f"{run}/fpm.sock", f"{run}/$site.sock"))
        return both
    return commands


def nginx_tls(role: str, port: int, run: Path, with_fpm: bool = False) -> Commands:
    """Static files; with php-fpm behind it for pages."""
    commands = nginx_fpm(role, port, run)[:1] if with_fpm else []
    made.certified(run)
    made.files(run)
    values = {"RUN": run, "PORT": port, "TLS": made.secure_port(run), "USER": getpass.getuser(), "PAGES": PAGES}
    made.filled(PEER_SOURCES / "nginx_tls" / "nginx.conf.in", run / "nginx.conf", values)
    return [*commands, server(run)]


def nginx_fpm_tls(role: str, port: int, run: Path) -> Commands:
    return nginx_tls(role, port, run, with_fpm=True)


def pool(children: int, paths: dict[str, str]) -> Peer:
    return Peer(f"fpm-{children}", f"nginx + php-fpm, {children} processes", fpm_with(children), found(PHP_FPM), paths)


POOLS = (
    pool(8, {**FPM_WAITS, **CLASSIC, "sqlite": "/sqlite.php?database=wal", "wait1": "/wait1.php", "wordpress": "/", "fair": "/hello.php",
             "applications": "/"}),
    pool(30, {"applications": "/"}),
    pool(16, {"wordpress": "/", "fair": "/hello.php"}),
    pool(64, {"wordpress": "/", "fair": "/hello.php"}),
    pool(50, SYNC_FPM),
)
NGINX = (
    Peer("fpm-300-pools", "nginx + php-fpm, 300 pools on demand", fpm_pools(300), found(PHP_FPM), {"sites": "/index.php"}, sites=300),
    Peer("nginx", "nginx, a static file", nginx_tls, found("nginx"), {"tls": "/", "download": "/"}),
    Peer("nginx-tls-fpm", "nginx with TLS + php-fpm", nginx_fpm_tls, found(PHP_FPM), {"tls": "/hello.php"}),
    Peer("nginx-fpm", "nginx + php-fpm", nginx_fpm, found(PHP_FPM), PHP_FILES, process_per_request=True, soaks=False),
)
