"""A peer that runs: started on its core in a directory of its own, ready, and stopped again.

Ready means that it accepted a connection and gave one good answer. It must not know which peers there are, nor what is measured.
Invariant: whatever happens in the block, all that was started is stopped afterwards, by its process id, and nothing else is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import load, proc
from ..proc import BenchError
from .made import free_port
from .peer import SERVER_CORE, Peer

READY_DEADLINE_S = 30.0
STOP_DEADLINE_S = 10.0
PARKED_STOP_DEADLINE_S = 1.0  # ten-minute requests are not worth draining


class Running:
    """A started peer: `with Running(peer, role) as server`. Leaving the block stops what it started, and only that."""

    def __init__(self, peer: Peer, role: str, path: str = "", within: Sequence[str] = ("taskset", "-c", str(SERVER_CORE))) -> None:
        """`path`: of the page, if it is not the one that the peer has for this role. `within`: what starts it in its place."""
        self.peer, self.role, self.path, self.within = peer, role, path or peer.paths[role], within
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Running:
        self.run = Path(tempfile.mkdtemp(prefix=f"bench-{self.peer.name}-"))
        self.port = free_port()
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
            said = self._said()
            self.__exit__()
            if isinstance(error, BenchError):
                raise BenchError(f"{error}{said}") from None
            raise
        return self

    def _said(self) -> str:
        """The end of its log, to stand behind an error."""
        said = self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""
        return f"\n--- {self.peer.name} said:\n{said}" if said else ""

    def _answers(self) -> bool:
        for process in self.processes:
            if process.poll() is not None:
                raise BenchError(f"{self.peer.name} ended with {process.returncode} before it was ready: {process.args!r}")
        try:
            with load.connect(self.port, 0) as client:
                load.ask(client, "/" if self.role == "park" else self.path.replace("{site}", "0"), 0, "site0.test" if self.peer.sites else "127.0.0.1")
            return True
        except (OSError, BenchError):
            return False

    def __exit__(self, _: object = None, error: object = None, *__: object) -> None:
        if isinstance(error, BenchError):
            error.args = (f"{error}{self._said()}",)
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
