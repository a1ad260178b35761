#!/usr/bin/env python3
"""mpiexec's reaction to the death of a rank: notification, termination and messages. death.c is the program;
the programs of tests/multi/fault continue by themselves."""

import os
import time
import unittest

from common import LaunchTest

PROGRAM = os.environ["HEARTH_DEATH_PROGRAM"]
KILLED = r"mpiexec: rank 2 \(.*, process \d+\) was killed by SIGKILL"


class Deaths(LaunchTest):
    def run_mode(self, mode, *options, code, env=None):
        began = time.monotonic()
        run = self.run_mpiexec("-n", 3, "--oversubscribe", *options, PROGRAM, mode, code=code, env=env)
        self.took = time.monotonic() - began
        return run

    def test_default_handler_ends_the_job_with_one_message(self):
        run = self.run_mode("fatal", code=137)
        self.assertRegex(run.stderr, KILLED)
        self.assertIn("mpiexec: ending 2 other ranks", run.stderr)
        self.assertRegex(run.stderr, r"rank 0 waits in MPI_Recv for a message from rank 2, tag 7")
        self.assertNotIn("ended the job", run.stderr)
        self.assertEqual(run.stdout, "")

    def test_errors_are_returned_on_request(self):
        run = self.run_mode("return", code=137)
        for rank in 0, 1:
            self.assertRegex(
                run.stdout,
                rf"rank {rank}: MPI_Recv\(.*: rank 2 of MPI_COMM_WORLD \(process \d+\) was killed by SIGKILL",
            )
        self.assertRegex(run.stderr, KILLED)
        self.assertIn("2 other ranks are told", run.stderr)
        self.assertRegex(run.stderr, r"when rank 2 died:\n.*rank 0 waits in .* message from rank 2")
        self.assertNotIn("ending", run.stderr)

    def test_a_rank_that_does_not_go_on_is_ended(self):
        run = self.run_mode("idle", code=137, env={"HEARTH_LAUNCH_GRACE": "300ms"})
        self.assertRegex(run.stderr, r"no rank goes on .*: ending 2 ranks")
        self.assertGreater(self.took, 0.3)

    def test_a_computing_rank_is_ended_too(self):
        self.assertIn("no rank goes on", self.run_mode("finish", code=137).stderr)

    def test_survivors_may_be_wanted(self):
        for option in ["--survive"], ["--with-ft", "ulfm"], ["-disable-auto-cleanup"]:
            run = self.run_mode("finish", *option, code=0)
            self.assertRegex(run.stderr, KILLED)
            self.assertNotIn("ending", run.stderr)

    def test_one_default_handler_ends_the_job(self):
        words = []
        for mode in "return", "fatal", "return":
            words += [":", "-n", 1, PROGRAM, mode]
        run = self.run_mpiexec(*words[1:], code=137)
        self.assertIn("mpiexec: ending 2 other ranks", run.stderr)
        self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    unittest.main()
