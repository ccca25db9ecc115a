"""How soon a change in the admin page reaches all workers: two hosts of two workers each, joined by MariaDB and Redis alone."""

from __future__ import annotations

import http.client
import itertools
import json
import time

from .service import Site, Stage

CHANGES = 20
CONNECTIONS = 12  # to each host: each stays with one worker, so hardly any worker is missed
DEADLINE_S = 10.0


class Watcher:
    """One connection, and so one worker, to which new users send requests continuously."""

    numbers = itertools.count()

    def __init__(self, site: Site) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=DEADLINE_S)

    def is_shown(self) -> bool:
        self.connection.request("POST", "/v1/ask", json.dumps({"user": f"w{next(self.numbers)}", "platform": "ios"}))
        return json.loads(self.connection.getresponse().read())["popup"] is not None


def until_all(watchers: list[Watcher], shown: bool) -> float:
    """The seconds until each worker has seen it."""
    began, left = time.monotonic(), list(watchers)
    while left:
        left = [watcher for watcher in left if watcher.is_shown() != shown]
        if time.monotonic() - began > DEADLINE_S:
            raise TimeoutError(f"{len(left)} of {len(watchers)} connections do not see the change after {DEADLINE_S:.0f} s")
    return time.monotonic() - began


def times() -> list[float]:
    """For each change, seconds from sending it to one host until the last worker of both has it."""
    with Stage("redis") as stage, stage.serve("keepalive", 2, "the same", 1) as here, \
            stage.serve("keepalive", 2, "the same", 0) as there:
        watchers = [Watcher(service.site) for service in (here, there) for _ in range(CONNECTIONS)]
        until_all(watchers, True)
        measured = []
        for number in range(CHANGES):
            began = time.monotonic()
            here.site.form(f"/admin/configurations/1/{'resume' if number % 2 else 'pause'}")
            until_all(watchers, number % 2 == 1)
            measured.append(time.monotonic() - began)
        return measured
