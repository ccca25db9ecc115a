"""The backends that the servers under test wait for: MariaDB, Redis, NATS, and an upstream that answers after 50 ms.

Each is started afresh in a temporary directory, pinned to the core given, reached over loopback or a unix socket, announced to
the servers through BENCH_* variables, and stopped by its process id. It must not know which server uses it.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .peers import BENCH, free_port, weft_binary
from .proc import BenchError, wait_for

ROWS = 1_000
START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 20.0
CONNECTIONS_MAX = 600
SCHEMA = """
CREATE DATABASE bench;
USE bench;
CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(50) NOT NULL, value INT NOT NULL);
INSERT INTO item SELECT seq, CONCAT('item ', seq), seq * 7 FROM bench_seq;
CREATE USER 'bench'@'localhost' IDENTIFIED BY 'bench';
GRANT ALL ON bench.* TO 'bench'@'localhost';
""".replace("bench_seq", f"seq_1_to_{ROWS}")


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@contextmanager
def started(command: list[str], core: int, run: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, pinned; it is stopped when the block is left."""
    with (run / "log").open("ab") as log:
        process = subprocess.Popen(["nice", "-n", "10", "taskset", "-c", str(core), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=run)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def told(**values: str) -> Iterator[None]:
    """Sets variables that servers started within the block inherit."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)


@contextmanager
def directory(name: str) -> Iterator[Path]:
    run = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    try:
        yield run
    finally:
        shutil.rmtree(run, ignore_errors=True)


def need(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if path is None:
        raise BenchError(f"{program} is missing: bench/setup installs it")
    return path


@contextmanager
def mariadb(core: int, pooled: bool = False) -> Iterator[None]:
    """MariaDB with 1,000 rows, over a unix socket (BENCH_DB_SOCKET), as a database beside its server would be.

    `pooled`: it answers all connections with the threads that one core can run, not with a thread for each. Else that core's
    scheduler decides how long a query waits for its thread, up to some hundred milliseconds, whichever server has asked."""
    with directory("mariadb") as run:
        data, endpoint = run / "data", run / "sock"
        user = ["--user=root"] if os.geteuid() == 0 else []
        done = subprocess.run([need("mariadb-install-db"), "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
                               "--skip-test-db", *user], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"mariadb-install-db failed: {(done.stderr or done.stdout).strip()[-400:]}")
        server = [need("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={endpoint}", "--skip-networking", *user,
                  f"--max-connections={CONNECTIONS_MAX}", f"--pid-file={run / 'pid'}"]
        server += ["--thread-handling=pool-of-threads", "--thread-pool-size=1"] if pooled else []
        client = [need("mariadb"), "--no-defaults", f"--socket={endpoint}", "-uroot"]

        def ready() -> bool:
            return subprocess.run([*client, "-e", "SELECT 1"], capture_output=True, check=False).returncode == 0

        with started(server, core, run), told(BENCH_DB_SOCKET=str(endpoint)):
            wait_for("MariaDB to answer", ready, START_DEADLINE_S)
            filled = subprocess.run(client, input=SCHEMA, capture_output=True, text=True, check=False)
            if filled.returncode != 0:
                raise BenchError(f"MariaDB did not take the schema: {filled.stderr.strip()}")
            yield


@contextmanager
def redis(core: int) -> Iterator[int]:
    """Redis without persistence, with one key (BENCH_REDIS_PORT); its port."""
    with directory("redis") as run:
        port = free_port()
        server = [need("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with started(server, core, run), told(BENCH_REDIS_PORT=str(port)):
            wait_for("Redis to answer", lambda: answers(port), START_DEADLINE_S)
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                client.sendall(b"SET greeting Hello\r\n")
                client.recv(100)
            yield port


@contextmanager
def nats(core: int) -> Iterator[int]:
    """NATS with JetStream; its port."""
    with directory("nats") as run:
        port = free_port()
        server = [need("nats-server"), "--addr", "127.0.0.1", "--port", str(port), "--jetstream", "--store_dir", str(run / "data")]
        with started(server, core, run):
            wait_for("NATS to answer", lambda: answers(port), START_DEADLINE_S)
            yield port


@contextmanager
def upstream(core: int) -> Iterator[None]:
    """An HTTP server whose every answer takes 50 ms (BENCH_UPSTREAM_PORT)."""
    with directory("upstream") as run:
        port = free_port()
        server = [str(weft_binary()), "serve", str(BENCH / "apps" / "upstream.php"), "--listen", f"127.0.0.1:{port}", "--workers", "1"]
        with started(server, core, run), told(BENCH_UPSTREAM_PORT=str(port)):
            wait_for("the upstream to answer", lambda: answers(port), START_DEADLINE_S)
            yield
