#!/usr/bin/env python3
"""`make check-wheel-aarch64`: the wheel for aarch64 in QEMU: check_aarch64.py WHEEL. Its programs start, and
a program that was built with its header and library runs."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wheel"))
import environment as wheel_environment  # noqa: E402

RUN = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d, sum %d\n", rank, size, sum);
  return MPI_Finalize();
}
"""


def run(*command):
    variables = {**os.environ, "HEARTH_PROFILE": "none"}
    result = subprocess.run(
        [str(word) for word in command],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if result.returncode != 0:
        sys.exit(
            f"check_aarch64: {' '.join(map(str, command))} ended with {result.returncode}:\n"
            f"{result.stdout}{result.stderr}"
        )
    return result.stdout


def main():
    wheel = Path(sys.argv[1])
    if "aarch64" not in wheel.name:
        sys.exit(f"check_aarch64: {wheel.name} is for another machine")
    packed, installed = wheel_environment.bytes_of(wheel)
    if packed > wheel_environment.PACKED_BYTES_MAX or installed > wheel_environment.INSTALLED_BYTES_MAX:
        sys.exit(f"check_aarch64: {wheel.name} has {packed} bytes, installed {installed}: too large")
    with tempfile.TemporaryDirectory(prefix="hearth-aarch64-") as name:
        folder = Path(name)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        prefix = next(folder.glob("*.data/data"))
        for program in prefix.glob("bin/*"):
            program.chmod(0o755)
        version = run(*RUN, prefix / "bin" / "mpiexec", "--version")
        if "Hearth" not in version:
            sys.exit(f"check_aarch64: mpiexec --version printed {version!r}")
        if "parameters" not in run(*RUN, prefix / "bin" / "mpiexec", "--as-hearth", "info"):
            sys.exit("check_aarch64: hearth info printed no parameters")
        source = folder / "program.c"
        source.write_text(PROGRAM)
        run(
            "aarch64-linux-gnu-gcc",
            source,
            "-o",
            folder / "program",
            "-I",
            prefix / "include",
            prefix / "lib" / "libmpi_abi.so.1",
            f"-Wl,-rpath,{prefix / 'lib'}",
        )
        printed = run(*RUN, folder / "program")
        if printed != "rank 0 of 1, sum 1\n":
            sys.exit(f"check_aarch64: the program printed {printed!r}")
    print(f"{wheel.name}: mpiexec, hearth and a program run in QEMU")


if __name__ == "__main__":
    main()
