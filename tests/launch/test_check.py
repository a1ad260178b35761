#!/usr/bin/env python3
"""mpiexec --check: the text of findings, exit codes and files. tests/checks tests the findings themselves."""

import json
import os
import sys
import unittest

from common import LaunchTest, shell

PROGRAMS = os.environ["HEARTH_CHECK_PROGRAMS"]  # the folder of tests/checks in the build


def program(name):
    return os.path.join(PROGRAMS, f"checks_{name}")


class Check(LaunchTest):
    def test_a_finding_names_ranks_calls_and_places(self):
        err = self.run_mpiexec("--check", "-n", 2, program("types"), "int_float").stderr
        self.assertIn(
            "check: rank 1: a message from rank 0, tag 3, on MPI_COMM_WORLD was sent as 4 x MPI_INT and "
            "received as 4 x MPI_FLOAT\n",
            err,
        )
        place = r"\w+\+0x[0-9a-f]+ in checks_types\n"
        self.assertRegex(err, r"check:   sent by rank 0 in MPI_Send at " + place)
        self.assertRegex(err, r"check:   received by rank 1 in MPI_Recv at " + place)
        self.assertIn("(MPI 5.0 section 3.3.1). Remedy: ", err)
        self.assertIn("mpiexec: check: found messages of another type 1; checked 1 messages", err)

    def test_both_sides_of_a_collective_are_shown(self):
        err = self.run_mpiexec("--check", "-n", 2, program("collectives"), "reduce_operation").stderr
        self.assertIn("collective 1 of MPI_COMM_WORLD is called with different operations\n", err)
        for rank, op in (0, "MPI_SUM"), (1, "MPI_PROD"):
            call = rf"check:   rank {rank}: MPI_Reduce\(root 0, {op}, 1 x MPI_INT\), called from \w+\+0x"
            self.assertRegex(err, call)

    def test_a_right_program(self):
        case = program("types"), "ok_same"
        err = self.run_mpiexec("--check=fatal,strict", "--oversubscribe", "-n", 2, *case).stderr
        self.assertEqual(
            err,
            "mpiexec: check: nothing found in 1 messages, of which 1 could be compared, and 0 calls of "
            "collectives\n",
        )

    def test_fatal_ends_the_job_at_once(self):
        result = self.run_mpiexec("--check=fatal", "-n", 2, program("types"), "int_float", code=1)
        self.assertIn("rank 1 ended the job with code 1", result.stderr)

    def test_fatal_at_the_end_is_in_the_exit_code(self):
        case = program("lifetimes"), "dup_never_freed"
        err = self.run_mpiexec("--check=fatal", "-n", 2, *case, code=1).stderr
        self.assertNotIn("ended the job", err)
        self.assertIn("check: found objects never freed 2;", err)
        self.assertEqual(err.count("a communicator was never freed"), 1)  # reported once per call site

    def test_fatal_ends_a_deadlock(self):
        err = self.run_mpiexec("--check=fatal", "-n", 2, program("order"), "receive_receive", code=1).stderr
        self.assertIn("mpiexec: deadlock: ranks 0 and 1 wait for each other", err)
        # The call site is in the program, not in the checking library.
        self.assertRegex(err, r"rank 0 waits in MPI_Recv .* called from receive_receive\+0x[0-9a-f]+ <- main")

    def test_the_environment_asks_for_it_too(self):
        case = program("types"), "int_float"
        err = self.run_mpiexec("-n", 2, *case, env={"HEARTH_CHECK": "fatal"}, code=1).stderr
        self.assertIn("found messages of another type 1", err)
        err = self.run_mpiexec("--oversubscribe", "-n", 2, *case, env={"HEARTH_CHECK": "no"}).stderr
        self.assertEqual(err, "")

    def test_json(self):
        self.run_mpiexec("--check-json", "found.json", "-n", 2, program("lifetimes"), "send_never_received")
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual(found["counts"]["messages never received"], 1)
        self.assertEqual(len(found["findings"]), 1)
        text = found["findings"][0]["text"]
        self.assertIn("a message from rank 0 to rank 1, tag 0, on MPI_COMM_WORLD was never received", text)

    def test_a_program_without_mpi(self):
        err = self.run_mpiexec("--check", "-n", 2, *shell("true")).stderr
        self.assertIn("check: nothing was checked: no rank called MPI_Init", err)

    def test_a_program_behind_a_script_that_closes_descriptors(self):
        close = ["import os, sys", "os.closerange(3, 1000)", "os.execv(sys.argv[1], sys.argv[1:])"]
        err = self.run_mpiexec(
            "--check", "-n", 2, sys.executable, "-S", "-c", "\n".join(close), program("types"), "int_float"
        ).stderr
        self.assertIn("check: found messages of another type 1;", err)

    def test_what_it_does_not_know(self):
        result = self.run_mpiexec("--check=sometimes", "-n", 1, "true", code=2)
        self.assertIn("--check: 'sometimes' is none of yes, fatal, strict and no", result.stderr)
        result = self.run_mpiexec("--check-json", "/no/such/folder/x", "-n", 1, "true", code=2)
        self.assertIn("cannot write '/no/such/folder/x'", result.stderr)


if __name__ == "__main__":
    unittest.main()
