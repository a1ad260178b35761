#!/usr/bin/env python3
"""Runs mpi4py's own test suite, unmodified, on Hearth: all of it except what mpi4py_left_out.txt names.

    mpi4py_suite.py --mpiexec M --library DIR --python P --suite DIR -n N [-n N ...]

P is a Python whose mpi4py was built for the MPI standard ABI: with Hearth's mpicc, or with that of another
MPI library. Before the run the script checks that the dynamic linker loads libmpi_abi.so.1 from DIR. With
--wheel FOLDER --abi ABI, mpi4py is the wheel in FOLDER, which loads a facade.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read_left_out(path):
    """Modules to leave out, and patterns of single tests to leave out (lines that begin with '-')."""
    modules, patterns = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        word = line.split("#")[0].strip()
        if word.startswith("-"):
            patterns.append(word[1:].strip())
        elif word:
            modules.append(word)
    return modules, patterns


def stale(all_modules, suite, left_out, patterns):
    """Names in the list that the suite does not know: stale entries."""
    found = [name for name in left_out if name not in all_modules]
    for pattern in patterns:
        module, *names = pattern.split(".")
        source = Path(suite, "test", module + ".py")
        text = source.read_text(encoding="utf-8") if source.is_file() else ""
        words = [word for name in names for word in name.split("*") if word]
        if not words or not all(word in text for word in words):
            found.append(pattern)
    return found


FACADES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}


def facade_that_loads(python, environment, name):
    """The file of this name that a process with mpi4py maps."""
    find = "from mpi4py import MPI; print(open('/proc/self/maps').read())"
    maps = subprocess.run([python, "-c", find], capture_output=True, text=True, check=False, env=environment)
    match = re.search(rf"(/\S*/{re.escape(name)}\S*)", maps.stdout)
    return Path(match.group(1)).resolve() if match else None


def library_that_loads(python, environment):
    """The file that the dynamic linker loads as libmpi_abi.so.1 for this Python's mpi4py."""
    find = "import importlib.util as u; print(u.find_spec('mpi4py.MPI').origin)"
    module = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    ldd = subprocess.run(["ldd", module], capture_output=True, text=True, check=True, env=environment)
    match = re.search(r"libmpi_abi\.so\.1 => (\S+)", ldd.stdout)
    return Path(match.group(1)).resolve() if match else None


def run_suite(options, ranks, modules, patterns, environment):
    """True if every rank ran every module without a failure. Prints one line, and the output on failure."""
    if options.launcher:
        launch = [word.replace("{ranks}", str(ranks)) for word in shlex.split(options.launcher)]
    else:
        # mpiexec's own limit is shorter: its report says what each rank was waiting for.
        launch = [options.mpiexec, "-n", str(ranks), "--oversubscribe", "--timeout",
                  str(int(options.timeout))]
    command = [*launch, *options.before, options.python, "test/main.py", "-v", "-i",
               rf"^({'|'.join(modules)})\.py$"]
    for pattern in patterns:
        command += ["-x", pattern]
    begin = time.monotonic()
    done = subprocess.run(command, cwd=options.suite, env=environment, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=options.timeout + 30, check=False)
    output, code = done.stdout, done.returncode

    counts = [int(n) for n in re.findall(r"^Ran (\d+) tests? in", output, re.MULTILINE)]
    passed = re.findall(r"^OK(?: \(.*\))?$", output, re.MULTILINE)
    skipped = [int(n) for n in re.findall(r"^(?:OK|FAILED) \(.*skipped=(\d+)", output, re.MULTILINE)]
    bad = sorted(set(re.findall(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+ \(\S+\))", output, re.MULTILINE)))
    # A module that cannot be imported counts as one failed test, so a low count does not pass unnoticed.
    good = code == 0 and len(counts) == len(passed) == ranks and min(counts) == max(counts) > 0 and not bad
    what = modules[0] if len(modules) == 1 else f"{len(modules)} modules"
    print(f"mpi4py {ranks} ranks: {'passed' if good else 'FAILED'}: {what}, "
          f"{max(counts, default=0)} tests, {max(skipped, default=0)} skipped by the suite, "
          f"{len(passed)} of {ranks} ranks passed, exit code {code}, {time.monotonic() - begin:.0f} s",
          flush=True)
    if not good:
        print(output[-options.tail:] if options.tail else "")
        for name in bad:
            print(f"  failed: {name}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpiexec")
    parser.add_argument("--launcher", help="words of another launcher than ours; {ranks}: the number")
    parser.add_argument("--library", required=True, type=Path, help="folder of libmpi_abi.so.1")
    parser.add_argument("--python", required=True)
    parser.add_argument("--suite", required=True, type=Path, help="mpi4py's source tree")
    parser.add_argument("--wheel", type=Path, help="folder with mpi4py from the package index")
    parser.add_argument("--abi", choices=sorted(FACADES), default="mpich", help="a module of the wheel")
    parser.add_argument("-n", dest="ranks", type=int, action="append", required=True)
    parser.add_argument("--left-out", type=Path, default=HERE / "mpi4py_left_out.txt")
    parser.add_argument("--only", action="append", help="run this module, whether it is left out or not")
    parser.add_argument("--without", action="append", default=[], help="leave this module out as well")
    parser.add_argument("--without-test", action="append", default=[], help="a pattern of tests to leave out")
    parser.add_argument("--apart", action="store_true", help="each module in a job of its own")
    parser.add_argument("--preload", help="the runtime of a sanitizer, which has to come first")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each job")
    parser.add_argument("--tail", type=int, default=20000, help="characters of output shown on failure")
    options = parser.parse_args()

    if not Path(options.python).exists() or not options.suite.exists():
        print(f"{options.python} or {options.suite} is not there: run scripts/setup.sh foreign")
        return 1
    all_modules = sorted(path.stem for path in Path(options.suite, "test").glob("test_*.py"))
    left_out, patterns = read_left_out(options.left_out)
    patterns += options.without_test
    unknown = stale(all_modules, options.suite, left_out, patterns)
    if unknown:
        print(f"{options.left_out} names what this suite does not have: {' '.join(unknown)}")
        return 1
    modules = options.only or [name for name in all_modules if name not in left_out + options.without]

    environment = {**os.environ, "LD_LIBRARY_PATH": str(options.library.resolve())}
    name = "libmpi_abi.so.1"
    if options.wheel:
        name = FACADES[options.abi]
        environment.update(PYTHONPATH=str(options.wheel), MPI4PY_MPIABI=options.abi)
        found = facade_that_loads(options.python, environment, name)
    else:
        found = library_that_loads(options.python, environment)
    expected = (options.library / name).resolve()
    if found != expected:
        print(f"mpi4py of {options.python} would load {found}, not {expected}")
        return 1
    options.before = []
    if options.preload:
        # Python itself leaks memory at its end.
        options.before = ["env", f"LD_PRELOAD={options.preload}", "ASAN_OPTIONS=detect_leaks=0"]
    jobs = [[name] for name in modules] if options.apart else [modules]
    results = [run_suite(options, n, job, patterns, environment) for n in options.ranks for job in jobs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
