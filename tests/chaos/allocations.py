#!/usr/bin/env python3
"""Fails single allocations of the library in rank 0 or 1 of each program of tests/multi, one per job.

    allocations.py [--every] [--ranks N] [--folder NAME,...] [--coverage]

By default the allocations 1, 2, 4, 8, ...; with --every all of them, which takes hours. Each job must end
within the time limit, with success or with an error message, or mpiexec must report the rank that waits in
vain. No signal, no exception, and nothing is left behind. A call with a failed allocation must leave the
library usable: after an error the programs continue, or end the job by MPI_Abort. They call all functions
of api/functions.txt except those of NOT_CALLED; --coverage checks only that. HEARTH_BUILD names the build
folder.
"""

import argparse
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

os.environ.setdefault("HEARTH_CHAOS_LIMIT", "20")  # mpiexec reports waits in vain after 10 s

import disturbed  # noqa: E402

MALLOC = disturbed.BUILD / "tests/chaos/libfailing_malloc.so"
# Programs about the preloaded heap, or about processes that die.
EXCLUDED_FOLDERS = {"heap", "fault"}
# Calls mismatched collectives: after an error in one rank the other ranks may wait for it.
EXCLUDED_PROGRAMS = {"multi_coll_misuse"}
# Functions that no swept program calls, by the beginning of their names, and the reason.
NOT_CALLED = {
    "MPIX_Comm_": "called by programs of tests/multi/fault and by multi_traffic, which sweep.py sweeps",
    "MPI_Abi_set_fortran_info": "stores booleans before MPI_Init",
    "MPI_Aint_": "arithmetic",
    "MPI_Status_": "reads or writes a field",
    "MPI_Wtick": "returns a constant",
}


def programs(folders):
    found = sorted((disturbed.BUILD / "tests/multi").glob("**/multi_*"))
    return [path for path in found if os.access(path, os.X_OK) and path.is_file()
            and path.parent.name not in EXCLUDED_FOLDERS and path.name not in EXCLUDED_PROGRAMS
            and (not folders or path.parent.name in folders)]


def functions():
    """The implemented functions of the API table, without their large-count forms, which share their code."""
    text = (disturbed.SOURCE / "api/functions.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^yes (\w+?)(?:\(_c\))?((?: \[[^\]]*\])*)(?: |$)", text, re.MULTILINE)
    return {("MPIX_" if "[extension" in marks else "MPI_") + name for name, marks in rows
            if not name.endswith(("_c", "_x"))}


def called(paths):
    names = set()
    for path in paths:
        words = ["nm", "--undefined-only", str(path)]
        symbols = subprocess.run(words, capture_output=True, text=True, check=True)
        names |= set(re.findall(r"\b(MPIX?_\w+)", symbols.stdout))
    return names


def uncovered():
    known, names = functions(), called(programs(None))
    names |= {name.removesuffix("_c") for name in names}
    rest = known - names
    problems = [f"{name} is called by no program that is swept" for name in sorted(rest)
                if not name.startswith(tuple(NOT_CALLED))]
    problems += [f"NOT_CALLED names {start}*, all of which are called" for start in NOT_CALLED
                 if not any(name.startswith(start) for name in rest)]
    return problems, len(known & names)


def problem_of(outcome):
    # A program that ignores the error of one call leaves its peer waiting; mpiexec has to report that.
    if outcome.code is None and "waits in vain" not in outcome.err:
        return f"did not end within {disturbed.LIMIT_S:.0f} s"
    if outcome.left:
        return f"left behind: {', '.join(outcome.left)}"
    if "internal check failed" in outcome.err or "terminate called" in outcome.err:
        return "a check failed, or an exception got out"
    by_signal = outcome.code - 128 if outcome.code is not None and outcome.code > 128 else 0
    if by_signal in disturbed.FATAL_SIGNALS or re.search(r"SIG(BUS|SEGV|ABRT|FPE|ILL)", outcome.err):
        return "ended by a signal"
    return "" if outcome.code == 0 or outcome.own_words() else f"ended with {outcome.code} without a message"


def sweep(path, ranks, rank, every):
    """The number of jobs, the number of successful ones, and the problems."""
    undisturbed = disturbed.run([], [], ranks=ranks, program=str(path))
    if undisturbed.code != 0:
        return 0, 0, None  # needs arguments or another number of ranks
    jobs, well, problems = 0, 0, []
    numbers = itertools.count(1) if every else (2**power for power in itertools.count())
    for number in numbers:
        variables = {"LD_PRELOAD": MALLOC, "FAILING_MALLOC": number, "FAILING_MALLOC_RANK": rank}
        options = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
        outcome = disturbed.run(options, [], ranks=ranks, program=str(path))
        if not outcome.disturbed:
            break
        jobs += 1
        well += outcome.code == 0
        problem = problem_of(outcome)
        if problem:
            problems.append(outcome.report(problem))
            if len(problems) == 3:
                break
    return jobs, well, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--folder", default="")
    given = parser.parse_args()
    missing, covered = uncovered()
    print("\n".join(missing + [f"{covered} functions are called by programs that are swept"]))
    if given.coverage:
        return 1 if missing else 0
    tasks = [(path, given.ranks, rank, given.every)
             for path in programs(set(filter(None, given.folder.split(","))))
             for rank in range(min(given.ranks, 2))]
    failed = jobs = well = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for task, (run, went_on, problems) in zip(tasks, pool.map(lambda task: sweep(*task), tasks)):
            name = f"{task[0].name} rank {task[2]}"
            if problems is None:
                print(f"{name:40} is not swept: fails undisturbed with {given.ranks} ranks", flush=True)
                continue
            jobs, well, failed = jobs + run, well + went_on, failed + len(problems)
            print(f"{name:40} {run:5} allocations failed, {went_on:5} jobs succeeded", flush=True)
            print("".join(problem + "\n" for problem in problems), end="", flush=True)
    print(f"{jobs} allocations failed: {well} jobs succeeded, {jobs - well - failed} ended with a message, "
          f"{failed} were wrong")
    return 1 if failed or missing or jobs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
