#!/usr/bin/env python3
"""Fails the n-th system call of each kind while MPI_Comm_spawn connects two jobs, for every n until none
fails: in each parent, in each child, and in the mpiexec of the children.

    spawn.py [--kinds KIND,...]

Each job must end within the time limit, connected or with an error message; nothing may be left behind.
HEARTH_BUILD names the build folder.
"""

import argparse
import itertools
import sys

import disturbed

PROGRAM = str(disturbed.BUILD / "tests" / "launch" / "launch_spawn_family")
DONE = "the parents and the children have parted"
PARENTS = 2
# The variable that the processes of the place read (tests/launch/spawn_family.c), and the process.
PLACES = [("HEARTH_CHAOS", "rank=0"), ("HEARTH_CHAOS", "rank=1"), ("CHAOS_OF_CHILDREN", "rank=0"),
          ("CHAOS_OF_CHILDREN", "rank=1"), ("CHAOS_OF_CHILDREN", "rank=mpiexec")]
HANDLERS = ("mpi_errors_are_fatal", "mpi_errors_return")


def sweep(kind, variable, where):
    """All n of one kind in one process: the number of failed calls, of jobs that succeeded, the problems."""
    failed, well, problems = 0, 0, []
    for n in itertools.count(1):
        handler = HANDLERS[n % 2]
        outcome = disturbed.run(["--initial-errhandler", handler], ["once"], PARENTS,
                                {variable: f"fail={kind}:{n},{where}"}, PROGRAM, DONE)
        problem = outcome.problem()
        if not problem and not outcome.disturbed and not outcome.well:
            problem = "did not go well, although nothing was disturbed"
        if problem:
            problems.append(outcome.report(problem))
        if not outcome.disturbed or len(problems) > 3:
            return failed, well, problems
        failed += 1
        well += outcome.well


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default=",".join(disturbed.CALLS))
    given = parser.parse_args()
    all_failed = all_well = wrong = 0
    for kind in given.kinds.split(","):
        for variable, where in PLACES:
            failed, well, problems = sweep(kind, variable, where)
            all_failed, all_well, wrong = all_failed + failed, all_well + well, wrong + len(problems)
            if failed or problems:
                job = "parents" if variable == "HEARTH_CHAOS" else "children"
                counts = f"{failed:4} calls failed, {well:4} jobs went on"
                print(f"{kind:12} {job:9} {where:13} {counts}", flush=True)
            for problem in problems:
                print(problem, flush=True)
    print(f"{all_failed} calls failed in turn: {all_well} jobs were connected by another way, "
          f"{all_failed - all_well} ended with an error in words, {wrong} were wrong")
    return 1 if wrong or not all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
