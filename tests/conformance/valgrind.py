#!/usr/bin/env python3
"""Programs of tests/multi whose ranks run under valgrind: make check-valgrind.

    valgrind.py --table FILE [--only PROGRAM]

FILE is written by the build: a row per program with its binary, numbers of ranks and arguments. Nothing may
be read that was never set, nothing beyond a block, and at the end nothing be lost. There are no suppressions.
"""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

# Short ones that between them go through most of the library: valgrind makes a program thirty times slower.
PROGRAMS = """ring pt2pt_modes pt2pt_persistent pt2pt_exchange pt2pt_complete pt2pt_probe
requests_generalized requests_partitioned datatype_elements datatype_pack datatype_contents
objects_comms objects_types objects_inter objects_agree sessions sessions_communicators coll_areas
coll_persistent coll_inter topology_grid topology_graph topology_neighbors""".split()
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"]
SECONDS_MAX = 300


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True, type=Path)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    mpiexec = options.table.resolve().parent.parent / "bin" / "mpiexec"
    rows = {}
    for line in options.table.read_text(encoding="utf-8").splitlines():
        name, binary, _, ranks, _, arguments = line.split("|")
        rows[name] = (binary, [int(count) for count in ranks.split(",")], arguments)
    failures = 0
    for name in options.only or PROGRAMS:
        if name not in rows:
            sys.exit(f"valgrind: there is no program '{name}' in {options.table}")
        binary, counts, arguments = rows[name]
        ranks = min((count for count in counts if count >= 2), default=counts[0])
        command = [str(mpiexec), "-n", str(ranks), "--oversubscribe", "--timeout", str(SECONDS_MAX),
                   *VALGRIND, binary, *shlex.split(arguments)]
        result = subprocess.run(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                env={**os.environ, "HEARTH_PROFILE": "none"})
        good = result.returncode == 0 and "==" not in result.stdout
        failures += not good
        print(f"{name:24} {ranks} ranks  {'clean' if good else f'exit code {result.returncode}'}", flush=True)
        if not good:
            print(result.stdout[-6000:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
