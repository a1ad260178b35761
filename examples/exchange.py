"""Two ranks exchange arrays and objects, and check what they get: mpiexec -n 2 python exchange.py"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.size != 2:
    sys.exit("exchange.py needs two ranks: mpiexec -n 2 python exchange.py")
other = 1 - comm.rank

# Any Python object.
letter = comm.sendrecv({"from": comm.rank, "words": ["hello", "there"]}, dest=other, source=other)
assert letter == {"from": other, "words": ["hello", "there"]}

# NumPy arrays move without being copied into a message first; both directions at once.
rows = []
for count in (1, 1_000, 1_000_000):
    times_us = []
    for turn in range(20):
        mine = np.arange(count, dtype="d") + comm.rank + turn
        theirs = np.empty(count, dtype="d")
        comm.Barrier()
        begin = MPI.Wtime()
        comm.Sendrecv(mine, other, recvbuf=theirs, source=other)
        times_us.append((MPI.Wtime() - begin) * 1e6)
        assert (theirs == np.arange(count, dtype="d") + other + turn).all()
    rows.append((count, sorted(times_us)[len(times_us) // 2]))

# A sum over all ranks.
total = comm.allreduce(comm.rank + 1)
assert total == 3

if comm.rank == 0:
    library = MPI.Get_library_version().split("\n")[0].rstrip("\0")
    print(f"mpi4py on {library}")
    for count, time_us in rows:
        print(f"  two ranks exchange {count:>9,} doubles in {time_us:8.1f} us")
