#!/usr/bin/env python3
"""Runs the programs of tests/multi with their ranks under valgrind: make check-valgrind.

    valgrind.py --table FILE [--faults FILE] [--only PROGRAM]... [--jobs N]

The build writes both files: a row per program with its binary, numbers of ranks, arguments and, in the
file for --faults, environment. Each program runs with two ranks, or with its smallest number above;
programs of --faults run with their largest number, because each step costs a rank. Reads of uninitialized
memory, accesses beyond a block, and leaks are errors. A killed rank is checked up to its death. There are
no suppressions.
"""

import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"]
# A program takes about thirty times as long, times the number of ranks per processor.
SECONDS_MAX = 1200
# The grace period of survivors under valgrind, until they show that they continue.
GRACE_SECONDS = 120


class Program:
    """A row of a table."""

    def __init__(self, line):
        self.name, self.binary, _, counts, _, arguments, *variables = line.split("|")
        self.may_lose_ranks = bool(variables)
        counts = [int(count) for count in counts.split(",")]
        several = [count for count in counts if count >= 2] or counts
        self.ranks = max(several) if self.may_lose_ranks else min(several)
        self.arguments = shlex.split(arguments)
        self.variables = {"HEARTH_PROFILE": "none"}
        if self.may_lose_ranks:
            self.variables["HEARTH_LAUNCH_GRACE"] = f"{GRACE_SECONDS}s"
            self.variables.update(variable.split("=", 1) for variable in variables[0].split())

    def check(self, mpiexec):
        """The error text; empty if all went well."""
        with tempfile.TemporaryDirectory() as folder:
            command = [mpiexec, "-n", str(self.ranks), "--oversubscribe", "--timeout", str(SECONDS_MAX),
                       *VALGRIND, f"--log-file={folder}/%p", self.binary, *self.arguments]
            result = subprocess.run(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                    env={**os.environ, **self.variables})
            found = [file.read_text(encoding="utf-8", errors="replace") for file in Path(folder).iterdir()]
        if len(found) < self.ranks:
            return f"{len(found)} of {self.ranks} ranks ran under valgrind\n{result.stdout[-6000:]}"
        if result.returncode == 0 and not any(found):
            return ""
        return f"exit code {result.returncode}\n{result.stdout[-6000:]}{''.join(found)[-6000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True, type=Path)
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    options = parser.parse_args()
    mpiexec = options.table.resolve().parent.parent / "bin" / "mpiexec"
    programs = {}
    for table in filter(None, (options.table, options.faults)):
        for line in table.read_text(encoding="utf-8").splitlines():
            program = Program(line)
            programs[program.name] = program
    names = options.only or list(programs)
    for name in names:
        if name not in programs:
            sys.exit(f"valgrind: there is no program '{name}' in the tables")
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, wrong in zip(names, pool.map(lambda name: programs[name].check(str(mpiexec)), names)):
            failures += wrong != ""
            print(f"{name:30} {programs[name].ranks} ranks  {wrong or 'clean'}", flush=True)
    print(f"{len(names)} programs, {failures} not clean")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
