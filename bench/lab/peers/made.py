"""What a run makes in its own directory before a server starts: configuration, a certificate, files, document roots.

It must not know which server reads them. Invariant: everything is made below the directory of the run, and asking twice gives the
same answer, because a server and its load ask independently of each other.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .peer import PAGES

LARGE_BYTES = 2**30


def filled(template: Path, made: Path, values: Mapping[str, object]) -> Path:
    """The template with its @NAMES@ replaced, as a file of this run."""
    text = template.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    made.write_text(text)
    return made


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def secure_port(run: Path) -> int:
    """The second port of a server that speaks TLS: the same one whenever it is asked for."""
    kept = run / "secure.port"
    if not kept.exists():
        kept.write_text(str(free_port()))
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


def site_roots(run: Path, count: int) -> list[Path]:
    """Document roots with a page of their own each."""
    roots = [run / f"site{number}" for number in range(count)]
    for root in roots:
        root.mkdir(exist_ok=True)
        (root / "index.php").write_text(f"<?php\n// {root.name}\n" + (PAGES / "hello.php").read_text().removeprefix("<?php\n"))
    return roots
