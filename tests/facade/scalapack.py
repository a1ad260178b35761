#!/usr/bin/env python3
"""The test programs of ScaLAPACK, PBLAS and BLACS as Debian builds them for MPICH and for Open MPI, on
Hearth with four ranks, which the grids in their data need. `scripts/setup.sh debian` unpacks them. Fails if a
program fails, reports a failed check, or checks nothing.

    scalapack.py --mpiexec PROGRAM
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / ".cache/debian/programs/usr"
RANKS = 4
LIMIT_S = 300
# The ranks of these disagree about the end of PSLACON's iteration: under Open MPI 5.0.11 xsllt hangs in 15 of
# 16 runs, at the same message; here it hangs in 5 of 16, or two collectives do not match.
LEFT_OUT = {("openmpi", "xsllt"), ("openmpi", "xslu")}
# How the programs report: (checks that passed, checks that failed).
REPORTS = (
    (r"(\d+) tests completed and passed", r"(\d+) tests completed and failed"),
    (r"(\d+) PASSED, +\d+ SKIPPED, +\d+ FAILED", r"\d+ PASSED, +\d+ SKIPPED, +(\d+) FAILED"),  # BLACS
    (r"\|  P\w+ +\d+ +(\d+) +\d+ +\d+", r"\|  P\w+ +\d+ +\d+ +\d+ +(\d+)"),  # PBLAS
    (r"\b()PASSED *$", r"\b()FAILED *$"),
    (r"^()Passed ", r"^()Failed "),
)


def counts(text):
    """(passed, failed)"""
    for passed, failed in REPORTS:
        found = [[int(number or 1) for number in re.findall(pattern, text, re.MULTILINE)]
                 for pattern in (passed, failed)]
        if any(found):
            return tuple(map(sum, found))
    return 0, 0


def run(mpiexec, program, folder):
    """(checks that passed, problem)"""
    command = [mpiexec, "-n", str(RANKS), "--oversubscribe", "--timeout", str(LIMIT_S), str(program)]
    libraries = [path for name in ("", "/blas", "/lapack")
                 for path in PROGRAMS.glob(f"lib/*-linux-gnu{name}")]
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, libraries))}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=LIMIT_S + 30, check=False)
    passed, failed = counts(done.stdout)
    # BLACS's programs end by their last test, of BLACS_ABORT.
    aborts = program.parent.name == "BLACS" and "The final auxiliary test is for BLACS_ABORT" in done.stdout
    if (done.returncode != 0) != aborts:
        return passed, f"exit code {done.returncode}\n{done.stderr[-2000:]}"
    if failed:
        return passed, f"{failed} checks failed\n{done.stdout[-2000:]}"
    return passed, "" if passed else "nothing was checked"


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--mpiexec", required=True)
    options = parser.parse_args()
    problems = 0
    for abi in ("mpich", "openmpi"):
        begin, checks = time.monotonic(), 0
        programs = sorted(path for pattern in ("x[!CF]*", "BLACS/x?btest", "PBLAS/?pb?tst")
                          for path in PROGRAMS.glob(f"lib/*/scalapack/{abi}-tests/{pattern}"))
        if not programs:
            sys.exit(f"no programs below {PROGRAMS}. Remedy: scripts/setup.sh debian")
        for program in programs:
            if (abi, program.name) in LEFT_OUT:
                print(f"{abi} {program.name}: left out", flush=True)
                continue
            with tempfile.TemporaryDirectory(prefix="hearth-scalapack-") as folder:
                for data in PROGRAMS.glob("share/scalapack/**/*.dat"):
                    shutil.copy(data, folder)
                passed, problem = run(options.mpiexec, program, folder)
            checks += passed
            if problem:
                problems += 1
                print(f"{abi} {program.name}: {problem}", flush=True)
        print(f"{abi}: {len(programs)} programs, {checks} checks passed, {time.monotonic() - begin:.0f} s",
              flush=True)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
