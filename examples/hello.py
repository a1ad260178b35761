"""The first program in Python: mpiexec -n 4 python hello.py (needs mpi4py)."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
names = comm.gather(f"Hello from rank {comm.rank} of {comm.size}", root=0)
if comm.rank == 0:
    print("\n".join(names))
