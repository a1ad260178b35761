#!/usr/bin/env python3
"""Runs programs of tests/multi, which are correct, under mpiexec --check: every finding is a false alarm.

    run_clean.py --bin FOLDER --table FILE [name...]

--table: the table that the build wrote, as tests/conformance/peers.py reads it. With names, only those
programs. Each runs with its numbers of ranks up to 4.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Findings that are intended by the program.
MEANT = {
    # Bytes are received as parts of elements.
    "datatype_edge_cases": {"messages of another type"},
    "datatype_elements": {"messages of another type"},
}
RANKS_MAX = 4


def rows(path, names):
    for line in path.read_text(encoding="utf-8").splitlines():
        name, program, _, ranks, limit, words = line.split("|")
        if names and name not in names:
            continue
        counts = [int(count) for count in ranks.split(",")]
        for count in [count for count in counts if count <= RANKS_MAX] or counts[:1]:
            yield name, program, count, limit, words.split()


def told(arguments, program, ranks, limit, words):
    """The classes with findings, and the text on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "found.json")
        command = [Path(arguments.bin, "mpiexec"), "--check-json", report, "--timeout", limit,
                   "--oversubscribe", "-n", str(ranks), program, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=int(limit) + 30, check=False,
                              env=dict(os.environ, HEARTH_PROFILE="none"))
        found = {"no report"}
        if report.exists():
            counts = json.loads(report.read_text(encoding="utf-8"))["counts"]
            found = {name for name, count in counts.items() if count}
        if done.returncode != 0:
            found.add(f"exit code {done.returncode}")
        return found, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    runs = alarms = 0
    for name, program, ranks, limit, words in rows(arguments.table, arguments.names):
        found, written = told(arguments, program, ranks, limit, words)
        runs += 1
        if found - MEANT.get(name, set()):
            alarms += 1
            print(f"{name} with {ranks} ranks: {', '.join(sorted(found))}")
            print("  " + "\n  ".join(written.splitlines()[:12]))
    print(f"{runs} runs, {alarms} of them with a word about what is right")
    return 1 if alarms or runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
