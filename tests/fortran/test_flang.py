#!/usr/bin/env python3
"""The bindings with LLVM flang, which `scripts/setup.sh flang` unpacks into .cache/flang: the programs of
this folder and of examples/, and every routine of mpi_f08 (test_calls.py). A missing compiler is a failed
test."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from common import BIN, LIMIT_S, LaunchTest  # noqa: E402

SOURCES = Path(__file__).parent
ROOT = SOURCES.parents[1]
FLANG = ROOT / ".cache/flang/flang"
PROGRAMS = [*(SOURCES / name for name in ("hello_77.f", "hello_mpi.f90", "hello_f08.f90", "sections.f90",
                                          "callbacks.f90", "strings.f90", "failures.f90", "booleans.f90")),
            *(ROOT / "examples" / name for name in ("pi.f", "ring.f90", "halo.f90"))]


class Flang(LaunchTest):
    def environment(self, extra=None):
        return {**super().environment(extra), "HEARTH_FC": str(FLANG),
                "XDG_CACHE_HOME": str(self.folder), "HEARTH_BIN": str(BIN)}

    def run_tool(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, env=self.environment(),
                              capture_output=True, text=True, timeout=5 * LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def test_programs(self):
        self.assertTrue(FLANG.exists(), f"no {FLANG}. Remedy: scripts/setup.sh flang")
        for source in PROGRAMS:
            with self.subTest(program=source.name):
                self.run_tool(BIN / "mpifort", "-g", "-O1", source, "-o", "program")
                for ranks in (1, 2, 3):
                    self.run_mpiexec("-n", ranks, "--oversubscribe", "--timeout", 50, "./program")

    def test_every_routine_of_mpi_f08(self):
        self.run_tool(sys.executable, "-B", SOURCES / "test_calls.py", "Calls.test_mpi_f08")


if __name__ == "__main__":
    unittest.main()
