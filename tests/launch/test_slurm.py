#!/usr/bin/env python3
"""Programs with Hearth under Slurm: srun --mpi=pmi2, --mpi=pmix and --mpi=none, and a batch script. The test
starts and ends a cluster of one node on the loopback device. Needs Debian's slurm-wlm, and root for
slurmd; skipped with the reason without them."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import LIMIT_S, MPIEXEC, LaunchTest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hosts"))
import slurm  # noqa: E402  pylint: disable=wrong-import-position

RANK = os.environ["HEARTH_RANK_PROGRAM"]  # built from rank.c
DEATH = os.environ["HEARTH_DEATH_PROGRAM"]  # built from death.c
RING = os.environ["HEARTH_RING_PROGRAM"]  # built from tests/multi/ring.c
NODE = "hearth-test-node"


@unittest.skipIf(slurm.missing(), slurm.missing())
class Slurm(LaunchTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hearth-slurm-")
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = slurm.on_loopback(Path(folder.name), NODE)
        try:
            cls.cluster.__enter__()
        except RuntimeError as reason:
            raise unittest.SkipTest(f"Slurm does not start here: {reason}") from reason
        cls.addClassCleanup(cls.cluster.__exit__)

    def run_in_cluster(self, *command):
        return subprocess.run(
            [str(word) for word in command], env=self.environment(self.cluster.variables), text=True,
            capture_output=True, timeout=LIMIT_S, check=False, cwd=self.folder, stdin=subprocess.DEVNULL,
        )

    def srun(self, kind, *command):
        result = self.run_in_cluster("srun", f"--mpi={kind}", *command)
        if kind == "pmix" and "can not load PMIx library" in result.stderr:
            self.skipTest("Slurm finds no libpmix (Debian: libpmix-dev)")
        return result

    def check_ranks(self, kind):
        for count in (1, 2, 4):
            result = self.srun(kind, "-n", count, RANK)
            expected = [f"rank {rank} of {count}, program 0" for rank in range(count)]
            self.assertEqual(sorted(result.stdout.splitlines()), expected, result.stderr)
            self.assertEqual(result.returncode, 0)
        result = self.srun(kind, "-n", 4, RING)
        self.assertEqual(result.returncode, 0, result.stderr)

    def check_abort(self, kind):
        result = self.srun(kind, "-n", 3, RANK, "abort", 42)
        # srun returns the highest exit code of all tasks; tasks that it kills have 137.
        self.assertIn(result.returncode, (42, 137))
        self.assertEqual(result.stderr.count("hearth: rank 1 ended the job with code 42"), 1, result.stderr)
        self.assertEqual(self.srun(kind, "-n", 3, RANK, "after-finalize").returncode, 6)

    def check_death(self, kind):
        """Slurm does not end the other ranks when one is killed, unless it is configured to."""
        told = r"rank 2 of MPI_COMM_WORLD \(process \d+\) ended without MPI_Finalize"
        result = self.srun(kind, "-n", 3, "--kill-on-bad-exit=0", DEATH, "return")
        for rank in 0, 1:
            self.assertRegex(result.stdout, rf"rank {rank}: MPI_Recv.*{told}", result.stderr)
        result = self.srun(kind, "-n", 3, "--kill-on-bad-exit=0", DEATH)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, told)

    def test_pmi2(self):
        self.check_ranks("pmi2")
        self.check_abort("pmi2")
        self.check_death("pmi2")

    def test_pmix(self):
        self.check_ranks("pmix")
        self.check_abort("pmix")
        self.check_death("pmix")

    def test_without_pmi_the_remedy_is_named(self):
        result = self.srun("none", "-n", 2, RANK)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("start it with srun --mpi=pmi2 or srun --mpi=pmix", result.stderr)

    def test_batch_script(self):
        # Without srun: one rank. With our mpiexec: on this machine, or, by the node's name in Slurm, through
        # srun.
        script = self.script(
            "job",
            f"#!/bin/sh\n{RANK}\necho srun\nsrun --mpi=pmi2 -n 2 -l {RANK}\n"
            f"echo mpiexec\n{MPIEXEC} -n 2 --oversubscribe -l {RANK}\n"
            f"echo handed over\n{MPIEXEC} -H {NODE}:2 -l {RANK}\n",
        )
        result = self.run_in_cluster("sbatch", "-W", "-n", 2, "-o", "out", "-e", "err", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        parts = [[]]
        for line in (self.folder / "out").read_text().splitlines():
            if line in ("srun", "mpiexec", "handed over"):
                parts.append([])
            else:
                parts[-1].append(line)
        by_srun = ["0: rank 0 of 2, program 0", "1: rank 1 of 2, program 0"]
        self.assertEqual(parts[0], ["rank 0 of 1, program 0"])
        self.assertEqual(sorted(parts[1]), by_srun)
        self.assertEqual(sorted(parts[2]), ["[0] rank 0 of 2, program 0", "[1] rank 1 of 2, program 0"])
        self.assertEqual(sorted(parts[3]), by_srun)
        told = (self.folder / "err").read_text()
        self.assertIn(f"'{NODE}' is not this machine: Slurm starts the job", told)
        self.assertEqual(told.count("runs alone, as rank 0 of 1: it was started outside srun"), 1, told)


if __name__ == "__main__":
    unittest.main()
