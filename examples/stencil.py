"""Heat along a rod, cut into one piece per rank: mpiexec -n 4 python stencil.py

Each step the ranks exchange the temperature at their ends. Every rank also computes the whole rod alone;
the two must agree to the last bit.
"""

import sys

import numpy as np
from mpi4py import MPI

POINTS, STEPS = 1000, 200

comm = MPI.COMM_WORLD
left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
right = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
begin = POINTS * comm.rank // comm.size
end = POINTS * (comm.rank + 1) // comm.size


def step(rod):
    """One step of time; the first and the last point are what the neighbours say."""
    rod[1:-1] = 0.5 * rod[1:-1] + 0.25 * (rod[:-2] + rod[2:])


whole = np.zeros(POINTS + 2)
whole[1:-1] = np.sin(np.arange(POINTS) * 0.37) + 1.0
mine = np.zeros(end - begin + 2)
mine[1:-1] = whole[begin + 1 : end + 1]

for _ in range(STEPS):
    comm.Sendrecv(mine[1:2], left, recvbuf=mine[-1:], source=right)
    comm.Sendrecv(mine[-2:-1], right, recvbuf=mine[:1], source=left)
    step(mine)
    step(whole)

wrong = comm.allreduce(int((mine[1:-1] != whole[begin + 1 : end + 1]).sum()))
heat = comm.allreduce(float(mine[1:-1].sum()))
if comm.rank == 0:
    print(f"{comm.size} ranks: heat {heat:.6f}, {wrong} points differ")
sys.exit(0 if wrong == 0 and heat > 0.0 else 1)
