"""What a peer is: a row with a name, the commands that start it, the roles that it can play and the path of each.

Here are the places and the finders that every family of peers uses. It must not know any one server, nor how one is run.
Invariant: a role that a row does not name is a role that its server does not play; nobody assumes a path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..proc import BenchError

BENCH = Path(__file__).resolve().parents[2]
ROOT = BENCH.parent
PEER_SOURCES = BENCH / "peers"
PAGES = BENCH / "sites" / "pages"
SERVER_CORE = 0

Commands = list[list[str]]
# Of a role, a free port and the directory of this run: the processes to start, in this order.
Starter = Callable[[str, int, Path], Commands]

# The path of each role, by what a server has: an application for each role, routes of one application, files of PHP.
BODIES = {"json": "/json", "received": "/received", "sent": "/sent"}
SERVES = {"hello": "/", "sleep": "/sleep", **BODIES}
ROUTES = {**SERVES, "park": "/park"}
PHP_BODIES = {role: f"{path}.php" for role, path in BODIES.items()}
PHP_FILES = {"hello": "/hello.php", "sleep": "/sleep.php", "park": "/park.php", **PHP_BODIES}
CLASSIC = {"classic": "/hello.php", "symfony": "/", "slow": "/endpoint.php", "hostile": "/hostile.php"}
QUERIES = {"db3": "/", "db10": "/"}
# One program for all of these, which is told the role.
SCRIPT = dict.fromkeys((*SERVES, "container"), "/")
MESSAGES = {"push": "/", "broadcast": "/"}
DIALOGUES = {**MESSAGES, "conversations": "/"}
# The applications of sites.py: the page of each that is measured.
APPLICATIONS = {"MediaWiki": "/index.php?title=Bench", "DokuWiki": "/doku.php?id=start",
                "phpMyAdmin": "/index.php?route=/database/structure&db=bench", "WordPress": "/"}
# Scenarios of TLS: of hello, of a large file beside it, of requests that wait.
SECURE = {"tls": "hello", "download": "hello", "streams": "park"}


@dataclass(frozen=True)
class Peer:
    """One row of PEERS. `paths` names the roles it can play; a scenario skips a peer without the role it needs."""

    name: str
    label: str
    commands: Starter
    artefact: Callable[[], Path | None]  # the file that has to be there; None: there is none, and nobody knows its place
    paths: dict[str, str] = field(default_factory=dict)
    warmup_factor: int = 1  # of the usual warm-up: a JIT compiler needs more
    process_per_request: bool = False
    soaks: bool = True
    made_by: str = "bench/setup makes it"
    sites: int = 0  # how many it has, each with a name of its own
    blocks: bool = False  # a request that waits keeps others waiting: what a load of many leaves behind would take long
    forks: bool = False  # processes end while it serves: their time is their parent's then

    def absence(self) -> str:
        """Why it takes no part on this machine, and what would bring it; "" where it can take part."""
        path = self.artefact()
        if path is not None and path.exists():
            return ""
        where = str(path).removeprefix(f"{ROOT}{os.sep}") if path else "its program"
        return f"{where} is not on this machine: {self.made_by}"


def found(command: str) -> Callable[[], Path | None]:
    """A program in the PATH, or among those for administrators."""
    def look() -> Path | None:
        path = shutil.which(command, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        return Path(path) if path else None
    return look


def named_file(variable: str) -> Callable[[], Path | None]:
    """What an environment variable names: for software that is in no package."""
    def look() -> Path | None:
        return Path(os.environ[variable]) if variable in os.environ else None
    return look


def php_series() -> str:
    """The PHP that weft is built for here, as Debian names it: 8.2."""
    config = os.environ.get("PHP_CONFIG", "php-config")
    if not shutil.which(config):
        raise BenchError(f"{config} is missing: bench/setup installs it")
    return ".".join(subprocess.run([config, "--version"], capture_output=True, text=True, check=True).stdout.split(".")[:2])


PHP = f"php{php_series()}"
PHP_FPM = f"php-fpm{php_series()}"


def docroot() -> Path:
    """The application that a scenario made ($BENCH_DOCROOT), or pages of a few lines; the same for all servers."""
    return Path(os.environ.get("BENCH_DOCROOT", PAGES))
