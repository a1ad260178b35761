#!/usr/bin/env python3
"""Checks the exports of libmpi_abi.so: every function of api/functions.txt, PMPI_ strong and MPI_ weak, the
table for facades, and nothing else. Also checks that the library never calls itself by these names, which a
tool may have replaced.

    abi_symbols.py LIBRARY
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import table  # noqa: E402


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """{name: nm's letter}; a symbol version would be a part of the name."""
    rows = (line.split() for line in output_of("nm", "-D", "--defined-only", library).splitlines())
    return {row[2]: row[1] for row in rows if len(row) == 3}


def main():
    library = sys.argv[1]
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    names = {function.prefix + name for function in functions for name, _ in function.forms()}
    wanted = {f"P{name}": "T" for name in names} | {name: "W" for name in names} | {"hearth_calls_v1": "D"}
    found = exported(library)
    problems = [f"missing: {name}" for name in sorted(wanted.keys() - found.keys())]
    problems += [f"must not be visible: {name}" for name in sorted(found.keys() - wanted.keys())]
    problems += [f"{name} is '{found[name]}', must be '{letter}'" for name, letter in sorted(wanted.items())
                 if name in found and found[name] != letter]
    inside = re.findall(r"\bP?MPIX?_\w+", output_of("readelf", "-rW", library))
    problems += [f"{name} is called by the library itself" for name in sorted(set(inside))]
    soname = re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", library))
    if not soname or soname.group(1) != "libmpi_abi.so.1":
        problems.append(f"the soname is {soname and soname.group(1)}, must be libmpi_abi.so.1")
    for problem in problems[:40]:
        print(problem)
    print(f"{len(names)} functions under two names each, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
