#!/usr/bin/env python3
"""Programs as Debian packages them, built for MPICH and Open MPI, started by mpiexec: `scripts/setup.sh
debian` unpacks them into .cache/debian. A missing program is a failed test. Each test checks a result that
the number of ranks does not change, or that the program checks itself."""

import random
import re
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "launch"))
from common import LaunchTest  # noqa: E402

PROGRAMS = Path(__file__).resolve().parents[2] / ".cache/debian/programs"
PYTHON = "/usr/bin/python3"

WATER = """start water
geometry units angstrom
 O 0 0 0
 H 0 0.757 0.587
 H 0 -0.757 0.587
end
basis
 * library 6-31g
end
task scf
"""
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
run 100
"""
H5PY = """
from mpi4py import MPI
import numpy, h5py
world = MPI.COMM_WORLD
with h5py.File("numbers.h5", "w", driver="mpio", comm=world) as file:
    numbers = file.create_dataset("numbers", (world.size * 1000,), dtype="f8")
    numbers[world.rank * 1000:(world.rank + 1) * 1000] = numpy.arange(1000) + 1000 * world.rank
with h5py.File("numbers.h5", "r", driver="mpio", comm=world) as file:
    with file["numbers"].collective:
        assert (file["numbers"][:] == numpy.arange(world.size * 1000)).all()
print("numbers", world.rank)
"""
MPI4PY = """
from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.allreduce(world.rank) == world.size * (world.size - 1) // 2
assert world.bcast({"a": [1, 2]}, root=world.size - 1) == {"a": [1, 2]}
print(MPI.Get_library_version().split()[0], world.rank)
"""
# Sparse systems by PETSc, factorised by MUMPS (Fortran) and SuperLU_DIST (C and C++).
PETSC = """
import petsc4py
petsc4py.init([])
from petsc4py import PETSc
size = 200
matrix = PETSc.Mat().createAIJ([size, size], nnz=3)
matrix.setUp()
for i in range(*matrix.getOwnershipRange()):
    for j, value in ((i - 1, -1), (i, 2), (i + 1, -1)):
        if 0 <= j < size:
            matrix[i, j] = value
matrix.assemble()
solution, right = matrix.createVecs()
right.set(1)
for name in ("mumps", "superlu_dist"):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType("preonly")
    solver.getPC().setType("lu")
    solver.getPC().setFactorSolverType(name)
    solver.solve(right, solution)
    PETSc.Sys.Print(name, round(solution.sum(), 3))
"""


def found(pattern):
    """A program of the packages, which may be installed as well."""
    for root in (PROGRAMS, Path("/")):
        for path in sorted(root.glob(pattern)):
            return path
    raise AssertionError(f"no {pattern} below {PROGRAMS}. Remedy: scripts/setup.sh debian")


class Distribution(LaunchTest):
    def environment(self, extra=None):
        folders = ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/blas", "usr/lib/*-linux-gnu/lapack")
        libraries = [path for pattern in folders for path in PROGRAMS.glob(pattern)]
        return {**super().environment(extra), "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
                "NWCHEM_BASIS_LIBRARY": f"{PROGRAMS}/usr/share/nwchem/libraries/",
                "PYTHONPATH": ":".join([f"{PROGRAMS}/usr/lib/python3/dist-packages", *map(str, PROGRAMS.glob(
                    "usr/lib/petscdir/*/*-real/lib/python3/dist-packages"))])}

    def run_program(self, ranks, *command):
        return self.run_mpiexec("-n", ranks, "--oversubscribe", "--timeout", 50, *command).stdout

    def run_script(self, ranks, text):
        return self.run_program(ranks, PYTHON, self.script("script.py", text))

    # Built for MPICH.

    def test_netpipe_for_mpich(self):
        out = self.run_mpiexec("-n", 2, found("usr/bin/NPmpich2"), "-u", 65536, "-o", "np.out")
        self.assertRegex(out.stdout + out.stderr, r"65536 bytes")

    def test_scalapack(self):
        """LU, QR and eigenvalues of ScaLAPACK's own tests, in Fortran over BLACS in C."""
        for abi in ("mpich", "openmpi"):
            for program, data in (("xdlu", "LU.dat"), ("xcqr", "QR.dat"), ("xdsep", "SEP.dat")):
                with self.subTest(abi=abi, program=program):
                    shutil.copy(found(f"usr/share/scalapack/{data}"), self.folder)
                    out = self.run_program(4, found(f"usr/lib/*/scalapack/{abi}-tests/{program}"))
                    for pattern in (r"\b[1-9]\d* tests completed and passed",
                                    r"\b0 tests completed and failed"):
                        self.assertTrue(re.search(pattern, out), f"no '{pattern}' in:\n{out[-300:]}")

    def test_nwchem(self):
        """Global Arrays over MPI; the energy of a water molecule."""
        (self.folder / "water.nw").write_text(WATER)
        for abi in ("mpich", "openmpi"):
            with self.subTest(abi=abi):
                out = self.run_program(2, found(f"usr/bin/nwchem.{abi}"), "water.nw")
                self.assertRegex(out, r"Total SCF energy = +-75\.98394849")

    # Built for Open MPI.

    def test_netpipe_for_openmpi(self):
        out = self.run_mpiexec("-n", 2, found("usr/bin/NPopenmpi"), "-u", 65536, "-o", "np.out")
        self.assertRegex(out.stdout + out.stderr, r"65536 bytes")

    def test_hpcc(self):
        shutil.copy(found("usr/share/doc/hpcc/examples/_hpccinf.txt"), self.folder / "hpccinf.txt")
        self.run_program(4, found("usr/bin/hpcc"))
        self.assertIn("Success=1", (self.folder / "hpccoutf.txt").read_text())

    def test_lammps(self):
        (self.folder / "melt.in").write_text(MELT)
        energies = set()
        for ranks in (1, 2, 3):
            out = self.run_program(ranks, found("usr/bin/lmp"), "-in", "melt.in")
            total = re.search(r"^ +100 +\S+ +\S+ +\S+ +(\S+)", out, re.MULTILINE).group(1)
            energies.add(round(float(total), 3))
        self.assertEqual(energies, {-4.623})

    def reads(self):
        """Sequences of both strands of a random genome, each base about 40 times, and the genome."""
        draw = random.Random(1)
        genome = "".join(draw.choice("ACGT") for _ in range(5000))
        other = genome.translate(str.maketrans("ACGT", "TGCA"))[::-1]
        with open(self.folder / "reads.fa", "w") as file:
            for i in range(2000):
                start = draw.randrange(len(genome) - 100)
                file.write(f">read{i}\n{draw.choice((genome, other))[start:start + 100]}\n")
        return genome, other

    def expect_assembled(self, path, strands):
        lines = Path(path).read_text().splitlines()
        sequences = "".join("\n" if line.startswith(">") else line for line in lines).split()
        longest = max(sequences, key=len)
        self.assertGreater(len(longest), 4000)
        self.assertTrue(any(longest in strand for strand in strands))

    def test_abyss(self):
        strands = self.reads()
        self.run_program(3, found("usr/lib/abyss/ABYSS-P"), "-k25", "-o", "contigs.fa", "reads.fa")
        self.expect_assembled(self.folder / "contigs.fa", strands)

    def test_ray(self):
        """Needs libmpi_cxx.so.40, whose functions it never calls."""
        strands = self.reads()
        self.run_program(2, found("usr/bin/Ray"), "-k", 25, "-s", "reads.fa", "-o", "out")
        self.expect_assembled(self.folder / "out/Contigs.fasta", strands)

    def test_mpi4py(self):
        lines = self.run_script(3, MPI4PY).splitlines()
        self.assertEqual(sorted(lines), ["Hearth 0", "Hearth 1", "Hearth 2"])

    def test_h5py(self):
        """HDF5 writes and reads one file by collective calls."""
        self.assertEqual(sorted(self.run_script(2, H5PY).splitlines()), ["numbers 0", "numbers 1"])

    def test_petsc(self):
        self.assertEqual(self.run_script(2, PETSC).splitlines(), ["mumps 676700.0", "superlu_dist 676700.0"])


if __name__ == "__main__":
    unittest.main()
