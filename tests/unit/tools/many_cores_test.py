"""The parts of bench/many_cores: rounds, what is near what, and the archive that is carried along."""

import json
import random
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from comparing import blocks, carrying, machine, ratios, sections  # noqa: E402

TIMES = {"hearth": 10.0, "mpich": 20.0}


def section(processors=None):
    libraries = [SimpleNamespace(name=name, title=name) for name in TIMES]
    return sections.Section("some", 2, ["latency:8"], libraries, processors)


def rounds(planned, count, block):
    chance = random.Random(7)
    with mock.patch.object(blocks, "block", block):
        for _ in range(count):
            planned.measure(chance)


class Rounds(unittest.TestCase):
    def test_each_round_reverses_the_order_of_the_last_one(self):
        order = []

        def block(_, library, seed):
            order.append((library.name, seed))
            item = {"ns": TIMES[library.name], "floors": []}
            return {"items": {"latency:8": item}, "disturbed": False, "processors": [0, 1]}

        planned = section()
        rounds(planned, 5, block)
        names = [name for name, _ in order]
        self.assertEqual(names[0:2], names[2:4][::-1])
        self.assertEqual(names[0:2], names[4:6])
        seeds = [seed for _, seed in order]
        self.assertEqual(seeds[0], seeds[1])  # one order of the cases for both libraries of a round
        self.assertNotEqual(seeds[1], seeds[2])
        (row,) = ratios.compare(planned.quads(), planned.partners())["rows"]
        self.assertAlmostEqual(row["peers"]["mpich"]["ratio"], 0.5)
        self.assertEqual(row["peers"]["mpich"]["pairs"], 5)
        self.assertEqual(row["resolution"], 0)  # from four successive pairs of Hearth's own

    def test_a_library_that_fails_is_left_out_and_named(self):
        def block(_, library, __):
            if library.name == "mpich":
                raise blocks.Failed("no end after 60 s")
            return {"items": {}, "disturbed": False, "processors": [0, 1]}

        planned = section()
        rounds(planned, 3, block)
        self.assertEqual(planned.partners(), [])
        self.assertEqual(planned.problems, {"mpich": "no end after 60 s"})

    def test_ranks_on_other_processors_do_not_count(self):
        planned = section([0, 5])
        rounds(planned, 1, lambda *_: {"items": {}, "disturbed": False, "processors": [0, 1]})
        self.assertEqual(planned.rounds, [{}])
        self.assertIn("ran on processors [0, 1]", planned.problems["hearth"])


    def test_bound_ranks_count_whatever_the_time_of_a_line(self):
        floors = iter([80, 99, 101, 160] * 8)

        def run(library, _, __):
            floor = next(floors)
            return json.dumps({"library": library.name, "processors": [0, 1], "results": [
                {"case": "latency", "bytes": 8, "median_ns": TIMES[library.name], "min_ns": 1,
                 "floor_before_ns": floor, "floor_after_ns": floor}]})

        planned = section([0, 1])
        quiet = {"user": 0, "idle": 1, "steal": 0}
        with mock.patch.object(blocks, "run", run), \
                mock.patch.object(blocks, "processor_times", return_value=quiet):
            rounds(planned, 5, blocks.block)
        (row,) = ratios.compare(planned.quads(), planned.partners())["rows"]
        self.assertEqual(row["peers"]["mpich"]["pairs"], 5)


class Machine(unittest.TestCase):
    def test_lists_of_processors(self):
        self.assertEqual(machine.numbers("0-2,8"), {0, 1, 2, 8})
        self.assertEqual(machine.numbers(""), set())

    def test_relations(self):
        with tempfile.TemporaryDirectory() as folder:
            # Two packages; in the first, two cores of two threads and a core with a cache of its own.
            threads = ["0-1", "0-1", "2-3", "2-3", "4", "5"]
            caches = ["0-3", "0-3", "0-3", "0-3", "4", "5"]
            packages = [0, 0, 0, 0, 0, 1]
            for cpu, (siblings, cache, package) in enumerate(zip(threads, caches, packages)):
                for name, text in (("topology/thread_siblings_list", siblings), ("cache/index0/level", 1),
                                   ("cache/index0/shared_cpu_list", siblings), ("cache/index3/level", 3),
                                   ("cache/index3/shared_cpu_list", cache),
                                   ("topology/physical_package_id", package)):
                    path = Path(folder, f"cpu{cpu}", name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(f"{text}\n")
            with mock.patch.object(machine, "CPU", Path(folder)), \
                    mock.patch.object(machine, "processors", lambda: list(range(6))):
                self.assertEqual(machine.pairs_by_relation(), {
                    "threads of one core": (0, 1), "one last-level cache": (0, 2), "one package": (0, 4),
                    "two packages": (0, 5)})
                self.assertEqual(list(sections.rank_counts()), [2, 4, 6])

    def test_without_sys_nothing_is_guessed(self):
        with mock.patch.object(machine, "CPU", Path("/nonexistent")):
            self.assertEqual(machine.relation(0, 1), machine.UNKNOWN)


class Archive(unittest.TestCase):
    def test_what_is_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "source"), Path(folder, "target")
            (source / "bin").mkdir(parents=True)
            for name, text in (("mpiexec", "a"), ("python3", "b"), ("libmpi.so", "c"), ("libmpi.so.12", "c")):
                (source / "bin" / name).write_text(text)
            carrying.copy(source, target, ["bin/*", "share/*"])
            carrying.link_equal_files(target)
            self.assertEqual(sorted(p.name for p in (target / "bin").iterdir()),
                             ["libmpi.so", "libmpi.so.12", "mpiexec"])
            self.assertEqual((target / "bin/libmpi.so.12").stat().st_nlink, 2)
            self.assertEqual((target / "bin/mpiexec").stat().st_nlink, 1)


if __name__ == "__main__":
    unittest.main()
