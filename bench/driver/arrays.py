"""The driver of bench/compare --fresh --python: arrays.py [CASE:BYTES,...]... [--time-ms MS] [--shuffle SEED]

Two ranks, started by the mpiexec of any MPI library that mpi4py runs on. Prints the same document as
bench_driver: for each case and length the median and the minimum of the batches' time per step. No floor is
measured: the state of two processors in the machine moves these times little.
"""

import argparse
import json
import random
import statistics
import time

import numpy
from mpi4py import MPI

BATCHES_MIN = 5
BATCH_SECONDS = 2e-3


class Exchange:
    """One length of one case: step() is timed."""

    def __init__(self, comm, size):
        self.comm = comm
        self.partner = 1 - comm.rank
        self.count = size // 8


class Fresh(Exchange):
    """A temporary is sent, the result goes into a new array, as programs in Python are written."""

    def step(self, turn):
        mine = numpy.arange(self.count, dtype="d") + turn
        theirs = numpy.empty(self.count, dtype="d")
        self.comm.Sendrecv(mine, self.partner, recvbuf=theirs, source=self.partner)
        return theirs[0] == turn and theirs[-1] == self.count - 1 + turn


class Kept(Exchange):
    """The same work in permanent arrays."""

    def __init__(self, comm, size):
        super().__init__(comm, size)
        self.base = numpy.arange(self.count, dtype="d")
        self.mine = self.base + 0
        self.theirs = numpy.empty_like(self.mine)

    def step(self, turn):
        numpy.add(self.base, turn, out=self.mine)
        self.comm.Sendrecv(self.mine, self.partner, recvbuf=self.theirs, source=self.partner)
        return self.theirs[0] == turn and self.theirs[-1] == self.count - 1 + turn


class Temporaries(Exchange):
    """Arithmetic without communication: what the library costs a program that does not use it."""

    def __init__(self, comm, size):
        super().__init__(comm, size)
        self.a = numpy.arange(self.count, dtype="d")
        self.b = numpy.ones(self.count)

    def step(self, turn):
        x = self.a * 2.0 + self.b + turn
        y = numpy.sqrt(x)
        return y[0] == numpy.sqrt(1.0 + turn)


class Pickled(Exchange):
    """The lower-case calls of mpi4py: objects are serialized, and their length is sent first."""

    def step(self, turn):
        table = None
        if self.comm.rank == 0:
            table = {"turn": turn, "data": numpy.full(self.count, turn, dtype="d")}
        table = self.comm.bcast(table)
        return table["turn"] == turn and table["data"][-1] == turn


CASES = {"py_fresh": Fresh, "py_kept": Kept, "py_temporaries": Temporaries, "py_pickled": Pickled}


def batch(work, steps, first):
    """Time of `steps` steps in seconds."""
    begin = time.perf_counter()
    for turn in range(first, first + steps):
        if not work.step(turn):
            raise SystemExit(f"arrays.py: wrong data in step {turn}")
    return time.perf_counter() - begin


def measure(comm, case, size, seconds):
    """Batches until the time is used up; rank 0 decides for both."""
    work = CASES[case](comm, size)
    batch(work, 1, 0)
    once = comm.bcast(min(batch(work, 1, 1), batch(work, 1, 2)))
    steps = max(1, round(BATCH_SECONDS / max(once, 1e-9)))
    times, turn, deadline, more = [], 3, time.perf_counter() + seconds, True
    while more:
        comm.Barrier()
        times.append(batch(work, steps, turn) / steps)
        turn += steps
        more = comm.bcast(len(times) < BATCHES_MIN or time.perf_counter() < deadline)
    return {"case": case, "bytes": size,
            "median_ns": 1e9 * statistics.median(times), "min_ns": 1e9 * min(times),
            "batches": len(times), "steps": steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", default=[f"{case}:65536,8388608" for case in CASES])
    parser.add_argument("--time-ms", type=float, default=40)
    parser.add_argument("--shuffle", type=int, default=0)
    options, _ = parser.parse_known_args()  # ignores bench_driver's placement of buffers
    items = []
    for run in options.runs:
        case, sizes = run.split(":")
        items += [(case, int(size)) for size in sizes.split(",")]
    comm = MPI.COMM_WORLD
    if comm.size != 2 or any(case not in CASES or size < 16 for case, size in items):
        raise SystemExit("arrays.py: needs 2 ranks, lengths of 16 bytes and more, and these cases: "
                         + ", ".join(CASES))
    random.Random(options.shuffle).shuffle(items)
    results = [measure(comm, case, size, options.time_ms / 1e3) for case, size in items]
    if comm.rank == 0:
        version = MPI.Get_library_version().splitlines()[0].rstrip("\0")
        print(json.dumps({"library": version, "ranks": comm.size, "results": results}))


if __name__ == "__main__":
    main()
