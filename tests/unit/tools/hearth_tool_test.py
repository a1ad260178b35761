"""Runs the hearth command from outside: hearth_tool_test.py PATH [--with-bench]."""

import ctypes
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

TOOL = sys.argv[1]
WITH_BENCH = "--with-bench" in sys.argv


def hearth(*arguments, environment=None):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False, timeout=120,
                          env=environment)


def kernel_copies():
    """Whether the kernel lets this process copy between processes: a seccomp filter may refuse it."""
    return ctypes.CDLL(None).process_vm_readv(os.getpid(), None, 0, None, 0, 0) == 0


def info(*arguments, environment=None):
    return json.loads(hearth("info", "--json", *arguments, environment=environment).stdout)


class Info(unittest.TestCase):
    def test_json_has_every_section(self):
        document = info()
        self.assertEqual(list(document), [
            "build", "machine", "topology", "memory_nodes", "limits", "probes", "network", "parameters",
            "profile", "thresholds", "memory_per_rank"])
        self.assertGreaterEqual(document["topology"]["processors"], 1)
        self.assertIn("shm_ring_bytes", [row["parameter"] for row in document["parameters"]])

    def test_text_shows_the_same_parameters(self):
        names = [row["parameter"] for row in info()["parameters"]]
        text = hearth("info").stdout
        for name in names:
            self.assertIn(name, text)

    def test_a_parameter_names_its_source(self):
        document = info(environment={"HEARTH_SHM_BUFFER_COUNT": "7"})
        rows = {row["parameter"]: row for row in document["parameters"]}
        self.assertEqual(rows["shm_buffer_count"]["value"], "7")
        self.assertEqual(rows["shm_buffer_count"]["source"], "environment")
        self.assertEqual(rows["shm_buffer_bytes"]["source"], "default")

    def test_thresholds_say_where_they_come_from(self):
        environment = {"HEARTH_P2P_FRAGMENT_BYTES_MAX": "4K",
                       "HEARTH_TUNED": ("p2p_first_fragment_bytes:unknown=3000;"
                                        "p2p_fragment_bytes_max:unknown=9")}
        rows = {(row["threshold"], row["both_share"]): (row["value"], row["source"])
                for row in info(environment=environment)["thresholds"]}
        self.assertEqual(rows["p2p_fragment_bytes_max", "unknown"], (4096, "environment"))
        self.assertEqual(rows["p2p_first_fragment_bytes", "unknown"], (3000, "profile"))
        self.assertEqual(rows["p2p_first_fragment_bytes", "self"][1], "default")

    def test_memory_follows_the_formula_and_stands_beside_the_original(self):
        memory = info("--memory", "-n", "64")["memory_per_rank"]["memory"]
        self.assertEqual(len(memory), 1)
        row = memory[0]
        self.assertEqual(row["ranks"], 64)
        own, each = row["before_it_talks_bytes"], row["each_partner_bytes"]
        self.assertEqual(row["all_to_all_bytes"], own + 63 * each)
        self.assertEqual(row["original_design_bytes"], 63 << 20)
        environment = {"HEARTH_COLL_PIPELINE_BYTES": "1M"}
        chunks = info("--memory", "-n", "2", environment=environment)["memory_per_rank"]
        self.assertEqual(chunks["memory"][0]["each_communicator_bytes"], (1 << 20) + (72 << 10))
        self.assertEqual(row["job_original_design_bytes"], 64 * 63 << 20)
        self.assertLess(row["all_to_all_bytes"], row["original_design_bytes"] / 10)

    def test_explain_says_what_each_collective_takes(self):
        rows = info("--explain", "-n", "2",
                    environment={"HEARTH_COLL_WHOLE_BYTES_MAX": "2K"})["protocols"]["collectives"]
        self.assertEqual({row["collective"] for row in rows},
                         {"allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce",
                          "reduce_scatter", "scan", "scatter"})
        short = [row for row in rows if row["collective"] == "allreduce"][0]
        self.assertEqual((short["bytes_each"], short["algorithm"]), ("1 to 2048", "flat"))
        rows = info("--explain", "-n", "4", "--size", "8",
                    environment={"HEARTH_COLL_ALGORITHMS": "allreduce=tree"})["protocols"]["collectives"]
        wished = [row for row in rows if row["collective"] == "allreduce"]
        self.assertEqual([(row["algorithm"], row["why"]) for row in wished],
                         [("tree", "HEARTH_COLL_ALGORITHMS names it")])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two ranks would share the only processor")
    def test_explain_says_the_limits_of_collectives_and_where_they_come_from(self):
        def allreduces(environment):
            rows = info("--explain", "-n", "2", environment=environment)["protocols"]["collectives"]
            return [(row["bytes_each"], row["algorithm"], row["why"].split(": ")[1])
                    for row in rows if row["collective"] == "allreduce"][1:]
        tuned = {"HEARTH_TUNED": "coll_whole_bytes_max=6000"}
        self.assertEqual(allreduces(tuned),
                         [("2049 to 6000", "pipeline_whole", "coll_whole_bytes_max = 6000, profile"),
                          ("6001 and more", "pipeline_shares", "coll_whole_bytes_max = 6000, profile")])
        said = {why for _, _, why in allreduces(tuned | {"HEARTH_COLL_WHOLE_BYTES_MAX": "1K"})}
        self.assertEqual(said, {"coll_whole_bytes_max = 1024, environment"})
        self.assertEqual([why.split(", ")[1] for _, _, why in allreduces({})], ["default", "default"])

    def test_explain_covers_every_length_once(self):
        rows = info("--explain")["protocols"]["rows"]
        for kind in {(row["both_share"], row["buffers"]) for row in rows}:
            lengths = [row["bytes"].split() for row in rows if (row["both_share"], row["buffers"]) == kind]
            self.assertEqual(lengths[0][0], "0")
            self.assertEqual(lengths[-1][1:], ["and", "more"])
            for here, following in zip(lengths, lengths[1:]):
                self.assertEqual(int(here[2]) + 1, int(following[0]))

    def test_explain_follows_the_parameters(self):
        protocols = info("--explain", environment={"HEARTH_P2P_SINGLE_COPY": "0"})["protocols"]
        self.assertNotIn("single copy", [row["protocol"] for row in protocols["rows"]])
        said = {row["why_not"] for row in protocols["rejected"]
                if row["not_taken"] == "single copy" and row["both_share"] == "unknown"}
        self.assertEqual(said, {"not offered: p2p_single_copy = 0, environment"})

    def test_explain_one_length(self):
        protocols = info("--explain", "--size", "64KiB")["protocols"]
        kinds = [(row["both_share"], row["buffers"]) for row in protocols["rows"]]
        self.assertEqual(len(kinds), len(set(kinds)))
        self.assertEqual(protocols["message_bytes"], 65536)
        for row in protocols["rows"]:
            others = {other["not_taken"] for other in protocols["rejected"]
                      if (other["both_share"], other["buffers"]) == (row["both_share"], row["buffers"])}
            self.assertTrue(others)
            self.assertNotIn(row["protocol"], others)

    def test_explain_has_the_ways_between_machines(self):
        if "without libfabric" in info()["build"]["network"]:
            self.skipTest("no network in this build")
        environment = {"HEARTH_P2P_EAGER_BYTES_MAX": "5000", "HEARTH_FABRIC_ALIVE": "7s"}
        protocols = info("--explain", environment=environment)["protocols"]
        rows = [(row["bytes"], row["protocol"]) for row in protocols["rows"]
                if row["both_share"] == "network"]
        self.assertEqual(rows, [("0 to 5000", "packet"), ("5001 and more", "buffer")])
        self.assertTrue("7s" in protocols["network"] or protocols["network"].startswith("none: "))
        without = info("--explain", environment={"HEARTH_FABRIC_LIBRARY": "/nowhere.so"})["protocols"]
        self.assertIn("cannot be opened", without["network"])

    def test_probes_tell_what_works(self):
        probes = {row["what"]: row["works"] for row in info()["probes"]}
        self.assertEqual(probes["memfd_create, mapped"], "yes")
        expected = "yes" if kernel_copies() else "no: Operation not permitted"
        self.assertEqual(probes["process_vm_readv on itself"], expected)


class Doctor(unittest.TestCase):
    def lines(self, *arguments, environment=None):
        result = hearth("doctor", "--json", *arguments, environment=environment)
        document = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if document["healthy"] else 1)
        return document["lines"]

    def test_every_line_that_is_not_ok_has_a_remedy(self):
        lines = self.lines(environment={"PATH": "/nowhere", "HEARTH_FABRIC_LIBRARY": "/nowhere.so"})
        outcome = {line["what"]: line["outcome"] for line in lines}
        self.assertEqual(outcome["launcher, more machines"], "not")
        self.assertEqual(outcome["network"], "not")
        self.assertEqual(outcome["shared memory"], "ok")
        for line in lines:
            self.assertIn(line["outcome"], ("ok", "not"))
            self.assertEqual(bool(line["remedy"]), line["outcome"] == "not", line)

    def test_launchers_are_found_with_what_they_speak(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "mpiexec.hydra")
            program.write_text("#!/bin/sh\n", encoding="utf-8")
            program.chmod(0o755)
            lines = {line["what"]: line for line in self.lines(environment={"PATH": folder})}
            self.assertEqual(lines["launcher, more machines"]["outcome"], "ok")
            self.assertEqual(lines["launcher, more machines"]["found"], f"{program} (PMI-1)")

    def test_a_limit_that_is_too_low_is_named(self):
        limited = subprocess.run(["sh", "-c", f"ulimit -n 200; exec {TOOL} doctor --json"],
                                 capture_output=True, text=True, check=False, timeout=60)
        lines = {line["what"]: line for line in json.loads(limited.stdout)["lines"]}
        self.assertEqual((lines["open files"]["outcome"], lines["open files"]["found"]), ("not", "200"))
        self.assertEqual(limited.returncode, 1)

    def test_names_of_machines_are_looked_up(self):
        lines = {line["found"]: line["outcome"] for line in self.lines("--hosts", "localhost")
                 if line["what"] == "name of a machine"}
        self.assertEqual(list(lines.values()), ["ok"])


class Words(unittest.TestCase):
    def test_no_subcommand_is_an_error(self):
        result = hearth()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("subcommand", result.stderr)

    def test_an_unknown_subcommand_is_named(self):
        result = hearth("bensh")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("there is no subcommand 'bensh'", result.stderr)

    def test_bad_options_are_named(self):
        for arguments, word in ((["bench", "warp"], "warp"), (["bench", "-n", "1"], "2 ranks"),
                                (["bench", "--alloc", "gpu"], "gpu"),
                                (["bench", "--collective", "rumour"], "rumour"), (["info", "-n", "0"], "0"),
                                (["bench", "--min-bytes", "9", "--max-bytes", "8"], "--max-bytes")):
            result = hearth(*arguments)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn(word, result.stderr + result.stdout, arguments)


class WellFormed(html.parser.HTMLParser):
    """Checks that the elements of a page are nested properly and that the page fetches nothing."""
    EMPTY = {"meta", "br", "img", "hr"}

    def __init__(self, test):
        super().__init__()
        self.test, self.open = test, []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            self.test.assertNotIn(name, ("src", "srcset"))
            self.test.assertTrue(name != "href" or value.startswith("#"), value)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.test.assertEqual(self.open.pop(), tag)

    def handle_startendtag(self, tag, attributes):
        pass


@unittest.skipUnless(WITH_BENCH, "no driver was built")
class Paper(unittest.TestCase):
    NAMES = ["relations", "buffer-reuse", "cache-misses", "skew", "ranks", "memory", "distribution",
             "bottleneck", "tiling", "memory-placement", "affinity", "chunks", "alltoall"]

    def test_every_experiment_runs_and_is_in_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            page, numbers = Path(folder, "report.html"), Path(folder, "report.json")
            result = hearth("bench", "paper", "--all", "--quick", "-o", str(page),
                            "--json", str(numbers))
            if len(os.sched_getaffinity(0)) > 1:
                self.assertEqual(result.returncode, 0, result.stderr)
            document, text = json.loads(numbers.read_text()), page.read_text()
        self.assertEqual([row["name"] for row in document["experiments"]], self.NAMES)
        for row in document["experiments"]:
            self.assertIn(row["title"], text)
            self.assertGreater(len(row["claims"]), 0)
            for claim in row["claims"]:
                self.assertIn(claim["verdict"], ("confirmed", "not confirmed", "not measurable here"))
                self.assertTrue(claim["because"])
            measured = row["plots"] or row["matrices"]
            self.assertTrue(measured or row.get("missing"), row["name"])
            for plot in row["plots"]:
                drawn = [curve for curve in plot["curves"] if curve["points"]]
                self.assertTrue(drawn, (row["name"], plot["title"]))
        reader = WellFormed(self)
        reader.feed(text)
        reader.close()
        self.assertEqual(reader.open, [])
        self.assertIn("prefers-color-scheme: dark", text)

    def test_one_experiment_by_name(self):
        result = hearth("bench", "paper", "tiling", "--quick")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("in tiles", result.stdout)
        self.assertIn("[1/1] tiling", result.stderr)

    def test_the_list_names_all_and_an_unknown_name_is_told(self):
        text = hearth("bench", "paper", "--list").stdout
        for name in self.NAMES:
            self.assertIn(f"\n{name}: ", "\n" + text)
        result = hearth("bench", "paper", "no-such")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--list", result.stderr)
        self.assertEqual(hearth("bench", "paper").returncode, 1)

    def test_a_library_that_is_not_there_is_left_out_with_one_line(self):
        result = hearth("bench", "paper", "tiling", "--quick", "--mpi", "/no/such/prefix")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "/no/such/prefix" in line]
        self.assertEqual(len(lines), 1, result.stderr)

    def test_the_same_sources_run_as_another_library(self):
        """Hearth in place of the other library: the same programs are built and started as for a peer."""
        prefix = Path(TOOL).parent.parent
        result = hearth("bench", "paper", "tiling", "--quick", "--mpi", str(prefix))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("without the library", result.stderr)
        self.assertIn("other Hearth, in tiles", result.stdout)

    def test_another_application_is_looked_at(self):
        program = Path(TOOL).parent.parent / "libexec" / "hearth" / "paper_probe"
        with tempfile.TemporaryDirectory() as folder:
            numbers = Path(folder, "report.json")
            result = hearth("bench", "paper", "distribution", "--quick", "--application-ranks", "2",
                            "--application", f"{program} application 16 3", "--json", str(numbers))
            self.assertEqual(result.returncode, 0, result.stderr)
            row = json.loads(numbers.read_text())["experiments"][0]
        self.assertGreater(row["numbers"]["messages"], 0)
        self.assertIn("application 16 3", " ".join(row["notes"]))


@unittest.skipUnless(WITH_BENCH, "no driver was built")
class Bench(unittest.TestCase):
    def run_bench(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            names = Path(folder, "results.json"), Path(folder, "plot.svg")
            result = hearth("bench", "--time-ms", "2", *arguments, "--json", str(names[0]),
                            "--plot", str(names[1]))
            self.assertEqual(result.returncode, 0, result.stderr)
            xml.etree.ElementTree.parse(names[1])
            return result.stdout, json.loads(names[0].read_text())

    def test_every_case_runs_and_checks_its_data(self):
        names = ["latency", "bandwidth", "bidirectional", "rate", "pairs", "unexpected"]
        text, document = self.run_bench(*names, "--sizes", "0,1,48,4097,100000")
        found = [(r["case"], r["bytes"]) for r in document["results"]]
        self.assertEqual(found, [(name, size) for size in (0, 1, 48, 4097, 100000) for name in names])
        for result in document["results"]:
            self.assertGreater(result["median_ns"], 0, result)
        self.assertIn("protocol", text)

    def test_offsets_and_buffers_of_the_library(self):
        _, document = self.run_bench("--alloc", "mpi", "--offset", "15", "--min-bytes", "1024",
                                     "--max-bytes", "65536")
        found = [document[key] for key in ("alloc", "send_offset", "receive_offset")]
        self.assertEqual(found, ["mpi", 15, 15])
        self.assertEqual({r["bytes"] for r in document["results"]}, {1 << k for k in range(10, 17)})

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "two ranks would share the only processor")
    def test_the_way_taken_is_compared_with_all_others(self):
        result = hearth("tune", "--check", "--min-bytes", "1000", "--max-bytes", "5000")
        self.assertEqual(result.returncode, 0, result.stderr)
        # 1024, 1536, 2048, 3072 and 4096 bytes, from malloc and from MPI_Alloc_mem, for each relation.
        places = re.search(r"^\d+ of (\d+) lengths: ", result.stdout, re.MULTILINE)
        self.assertIsNotNone(places, result.stdout)
        self.assertGreater(int(places[1]), 0)
        self.assertEqual(int(places[1]) % 10, 0)
        result = hearth("tune", "--check", "--min-bytes", "5", "--max-bytes", "5")
        self.assertIn("no power of two", result.stderr)

    def test_a_consumer_that_lags(self):
        with tempfile.TemporaryDirectory() as folder:
            names = Path(folder, "results.json"), Path(folder, "plot.svg")
            result = hearth("bench", "--skew", "--sizes", "65536", "--json", str(names[0]), "--plot",
                            str(names[1]))
            self.assertEqual(result.returncode, 0, result.stderr)
            xml.etree.ElementTree.parse(names[1])
            document = json.loads(names[0].read_text())
        self.assertEqual((document["bytes"], document["alloc"]), (65536, "mpi"))
        self.assertIn(document["verdict"], result.stdout)
        points = document["points"]
        self.assertEqual([point["delay_copies"] for point in points], [0, 0.5, *range(1, 11)])
        for point in points:
            better = min(point["buffered_ns"], point["single_copy_ns"])
            self.assertGreater(better, 0)
            self.assertAlmostEqual(point["ratio"], point["skew_aware_ns"] / better)

    def test_collectives_check_their_data_and_say_which_algorithm_they_took(self):
        names = ["bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
                 "alltoallv", "reduce", "allreduce", "reduce_scatter_block", "scan", "exscan"]
        text, document = self.run_bench("--collective", "all", "--sizes", "8,5000")
        found = [(r["case"], r["bytes"]) for r in document["results"]]
        self.assertEqual(found, [("barrier", 0)] + [(name, size) for name in names for size in (8, 5000)])
        for result in document["results"]:
            self.assertGreater(result["median_ns"], 0, result)
        for row in (r for r in document["results"] if r["case"] == "allreduce"):
            self.assertRegex(text, rf"\n +{row['bytes']} .* {row['algorithm']}\n")

    def test_more_ranks_than_processors_in_a_collective(self):
        _, document = self.run_bench("-n", "5", "--collective", "alltoall,barrier,scan", "--sizes", "8,4096")
        found = [r["case"] for r in document["results"]]
        self.assertEqual(found, ["alltoall", "alltoall", "barrier", "scan", "scan"])

    def test_more_ranks_than_the_pair_stay_idle(self):
        _, document = self.run_bench("latency", "-n", "5", "--sizes", "8")
        self.assertEqual(document["ranks"], 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
