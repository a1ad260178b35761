"""Python with a shared heap: NumPy's arrays lie in the arena, and processes that Python starts in its various
ways neither change it nor are disturbed. Run by mpiexec --share-heap.
"""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy
from mpi4py import MPI

COUNT = 200_000
world = MPI.COMM_WORLD
rank, size = world.rank, world.size


def in_window(array):
    address = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(word, 16) for word in line.split()[0].split("-"))
            if first <= address < last:
                return "hearth arena" in line
    return False


def numbers(seed):
    return numpy.arange(COUNT, dtype=float) * (seed + 1)


def exchange(seed):
    out, found = numbers(rank + seed), numpy.zeros(COUNT)
    assert in_window(out) and in_window(found), "an array is not in the window"
    world.Sendrecv(out, (rank + 1) % size, 1, found, (rank - 1) % size, 1)
    assert (found == numbers((rank - 1) % size + seed)).all(), "a message is wrong"


def work_in_child(array, queue):
    right = bool((array == numbers(rank)).all())
    array[:] = -1
    more = numpy.ones(COUNT) + array
    queue.put((right, float(more.sum())))


def main():
    exchange(0)
    data = numbers(rank)

    for fork_by in ({}, {"preexec_fn": os.getpid}):  # with vfork, then with fork
        done = subprocess.run(
            [sys.executable, "-S", "-c", "print(sum(bytearray(100000)) + 7)"], capture_output=True, **fork_by
        )
        assert done.stdout == b"7\n", done

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=work_in_child, args=(data, queue)) for _ in range(2)]
    for child in children:
        child.start()
    for _ in children:
        assert queue.get(timeout=60) == (True, 0.0), "a child found other data"
    for child in children:
        child.join()
        assert child.exitcode == 0, child
    assert (data == numbers(rank)).all(), "a child wrote into its parent's memory"

    with context.Pool(2) as pool:
        sums = pool.map(numpy.sum, [numbers(i) for i in range(6)])
    assert sums == [numbers(i).sum() for i in range(6)], "a pool is wrong"

    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: float(numbers(i).sum())})) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: float(numbers(i).sum()) for i in range(4)}
    exchange(5)


if __name__ == "__main__":
    main()
