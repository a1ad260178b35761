"""The arithmetic of bench/compare on made-up blocks: pairs, samples left out, and what counts as faster."""

import random
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from comparing import blocks, cases, peers, ratios, report  # noqa: E402


def item(ns, floors=(40.0, 41.0)):
    return {"ns": ns, "min_ns": ns, "floors": list(floors)}


def quad(partner, ours, theirs, name="latency:8", disturbed=False):
    def half(a, b):
        return {"ours": {"items": {name: a}, "disturbed": disturbed},
                "theirs": {"items": {name: b}, "disturbed": False}}
    return {"partner": partner, "pairs": [half(ours, theirs), half(ours, theirs)]}


class States(unittest.TestCase):
    def test_one_state_all_along(self):
        self.assertEqual(ratios.state_of([12, 19]), "smt")
        self.assertEqual(ratios.state_of([60, 28, 99]), "near")
        self.assertEqual(ratios.state_of([220]), "far")

    def test_a_change_or_a_disturbance_is_no_state(self):
        self.assertIsNone(ratios.state_of([40, 220]))
        self.assertIsNone(ratios.state_of([40, 9000]))
        self.assertIsNone(ratios.state_of([0, 40]))

    def test_what_has_no_floor_is_compared_in_any_state(self):
        self.assertEqual(ratios.state_of([]), "any")


class Comparison(unittest.TestCase):
    def test_the_ratio_is_that_of_pairs_not_of_medians(self):
        # The machine gets slower from block to block; in each pair Hearth takes half the time.
        quads = [quad("mpich", item(50 * 2**i), item(100 * 2**i)) for i in range(5)]
        row = ratios.compare(quads, ["mpich"])["rows"][0]
        entry = row["peers"]["mpich"]
        self.assertAlmostEqual(entry["ratio"], 0.5)
        self.assertAlmostEqual(entry["low"], 0.5)
        self.assertAlmostEqual(entry["high"], 0.5)
        self.assertEqual(entry["verdict"], "faster")
        self.assertEqual(entry["pairs"], 10)

    def test_pairs_across_states_and_disturbed_ones_are_left_out_and_counted(self):
        good = [quad("mpich", item(50), item(100)) for _ in range(3)]
        across = [quad("mpich", item(50), item(500, (220, 220)))]
        within = [quad("mpich", item(50, (40, 220)), item(100))]
        stolen = [quad("mpich", item(5000), item(100), disturbed=True)]
        result = ratios.compare(good + across + within + stolen, ["mpich"])
        self.assertEqual(result["pairs"]["mpich"], {"kept": 6, "rejected": 6})
        self.assertAlmostEqual(result["rows"][0]["peers"]["mpich"]["ratio"], 0.5)

    def test_states_are_reported_apart(self):
        quads = [quad("mpich", item(50), item(100)) for _ in range(4)]
        quads += [quad("mpich", item(300, (220, 221)), item(100, (230, 220))) for _ in range(4)]
        rows = ratios.compare(quads, ["mpich"])["rows"]
        self.assertEqual([(r["state"], r["peers"]["mpich"]["verdict"]) for r in rows],
                         [("near", "faster"), ("far", "slower")])

    def test_too_few_pairs_with_one_peer_give_no_row(self):
        quads = [quad("mpich", item(50), item(100)) for _ in range(4)] + [quad("impi", item(50), item(100))]
        self.assertEqual(ratios.compare(quads, ["mpich", "impi"])["rows"], [])

    def test_the_best_peer_is_the_one_that_leaves_us_least_ahead(self):
        quads = [quad("mpich", item(50), item(500)) for _ in range(4)]
        quads += [quad("openmpi", item(50), item(60)) for _ in range(4)]
        self.assertEqual(ratios.compare(quads, ["mpich", "openmpi"])["rows"][0]["best"], "openmpi")

    def test_what_differs_less_than_hearth_from_itself_is_equal(self):
        chance = random.Random(3)
        quads = [quad("itself", item(100 * chance.uniform(0.8, 1.25)), item(100)) for _ in range(8)]
        quads += [quad("mpich", item(97), item(100)) for _ in range(8)]
        row = ratios.compare(quads, ["mpich"])["rows"][0]
        self.assertGreater(row["resolution"], 0.03)
        self.assertEqual(row["peers"]["mpich"]["verdict"], "equal")

    def test_an_interval_around_one_is_open(self):
        self.assertEqual(ratios.verdict(0.9, 0.7, 1.1, 0.01), "open")
        self.assertEqual(ratios.verdict(0.9, 0.85, 0.95, 0.01), "faster")
        self.assertEqual(ratios.verdict(1.2, 1.1, 1.3, 0.01), "slower")


class Report(unittest.TestCase):
    def test_a_table_says_what_was_promised_and_whether_it_is_kept(self):
        quads = [quad("mpich", item(50), item(100)) for _ in range(4)]
        comparison = ratios.compare(quads, ["mpich"])
        comparison["rows"][0]["promised"] = 0.45
        comparison["about"] = {"date": "today", "processor": "some", "kernel": "6", "options": {"ranks": 2},
                               "libraries": {"hearth": "Hearth 1"}}
        for text in (report.as_text(comparison), report.as_markdown(comparison)):
            self.assertIn("half round trip, 8 B", text)
            self.assertIn("0.50 (0.50 to 0.50) faster", text)
            self.assertIn("0.45: not kept", text)
            self.assertIn("0 of 8 pairs", text)

    def test_columns_name_peers_and_bases(self):
        self.assertEqual(report.header(["impi", "base 1"])[1:4], ["Hearth", "Intel MPI", "base 1"])


class Failures(unittest.TestCase):
    """A job that hangs: blocks.quad() is replaced."""

    def measure(self, failing, times):
        ours, other = SimpleNamespace(name="hearth"), SimpleNamespace(name="mpich")
        left = [times]

        def quad(_plan, _ours, partner, _chance):
            if partner is other and left[0] > 0:
                left[0] -= 1
                raise blocks.Failed("no end", other if failing == "mpich" else ours)
            return partner.name

        kept, blocks.quad = blocks.quad, quad
        try:
            return blocks.measure(None, ours, [other], 5, 60, 1)
        finally:
            blocks.quad = kept

    def test_a_peer_may_fail_twice(self):
        quads = self.measure("mpich", blocks.FAILURES_MAX - 1)
        self.assertEqual((quads.count("hearth"), quads.count("mpich")), (5, 5 - blocks.FAILURES_MAX + 1))
        with self.assertRaises(blocks.Failed):
            self.measure("mpich", blocks.FAILURES_MAX)

    def test_hearth_must_not_fail(self):
        with self.assertRaises(blocks.Failed):
            self.measure("hearth", 1)


def plan(**changes):
    usual = {"runs": None, "derived": False, "one_sided": False, "collectives": False, "fresh": False,
             "first": False, "start": False, "python": False, "ranks": 2, "alloc": "malloc", "send_offset": 0,
             "recv_offset": 0, "time_ms": 1}
    return cases.Plan(SimpleNamespace(**{**usual, **changes}))


class Plans(unittest.TestCase):
    def test_collectives_have_promises_of_their_own_for_each_number_of_ranks(self):
        two, eight = plan(collectives=True), plan(collectives=True, ranks=8)
        for item, promised in ((("barrier", 0), 0.50), (("reduce", 8), 0.50), (("allgather", 1 << 20), 0.70),
                               (("scan", 8), None)):
            self.assertEqual(two.promised(*item), promised)
        for item, promised in ((("barrier", 0), 0.50), (("allreduce", 8), 0.60), (("allreduce", 65536), 0.60),
                               (("alltoall", 1024), 0.60)):
            self.assertEqual(eight.promised(*item), promised)
        self.assertIsNone(plan(collectives=True, ranks=3).promised("barrier", 0))
        self.assertIsNone(plan(collectives=True, alloc="mpi").promised("barrier", 0))
        for each, expected in (eight, "barrier"), (two, "scan:8,1024,65536,1048576"):
            self.assertEqual([expected in job for job in each.jobs(7)], [True])

    def test_first_calls_have_a_job_each(self):
        jobs = plan(first=True).jobs(7)
        self.assertEqual(sorted(jobs), sorted(["first", case, str(size)] for case, size in cases.FIRST))
        self.assertNotEqual(jobs, plan(first=True).jobs(8))
        self.assertEqual(cases.title("ten_allreduce", 80000), "first ten, mean: allreduce, 80000 B")

    def test_what_is_promised_is_measured(self):
        for runs, promised in ((cases.collective_runs(2), cases.COLLECTIVES_PROMISED),
                               (cases.collective_runs(8), cases.MANY_RANKS_PROMISED)):
            items = set()
            for run in runs:
                case, _, sizes = run.partition(":")
                items |= {(case, int(size)) for size in sizes.split(",")} if sizes else {(case, 0)}
            self.assertLessEqual(set(promised), items)

    def test_only_messages_come_with_the_time_of_an_empty_program(self):
        self.assertTrue(plan().with_init)
        self.assertFalse(plan(collectives=True).with_init or plan(derived=True).with_init)
        self.assertFalse(plan(one_sided=True).with_init)

    def test_windows_have_nothing_promised(self):
        windows = plan(one_sided=True)
        self.assertEqual(windows.runs, cases.ONE_SIDED)
        self.assertIsNone(windows.promised("put", 8))
        for run in windows.runs:
            self.assertIn(run.split(":")[0], cases.TITLES)

    def test_new_buffers_are_measured_in_c_or_in_python(self):
        for python, names in ((False, ["fresh", "kept"]), (True, cases.PYTHON)):
            runs = plan(fresh=True, python=python).runs
            self.assertEqual([run.split(":")[0] for run in runs], names)
            for run in runs:
                self.assertEqual(run.split(":")[1], ",".join(map(str, cases.FRESH_BYTES)))
                self.assertIn(run.split(":")[0], cases.TITLES)

    def test_ranks_without_a_processor_of_their_own_are_bound_to_none(self):
        library = peers.Library("x", "X", Path("/x"), Path("/x/driver"), {}, ["-bind"], ["-loose"])
        self.assertEqual(library.command(1), ["/x/bin/mpiexec", "-bind", "-n", "1", "/x/driver"])
        self.assertEqual(library.command(10**6), ["/x/bin/mpiexec", "-loose", "-n", "1000000", "/x/driver"])


if __name__ == "__main__":
    unittest.main()
