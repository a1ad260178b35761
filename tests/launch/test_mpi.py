#!/usr/bin/env python3
"""mpiexec with MPI programs: what ranks see of the job, and what is reported when one of them ends."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

from common import LIMIT_S, LaunchTest, python, shell

PROGRAM = os.environ["HEARTH_RANK_PROGRAM"]  # built from rank.c


class Job(LaunchTest):
    def test_ranks_of_several_programs_are_one_world(self):
        lines = self.lines("-n", 2, "--oversubscribe", PROGRAM, ":", "-n", 1, PROGRAM)
        self.assertEqual(
            lines, ["rank 0 of 3, program 0", "rank 1 of 3, program 0", "rank 2 of 3, program 1"]
        )

    def test_without_mpiexec_it_runs_alone(self):
        result = subprocess.run(
            [PROGRAM], capture_output=True, text=True, timeout=LIMIT_S, check=True, env=self.environment()
        )
        self.assertRegex(result.stdout, "^rank 0 of 1, program ")

    def test_under_a_foreign_launcher_it_stops_with_the_remedy(self):
        result = subprocess.run(
            [PROGRAM],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=self.environment({"PMI_SIZE": "2", "PMI_RANK": "0"}),
        )
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("or with Hearth's mpiexec: mpiexec -n 2", result.stderr)

    def test_behind_a_wrapper_that_closes_descriptors(self):
        wrapper = python(
            "import subprocess, sys", "sys.exit(subprocess.run(sys.argv[1:], close_fds=True).returncode)"
        )
        lines = self.lines("-n", 2, "--oversubscribe", *wrapper, PROGRAM)
        self.assertEqual(lines, ["rank 0 of 2, program 0", "rank 1 of 2, program 0"])

    def test_a_program_that_a_rank_starts_runs_alone(self):
        lines = self.lines("-n", 2, "--oversubscribe", PROGRAM, "run", f"{PROGRAM} report")
        self.assertEqual([line[:11] for line in lines], ["rank 0 of 1"] * 2)

    def test_mpiexec_inside_a_rank(self):
        inner = f"{os.environ['HEARTH_BIN']}/mpiexec -n 2 --oversubscribe {PROGRAM} report"
        lines = self.lines("-n", 2, "--oversubscribe", PROGRAM, "run", inner)
        self.assertEqual(lines, ["rank 0 of 2, program 0"] * 2 + ["rank 1 of 2, program 0"] * 2)

    def test_second_program_in_one_rank_stops(self):
        result = self.start("-n", 2, "--oversubscribe", *shell(f"{PROGRAM} report; {PROGRAM} report"))
        out, err = result.communicate(timeout=LIMIT_S)
        self.assertNotEqual(result.returncode, 0)
        self.assertLessEqual(len(out.splitlines()), 2)
        self.assertRegex(err, r"process \d+ has been rank \d of this job already")


class Variables(LaunchTest):
    def test_unknown_variable_is_reported_once(self):
        result = self.run_mpiexec(
            "-n", 2, "--oversubscribe", "-x", "HEARTH_PEER=1", PROGRAM, env={"HEARTH_SHARE_HEEP": "no"}
        )
        self.assertEqual(
            result.stderr,
            "mpiexec: note: unknown variable HEARTH_SHARE_HEEP; did you mean HEARTH_SHARE_HEAP?\n"
            "mpiexec: note: unknown variable HEARTH_PEER; `hearth info` lists all\n",
        )

    def test_value_that_cannot_be_read_is_reported_once(self):
        result = self.run_mpiexec(
            "-n", 2, "--oversubscribe", PROGRAM, env={"HEARTH_SHM_RING_BYTES": "many"}
        )
        self.assertEqual(result.stderr.count("HEARTH_SHM_RING_BYTES"), 1, result.stderr)


class OneGoes(LaunchTest):
    def ended(self, *arguments, code):
        start = time.monotonic()
        result = self.run_mpiexec("-n", 3, "--oversubscribe", PROGRAM, *arguments, code=code)
        self.assertLess(time.monotonic() - start, 30)
        return result.stderr

    def test_exit_without_finalize(self):
        err = self.ended("exit", 3, code=3)
        self.assertRegex(err, r"mpiexec: rank 1 \(.*, process \d+\) ended with exit code 3\n")

    def test_exit_0_without_finalize(self):
        err = self.ended("exit", 0, code=1)
        self.assertRegex(err, r"rank 1 .* ended with exit code 0 after MPI_Init, but without MPI_Finalize\n")

    def test_crash(self):
        err = self.ended("crash", int(signal.SIGSEGV), code=139)
        self.assertRegex(err, r"rank 1 .* was killed by SIGSEGV")

    def test_what_the_others_were_doing_is_told(self):
        err = self.ended("crash", int(signal.SIGKILL), code=137)
        self.assertRegex(
            err,
            r"mpiexec: +rank 0 waits in MPI_Recv for a message from rank 1, tag 7, on MPI_COMM_WORLD, for "
            r"\d+\.\d s, called from .*main\+0x[0-9a-f]+ in launch_rank\n",
        )
        self.assertRegex(err, r"mpiexec: +rank 2 waits in MPI_Recv for a message from rank 1, tag 7, on")

    def test_failure_before_init(self):
        err = self.ended("before-init", code=5)
        self.assertRegex(err, r"rank 1 .* ended with exit code 5\n")

    def test_failure_after_finalize(self):
        err = self.ended("after-finalize", code=6)
        self.assertRegex(err, r"rank 1 .* ended with exit code 6\n")

    def test_abort(self):
        for given, code in ((42, 42), (0, 1), (256, 1), (259, 3)):
            err = self.ended("abort", given, code=code)
            self.assertRegex(err, rf"mpiexec: rank 1 ended the job with code {given}")
            self.assertEqual(len(re.findall("ended the job", err)), 1)


class TimeLimit(LaunchTest):
    def test_says_what_each_rank_waits_for(self):
        err = self.run_mpiexec("-n", 4, "--oversubscribe", "--timeout", 1, PROGRAM, "hang", code=124).stderr
        self.assertRegex(err, r"^mpiexec: the time limit of 1 s is over\nmpiexec: ending 4 ranks\n")
        self.assertIn("no deadlock: ranks 0 to 2 wait for rank 3\n", err)
        self.assertRegex(err, r"rank 0 waits in MPI_Recv for a message from rank 1, tag 7, on MPI_COMM_WOR")
        self.assertRegex(err, r"rank 1 waits in MPI_Recv for a message from any rank, any tag, on MPI")
        self.assertRegex(err, r"rank 2 waits in MPI_Barrier on MPI_COMM_WORLD for ranks 0, 1 and 3, for")
        self.assertRegex(err, r"rank 3 is outside MPI, and sleeps")

    def test_names_a_rank_that_never_came(self):
        program = shell(f"if [ $PMI_RANK = 1 ]; then exit 0; fi; exec {PROGRAM} hang")
        err = self.run_mpiexec("-n", 2, "--oversubscribe", "--timeout", 1, *program, code=124).stderr
        self.assertRegex(err, r"rank 0 waits in MPI_Recv for a message from rank 1, tag 7, on MPI_COMM_WOR")
        self.assertRegex(err, r"rank 1 has ended without calling MPI_Init")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
