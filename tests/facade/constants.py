#!/usr/bin/env python3
"""Compares api/NAME_constants.txt with the mpi.h of that MPI library, as its mpicc finds it.

    constants.py NAME MPICC
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import facade, table  # noqa: E402

# The header's name for a constant that Hearth has as an extension.
RENAMED = {"openmpi": {"MPIX_ERR_PROC_FAILED": "MPI_ERR_PROC_FAILED", "MPIX_ERR_REVOKED": "MPI_ERR_REVOKED",
                       "MPIX_ERR_PROC_FAILED_PENDING": "MPI_ERR_PROC_FAILED_PENDING"}}


def program(values, renamed):
    lines = ""
    for name, value in values.items():
        there = renamed.get(name, name)
        expected = f"(long long)(intptr_t)&{value}" if isinstance(value, str) else f"{value}LL"
        # Handles of MPICH are 32-bit patterns.
        lines += (f"  if ((long long)(intptr_t)({there}) != {expected} && "
                  f"(int)(intptr_t)({there}) != (int)({expected}))\n"
                  f"    wrong += printf(\"{there} is %llx\\n\", (long long)(intptr_t)({there})) > 0;\n")
    return (f"#include <mpi.h>\n#include <stdint.h>\n#include <stdio.h>\n"
            f"int main(void) {{\n  int wrong = 0;\n{lines}  return wrong != 0;\n}}\n")


def main():
    name, mpicc = sys.argv[1:]
    constants = table.read_constants(ROOT / "api" / "constants.txt")
    values = facade.read_constants(ROOT / "api" / f"{name}_constants.txt", constants)
    with tempfile.TemporaryDirectory() as place:
        source, binary = Path(place, "constants.c"), Path(place, "constants")
        source.write_text(program(values, RENAMED.get(name, {})), encoding="utf-8")
        library = Path(mpicc).resolve().parent.parent / "lib"
        command = [mpicc, "-w", source, "-o", binary, f"-Wl,-rpath,{library}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            done = subprocess.run([binary], capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr + f"{len(values)} constants compared")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
