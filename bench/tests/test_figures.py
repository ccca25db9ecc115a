"""The arithmetic from samples to figures, on the records in bench/results, and on cases where the answer is plain."""

from __future__ import annotations

import json
import math
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

from lab import evolution, in_turns, noise, proc, progress, results
from lab.results import Sample

RESULTS = Path(__file__).resolve().parents[1] / "results"


def records() -> dict[str, dict]:
    """All that bench/run has recorded; bench/versions writes another form."""
    read = {path.name: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    return {name: record for name, record in read.items() if "samples" in record}


def same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other


class Recorded(unittest.TestCase):
    def test_each_record_has_the_figures_of_its_samples(self) -> None:
        found = records()
        self.assertGreater(len(found), 15)
        for name, record in found.items():
            with self.subTest(name):
                samples = [Sample(**sample) for sample in record["samples"]]
                summary = results.summarise(samples, record["headline"]["metric"], record["reference"], record.get("in_turns", False))
                self.assertTrue(same(summary, record["summary"]), f"{summary} is not {record['summary']}")

    def test_a_changed_sample_changes_the_figures(self) -> None:
        record = records()["tls.json"]
        samples = [Sample(**sample) for sample in record["samples"]]
        samples[0].metrics["cpu_us"] *= 2
        self.assertFalse(same(results.summarise(samples, "cpu_us", record["reference"]), record["summary"]))

    def test_the_table_shows_every_row(self) -> None:
        for name, record in records().items():
            with self.subTest(name):
                table = results.table(record).splitlines()
                for row in record["summary"]:
                    self.assertTrue(any(row["peer"] in line for line in table))


class Figures(unittest.TestCase):
    def test_median_range_and_ratio(self) -> None:
        samples = [Sample(turn, peer, "c=1", {"cpu_us": value}) for peer, values in (("weft", (4.0, 5.0, 9.0)), ("bare", (2.0, 4.0, 3.0)))
                   for turn, value in enumerate(values, 1)]
        weft, bare = results.summarise(samples, "cpu_us", "bare")
        self.assertEqual(weft["metrics"]["cpu_us"], {"median": 5.0, "min": 4.0, "max": 9.0})
        self.assertEqual((weft["runs"], round(weft["ratio"], 4), bare["ratio"]), (3, 1.6667, 1.0))

    def test_windows_in_turns_are_compared_with_their_neighbours(self) -> None:
        # The machine becomes three times as slow, and then as fast as before: the ratio is the same all the time.
        samples = [Sample(turn, peer, "c=1", {"cpu_us": value * slow, "rate": 1 / slow, "idle": 0.0})
                   for turn, slow in enumerate((1.0, 3.0, 1.0), 1) for peer, value in (("weft", 2.0), ("bare", 4.0))]
        weft, bare = results.summarise([*samples, Sample(4, "weft", "c=1", {"cpu_us": 9.0})], "cpu_us", "bare", in_turns=True)
        self.assertEqual(weft["ratios"]["cpu_us"], {"median": 0.5, "min": 0.5, "max": 0.5})
        self.assertEqual((weft["ratio"], weft["ratios"]["rate"]["median"], bare["ratio"], "idle" in weft["ratios"]), (0.5, 1.0, 1.0, False))
        self.assertEqual(results.beside(weft, {"metric": "rate", "digits": 1}), "1.0 (1.00 x)")
        self.assertEqual(results.summarise(samples[:1], "cpu_us", "bare", in_turns=True)[0]["ratio"], None)

    def test_the_pass_that_counts_calls_is_no_run(self) -> None:
        samples = [Sample(1, "weft", "c=1", {"cpu_us": 4.0}), Sample(0, "weft", "c=1", {"calls": 3.0}), Sample(0, "bare", "c=1", {"calls": 2.0})]
        rows = results.summarise(samples, "cpu_us", "bare")
        self.assertEqual([(row["peer"], row["runs"], row["metrics"]["calls"]["median"]) for row in rows], [("weft", 1, 3.0)])

    def test_points_of_a_curve_are_no_rows(self) -> None:
        samples = [Sample(1, "weft", "step", {"rate": 1.0}), Sample(1, "weft", "best", {"rate": 2.0})]
        self.assertEqual([row["variant"] for row in results.summarise(samples, "rate", "bare")], ["best"])

    def test_a_disturbed_row_is_named(self) -> None:
        sample = [Sample(1, "weft", "c=1", {"cpu_us": 4.0, "foreign_percent": 30.0})]
        self.assertEqual(len(results.disturbed({"summary": results.summarise(sample, "cpu_us", "bare")})), 1)

    def test_switches_and_cpu_are_differences(self) -> None:
        self.assertEqual(proc.Switches(10, 4) - proc.Switches(7, 1), proc.Switches(3, 3))
        self.assertAlmostEqual((proc.Cpu(2.0, 1.5) - proc.Cpu(0.5, 1.0)).total_s, 2.0)

    def test_effective_cpu_is_the_handler_s_share(self) -> None:
        parts = evolution.spent(20.0, {"cpu_us": 50.0, "user_us": 24.0, "kernel_us": 26.0})
        self.assertEqual(parts, {"handler_us": 20.0, "model_user_us": 4.0, "model_kernel_us": 26.0, "effective_percent": 40.0})
        # The tick may count less user time than the handler had: the parts are still those of the whole.
        parts = evolution.spent(20.0, {"cpu_us": 25.0, "user_us": 18.0, "kernel_us": 7.0})
        self.assertEqual(parts["handler_us"] + parts["model_user_us"] + parts["model_kernel_us"], 25.0)

    def test_an_exact_cpu_time_keeps_the_split_of_the_ticks(self) -> None:
        self.assertEqual(evolution.exact({"cpu_us": 20.0, "user_us": 5.0, "kernel_us": 15.0}, 40.0),
                         {"cpu_us": 40.0, "user_us": 10.0, "kernel_us": 30.0})

    def test_processes_shorter_than_a_tick_are_divided_as_their_core_is(self) -> None:
        self.assertEqual(evolution.divided({"cpu_us": 20.0, "user_us": 20.0, "kernel_us": 0.0}, proc.Cpu(1.0, 3.0)),
                         {"cpu_us": 20.0, "user_us": 5.0, "kernel_us": 15.0})
        with self.assertRaises(proc.BenchError):
            evolution.divided({"cpu_us": 20.0, "user_us": 20.0, "kernel_us": 0.0}, proc.Cpu(0.0, 0.0))

    def test_the_progress_says_what_is_left(self) -> None:
        self.assertEqual(progress.status(0, 4, "hello 1/2 weft", 3, 3), "[0/4] hello 1/2 weft, 3 s")
        self.assertEqual(progress.status(1, 4, "hello 1/2 bare", 2, 62), "[1/4] hello 1/2 bare, 2 s; about 3 min left")


class Noise(unittest.TestCase):
    def attempts(self, *shares: float) -> tuple[noise.Attempt, list[noise.Attempt], list[str]]:
        waiting, said = list(shares), []

        def measure() -> noise.Attempt:
            share = waiting.pop(0)
            return [("c=1", {"rate": share, "foreign_percent": share}), ("c=2", {"foreign_percent": 0.0})]

        return *noise.quietest(measure, 2, said.append), said

    def test_a_quiet_measurement_is_not_repeated(self) -> None:
        counted, others, said = self.attempts(4.9, 0.0)
        self.assertEqual((counted[0][1]["rate"], others, said), (4.9, [], []))

    def test_a_disturbed_one_is_until_it_is_quiet(self) -> None:
        counted, others, said = self.attempts(60.0, 1.0, 0.0)
        self.assertEqual((counted[0][1]["rate"], len(others), len(said)), (1.0, 1, 1))

    def test_at_most_so_often_and_the_quietest_counts(self) -> None:
        counted, others, said = self.attempts(60.0, 30.0, 45.0, 0.0)
        self.assertEqual((counted[0][1]["rate"], len(others), len(said)), (30.0, 2, 2))

    def test_what_has_no_share_is_not_disturbed(self) -> None:
        self.assertEqual(noise.disturbance([("c=1", {"rate": 1.0})]), 0.0)


class InTurns(unittest.TestCase):
    def test_the_peers_alternate_there_and_back_and_one_that_fails_leaves(self) -> None:
        failed: dict[str, str] = {}

        def windows(peer: str, count: int) -> Iterator[tuple[str, dict[str, float]]]:
            for number in range(count):
                if (peer, number) == ("c", 1):
                    raise proc.BenchError("it died")
                yield f"part {number // 2}", {"rate": float(number)}

        def failing(peer: str, work: Callable[[], None]) -> None:
            try:
                work()
            except proc.BenchError as error:
                failed[peer] = str(error)

        samples = list(in_turns.alternate({peer: windows(peer, 3) for peer in "abc"}, failing))
        self.assertEqual([(s.peer, s.variant, s.round) for s in samples],
                         [("a", "part 0", 1), ("b", "part 0", 1), ("c", "part 0", 1), ("b", "part 0", 2), ("a", "part 0", 2),
                          ("a", "part 1", 1), ("b", "part 1", 1)])
        self.assertEqual(failed, {"c": "it died"})


if __name__ == "__main__":
    unittest.main()
