#!/usr/bin/env python3
"""Programs in Fortran that were built for MPICH, on Hearth: by the headers, modules and libraries of Debian's
MPICH, which `scripts/setup.sh mpich` fetches into .cache/mpich. A missing file is a failed test."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from common import BIN, LIMIT_S, LaunchTest  # noqa: E402

SOURCES = Path(__file__).parent
MPICH = SOURCES.parents[1] / ".cache/mpich/usr"


def one(pattern):
    found = sorted(MPICH.glob(pattern))
    if not found:
        raise AssertionError(f"{MPICH} has no {pattern}. Remedy: scripts/setup.sh mpich")
    return found[0]


class Mpich(LaunchTest):
    def build(self, source, *options):
        """The program, which needs MPICH's libraries and has no path to them."""
        headers, libraries = one("include/*/mpich/mpif.h").parent, one("lib/*/libmpichfort.so.12").parent
        program = self.folder / source.stem
        subprocess.run(["gfortran", "-g", "-O1", *options, f"-I{headers}", source, "-o", program,
                        f"-L{libraries}", "-lmpichfort", "-lmpich", "-Wl,--allow-shlib-undefined"],
                       check=True, timeout=LIMIT_S, cwd=self.folder)
        needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(needed, r"\[libmpichfort\.so\.12\]")
        self.assertNotRegex(needed, r"R(UN)?PATH")
        return program

    def expect_hello(self, program, ranks):
        lines = self.lines("-n", ranks, "--oversubscribe", program)
        self.assertEqual(sorted(lines), [f"hello {rank}" for rank in range(ranks)])

    def test_module_mpi(self):
        program = self.build(SOURCES / "mpich.f90", "-fallow-argument-mismatch", "-w")
        for ranks in (1, 2, 3):
            self.expect_hello(program, ranks)

    def test_mpif_h(self):
        program = self.build(SOURCES / "hello_77.f")
        self.expect_hello(program, 2)

    def test_without_position_independence(self):
        """The COMMON blocks of the program are those that the library compares addresses with."""
        self.expect_hello(self.build(SOURCES / "hello_77.f", "-fno-pie", "-no-pie"), 2)

    def test_all_routines_exist(self):
        """Every routine of MPICH's mpif.h and module mpi, and each form of its name."""
        names = {"there": one("lib/*/libmpichfort.so.12"), "here": BIN.parent / "lib/libmpifort.so.12"}
        for key, library in names.items():
            command = ["nm", "-D", "--defined-only", os.path.realpath(library)]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            names[key] = {line.split()[-1] for line in out.splitlines()}
        of_mpi = re.compile(r"p?mpi_[a-z0-9_]+|P?MPI_[A-Z0-9_]+|mpipriv\w+|mpifcmb\w+"
                            r"|__mpi_(constants|sizeofs)_MOD_[a-z]\w+")
        # The module mpi_f08, predefined procedures under names of PMPI, variables of MPICH's own.
        others = re.compile(r"\w+_f08\w*|pmpi_\w*fn(_null)?_*|PMPI_\w*FN(_NULL)?|MPI_F_(ERRCODES|ARGV)\w+"
                            r"|mpi_sizeof_\w+")
        missing = {name for name in names["there"] - names["here"]
                   if of_mpi.fullmatch(name) and not others.fullmatch(name)}
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
