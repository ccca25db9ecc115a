"""The table of servers: each row can say how it is started in each of its roles, and who is absent says why. Nothing is started."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.peers import PEERS
from lab.scenarios import SCENARIOS

PORT = 54_321
# Of a scenario that starts its servers by itself, beside a row for its name.
OWN_START = {"popup"}


def told(run: Path, commands: list[list[str]]) -> str:
    """The commands, and the configuration that was made for them."""
    made = [file.read_text() for file in run.iterdir() if file.suffix in (".conf", ".json", ".toml", ".yaml")]
    return "\n".join([*(" ".join(command) for command in commands), *made])


class Table(unittest.TestCase):
    def test_names_differ(self) -> None:
        names = [peer.name for peer in PEERS]
        self.assertEqual(len(set(names)), len(names))

    def test_each_role_of_each_server_has_a_command_and_a_port(self) -> None:
        for peer in PEERS:
            for role in peer.paths.keys() - OWN_START:
                with self.subTest(peer.name, role=role), tempfile.TemporaryDirectory() as run:
                    commands = peer.commands(role, PORT, Path(run))
                    self.assertTrue(commands and all(commands))
                    self.assertIn(str(PORT), told(Path(run), commands))
                    self.assertTrue(peer.paths[role].startswith("/"))

    def test_each_scenario_has_servers(self) -> None:
        asked = {scenario.role for scenario in SCENARIOS} - {None}
        played = {role for peer in PEERS for role in peer.paths}
        self.assertEqual(asked - played, set())

    def test_who_is_absent_says_what_would_bring_it(self) -> None:
        empty = {"PATH": "/nowhere", "BENCH_WEFT": "/nowhere/weft"}
        with mock.patch.dict(os.environ, empty, clear=True):
            missing = {peer.name: peer.absence() for peer in PEERS}
        for name, part in (("weft", "/nowhere/weft"), ("frankenphp", "its program"), ("roadrunner", "BENCH_ROADRUNNER"),
                           ("workerman-event", "BENCH_EVENT"), ("swoole", "BENCH_SWOOLE")):
            with self.subTest(name):
                self.assertIn("is not on this machine", missing[name])
                self.assertIn(part, missing[name])


if __name__ == "__main__":
    unittest.main()
