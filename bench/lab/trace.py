"""System calls per request, counted by strace -c on every process of a peer while a known number of requests passes.

It must not time anything: a traced server is many times slower, only its counts are true.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from . import load, proc
from .peers import Running

CONNECTIONS = 100
RECV = {"recvfrom", "recvmsg", "recvmmsg", "read", "readv"}
SEND = {"sendto", "sendmsg", "sendmmsg", "write", "writev", "sendfile"}
WAIT = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6", "io_uring_enter"}


def threads(pids: list[int]) -> int:
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)


def counts(report: str) -> dict[str, int]:
    """Parses the table `strace -c -U calls,name` wrote."""
    found = {}
    for line in report.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].isdigit() and words[1] != "total":
            found[words[1]] = int(words[0])
    return found


def per_request(server: Running, requests: int, at_once: int = 1) -> dict[str, float]:
    """Calls per request by family, and each call by its name under `call:`. Connections are opened before counting; `at_once`
    requests are sent before the first of their answers is read."""
    report, pids = server.run / "strace.txt", server.pids()
    clients = [load.connect(server.port, number) for number in range(CONNECTIONS)]
    try:
        for number, client in enumerate(clients):
            load.ask(client, server.path, number)
        attach = [word for pid in pids for word in ("-p", str(pid))]
        tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-o", str(report), *attach],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        proc.wait_for("strace to attach to every thread", lambda: traced(pids) == threads(pids))
        for first in range(0, requests, at_once):
            turn = [(clients[number % CONNECTIONS], number) for number in range(first, min(first + at_once, requests))]
            for client, number in turn:
                client.sendall(load.request_bytes(server.path, number))
            for client, _ in turn:
                load.read_answer(client)
        tracer.send_signal(signal.SIGINT)
        tracer.wait(30)
    finally:
        for client in clients:
            client.close()
    calls = counts(report.read_text())
    if not calls:
        raise proc.BenchError(f"strace counted nothing: {report.read_text()[:300]!r}; may this user trace (ptrace_scope)?")
    families = {"recv": RECV, "send": SEND, "wait": WAIT}
    result = {name: sum(calls.get(c, 0) for c in members) / requests for name, members in families.items()}
    result["all"] = sum(calls.values()) / requests
    result["other"] = result["all"] - sum(result[name] for name in families)
    return result | {f"call:{name}": count / requests for name, count in calls.items()}


def traced(pids: list[int]) -> int:
    """Threads that have a tracer."""
    count = 0
    for pid in pids:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            count += any(line.startswith("TracerPid:") and line.split()[1] != "0" for line in status.read_text().splitlines())
    return count
