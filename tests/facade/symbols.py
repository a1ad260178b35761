#!/usr/bin/env python3
"""Checks what a facade exports and refers to, and that the library never binds to a facade.

    symbols.py FACADE              PMPI_ and MPI_ of each function; no reference to a name of MPI
    symbols.py FACADE --run PROGRAM   runs PROGRAM, which uses the facade, and reads the dynamic linker's log
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import facade, table  # noqa: E402


def symbols(library, choice):
    output = subprocess.run(["nm", "-D", choice, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in output.splitlines()}


def export_problems(library):
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    _, removed = table.read_functions(ROOT / "api" / "removed_functions.txt")
    found = symbols(library, "--defined-only")
    for function in [*functions, *removed]:
        for name, _ in function.forms():
            for symbol, letter in (f"P{function.prefix}{name}", "T"), (f"{function.prefix}{name}", "W"):
                if (symbol in found) == (name in facade.LEFT_OUT):
                    yield f"{symbol} is {'there' if symbol in found else 'missing'}"
                elif symbol in found and found[symbol] != letter:
                    yield f"{symbol} is '{found[symbol]}', must be '{letter}'"
    for name in symbols(library, "--undefined-only"):
        if re.match(r"P?MPIX?_", name):
            yield f"the facade refers to {name} by name: the program's own function may answer"


def binding_problems(options):
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{place}/log",
                       "LD_BIND_NOW": "1"}
        done = subprocess.run([options.run], env=environment, capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode != 0:
            yield f"{options.run} exits with {done.returncode}: {done.stdout}{done.stderr}"
        logs = "".join(path.read_text(errors="replace") for path in Path(place).iterdir())
    bindings = re.findall(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: \w+ symbol [`']([^']+)'", logs)
    facade_name = Path(options.facade).name
    used = 0
    for source, target, symbol in bindings:
        used += Path(target).name == facade_name and Path(source).name == Path(options.run).name
        if "libmpi_abi" in Path(source).name and Path(target).name == facade_name:
            yield f"libmpi_abi binds {symbol} to the facade"
    if used == 0:
        yield f"{options.run} binds nothing to {facade_name}: {len(bindings)} bindings"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("facade")
    parser.add_argument("--run")
    options = parser.parse_args()
    problems = list(binding_problems(options) if options.run else export_problems(options.facade))
    for problem in problems[:40]:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
