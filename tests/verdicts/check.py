#!/usr/bin/env python3
"""Random correct programs under --check=fatal and --why: any finding is a false alarm.

    check.py [--runs N] [--seed S] [--parallel N] [--why SECONDS]

Each run has its own seed, starting from S. The seed determines the number of ranks, the protocols, and all
actions of the program (right.c). A failed run is printed with its seed and the command that repeats it.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

BUILD = Path(os.environ.get("HEARTH_BUILD", "build/release"))
MPIEXEC = str(Path(os.environ["HEARTH_BIN"]) / "mpiexec" if "HEARTH_BIN" in os.environ
              else BUILD.parent / "install/bin/mpiexec")
PROGRAM = os.environ.get("HEARTH_RIGHT_PROGRAM", str(BUILD / "tests/verdicts/verdicts_right"))
LIMIT_S = 120
SETTINGS = (
    {}, {}, {}, {},
    {"HEARTH_SIMULATED_NODES": "2"},
    {"HEARTH_COLL_REGIONS": "0"},
    {"HEARTH_WAIT_SPIN": "0"},
    {"HEARTH_P2P_SINGLE_COPY": "0"},
)
# "no deadlock: ..." does not count.
VERDICT = re.compile(r"mpiexec: (deadlock|suspected deadlock|ranks? .* in vain)|check: found|^check: ", re.M)


def command_of(seed, why):
    ranks = 2 + seed % 4
    return [MPIEXEC, "-n", str(ranks), "--oversubscribe", "--check=fatal", f"--why={why}", "--timeout",
            str(LIMIT_S), PROGRAM, str(seed)]


def problem_of(seed, why):
    """The problem of the run with this seed; "" if there is none."""
    setting = SETTINGS[seed // 4 % len(SETTINGS)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HEARTH_", "PMI", "OMPI_"))}
    command = command_of(seed, why)
    words = " ".join([f"{key}={value}" for key, value in setting.items()] + command)
    try:
        result = subprocess.run(command, env=environment | {"HEARTH_PROFILE": "none"} | setting,
                                text=True, capture_output=True, stdin=subprocess.DEVNULL,
                                timeout=2 * LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"seed {seed}: mpiexec did not end within {2 * LIMIT_S} s despite its --timeout: {words}"
    if result.returncode == 0 and not VERDICT.search(result.stderr):
        return ""
    return f"seed {seed}: exit code {result.returncode}: {words}\n{result.stdout}{result.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", default="clock")
    parser.add_argument("--parallel", type=int, default=4 * (os.cpu_count() or 1))
    parser.add_argument("--why", default="1")
    given = parser.parse_args()
    first = int(time.time()) * 1000 if given.seed == "clock" else int(given.seed)
    print(f"verdicts: {given.runs} runs from seed {first}", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(given.parallel) as pool:
        seeds = range(first, first + given.runs)
        for problem in pool.map(lambda seed: problem_of(seed, given.why), seeds):
            if problem:
                print(problem, flush=True)
                failed += 1
    print(f"verdicts: {given.runs} runs from seed {first}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
