#!/usr/bin/env python3
"""Every routine of Fortran, called from each form, must make the same calls of C with the same arguments, and
get the same results, as a program in C; generate_calls.py explains how."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(__file__).parent
BUILD = Path(os.environ["HEARTH_BIN"]).parent
GENERATED = BUILD / "generated"
LIMIT_S = 250


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="hearth-calls-")
        cls.folder = Path(cls._folder.name)
        cls.environment = {**os.environ, "XDG_CACHE_HOME": str(cls.folder / "cache")}
        cls.run_tool(sys.executable, "-B", SOURCES / "generate_calls.py", cls.folder)
        cls.run_tool("cc", "-w", "-fPIC", "-shared", f"-I{GENERATED}", "recorder.c", "-o", "librecorder.so")
        cls.run_tool("cc", "-w", f"-I{GENERATED}", "calls_c.c", "./librecorder.so", "-o", "calls_c")

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    @classmethod
    def run_tool(cls, *words, **environment):
        result = subprocess.run(list(map(str, words)), cwd=cls.folder, env={**cls.environment, **environment},
                                capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if result.returncode != 0:
            told = result.stdout[-2000:] + result.stderr[-4000:]
            raise AssertionError(f"{words}: {result.returncode}\n{told}")
        return result.stdout

    def run_recorded(self, *words):
        """The recorder comes before the MPI library, so that it gets all calls."""
        return self.run_tool(*words, LD_PRELOAD=str(self.folder / "librecorder.so"))

    def check(self, source, form, routines, **environment):
        expected = self.run_recorded("./calls_c", form)
        self.run_tool(BUILD / "bin/mpifort", "-w", "-O0", source, "./librecorder.so", "-o", "calls",
                      **environment)
        found = self.run_recorded("./calls")
        # Each as MPI_ and as PMPI_.
        names = set(re.findall(r"^(P?MPI_\w+):", expected, re.MULTILINE))
        self.assertEqual(len(names), 2 * routines)
        if found == expected:
            return
        for number, (want, got) in enumerate(zip(expected.splitlines(), found.splitlines())):
            self.assertEqual(got, want, f"line {number} of {source}")
        self.fail(f"{source}: the output ends early:\n{found[-500:]}")

    def test_mpif_h(self):
        self.check("calls_77.f90", "77", 432)

    def test_mpi(self):
        self.check("calls_mpi.f90", "mpi", 432)

    # 584 with those whose large form has the signature of the small one, which no call can name.
    def test_mpi_f08(self):
        self.check("calls_f08.f90", "f08", 580)

    def test_mpi_f08_without_descriptors(self):
        """The form for compilers without usable descriptors (docs/design/fortran.md)."""
        plain = self.folder / "plain"
        plain.mkdir()
        for source in (GENERATED / "fortran/hearth_mpi_types.f90", GENERATED / "fortran/mpi.f90",
                       GENERATED / "fortran/plain/mpi_f08.f90"):
            self.run_tool("gfortran", "-fsyntax-only", f"-J{plain}", f"-I{plain}", source)
        self.check("calls_f08.f90", "f08", 580, HEARTH_FORTRAN_MODULES=str(plain))

    def test_a_wrong_result_is_noticed(self):
        """The outputs of two forms differ, so that the comparison is one of contents."""
        old, new = (self.run_recorded("./calls_c", form) for form in ("77", "f08"))
        self.assertNotEqual(old, new)
        self.assertGreater(len(old.splitlines()), 3000)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
