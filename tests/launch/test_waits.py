#!/usr/bin/env python3
"""Without an option: waits for ranks that have ended are reported after 10 s, and end the job."""

import os
import time
import unittest

from common import LIMIT_S, LaunchTest, shell

PROGRAM = os.environ["HEARTH_STANDSTILL_PROGRAM"]
REPORT = "waits in vain: rank 1 has ended or called MPI_Finalize"


class Waits(LaunchTest):
    def test_waits_for_ranks_that_have_ended(self):
        """Runs all jobs at the same time, because each takes 10 s or more."""
        outside = shell(f"if [ $PMI_RANK = 1 ]; then exit 0; fi; exec {PROGRAM} gone")
        jobs = {
            "finalized": self.start("-n", 2, "--oversubscribe", PROGRAM, "gone"),
            "before MPI_Init": self.start("-n", 2, "--oversubscribe", *outside),
            "kept": self.start(
                "-n", 2, "--oversubscribe", "--keep-waiting", "--timeout", 14, PROGRAM, "gone"
            ),
            "late": self.start("-n", 3, "--oversubscribe", PROGRAM, "relay", 14),
            "no MPI": self.start("-n", 2, "--oversubscribe", *shell("test $PMI_RANK = 1 || sleep 14")),
        }
        begin = time.monotonic()
        results = {name: (*job.communicate(timeout=LIMIT_S), job.returncode) for name, job in jobs.items()}
        self.assertGreater(time.monotonic() - begin, 9)
        for name, code in (("finalized", 1), ("before MPI_Init", 1), ("kept", 124)):
            _, err, returned = results[name]
            self.assertEqual(returned, code, f"{name}: {err}")
            self.assertIn(f"mpiexec: rank 0 {REPORT}\n", err, name)
        self.assertEqual(results["finalized"][1].count(REPORT), 1)
        self.assertIn("ending 1 rank; --keep-waiting", results["finalized"][1])
        # Once after 10 s, and once at the time limit.
        self.assertEqual(results["kept"][1].count(REPORT), 2)
        self.assertIn("the job goes on (--keep-waiting)", results["kept"][1])
        for name in ("late", "no MPI"):
            _, err, returned = results[name]
            self.assertEqual((returned, err), (0, ""), name)


if __name__ == "__main__":
    unittest.main()
