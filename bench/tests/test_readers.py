"""What is read from load generators, strace and the kernel: recorded output of each (bench/tests/recorded), and broken output."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab import containers, limits, load, proc, secure_load, shapes, trace
from lab.proc import BenchError

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


class Generators(unittest.TestCase):
    def test_wrk(self) -> None:
        seen = load.read_wrk(recorded("wrk.txt"))
        self.assertEqual(seen, load.Load(43526, 1010871, 101, 2217, 4810, 7383))
        self.assertAlmostEqual(seen.rate, 43057.92, places=1)  # as wrk says itself

    def test_wrk_with_an_error_is_refused(self) -> None:
        for name in load.ERRORS:
            with self.assertRaises(BenchError):
                load.read_wrk(recorded("wrk.txt").replace(f'"{name}":0', f'"{name}":1'))
        with self.assertRaises(BenchError):
            load.read_wrk("Running 1s test")

    def test_pace(self) -> None:
        self.assertEqual(shapes.read_pace(recorded("pace.txt")), load.Load(507, 1000000, 74, 816, 3968, 14124))
        with self.assertRaises(BenchError):
            shapes.read_pace(recorded("pace.txt").replace('"refused":0', '"refused":3'))

    def test_ab(self) -> None:
        seen = containers.read_ab(recorded("ab.txt"), recorded("ab.csv"))
        self.assertEqual((seen.requests, seen.wall_us, seen.p99_us, seen.max_us), (2000, 57000, 3825, 4604))
        for wrong in (("Failed requests:        0", "Failed requests:        7"), ("Complete requests:      2000", "Complete requests:      0"),
                      ("Keep-Alive requests:", "Non-2xx responses:      4\nKeep-Alive requests:")):
            with self.assertRaises(BenchError):
                containers.read_ab(recorded("ab.txt").replace(*wrong), recorded("ab.csv"))

    def test_h2load(self) -> None:
        self.assertEqual(secure_load.read_h2load(recorded("h2load.txt")), 27559)
        with self.assertRaises(BenchError):
            secure_load.read_h2load(recorded("h2load.txt").replace("0 errored", "1 errored"))

    def test_requests_differ_in_bytes(self) -> None:
        addresses = secure_load.varied("https://127.0.0.1:1/")
        self.assertEqual(len(set(addresses)), len(addresses))
        self.assertNotEqual(load.request_bytes("/", 1), load.request_bytes("/", 2))

    def test_commands(self) -> None:
        self.assertEqual(load.wrk_command(80, "/", 10, 0.2)[-3:], ["--", "/", "keep"])
        self.assertEqual(load.wrk_command(80, "/", 10, 5, close=True, body=9)[-5:], ["--", "/", "close", "0", "9"])
        command = containers.ab_command(80, "/", 1_000_000, 60, Path("t"))
        self.assertLess(command.index("-t"), command.index("-n"))  # -t sets the number, unless it comes after


class Kernel(unittest.TestCase):
    def test_strace_counts(self) -> None:
        calls = trace.counts(recorded("strace.txt"))
        self.assertEqual((calls["sendto"], calls["epoll_wait"], sum(calls.values())), (7223, 736, 15233))

    def test_stat_of_a_process_with_any_name(self) -> None:
        text = recorded("stat")
        for name in ("weft", "a b) 9 (c"):
            with mock.patch.object(Path, "read_text", return_value=text.replace("(weft)", f"({name})")):
                fields = proc.stat_fields(1)
                self.assertEqual(fields[0], "S")
                self.assertEqual([int(fields[11]), int(fields[12])], [int(x) for x in text.split()[13:15]])

    def test_memory_is_summed(self) -> None:
        text = recorded("smaps_rollup")
        with mock.patch.object(Path, "read_text", return_value=text):
            one, two = proc.memory([1]), proc.memory([1, 2])
        pss = int(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1])
        self.assertEqual((one.pss, two.pss), (pss * 1024, 2 * pss * 1024))

    def test_switches_of_all_threads(self) -> None:
        text = recorded("status")
        counts = [int(line.split()[1]) for line in text.splitlines()[-2:]]
        with mock.patch.object(Path, "glob", return_value=[Path("a"), Path("b")]), mock.patch.object(Path, "read_text", return_value=text):
            self.assertEqual(proc.switches([1]), proc.Switches(2 * counts[0], 2 * counts[1]))


class Autogroups(unittest.TestCase):
    """What a session's autogroup says of itself, and what the root group does not (sched(7))."""

    def test_the_nice_value(self) -> None:
        for text, nice in (("/autogroup-25 nice 0\n", 0), ("/autogroup-4 nice -12\n", -12), ("", None)):
            with mock.patch.object(Path, "read_text", return_value=text):
                self.assertEqual(proc.autogroup_nice(Path("autogroup")), nice)
        self.assertIsNone(proc.autogroup_nice(Path("/proc/self/no-such-file")))

    def test_the_root_group_is_left_alone(self) -> None:
        with mock.patch.object(Path, "read_text", return_value=""), mock.patch.object(Path, "write_text") as write, \
                mock.patch("os.setpriority") as plain:
            proc.set_nice(3)
            proc.share_nice([1])
        write.assert_not_called()
        plain.assert_called_once()

    def test_another_session_gets_ours(self) -> None:
        texts = {"self": "/autogroup-4 nice -12\n", "7": "/autogroup-9 nice 0\n", "8": "/autogroup-4 nice -12\n", "9": ""}
        written: list[str] = []
        with mock.patch.object(Path, "read_text", lambda file: texts[file.parent.name]), \
                mock.patch.object(Path, "write_text", lambda file, text: written.append(f"{file} {text}")):
            proc.share_nice([7, 8, 9])
        self.assertEqual(written, ["/proc/7/autogroup -12\n"])


class Groups(unittest.TestCase):
    """On directories that look like a mounted hierarchy."""

    def test_version_2(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "cgroup.controllers").write_text("cpu memory")
            groups = limits.make(Path(root), "bench", 2, 1 << 30)
            self.assertEqual((groups[0] / "cpu.max").read_text(), "200000 100000")
            self.assertEqual((groups[0] / "memory.max").read_text(), str(1 << 30))
            (groups[0] / "memory.peak").write_text("5242880\n")
            (groups[0] / "cpu.stat").write_text("usage_usec 9\nnr_throttled 2\nthrottled_usec 1500000\n")
            place = limits.Limits("", [], groups)
            self.assertEqual((place.peak_memory(), place.throttled_s()), (5242880, 1.5))

    def test_version_1(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            for controller in ("cpu", "memory"):
                (Path(root) / controller).mkdir()
            cpu, memory = limits.make(Path(root), "bench", 2, 1 << 30)
            self.assertEqual((cpu / "cpu.cfs_quota_us").read_text(), "200000")
            self.assertEqual((memory / "memory.limit_in_bytes").read_text(), str(1 << 30))
            (cpu / "cpu.stat").write_text("nr_periods 8\nnr_throttled 2\nthrottled_time 250000000\n")
            self.assertEqual(limits.Limits("", [], [cpu, memory]).throttled_s(), 0.25)

    def test_without_groups_it_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as root, limits.limited(2, 1 << 30, Path(root)) as place:
            self.assertIn("memory is not limited", place.how)
            self.assertEqual((place.groups, place.peak_memory()), ([], None))


if __name__ == "__main__":
    unittest.main()
