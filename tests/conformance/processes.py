"""Processes that a Python program of MPI starts, in Python's various ways, with messages in flight: each does
its work, prints nothing, and disturbs no rank. MPI calls in a child made by fork are errors there.
"""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy
from mpi4py import MPI

COUNT = 100_000
world = MPI.COMM_WORLD
rank, size = world.rank, world.size


def exchange(seed):
    out, found = numpy.arange(COUNT, dtype=float) + rank + seed, numpy.zeros(COUNT)
    world.Sendrecv(out, (rank + 1) % size, 1, found, (rank - 1) % size, 1)
    assert (found == numpy.arange(COUNT) + (rank - 1) % size + seed).all(), "a message is wrong"
    assert world.allreduce(seed) == size * seed, "a sum is wrong"


def square(number):
    return number * number


def check_programs():
    assert subprocess.run([sys.executable, "-c", "print('hello')"], capture_output=True, text=True,
                          check=True).stdout == "hello\n"
    assert subprocess.run("echo $0", shell=True, capture_output=True, text=True).stdout == "/bin/sh\n"
    assert os.system("exit 3") >> 8 == 3
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=os.setsid,
                          close_fds=False) as cat:
        exchange(3)
        assert cat.communicate(b"through")[0] == b"through"


def check_processes(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        waiting = pool.map_async(square, range(20))
        exchange(5)
        assert waiting.get(60) == [number * number for number in range(20)]
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
    exchange(7)


def check_calls_in_child():
    """The child gets an error with a text; its parent continues."""
    answer, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            world.Barrier()
            text = "no error"
        except MPI.Exception as error:
            text = error.Get_error_string()
        os.write(told, text.encode())
        os._exit(0)
    os.close(told)
    exchange(9)
    with os.fdopen(answer, "rb") as words:
        text = words.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert "fork" in text, text


def check_stop():
    """The other ranks wait for a rank that is stopped for a while."""
    if rank == size - 1:
        me = os.getpid()
        child = os.fork()
        if child == 0:
            time.sleep(0.3)
            os.kill(me, signal.SIGCONT)
            os._exit(0)
        os.kill(me, signal.SIGSTOP)
        assert os.waitpid(child, 0)[1] == 0
    exchange(11)


if __name__ == "__main__":
    exchange(1)
    check_programs()
    for way in ("fork", "spawn"):
        check_processes(way)
    check_calls_in_child()
    check_stop()
    exchange(13)
