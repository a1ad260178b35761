"""A token goes around the ring of all ranks and counts them: mpiexec -n 5 python ring.py"""

import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
following, previous = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

if comm.rank == 0:
    request = comm.isend([0], dest=following)
    token = comm.recv(source=previous)
    request.wait()
    print(f"the token visited ranks {token}")
    correct = token == list(range(comm.size))
else:
    token = comm.recv(source=previous)
    comm.send([*token, comm.rank], dest=following)
    correct = token == list(range(comm.rank))
sys.exit(0 if correct else 1)
