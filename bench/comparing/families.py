"""What bench/performance measures: families of cases, each one call of bench/compare and one picture."""


class Family:
    def __init__(self, name, title, text, arguments, plotted=(), weight=1.0):
        """`arguments`: of bench/compare. `plotted`: cases in the picture. `weight`: share of the time."""
        self.name, self.title, self.text = name, title, text
        self.arguments, self.plotted, self.weight = arguments, plotted, weight


LENGTHS = "8,64,512,1024,4096,16384,65536,131072,262144,524288,1048576,4194304"
BUFFERS = "65536,1048576,8388608,25165824"

FAMILIES = [
    Family("messages", "Messages between two ranks",
           "Half of a round trip; many messages in flight, one way and both ways; messages\n"
           "that arrive before their receive; an empty program from the start of mpiexec to its end.",
           ["--start", "--runs", f"latency:0,{LENGTHS}", "rate:8,1024", "bandwidth:65536,1048576,4194304",
            "bidirectional:1024,4096,16384,65536,131072,262144,1048576", "unexpected:8,4096,65536"],
           ["latency", "bidirectional"], 2.0),
    Family("buffers", "Exchanges with new and with kept buffers",
           "Both ranks allocate their buffers, fill, exchange, read and free them each time, or keep them.\n"
           "The time contains all of that.",
           ["--runs", f"fresh:{BUFFERS}", f"kept:{BUFFERS}"], ["fresh", "kept"], 1.5),
    Family("python", "The same in Python",
           "NumPy arrays by mpi4py: received into new arrays or kept ones; arithmetic without messages; a\n"
           "pickled object.",
           ["--fresh", "--python", "--runs", f"py_fresh:{BUFFERS}", f"py_kept:{BUFFERS}",
            "py_temporaries:8388608", "py_pickled:8388608"],
           ["py_fresh", "py_kept"], 2.0),
    Family("collectives", "Collectives of two ranks",
           "From the first rank's entry to the last rank's exit. A length is that of the block of one rank.",
           ["--collectives"], ["allreduce", "bcast", "alltoall"], 1.5),
    Family("crowded", "Eight ranks on two processors",
           "MPICH is left out: its ranks poll without yielding, and take a thousand times as long.",
           ["--collectives", "--ranks", "8"]),
    Family("one_sided", "One-sided communication", "Between two ranks, in a window of MPI_Win_allocate.",
           ["--one-sided"], ["put", "get"]),
    Family("derived", "Derived datatypes", "Half of a round trip; a length is that of the data.",
           ["--derived"], ["vector8", "vector512", "struct"], 1.5),
    Family("facades", "Programs built for MPICH and Open MPI",
           "The same driver on Hearth three times: built for the standard ABI, by MPICH's mpicc and\n"
           "by Open MPI's.",
           ["--facades", "--runs", f"latency:0,{LENGTHS}", "rate:8,64,1024", "bandwidth:65536,1048576"]),
    Family("fortran", "Messages from Fortran",
           "The same messages through the routines of libmpifort_abi.so.1.",
           ["--fortran", "--runs", f"latency:0,{LENGTHS}", "rate:8,64,1024"]),
    Family("first", "First calls",
           "Each operation in jobs of its own: its first call, and the mean of the first ten.", ["--first"]),
]
BY_NAME = {family.name: family for family in FAMILIES}
