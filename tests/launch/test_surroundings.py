#!/usr/bin/env python3
"""Jobs on a machine that lacks something (surroundings.py), and without any network.

A few programs in each; `make check-surroundings` runs all tests there. Where namespaces or filters are not
allowed the test says so and is skipped.
"""

import json
import os
import subprocess
import unittest
from pathlib import Path

from common import BIN, LIMIT_S, MPIEXEC, LaunchTest
from surroundings import SURROUNDINGS, possible

MULTI = Path(os.environ["HEARTH_MULTI"])  # where the programs of tests/multi are
PROGRAMS = {
    "ring": ("-n", "3", MULTI / "multi_ring"),
    "messages": ("-n", "3", "-x", "HEARTH_P2P_SINGLE_COPY_BYTES_MIN=1", MULTI / "pt2pt/multi_pt2pt_random",
                 "9", "6"),
    "memory": ("-n", "2", MULTI / "memory/multi_memory_alloc"),
    "collectives": ("-n", "4", MULTI / "coll/multi_coll_overlap"),
}


class Surroundings(LaunchTest):
    def run_in(self, prefix, *command):
        return subprocess.run([*prefix, *map(str, command)], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False, env=self.environment())

    def check_jobs(self, prefix):
        for name, arguments in PROGRAMS.items():
            with self.subTest(name):
                result = self.run_in(prefix, MPIEXEC, "--oversubscribe", *arguments)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertEqual(result.stderr, "")

    def missing(self, prefix):
        result = self.run_in(prefix, BIN / "hearth", "info", "--explain", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        protocols = json.loads(result.stdout)["protocols"]
        self.assertEqual(protocols["missing_here"] == "nothing", protocols["missing"] == [])
        for row in protocols["missing"]:
            self.assertTrue(row["because"] and row["instead"], row)
        return {row["missing"] for row in protocols["missing"]}

    def check(self, name):
        prefix = SURROUNDINGS[name].prefix(MULTI / "pt2pt")
        if not possible(prefix):
            self.skipTest("needs the right to make namespaces and filters (root)")
        self.check_jobs(prefix)
        # The test itself may run where something is missing already.
        self.assertEqual(self.missing(prefix), self.missing([]) | {SURROUNDINGS[name].missing})

    def test_no_single_copy(self):
        self.check("no-single-copy")

    def test_little_room_in_dev_shm(self):
        self.check("small-dev-shm")

    def test_empty_sys(self):
        self.check("no-sys")

    def test_one_processor(self):
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("there is one processor anyway")
        self.check("one-processor")

    def test_no_network(self):
        # Not even the loopback device is up.
        prefix = ["unshare", "--net"]
        if not possible(prefix):
            self.skipTest("needs the right to make namespaces (root)")
        self.check_jobs(prefix)


if __name__ == "__main__":
    unittest.main()
