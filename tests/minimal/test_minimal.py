"""mpiexec and hearth without optional parts: jobs run, and a command of a missing part names its option.

Arguments: mpiexec, hearth and a program for two ranks.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MPIEXEC, HEARTH, PROGRAM = sys.argv[1:4]


def run(*command, **environment):
    words = [str(word) for word in command]
    own = dict(os.environ, HEARTH_PROFILE="none", **environment)
    return subprocess.run(words, env=own, text=True, capture_output=True, check=False, timeout=30)


class Minimal(unittest.TestCase):
    def test_a_job_runs_and_a_failed_one_names_the_rank(self):
        result = run(MPIEXEC, "--oversubscribe", "-n", 2, PROGRAM)
        self.assertEqual((result.returncode, result.stdout), (0, "exchanged\n"), result.stderr)
        result = run(MPIEXEC, "--oversubscribe", "-n", 2, PROGRAM, "end")
        self.assertEqual(result.returncode, 7)
        self.assertIn("rank 1", result.stderr)
        self.assertIn("MPI_Sendrecv", result.stderr)

    def refused(self, option, *command, **environment):
        result = run(*command, **environment)
        self.assertNotEqual(result.returncode, 0, command)
        self.assertEqual(result.stdout, "")
        self.assertIn(f"-D{option}=OFF", result.stderr)
        self.assertIn(f"with -D{option}=ON", result.stderr)

    def test_options_of_mpiexec_name_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "report.json")
            job = ("--oversubscribe", "-n", 2, PROGRAM)
            self.refused("HEARTH_WITH_PROFILE", MPIEXEC, "--profile", file, *job)
            self.refused("HEARTH_WITH_PROFILE", MPIEXEC, "--trace", file, *job)
            self.refused("HEARTH_WITH_CHECK", MPIEXEC, "--check", *job)
            self.refused("HEARTH_WITH_CHECK", MPIEXEC, *job, HEARTH_CHECK="fatal")
            self.refused("HEARTH_WITH_WHY", MPIEXEC, "--why", *job)
            self.assertFalse(file.exists())

    def test_a_variable_that_asks_for_no_checks_is_no_error(self):
        self.assertEqual(run(MPIEXEC, "--oversubscribe", "-n", 2, PROGRAM, HEARTH_CHECK="no").returncode, 0)

    def test_commands_of_hearth_name_what_is_missing(self):
        self.refused("HEARTH_WITH_WHY", HEARTH, "why")
        self.refused("HEARTH_WITH_WHY", HEARTH, "top", "--once")
        self.refused("HEARTH_WITH_PAPER", HEARTH, "bench", "paper", "--list")
        self.refused("HEARTH_WITH_PROFILE", HEARTH, "profile", "/tmp")
        self.assertEqual(run(HEARTH, "info").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
