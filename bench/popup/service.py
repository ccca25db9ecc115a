"""The pop-up service and its backends, started for a measurement: weft on one core, everything else on the other.

It must not know what is measured. Invariant: whatever it starts is stopped by its process id, and its files are gone afterwards.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path

from lab import backends, proc
from lab.peers import BENCH, SERVER_CORE, free_port, weft_binary

STEPS = ("naive", "queue", "cache", "pool", "keepalive")
BACKENDS = ("embedded", "mariadb", "redis", "redis-files")
OTHER_CORE = 1 - SERVER_CORE
TOKEN = "bench"
CONFIGURATIONS = 20  # a user who clicked one gets the next: the share of pop-ups stays the same
CONNECTIONS_MAX = 800


@dataclass
class Database:
    """The database of the operations, as the bench sees it."""

    environment: dict[str, str] = field(default_factory=dict)
    client: list[str] | None = None  # MariaDB's command line; None for SQLite
    pid: int | None = None
    path: Path = Path()  # SQLite's file

    def text(self, sql: str) -> str:
        if self.client is not None:
            return subprocess.run([*self.client, "-N", "-e", sql], capture_output=True, text=True, check=True).stdout
        script = "echo (new PDO($argv[1]))->query($argv[2])->fetchColumn();"
        return subprocess.run(["php", "-r", script, "--", f"sqlite:{self.path}", sql], capture_output=True, text=True, check=True).stdout

    def value(self, sql: str) -> int:
        return int((self.text(sql).split() or ["0"])[-1])

    def rows(self, where: str = "") -> int:
        return self.value(f"SELECT COUNT(*) FROM operations {where}")

    def status(self, name: str) -> int | None:
        """One of MariaDB's counters; None for SQLite, which has none."""
        return None if self.client is None else self.value(f"SHOW GLOBAL STATUS LIKE '{name}'")

    def renew(self) -> None:
        """Empties MariaDB for the next service; SQLite's file goes with the service's own directory."""
        if self.client is not None:
            self.text("DROP DATABASE IF EXISTS popup; CREATE DATABASE popup; FLUSH STATUS")


@contextmanager
def mariadb() -> Iterator[Database]:
    with backends.directory("popup-db") as run:
        data, endpoint = run / "data", run / "sock"
        user = ["--user=root"] if os.geteuid() == 0 else []
        done = subprocess.run([backends.need("mariadb-install-db"), "--no-defaults", f"--datadir={data}", "--skip-test-db",
                               "--auth-root-authentication-method=normal", *user], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise proc.BenchError(f"mariadb-install-db failed: {(done.stderr or done.stdout).strip()[-400:]}")
        # Every commit is on disk before it is answered. This is the default; it is stated because the figures depend on it.
        server = [backends.need("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={endpoint}", "--skip-networking", *user,
                  f"--max-connections={CONNECTIONS_MAX}", "--innodb-buffer-pool-size=512M", "--innodb-flush-log-at-trx-commit=1"]
        client = [backends.need("mariadb"), "--no-defaults", f"--socket={endpoint}", "-uroot"]
        with backends.started(server, OTHER_CORE, run) as process:
            def ready() -> bool:
                return subprocess.run([*client, "-e", "CREATE DATABASE IF NOT EXISTS popup"], capture_output=True, check=False).returncode == 0

            proc.wait_for("MariaDB to answer", ready)
            environment = {"POPUP_DATABASE": f"mysql:unix_socket={endpoint};dbname=popup", "POPUP_DATABASE_USER": "root"}
            yield Database(environment, [*client, "popup"], process.pid)


@contextmanager
def redis(appendfsync: str) -> Iterator[tuple[dict[str, str], int]]:
    with backends.directory("popup-redis") as run:
        port = free_port()
        server = [backends.need("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                  "--appendfsync", appendfsync]
        with backends.started(server, OTHER_CORE, run) as process:
            proc.wait_for("Redis to answer", lambda: backends.answers(port))
            yield {"POPUP_REDIS": f"127.0.0.1:{port}"}, process.pid


class Site:
    """The service, over HTTP."""

    def __init__(self, port: int) -> None:
        self.port, self.root = port, f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.csrf = ""

    def get(self, path: str) -> str:
        return self.opener.open(self.root + path, timeout=10).read().decode()

    def health(self) -> dict:
        return json.loads(self.get("/health"))

    def form(self, path: str, **fields: str) -> None:
        self.opener.open(self.root + path, urllib.parse.urlencode(fields | {"csrf": self.csrf}).encode(), timeout=10).read()

    def sign_in(self) -> None:
        self.form("/admin/login", token=TOKEN)
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/admin/configurations/new"))
        if found is None:
            raise proc.BenchError("the admin page has no form: did the tables come up?")
        self.csrf = found[1]

    def create_configurations(self, count: int = CONFIGURATIONS) -> None:
        for number in range(count):
            # One second, the shortest interval: a user who asks again gets it again.
            self.form("/admin/configurations", title=f"Pop-up {number}", body="A text of some length, as they have it.",
                      url="/there", priority="0", interval_h="0.0003", percentage="100", platforms="ios")


@dataclass
class Service:
    """One running host of the service."""

    site: Site
    weft: list[int]  # the master and its workers
    database: Database
    redis: int | None
    step: str
    backend: str


class Stage:
    """The backends, which run as long as the stage; several services can be started on them, one after another."""

    def __init__(self, backend: str) -> None:
        self.backend, self.stack = backend, ExitStack()
        self.database, self.redis, self.environment = Database(), None, {}

    def __enter__(self) -> Stage:
        with ExitStack() as stack:  # stopped again if the next one does not start
            if self.backend != "embedded":
                self.database = stack.enter_context(mariadb())
            if self.backend == "redis":
                self.environment, self.redis = stack.enter_context(redis("always"))
            if self.backend == "redis-files":
                self.environment, self.redis = stack.enter_context(redis("everysec"))
                self.environment |= {"POPUP_QUEUE": "files"}
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    @contextmanager
    def serve(self, step: str, workers: int = 1, secret: str = "", configurations: int = CONFIGURATIONS) -> Iterator[Service]:
        """A service that answers; `configurations` above 0 empties the database first and creates this many."""
        if configurations > 0:
            self.database.renew()
        with backends.directory("popup") as run:
            data, port = run / "data", free_port()
            database = self.database if self.database.client is not None else Database(path=data / "popup.sqlite")
            environment = {"POPUP_DATA": str(data), "POPUP_ADMIN_TOKEN": TOKEN, "POPUP_STEP": step, "POPUP_SECRET": secret}
            command = [str(weft_binary()), "serve", str(BENCH.parent / "examples" / "popup" / "app.php"), "--workers", str(workers),
                       "--listen", f"127.0.0.1:{port}"]
            with backends.told(**environment, **self.environment, **database.environment), \
                    backends.started(command, SERVER_CORE, run) as weft:
                site = Site(port)
                proc.wait_for("the service to listen", lambda: backends.answers(port))
                proc.wait_for("the tables", lambda: site.health()["status"] == "ok" and signed_in(site))
                if configurations > 0:
                    site.create_configurations(configurations)
                    time.sleep(1)  # every worker knows them
                yield Service(site, proc.tree([weft.pid]), database, self.redis, step, self.backend)
            for line in (run / "log").read_text(errors="replace").splitlines():
                if " WARN " in line or " ERROR " in line:
                    print(f"  weft said: {line}", flush=True)


def signed_in(site: Site) -> bool:
    """Whether the admin page works, which needs the tables."""
    try:
        site.sign_in()
        site.get("/admin")
        return True
    except OSError:
        return False
