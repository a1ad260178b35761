#!/usr/bin/env python3
"""Builds programs of other projects from their source archives with Hearth's compiler wrappers, without extra
macros or patches, and runs their own checks.

    programs.py --folder DIR --prefix INSTALLATION --work DIR [--blas libopenblas.a] [--only fftw,petsc]

`scripts/setup.sh programs` fills --folder. Built programs stay in --work and are reused.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

CHECK_TIMEOUT_S = 3600


class Failed(Exception):
    pass


class Builder:
    def __init__(self, options):
        self.folder, self.work, self.blas = options.folder.resolve(), options.work.resolve(), options.blas
        self.bin = options.prefix.resolve() / "bin"
        self.jobs = f"-j{os.cpu_count()}"
        self.work.mkdir(parents=True, exist_ok=True)

    def run(self, log, folder, *command):
        """The command's output, which is also kept in a file of this name."""
        path = self.work / f"{log}.log"
        environment = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        with open(path, "w", encoding="utf-8") as output:
            done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=False,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                  timeout=CHECK_TIMEOUT_S)
        text = path.read_text(encoding="utf-8", errors="replace")
        if done.returncode != 0:
            raise Failed(f"{log}: exit code {done.returncode}, see {path}\n{text[-2000:]}")
        return text

    def source(self, name):
        """The folder of the unpacked archive."""
        place = self.work / name
        if not place.exists():
            archives = list(self.folder.glob(f"{name}*.orig.tar.*"))
            if not archives:
                raise Failed(f"no source archive of {name} in {self.folder} (scripts/setup.sh programs)")
            with tarfile.open(archives[0]) as archive:
                archive.extractall(place)
        return next(path for path in place.iterdir() if path.is_dir())

    def launcher(self):
        return f"{self.bin / 'mpiexec'} --oversubscribe"


def fftw(builder):
    source = builder.source("fftw3")
    if not (source / "mpi" / "Makefile").exists():
        builder.run("fftw-configure", source, "./configure", "--enable-mpi", "--disable-fortran",
                    "--disable-doc", f"MPICC={builder.bin / 'mpicc'}", f"MPIRUN={builder.launcher()}")
    builder.run("fftw-make", source, "make", builder.jobs)
    text = builder.run("fftw-check", source / "mpi", "make", "check")
    passed = re.findall(r"MPI FFTW transforms passed .*", text)
    if not passed:
        raise Failed("fftw-check: no transform was checked")
    return f"make check of its MPI part: {len(passed)} series of transforms passed"


def thermo_rows(text):
    """The numbers of LAMMPS's table: step, temperature, energies, pressure."""
    table = re.search(r"^\s*Step .*\n((?:\s*\d+ .*\n)+)", text, re.MULTILINE)
    if not table:
        raise Failed("LAMMPS printed no table of steps")
    return [[float(word) for word in line.split()] for line in table.group(1).splitlines()]


def lammps(builder):
    source = builder.source("lammps")
    build = builder.work / "lammps-build"
    if not (build / "build.ninja").exists():
        builder.run("lammps-configure", source, "cmake", "-S", "cmake", "-B", build, "-G", "Ninja",
                    f"-DCMAKE_C_COMPILER={builder.bin / 'mpicc'}",
                    f"-DCMAKE_CXX_COMPILER={builder.bin / 'mpicxx'}", "-DBUILD_MPI=yes", "-DBUILD_OMP=no")
    builder.run("lammps-make", build, "ninja", builder.jobs)
    rows = {}
    for ranks in (1, 2, 4):
        launch = [*builder.launcher().split(), "-n", ranks]
        text = builder.run(f"lammps-{ranks}", source / "bench", *launch, build / "lmp", "-in", "in.lj",
                           "-log", "none")
        rows[ranks] = thermo_rows(text)
    for ranks in (2, 4):
        for alone, together in zip(rows[1], rows[ranks], strict=True):
            # The order of additions differs, and the system is chaotic, so the last digits may differ.
            if any(abs(a - b) > 1e-4 * max(1.0, abs(a)) for a, b in zip(alone, together, strict=True)):
                raise Failed(f"lammps at {ranks} ranks: {together}, alone {alone}")
    return "bench/in.lj at 2 and 4 ranks has the energies of one rank"


def petsc(builder):
    source = builder.source("petsc")
    blas = [f"--with-blaslapack-lib={builder.blas.resolve()}"] if builder.blas else []
    if not (source / "arch-hearth" / "lib" / "petsc" / "conf" / "petscvariables").exists():
        builder.run("petsc-configure", source, sys.executable, "./configure", "PETSC_ARCH=arch-hearth",
                    f"--with-cc={builder.bin / 'mpicc'}", "--with-cxx=0", "--with-fc=0", "--with-debugging=0",
                    "--with-x=0", f"--with-mpiexec={builder.launcher()}", *blas)
    where = [f"PETSC_DIR={source}", "PETSC_ARCH=arch-hearth"]
    builder.run("petsc-make", source, "make", *where, "all")
    text = builder.run("petsc-check", source, "make", *where, "check")
    runs = re.findall(r"C/C\+\+ example .* run successfully with \d+ MPI process", text)
    if len(runs) < 2 or "Possible error" in text:
        raise Failed(f"petsc-check:\n{text[-2000:]}")
    return f"make check: {len(runs)} examples"


PROGRAMS = {"fftw": fftw, "lammps": lammps, "petsc": petsc}


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--prefix", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--blas", type=Path)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    options = parser.parse_args()
    builder = Builder(options)
    failures = 0
    for name in options.only.split(","):
        begin = time.monotonic()
        try:
            print(f"{name}: {PROGRAMS[name](builder)}, {time.monotonic() - begin:.0f} s", flush=True)
        except (Failed, subprocess.TimeoutExpired) as problem:
            failures += 1
            print(f"{name}: FAILED: {problem}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
