#!/usr/bin/env python3
"""Random traffic for a long time, with more ranks than processors and every byte checked.

    soak.py [--minutes M] [--seed N]          (SOAK_MINUTES without --minutes)

One job runs all the time; its memory, descriptors and message latency must not grow, and neither must
mpiexec's. Short jobs run one after another at the same time: with legal disorder from a seed, with ranks
killed at named points, and with ranks killed at random times; the survivors shrink and continue with
correct data.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import disturbed


class Launcher(threading.Thread):
    """Samples an mpiexec while its job runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.folder = Path(f"/proc/{pid}")
        self.resident_kib, self.files = [], []

    def run(self):
        while True:
            try:
                pages = int((self.folder / "statm").read_text().split()[1])
                files = len(os.listdir(self.folder / "fd"))
            except (OSError, IndexError):
                return
            self.resident_kib.append(pages * os.sysconf("SC_PAGESIZE") // 1024)
            self.files.append(files)
            time.sleep(0.25)

    def problem(self):
        third = len(self.files) // 3
        if third < 5:
            return ""
        middle, late = slice(third, 2 * third), slice(2 * third, 3 * third)
        for name, values, room in ("memory", self.resident_kib, 256), ("descriptors", self.files, 0):
            before, after = statistics.median(values[middle]), statistics.median(values[late])
            if after > before + room:
                return f"{name} of mpiexec grow from {before} to {after}"
        return ""


def long_job(seed, seconds, ranks):
    """The long job, whose resources must not grow."""
    words = [disturbed.MPIEXEC, "-n", str(ranks), "--oversubscribe", disturbed.PROGRAM, str(seed), "0",
             f"seconds={seconds:.0f}"]
    job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    watched = Launcher(job.pid)
    watched.start()
    try:
        said, _ = job.communicate(timeout=seconds + 120)
    except subprocess.TimeoutExpired:
        job.send_signal(signal.SIGQUIT)
        job.kill()
        said, _ = job.communicate()
    watched.join(5)
    print(said, end="", flush=True)
    problem = watched.problem()
    if job.returncode != 0 or disturbed.WELL not in said:
        problem = f"the long job ended with {job.returncode}"
    if problem:
        print(f"{' '.join(words)}\n  {problem}", flush=True)
    return problem == ""


def kill_at_any_moment(seed, chance):
    """Kills some of the ranks of a job from outside."""
    ranks = chance.randint(3, 6)
    victims = sorted(chance.sample(range(ranks), chance.randint(1, ranks - 2)))
    moments = {rank: chance.uniform(0, 0.6) for rank in victims}
    # A rank knows its number from its environment.
    shell = ""
    for rank, moment in moments.items():
        shell += f'[ "$HEARTH_RANK" = {rank} ] && (sleep {moment:.3f}; kill -9 $$) & '
    arguments = ["-c", f'{shell} exec "$0" "$@"', disturbed.PROGRAM, seed, 300, "survive"]
    return disturbed.run(["--survive"], arguments, ranks=ranks, program="/bin/sh")


def short_job(seed, chance):
    """One short job. Returns its kind, its outcome and its problem."""
    kind = chance.randrange(3)
    ranks = chance.randint(2, 6)
    if kind == 0:
        outcome = disturbed.run(["--chaos", f"seed={seed}"], [seed, 80], ranks=ranks)
        return "disorder", outcome, outcome.problem() or ("" if outcome.well else "did not go well")
    if kind == 1:
        ranks = max(ranks, 3)
        place = f"{chance.choice(disturbed.POINTS)}:{chance.randint(1, 60)},rank={chance.randrange(ranks)}"
        options = ["--chaos", f"seed={seed},kill={place}", "--survive"]
        outcome = disturbed.run(options, [seed, 80, "survive"], ranks=ranks)
    else:
        outcome = kill_at_any_moment(seed, chance)
    return "kills", outcome, outcome.problem() or ("" if outcome.well else "the others did not go on")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("SOAK_MINUTES", 10)))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    print(f"soak: {given.minutes:g} minutes, seed {given.seed}", flush=True)
    chance = random.Random(given.seed)
    end = time.monotonic() + 60 * given.minutes
    flat = []
    job = threading.Thread(target=lambda: flat.append(long_job(given.seed, 60 * given.minutes, 4)))
    job.start()
    counts, failed = {}, 0
    seed = given.seed
    while time.monotonic() < end:
        seed += 1
        kind, outcome, problem = short_job(seed, chance)
        counts[kind] = counts.get(kind, 0) + 1
        if problem:
            failed += 1
            print(outcome.report(problem), flush=True)
    job.join()
    done = ", ".join(f"{count} with {kind}" for kind, count in sorted(counts.items()))
    verdict = "stayed flat" if flat == [True] else "did not do well"
    print(f"soak: {done}: {failed} went wrong; the long job {verdict}")
    return 1 if failed or flat != [True] else 0


if __name__ == "__main__":
    sys.exit(main())
