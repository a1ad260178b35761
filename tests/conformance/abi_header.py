#!/usr/bin/env python3
"""Compiles mpi.h as a program would, in strict C and C++, and compares the result with the tables: every
constant of api/constants.txt, the layout of MPI_Status and the sizes of the types.

    abi_header.py FOLDER_OF_MPI_H C_COMPILER CXX_COMPILER
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import table  # noqa: E402

# Facts of the standard ABI on 64-bit Linux (MPI 5.0 section 20.3), independent of the tables.
LAYOUT = {
    "sizeof(MPI_Status)": 32,
    "offsetof(MPI_Status, MPI_SOURCE)": 0,
    "offsetof(MPI_Status, MPI_TAG)": 4,
    "offsetof(MPI_Status, MPI_ERROR)": 8,
    "offsetof(MPI_Status, MPI_internal)": 12,
    "offsetof(struct aligned, status)": 4,
    "sizeof(MPI_Aint)": 8,
    "sizeof(MPI_Count)": 8,
    "sizeof(MPI_Offset)": 8,
    "sizeof(MPI_Comm)": 8,
    "sizeof(MPI_T_cb_safety)": 4,
    "sizeof(MPI_T_source_order)": 4,
}
# A sample that detects an error in constants.txt itself.
FIXED = {
    "MPI_ANY_SOURCE": -1, "MPI_ANY_TAG": -2, "MPI_PROC_NULL": -3, "MPI_ROOT": -4, "MPI_UNDEFINED": -32766,
    "MPI_COMM_WORLD": 0x101, "MPI_COMM_SELF": 0x102, "MPI_INT": 0x209, "MPI_CHARACTER": 0x21e,
    "MPI_BYTE": 0x247,
    "MPI_ERRORS_RETURN": 0x143, "MPI_ERRORS_ABORT": 0x142, "MPI_IN_PLACE": 1, "MPI_THREAD_MULTIPLE": 4096,
    "MPI_ERR_LASTCODE": 16383, "MPI_UNIVERSE_SIZE": 507, "MPI_SEEK_SET": 403,
}


def program(names):
    prints = [f'  printf("{name} %lld\\n", (long long)({name}));' for name in names]
    prints += [f'  printf("{expression} %lld\\n", (long long)({expression}));' for expression in LAYOUT]
    return ("#include <stddef.h>\n#include <stdio.h>\n#include <mpi.h>\n"
            "struct aligned { char before; MPI_Status status; };\n"
            "int main(void) {\n" + "\n".join(prints) + "\n  return 0;\n}\n")


def compile_and_run(folder, compiler, suffix, flags, names):
    with tempfile.TemporaryDirectory() as temporary:
        source, binary = Path(temporary) / f"constants{suffix}", Path(temporary) / "constants"
        source.write_text(program(names), encoding="utf-8")
        subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{folder}",
                        str(source), "-o", str(binary)], check=True)
        lines = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def main():
    folder, c_compiler, cxx_compiler = sys.argv[1:4]
    constants = table.read_constants(ROOT / "api" / "constants.txt")
    wanted = {constant.name: constant.value for constant in constants if not constant.extension}
    problems = []
    if len(wanted) != 365:
        problems.append(f"api/constants.txt has {len(wanted)} constants, the ABI has 365")
    problems += [f"api/constants.txt: {name} must be {value}" for name, value in FIXED.items()
                 if wanted.get(name) != value]
    for compiler, suffix, flags in ((c_compiler, ".c", ["-std=c99"]), (cxx_compiler, ".cpp", ["-std=c++11"])):
        found = compile_and_run(folder, compiler, suffix, flags, list(wanted))
        problems += [f"{compiler}: {name} is {found.get(name)}, must be {value}"
                     for name, value in (wanted | LAYOUT).items() if found.get(name) != value]
    for problem in problems[:40]:
        print(problem)
    print(f"{len(wanted)} constants, {len(LAYOUT)} sizes and offsets, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
