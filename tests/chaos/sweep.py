#!/usr/bin/env python3
"""Fails the n-th system call of each kind, in a rank and in mpiexec, for every n until none fails; and
likewise the n-th allocation of the library in a rank: kind `malloc`.

    sweep.py [--first N] [--kinds KIND,...] [--in rank=1,rank=mpiexec,...]

With --first only the first N calls of each kind. Each job must end within the time limit, with correct
data (by a fallback) or with an error message; nothing may be left behind. HEARTH_BUILD names the build
folder.
"""

import argparse
import concurrent.futures
import itertools
import os
import sys

import disturbed

# Settings that select different protocols, which use different system calls.
SETTINGS = {
    "default": {},
    "single copy": {"HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "1", "HEARTH_P2P_ARENA_BYTES_MIN": "1T"},
    "arena": {"HEARTH_P2P_ARENA_BYTES_MIN": "1", "HEARTH_P2P_COOPERATIVE_BYTES_MIN": "16K"},
    "messages": {"HEARTH_COLL_REGIONS": "0", "HEARTH_SHM_RING_BYTES": "1K", "HEARTH_WAIT_YIELD": "0"},
}
STEPS = 60
MALLOC = os.environ.get("HEARTH_FAILING_MALLOC", disturbed.BUILD / "tests/chaos/libfailing_malloc.so")


def sweep(kind, where, setting, first):
    """All n of one kind in one process. Returns the problems, the number of jobs, and of those that succeeded
    by a fallback."""
    problems, jobs, well = [], 0, 0
    for n in itertools.count(1):
        if first and n > first:
            break
        options = ["--chaos", f"fail={kind}:{n},{where}"]
        if kind == "malloc":
            rank = where.removeprefix("rank=")
            options = ["-x", f"LD_PRELOAD={MALLOC}", "-x", f"FAILING_MALLOC={n}"]
            options += ["-x", f"FAILING_MALLOC_RANK={rank}"]
        outcome = disturbed.run(options, [1 if kind == "malloc" else n, STEPS], environment=SETTINGS[setting])
        jobs += 1
        problem = outcome.problem()
        if not problem and not outcome.disturbed and not outcome.well:
            problem = "did not go well, although nothing was disturbed"
        if problem:
            problems.append(outcome.report(problem))
            if len(problems) > 3:
                break
        well += outcome.well
        if not outcome.disturbed:
            jobs -= 1
            well -= outcome.well
            break
    if kind == "malloc" and jobs == 0:
        problems.append(f"no allocation failed: is there no {MALLOC}?")
    return kind, where, setting, jobs, well, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", default=",".join([*disturbed.CALLS, "malloc"]))
    parser.add_argument("--in", dest="places", default="rank=0,rank=1,rank=mpiexec")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    given = parser.parse_args()
    tasks = [
        (kind, where, setting, given.first)
        for setting in given.settings.split(",")
        for kind in given.kinds.split(",")
        for where in given.places.split(",")
        # mpiexec's own calls do not depend on the protocols.
        if where != "rank=mpiexec" or (setting == "default" and kind != "malloc")
    ]
    failed = jobs = well = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2 * 2)) as pool:
        for kind, where, setting, run, went_on, problems in pool.map(lambda task: sweep(*task), tasks):
            jobs += run
            well += went_on
            failed += len(problems)
            if run or problems:
                counts = f"{run:4} calls failed, {went_on:4} jobs went on"
                print(f"{kind:12} {where:12} {setting:12} {counts}", flush=True)
            for problem in problems:
                print(problem, flush=True)
    print(f"{jobs} calls failed in turn: {well} jobs had right results by another way, {jobs - well} ended "
          f"with an error in words, {failed} were wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
