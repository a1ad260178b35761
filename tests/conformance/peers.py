#!/usr/bin/env python3
"""Validates the test programs: compiles them with other libraries' mpicc and runs them there.

    peers.py --table FILE [--peers mpich,openmpi,mpich-abi,impi-abi] [--only PROGRAM] [--ranks-max N]

The build writes FILE: a row per program of tests/multi with its source, numbers of ranks, arguments. A
program that only uses mpi.h must pass everywhere. If a library lacks a feature or violates the standard,
peer_exceptions.txt gives the reason. An exception for a program that passes is stale and counts as a
failure. mpich-abi and impi-abi run the binaries of this build tree on the libmpi_abi.so.1 of MPICH and of
Intel MPI, those in Fortran (fortran_table.txt) with libmpifort_abi.so.1 of this build tree.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from comparing import peers  # noqa: E402  pylint: disable=wrong-import-position

# Options with which each launcher accepts more ranks than processors; otherwise they bind ranks by
# themselves.
CROWDED = {"openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
           "impi-abi": ["-genv", "I_MPI_PIN=off"]}


class Row:
    """A line of the table: name|binary|source|ranks|seconds|arguments."""

    def __init__(self, line):
        self.name, binary, source, ranks, seconds, self.arguments = line.rstrip("\n").split("|")
        self.binary, self.source = Path(binary), Path(source)
        self.ranks = [int(n) for n in ranks.split(",")]
        self.timeout_s = int(seconds)


def read_exceptions(path):
    """{(peer, program): reason}; a reason continues in lines that begin with blanks."""
    reasons = {}
    for line in path.read_text(encoding="utf-8").replace("\n ", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            peer_names, programs, reason = line.split(maxsplit=2)
            reason = " ".join(reason.split())
            reasons.update({(peer, program): reason for peer in peer_names.split(",")
                            for program in programs.split(",")})
    return reasons


class Peer:
    def __init__(self, name, work, build):
        self.name = name
        self.foreign = not name.endswith("-abi")
        self.library = peers.install(name.removesuffix("-abi"), ROOT / ".cache")
        self.work = work
        self.environment = dict(self.library.environment)
        if not self.foreign:
            # LD_LIBRARY_PATH precedes the path to Hearth's library in the binary. The peer's own library for
            # Fortran, if it has one, has the same name as Hearth's.
            own = work / name
            own.mkdir()
            (own / "libmpifort_abi.so.1").symlink_to((build / "lib/libmpifort_abi.so.1").resolve())
            self.environment["LD_LIBRARY_PATH"] = f"{own}:{self.library.root / 'lib'}"

    def program(self, row):
        """The program for this library, and the compiler's output if it failed."""
        if not self.foreign:
            return row.binary, ""
        target = self.work / f"{row.name}.{self.name}"
        command = [str(self.library.root / "bin" / "mpicc"), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w",
                   str(row.source), "-o", str(target), "-lpthread", "-lm"]
        result = subprocess.run(command, env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        return target, result.stdout if result.returncode != 0 else ""

    def run(self, row, program, ranks, timeout_s):
        """The error text; empty if all went well."""
        command = [str(self.library.root / "bin" / "mpiexec"), *CROWDED.get(self.name, []), "-n", str(ranks),
                   str(program), *shlex.split(row.arguments)]
        # Hydra and PRRTE end their ranks when they get SIGTERM, not when they are killed.
        with subprocess.Popen(command, env=self.environment, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.terminate()
                try:
                    process.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
                return f"{ranks} ranks: no end within {timeout_s} s"
        if process.returncode == 0:
            return ""
        return f"{ranks} ranks: exit code {process.returncode}: {output[-1500:]}"


def check(peer, row, options):
    """The error text; empty if all went well."""
    program, complaint = peer.program(row)
    if complaint:
        return "does not compile: " + complaint[-1500:]
    fitting = [n for n in row.ranks if n <= options.ranks_max] or [min(row.ranks)]
    for ranks in sorted({min(fitting, key=lambda n: abs(n - 2)), max(fitting)}):
        complaint = peer.run(row, program, ranks, min(row.timeout_s, options.timeout))
        if complaint:
            return complaint
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", required=True, type=Path)
    parser.add_argument("--peers", default="mpich,openmpi,mpich-abi")
    parser.add_argument("--exceptions", type=Path, default=HERE / "peer_exceptions.txt")
    parser.add_argument("--only", action="append", help="this program")
    parser.add_argument("--ranks-max", type=int, default=4)
    parser.add_argument("--timeout", type=int, default=60, help="seconds for each run")
    options = parser.parse_args()
    if not options.table.exists():
        sys.exit(f"no {options.table}: build first")
    rows = [Row(line) for line in options.table.read_text(encoding="utf-8").splitlines()]
    if options.only:
        rows = [row for row in rows if row.name in options.only]
    reasons = read_exceptions(options.exceptions)
    os.makedirs(ROOT / ".cache", exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for name in options.peers.split(","):
            try:
                peer = Peer(name, Path(place), options.table.parent.parent)
            except peers.Missing as problem:
                sys.exit(f"peers: {problem}")
            for row in rows:
                complaint = check(peer, row, options)
                reason = reasons.get((name, row.name))
                if complaint and reason:
                    print(f"{name:10} {row.name:24} excepted: {reason}", flush=True)
                elif complaint:
                    print(f"{name:10} {row.name:24} FAILED: {complaint}", flush=True)
                elif reason:
                    print(f"{name:10} {row.name:24} FAILED: passes, but peer_exceptions.txt says: {reason}")
                else:
                    print(f"{name:10} {row.name:24} passed", flush=True)
                wrong += bool(complaint) != bool(reason)
    print(f"{wrong} of our programs fail where they should pass, or pass where they should fail")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
