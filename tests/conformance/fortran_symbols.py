#!/usr/bin/env python3
"""Checks libmpifort_abi.so: the entry points of each routine of Fortran in all forms, and references to
nothing but the standard ABI and the C library, so that it runs over any library with that ABI. Hearth's table
of objects is a weak reference: it may be absent.

    fortran_symbols.py LIBRARY
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import fortran_table, table  # noqa: E402


def symbols(library, option):
    text = subprocess.run(["nm", "-D", option, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1]: line.split()[-2] for line in text.splitlines()}


def forms(routine):
    """The names of the entry points."""
    base = f"mpi_{routine.name.lower()}"
    if routine.in_old_modules:
        yield from (f"{base}_", f"{base}__", base, base.upper())
    if routine.in_f08:
        yield f"{base}_f08_"
        if routine.has_buffers:
            yield f"{base}_f08ts_"


def main():
    library = sys.argv[1]
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    standard = {f"{prefix}MPI_{name}" for function in functions if function.in_abi
                for name, _ in function.forms() for prefix in ("", "P")}
    routines = list(fortran_table.routines(functions))
    names = {name for routine in routines for name in forms(routine)}
    wanted = names | {("p" if name.islower() else "P") + name for name in names}
    defined, undefined = symbols(library, "--defined-only"), symbols(library, "--undefined-only")
    problems = [f"missing: {name}" for name in sorted(wanted - defined.keys())]
    problems += [f"not a function: {name}" for name in sorted(wanted & defined.keys())
                 if defined[name] != "T"]
    problems += [f"must not be visible: {name}" for name in sorted(defined)
                 if not re.fullmatch(r"p?mpi_\w+|P?MPI_\w+", name)]
    needed = {name for name in undefined if re.match(r"P?MPIX?_", name)}
    problems += [f"no function of the ABI: {name}" for name in sorted(needed - standard)]
    others = {name for name in undefined if name not in needed and "@GLIBC" not in name}
    problems += [f"neither of MPI nor of the C library: {name}" for name in sorted(others)
                 if not name.startswith(("_ITM_", "__gmon_start__", "__cxa_pure_virtual"))
                 and (name, undefined[name]) != ("hearth_calls_v1", "v")]
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    if "SONAME" not in dynamic or "[libmpifort_abi.so.1]" not in dynamic:
        problems.append("the soname is not libmpifort_abi.so.1")
    for problem in problems[:40]:
        print(problem)
    print(f"{len(routines)} routines, {len(wanted)} entry points, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
