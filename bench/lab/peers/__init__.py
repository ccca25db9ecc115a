"""The servers: one table, PEERS, of those that can be measured, in the order in which they take turns.

peer.py says what a row is, made.py what a run makes before a server starts, running.py how a peer runs; each family of servers has
a file of its own. It must not know how any of them is started. Invariant: imports go one way, peer <- made <- families <- this table;
running knows peer and made only. Who measures asks here, and need not know the rooms behind it.
"""

from __future__ import annotations

from . import compiled, nginx, php, weft
from .compiled import model_program
from .made import certified, free_port, secure_port
from .nginx import FPM_CHILDREN
from .peer import APPLICATIONS, BENCH, PHP, PHP_FPM, ROOT, SERVER_CORE, Commands, Peer
from .php import swoole_extension
from .running import Running
from .weft import INSTANCES, INSTANCES_USUAL, weft_binary, weft_push

PEERS: tuple[Peer, ...] = (
    *weft.WEFT, *php.SWOOLE, *weft.MODES, *nginx.POOLS, *compiled.SERVERS, *php.OTHERS, *compiled.MODELS, *compiled.PUSH, *weft.SITES, *nginx.NGINX,
)

__all__ = [
    "APPLICATIONS", "BENCH", "FPM_CHILDREN", "INSTANCES", "INSTANCES_USUAL", "PEERS", "PHP", "PHP_FPM", "ROOT", "SERVER_CORE", "Commands", "Peer",
    "Running", "certified", "free_port", "model_program", "secure_port", "swoole_extension", "weft_binary", "weft_push",
]
