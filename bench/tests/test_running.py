"""A server that is measured: what it said stands behind the error with which its measurement ends."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

from lab.peers import Peer, Running
from lab.proc import BenchError


def serves_a_page(_: str, port: int, run: Path) -> list[list[str]]:
    (run / "index.html").write_text("here")
    return [[sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--protocol", "HTTP/1.1"]]


class ARunningServer(unittest.TestCase):
    def test_what_it_said_stands_behind_an_error(self) -> None:
        peer = Peer("python", "Python", serves_a_page, lambda: Path(sys.executable), {"page": "/"})
        with self.assertRaises(BenchError) as caught, Running(peer, "page", within=()):
            raise BenchError("some answers were wrong")
        said = str(caught.exception)
        self.assertTrue(said.startswith("some answers were wrong\n--- python said:\n"), said)
        self.assertIn('"GET /?visitor=0 HTTP/1.1" 200', said)


if __name__ == "__main__":
    unittest.main()
