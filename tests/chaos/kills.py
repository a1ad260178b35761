#!/usr/bin/env python3
"""Kills a rank at each named point, for each kind of call of traffic.c and each way that it may take.

    kills.py [--calls CALL,...] [--points POINT,...] [--ways WAY,...] [--passages 1,2,...]

With --survive the others have to shrink and go on with right data; without it the job has to end with its one
message. Nothing may stay behind."""

import argparse
import concurrent.futures
import os
import re
import sys

import disturbed

WAYS = {
    "inline": (64, {}),
    "cells": (65536, {"HEARTH_P2P_SINGLE_COPY": "0", "HEARTH_COLL_CHUNK_BYTES": "64K"}),
    "single copy": (262144, {"HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "1",
                             "HEARTH_P2P_SINGLE_COPY_COOPERATIVE_BYTES_MIN": "1"}),
    "arena": (262144, {"HEARTH_P2P_ARENA_BYTES_MIN": "1", "HEARTH_P2P_COOPERATIVE_BYTES_MIN": "1"}),
    "messages": (5000, {"HEARTH_COLL_AREAS": "0", "HEARTH_SHM_RING_BYTES": "1K"}),
}
CALLS = ["sendrecv", "blocking", "many", "lent", "probed", "gaps", "barrier", "bcast", "allreduce",
         "reduce", "reduce_scatter", "scan", "alltoall", "allgather", "gather_scatter", "nonblocking",
         "persistent", "dup", "split", "alloc_mem"]
STEPS = 6


def kill(point, call, way, passage, rank, survive):
    length, environment = WAYS[way]
    options = ["--chaos", f"kill={point}:{passage},rank={rank}"] + (["--survive"] if survive else [])
    arguments = [passage, STEPS, f"only={call}", f"bytes={length}"] + (["survive"] if survive else [])
    outcome = disturbed.run(options, arguments, ranks=3, environment=environment)
    problem = outcome.problem()
    if not problem and not outcome.disturbed:
        problem = "" if outcome.well else "did not go well, although nobody was killed"
    elif not problem and survive:
        problem = "" if outcome.well else "the others did not go on"
    elif not problem:
        told = re.findall(rf"mpiexec: rank {rank} .* was killed by SIGKILL", outcome.err)
        late = point.startswith("finalize")
        if len(told) != 1:
            problem = f"{len(told)} messages about the death"
        elif outcome.code != 137 and not late:
            problem = "another exit code than the killed rank's"
    return point, call, way, survive, outcome.disturbed, outcome.report(problem) if problem else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", default=",".join(CALLS))
    parser.add_argument("--points", default=",".join(disturbed.POINTS))
    parser.add_argument("--passages", default="1,2,5,9")
    parser.add_argument("--ways", default=",".join(WAYS))
    given = parser.parse_args()
    tasks = []
    for number, point in enumerate(given.points.split(",")):
        for index, call in enumerate(given.calls.split(",")):
            for place, way in enumerate(given.ways.split(",")):
                for passage in map(int, given.passages.split(",")):
                    chosen = number + index + place + passage
                    tasks.append((point, call, way, passage, chosen % 3, chosen % 4 != 0))
    failed = 0
    killed = {}
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2 * 2)) as pool:
        for point, _, _, survive, happened, problem in pool.map(lambda task: kill(*task), tasks):
            counts = killed.setdefault(point, [0, 0])
            counts[0 if survive else 1] += happened
            failed += problem != ""
            if problem:
                print(problem, flush=True)
    for point, (survived, ended) in killed.items():
        print(f"{point:22} {survived:5} kills outlived, {ended:5} that ended the job")
    total = sum(map(sum, killed.values()))
    print(f"{total} kills in {len(tasks)} jobs: {failed} went wrong")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
