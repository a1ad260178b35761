#!/usr/bin/env python3
"""Runs mpi4py's own test suite, unmodified, on our library: the modules listed in mpi4py_modules.txt.

    mpi4py_suite.py --mpiexec M --library DIR --python P --suite DIR -n N [-n N ...]

P is a Python whose mpi4py was built for the MPI standard ABI: with our mpicc, or with that of another MPI
library. Before the run the dynamic linker is asked whether its libmpi_abi.so.1 is the one in DIR.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read_list(path):
    """Modules to run, and patterns of single tests to leave out (lines that begin with '-')."""
    modules, left_out = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        word = line.split("#")[0].strip()
        if word.startswith("-"):
            left_out.append(word[1:].strip())
        elif word:
            modules.append(word)
    return modules, left_out


def library_that_loads(python, environment):
    """The file that the dynamic linker takes as libmpi_abi.so.1 for this Python's mpi4py."""
    find = "import importlib.util as u; print(u.find_spec('mpi4py.MPI').origin)"
    module = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    ldd = subprocess.run(["ldd", module], capture_output=True, text=True, check=True, env=environment)
    match = re.search(r"libmpi_abi\.so\.1 => (\S+)", ldd.stdout)
    return Path(match.group(1)).resolve() if match else None


def run_suite(options, ranks, modules, left_out, environment):
    """True when every rank ran every module without a failure. Prints one line, and the output on failure."""
    missing = [m for m in modules if not Path(options.suite, "test", m + ".py").is_file()]
    if missing:
        print(f"not in this suite: {' '.join(missing)}")
        return False
    command = [options.mpiexec, "-n", str(ranks), "--oversubscribe", options.python, "test/main.py", "-v",
               "-i", rf"^({'|'.join(modules)})\.py$"]
    for pattern in left_out:
        command += ["-x", pattern]
    try:
        done = subprocess.run(command, cwd=options.suite, env=environment, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=options.timeout, check=False)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace")
        code = f"none within {options.timeout} s"

    counts = [int(n) for n in re.findall(r"^Ran (\d+) tests? in", output, re.MULTILINE)]
    passed = re.findall(r"^OK(?: \(.*\))?$", output, re.MULTILINE)
    skipped = [int(n) for n in re.findall(r"^(?:OK|FAILED) \(.*skipped=(\d+)", output, re.MULTILINE)]
    bad = sorted(set(re.findall(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+ \(\S+\))", output, re.MULTILINE)))
    # A module that cannot be imported counts as one failed test, so a low count is not a silent pass.
    good = code == 0 and len(counts) == len(passed) == ranks and min(counts) == max(counts) > 0 and not bad
    print(f"mpi4py {ranks} ranks: {'passed' if good else 'FAILED'}: {len(modules)} modules, "
          f"{max(counts, default=0)} tests, {max(skipped, default=0)} skipped by the suite, "
          f"{len(passed)} of {ranks} ranks passed, exit code {code}", flush=True)
    if not good:
        print(output[-options.tail:])
        for name in bad:
            print(f"  failed: {name}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--library", required=True, type=Path, help="folder of libmpi_abi.so.1")
    parser.add_argument("--python", required=True)
    parser.add_argument("--suite", required=True, type=Path, help="mpi4py's source tree")
    parser.add_argument("-n", dest="ranks", type=int, action="append", required=True)
    parser.add_argument("--modules", type=Path, default=HERE / "mpi4py_modules.txt")
    parser.add_argument("--only", action="append", help="run this module instead of the list")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each number of ranks")
    parser.add_argument("--tail", type=int, default=20000, help="characters of output shown on failure")
    options = parser.parse_args()

    if not Path(options.python).exists() or not options.suite.exists():
        print(f"{options.python} or {options.suite} is not there: run scripts/setup.sh foreign")
        return 1
    modules, left_out = read_list(options.modules)
    modules = options.only or modules
    environment = {**os.environ, "LD_LIBRARY_PATH": str(options.library.resolve())}
    expected = (options.library / "libmpi_abi.so.1").resolve()
    found = library_that_loads(options.python, environment)
    if found != expected:
        print(f"mpi4py of {options.python} would load {found}, not {expected}")
        return 1
    results = [run_suite(options, n, modules, left_out, environment) for n in options.ranks]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
