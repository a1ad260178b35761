#!/usr/bin/env python3
"""Programs in Fortran that were built for MPICH or Open MPI, on Hearth: by the headers, modules and libraries
of Debian, which `scripts/setup.sh debian` fetches into .cache/debian. A missing file is a failed test."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from common import BIN, LIMIT_S, LaunchTest  # noqa: E402

SOURCES = Path(__file__).parent
MPI = SOURCES.parents[1] / ".cache/debian/mpi/usr"


def one(pattern):
    found = sorted(MPI.glob(pattern))
    if not found:
        raise AssertionError(f"{MPI} has no {pattern}. Remedy: scripts/setup.sh debian")
    return found[0]


def names_in(library):
    command = ["nm", "-D", "--defined-only", os.path.realpath(library)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


class Programs:
    """The tests of one MPI. `libraries` are linked in this order."""
    headers = ()
    libraries = ()

    def build(self, source, *options):
        """The program, which needs the other MPI's libraries and has no path to them."""
        program = self.folder / source.stem
        folders = [f"-I{one(pattern).parent}" for pattern in self.headers]
        libraries = [one(f"lib/*/{name}") for name in self.libraries]
        subprocess.run(["gfortran", "-g", "-O1", *options, *folders, source, "-o", program,
                        "-Wl,--no-as-needed", *libraries, "-Wl,--allow-shlib-undefined"],
                       check=True, timeout=LIMIT_S, cwd=self.folder)
        needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        for name in self.libraries:
            self.assertIn(f"[{name}]", needed)
        self.assertNotRegex(needed, r"R(UN)?PATH")
        return program

    def expect_hello(self, program, ranks):
        lines = self.lines("-n", ranks, "--oversubscribe", program)
        self.assertEqual(sorted(lines), [f"hello {rank}" for rank in range(ranks)])

    def test_module_mpi(self):
        program = self.build(SOURCES / "facade.f90", "-fallow-argument-mismatch", "-w")
        for ranks in (1, 2, 3):
            self.expect_hello(program, ranks)

    def test_mpif_h(self):
        program = self.build(SOURCES / "hello_77.f")
        self.expect_hello(program, 2)

    def test_without_position_independence(self):
        """The COMMON blocks of the program are those that the library compares addresses with."""
        self.expect_hello(self.build(SOURCES / "hello_77.f", "-fno-pie", "-no-pie"), 2)

    def expect_names(self, there, here, of_mpi, others):
        """Each name of the other MPI's library that `of_mpi` matches and `others` does not."""
        missing = {name for name in names_in(one(f"lib/*/{there}")) - names_in(BIN.parent / "lib" / here)
                   if re.fullmatch(of_mpi, name) and not re.fullmatch(others, name)}
        self.assertEqual(missing, set())


class Mpich(Programs, LaunchTest):
    headers = ("include/*/mpich/mpif.h",)
    libraries = ("libmpichfort.so.12", "libmpich.so.12")

    def test_all_routines_exist(self):
        """Every routine of MPICH's mpif.h and module mpi, and each form of its name."""
        of_mpi = (r"p?mpi_[a-z0-9_]+|P?MPI_[A-Z0-9_]+|mpipriv\w+|mpifcmb\w+"
                  r"|__mpi_(constants|sizeofs)_MOD_[a-z]\w+")
        # The module mpi_f08, predefined procedures under names of PMPI, variables of MPICH's own.
        others = (r"\w+_f08\w*|pmpi_\w*fn(_null)?_*|PMPI_\w*FN(_NULL)?|MPI_F_(ERRCODES|ARGV)\w+"
                  r"|mpi_sizeof_\w+")
        self.expect_names("libmpichfort.so.12", "libmpifort.so.12", of_mpi, others)


class OpenMpi(Programs, LaunchTest):
    headers = ("lib/*/openmpi/include/mpif.h", "lib/*/fortran/*/openmpi/mpi_f08.mod")
    libraries = ("libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40", "libmpi_mpifh.so.40",
                 "libmpi.so.40")

    def test_module_mpi_f08(self):
        program = self.build(SOURCES / "openmpi_f08.f90")
        for ranks in (1, 2, 3):
            self.expect_hello(program, ranks)

    def test_all_routines_exist(self):
        """Every routine of Open MPI's mpif.h, module mpi and module mpi_f08, and each form of its name."""
        of_mpi = r"p?mpi_[a-z0-9_]+|P?MPI_[A-Z0-9_]+|ompi_f08_\w+|__mpi_f08_(types|callbacks)_MOD_\w+"
        # Predefined procedures under names of PMPI, what GNU Fortran makes of the types of handles.
        others = (r"pmpi_\w*fn(_null)?_*|PMPI_\w*FN(_NULL)?"
                  r"|__mpi_f08_types_MOD___(copy|def_init|vtab)_\w+")
        for name in self.libraries[:3]:
            self.expect_names(name, "libmpi_mpifh.so.40", of_mpi, others)


if __name__ == "__main__":
    unittest.main()
