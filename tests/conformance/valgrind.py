#!/usr/bin/env python3
"""The programs of tests/multi, their ranks under valgrind: make check-valgrind.

    valgrind.py --table FILE [--only PROGRAM]... [--jobs N]

FILE is written by the build: a row per program with its binary, numbers of ranks and arguments. Each runs
with two ranks, or as few more as it can. Nothing may be read that was never set, nothing beyond a block, and
at the end nothing be lost. There are no suppressions.
"""

import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
from pathlib import Path

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"]
# A program takes some thirty times as long, and as many times more as there are ranks for a processor.
SECONDS_MAX = 1200


def check(mpiexec, name, binary, counts, arguments):
    """What is wrong with one program; empty when nothing is. And with how many ranks."""
    ranks = min((count for count in counts if count >= 2), default=counts[0])
    command = [mpiexec, "-n", str(ranks), "--oversubscribe", "--timeout", str(SECONDS_MAX), *VALGRIND,
               binary, *shlex.split(arguments)]
    result = subprocess.run(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                            env={**os.environ, "HEARTH_PROFILE": "none"})
    if result.returncode == 0 and "==" not in result.stdout:
        return name, ranks, ""
    return name, ranks, f"exit code {result.returncode}\n{result.stdout[-6000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True, type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    options = parser.parse_args()
    mpiexec = options.table.resolve().parent.parent / "bin" / "mpiexec"
    rows = {}
    for line in options.table.read_text(encoding="utf-8").splitlines():
        name, binary, _, ranks, _, arguments = line.split("|")
        rows[name] = (binary, [int(count) for count in ranks.split(",")], arguments)
    names = options.only or list(rows)
    for name in names:
        if name not in rows:
            sys.exit(f"valgrind: there is no program '{name}' in {options.table}")
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda name: check(str(mpiexec), name, *rows[name]), names):
            name, ranks, wrong = outcome
            failures += wrong != ""
            print(f"{name:30} {ranks} ranks  {wrong or 'clean'}", flush=True)
    print(f"{len(names)} programs, {failures} not clean")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
