#!/usr/bin/env python3
"""Kills a rank at each named point, for each kind of call of traffic.c and each protocol.

    kills.py [--calls CALL,...] [--points POINT,...] [--ways WAY,...] [--passages 1,2,...]

With --survive the other ranks have to shrink and continue with correct data; without it the job has to end
with exactly one message. Nothing may be left behind.
"""

import argparse
import concurrent.futures
import os
import re
import sys

import disturbed

WAYS = {
    "inline": (64, {}),
    "bounce buffers": (65536, {"HEARTH_P2P_SINGLE_COPY": "0", "HEARTH_COLL_PIPELINE_BYTES": "64K"}),
    "single copy": (262144, {"HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "1",
                             "HEARTH_P2P_SINGLE_COPY_COOPERATIVE_BYTES_MIN": "1"}),
    "arena": (262144, {"HEARTH_P2P_ARENA_BYTES_MIN": "1", "HEARTH_P2P_COOPERATIVE_BYTES_MIN": "1"}),
    "exposures": (262144, {"HEARTH_COLL_EXPOSE_BYTES_MIN": "1"}),
    "machines": (5000, {"HEARTH_SIMULATED_NODES": "2"}),
    "messages": (5000, {"HEARTH_COLL_REGIONS": "0", "HEARTH_SHM_RING_BYTES": "1K"}),
}
CALLS = ["sendrecv", "blocking", "many", "lent", "probed", "gaps", "barrier", "bcast", "allreduce",
         "reduce", "reduce_scatter", "scan", "alltoall", "allgather", "gather_scatter", "nonblocking",
         "persistent", "dup", "split", "alloc_mem"]
STEPS = 6
# A point and how to reach it: call, protocol, number of passages, rank, whether the other ranks continue.
SHORT = [
    ("boot_begins", "barrier", "inline", 1, 1, True),
    ("boot_joined", "barrier", "inline", 1, 2, True),
    ("boot_ends", "barrier", "inline", 1, 0, True),
    ("packet_claimed", "sendrecv", "inline", 2, 1, True),
    ("packet_half_written", "many", "inline", 5, 0, True),
    ("buffer_taken", "sendrecv", "bounce buffers", 2, 2, True),
    ("buffer_announced", "many", "bounce buffers", 3, 1, True),
    ("buffer_emptied", "blocking", "bounce buffers", 2, 0, True),
    ("rendezvous_announced", "lent", "arena", 2, 1, True),
    ("cma_access", "sendrecv", "single copy", 2, 1, True),
    ("piece_taken", "sendrecv", "single copy", 3, 2, True),
    ("slot_half_written", "allreduce", "inline", 3, 1, True),
    ("slot_published", "scan", "inline", 2, 0, True),
    ("stage_half_written", "alltoall", "bounce buffers", 2, 1, True),
    ("stage_published", "allreduce", "bounce buffers", 2, 2, True),
    ("exposure_found", "allreduce", "exposures", 2, 1, True),
    ("exposure_found", "allgather", "exposures", 2, 2, True),
    ("collective_ends", "alltoall", "exposures", 2, 0, True),
    ("collective_ends", "allgather", "bounce buffers", 2, 0, True),
    ("region_claimed", "dup", "inline", 2, 0, True),
    ("region_taken", "dup", "inline", 2, 0, True),
    ("region_leaving", "split", "inline", 2, 1, True),
    ("region_left", "dup", "inline", 2, 1, True),
    ("region_clearing", "dup", "inline", 1, 2, True),
    ("context_taken", "dup", "inline", 3, 0, True),
    ("agreement_contributed", "barrier", "inline", 3, 1, True),
    ("agreement_decides", "barrier", "inline", 2, 0, True),
    ("agreement_decided", "barrier", "inline", 3, 0, True),
    ("agreement_contributed", "barrier", "machines", 3, 1, True),
    ("agreement_decides", "allreduce", "machines", 2, 0, True),
    ("agreement_decided", "bcast", "machines", 3, 2, True),
    ("waiting", "sendrecv", "messages", 2, 1, True),
    ("finalize_begins", "barrier", "inline", 1, 1, True),
    ("finalize_ends", "barrier", "inline", 1, 2, True),
    ("slot_half_written", "reduce", "inline", 2, 1, False),
    ("rendezvous_announced", "sendrecv", "bounce buffers", 2, 2, False),
    ("region_taken", "dup", "inline", 2, 0, False),
]
# These points are passed once more after MPI_Finalize, for the collective region of MPI_COMM_WORLD.
LEAVING = ("region_leaving", "region_left", "region_clearing")
TRIES = 10  # in the short form, until a rank is killed


def kill(point, call, way, passage, rank, survive):
    length, environment = WAYS[way]
    options = ["--chaos", f"kill={point}:{passage},rank={rank}"] + (["--survive"] if survive else [])
    arguments = [passage, STEPS, f"only={call}", f"bytes={length}"] + (["survive"] if survive else [])
    arguments += ["arena"] if way == "exposures" else []
    outcome = disturbed.run(options, arguments, ranks=3, environment=environment)
    problem = outcome.problem()
    if not problem and not outcome.disturbed:
        problem = "" if outcome.well else "failed, although no rank was killed"
    elif not problem and survive:
        # A rank that dies after MPI_Finalize was one of the survivors: its end determines the exit code.
        after = point in LEAVING and outcome.code == 137 and disturbed.WELL in outcome.out
        problem = "" if outcome.well or after else "the others did not go on"
    elif not problem:
        told = re.findall(rf"mpiexec: rank {rank} .* was killed by SIGKILL", outcome.err)
        late = point.startswith("finalize")
        if len(told) != 1:
            problem = f"{len(told)} messages about the death"
        elif outcome.code != 137 and not late:
            problem = "another exit code than the killed rank's"
    return point, call, way, survive, outcome.disturbed, outcome.report(problem) if problem else ""


def kill_at_last(*task):
    """Repeats a kill: some points are reached only by chance, for example those of a cooperative copy."""
    for _ in range(TRIES):
        result = kill(*task)
        if result[4] or result[5]:
            break
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", default=",".join(CALLS))
    parser.add_argument("--points", default=",".join(disturbed.POINTS))
    parser.add_argument("--passages", default="1,2,5")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--short", action="store_true", help="each point a few times")
    given = parser.parse_args()
    tasks = []
    for number, point in enumerate(given.points.split(",")):
        for index, call in enumerate(given.calls.split(",")):
            for place, way in enumerate(given.ways.split(",")):
                for passage in map(int, given.passages.split(",")):
                    chosen = number + index + place + passage
                    tasks.append((point, call, way, passage, chosen % 3, chosen % 4 != 0))
    if given.short:
        tasks = [task for task in SHORT if task[0] in disturbed.POINTS]
    failed = 0
    killed = {}

    def tell(point):
        survived, ended = killed[point]
        print(f"{point:22} {survived:5} kills outlived, {ended:5} that ended the job", flush=True)

    do = kill_at_last if given.short else kill
    before = None
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2 * 2)) as pool:
        for point, _, _, survive, happened, problem in pool.map(lambda task: do(*task), tasks):
            if before is not None and before != point:
                tell(before)
            before = point
            counts = killed.setdefault(point, [0, 0])
            counts[0 if survive else 1] += happened
            if given.short and not happened and not problem:
                problem = f"no rank was killed at {point}"
            failed += problem != ""
            if problem:
                print(problem, flush=True)
    tell(before)
    total = sum(map(sum, killed.values()))
    print(f"{total} kills in {len(tasks)} jobs: {failed} went wrong")
    return 1 if failed or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
