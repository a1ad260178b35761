"""The default cases of the comparison, and the ratios that were promised for them.

An item is (case, bytes). `init` is the wall time of an empty program from the start of mpiexec to its end.
"""

import random

RUNS = ["latency:0,8,16,32,48,1024,4096,65536,262144,1048576,4194304", "rate:8",
        "bidirectional:4096,65536,1048576", "unexpected:8,65536"]
INIT = ("init", 0)
# Derived datatypes: --derived.
DERIVED_BYTES = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]
DERIVED = ["vector8", "vector64", "vector512", "vector4096", "struct"]
DERIVED_PROMISED = 0.80

# Buffers that are allocated, filled, exchanged, checked and freed each time, and the same with permanent
# buffers: --fresh. No ratio was promised.
FRESH_BYTES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20, 24 << 20, 64 << 20]
# The same in Python, beside arithmetic without communication and pickled objects: --fresh --python.
PYTHON = ["py_fresh", "py_kept", "py_temporaries", "py_pickled"]

# One-sided communication: --one-sided. No ratio was promised.
ONE_SIDED = ["put:8,1024,65536,1048576", "get:8,1024,65536,1048576", "lock_put:8", "fence_put:8",
             "fetch_and_op:8"]

# The first calls of a job, each case in jobs of its own: --first. No ratio was promised.
FIRST = [("sendrecv", 8), ("sendrecv", 65536), ("sendrecv", 1048576), ("allreduce", 8), ("allreduce", 80000),
         ("allreduce_new", 80000), ("bcast", 65536), ("alltoall", 65536), ("window", 65536), ("dup", 0)]
FIRST_TITLES = {"sendrecv": "exchange", "allreduce_new": "allreduce, new communicator",
                "window": "window: allocate, put, free"}

# Collectives: --collectives, by the number of ranks. A length is that of one rank's block. With more ranks
# than processors only the promised cases, since the peers are slow then.
COLLECTIVES = ["bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
               "reduce_scatter_block", "scan", "exscan"]
COLLECTIVE_BYTES = [8, 1 << 10, 64 << 10, 1 << 20]
MANY_RANKS = ["barrier", "allreduce:8,65536", "alltoall:1024"]
MANY_RANKS_PROMISED = {("barrier", 0): 0.50, ("allreduce", 8): 0.60, ("allreduce", 65536): 0.60,
                       ("alltoall", 1024): 0.60}
_PROMISED_BY_BYTES = {8: 0.50, 1 << 10: 0.60, 64 << 10: 0.70, 1 << 20: 0.70}
COLLECTIVES_PROMISED = {
    ("barrier", 0): 0.50,
    **{(case, size): ratio for case in ("bcast", "reduce", "allreduce", "allgather", "alltoall")
       for size, ratio in _PROMISED_BY_BYTES.items()},
}
RANKS_MANY = 8

# The promised upper limit of Hearth's time divided by the best peer's (two ranks, malloc buffers).
PROMISED = {
    ("latency", 0): 0.45, ("latency", 8): 0.45, ("latency", 16): 0.45, ("latency", 32): 0.45,
    ("latency", 48): 0.45, ("latency", 1024): 0.50, ("latency", 4096): 0.55, ("latency", 65536): 0.95,
    ("rate", 8): 0.30,
    INIT: 0.25,
    **{(case, size): DERIVED_PROMISED for case in DERIVED for size in DERIVED_BYTES},
}

TITLES = {
    "latency": "half round trip",
    "rate": "per message, 64 in flight",
    "bandwidth": "per message, window of 2 MiB",
    "bidirectional": "per message, both ways",
    "pairs": "per message, all pairs",
    "unexpected": "unexpected message",
    "fresh": "exchange of new buffers",
    "kept": "exchange of kept buffers",
    "py_fresh": "Python, exchange of new arrays",
    "py_kept": "Python, exchange of kept arrays",
    "py_temporaries": "Python, temporaries, no message",
    "py_pickled": "Python, broadcast of an object",
    "vector8": "vector, blocks of 8 B",
    "vector64": "vector, blocks of 64 B",
    "vector512": "vector, blocks of 512 B",
    "vector4096": "vector, blocks of 4 KiB",
    "struct": "structures",
    "put": "put and flush",
    "get": "get and flush",
    "lock_put": "lock, put, unlock",
    "fence_put": "put and fence",
    "fetch_and_op": "fetch and add, flush",
    "init": "empty program",
}
TITLES.update({f"{when}_{case}": f"{words} {FIRST_TITLES.get(case, case)}"
               for when, words in (("first", "first"), ("ten", "first ten, mean:")) for case, _ in FIRST})
ORDER = [*(f"{when}_{case}" for when in ("first", "ten") for case in dict(FIRST)),
         "latency", "bandwidth", "bidirectional", "rate", "pairs", "unexpected", "fresh", "kept", *PYTHON,
         *DERIVED, "put", "get", "lock_put", "fence_put", "fetch_and_op", "barrier", *COLLECTIVES, "init"]


def derived_runs():
    """A vector of blocks is at least one block long."""
    runs = []
    for case in DERIVED:
        sizes = [n for n in DERIVED_BYTES if not case.startswith("vector") or n >= int(case[len("vector"):])]
        runs.append(f"{case}:{','.join(map(str, sizes))}")
    return runs


def collective_runs(ranks):
    if ranks >= RANKS_MANY:
        return MANY_RANKS
    return ["barrier"] + [f"{case}:{','.join(map(str, COLLECTIVE_BYTES))}" for case in COLLECTIVES]


def promises(options):
    """{(case, bytes): ratio}: the promises for buffers of malloc at the start of a page."""
    if options.alloc != "malloc" or options.send_offset or options.recv_offset:
        return {}
    if not options.collectives:
        return PROMISED if options.ranks == 2 else {}
    return {2: COLLECTIVES_PROMISED, RANKS_MANY: MANY_RANKS_PROMISED}.get(options.ranks, {})


class Plan:
    """The driver's arguments, the same for every library."""

    def __init__(self, options):
        usual = derived_runs() if options.derived else ONE_SIDED if options.one_sided else RUNS
        if options.fresh:
            usual = [f"{case}:{','.join(map(str, FRESH_BYTES))}" for case in self.fresh_cases(options)]
        self.runs = options.runs or (collective_runs(options.ranks) if options.collectives else usual)
        self.first = options.first
        self.with_init = (self.runs is RUNS and not self.first) or options.start
        self.ranks = options.ranks
        # First calls depend on page faults more than on the distance of the processors.
        self.has_floors = options.ranks == 2 and not options.python and not self.first
        self.fixed = ["--alloc", options.alloc, "--send-offset", str(options.send_offset),
                      "--recv-offset", str(options.recv_offset), "--time-ms", str(options.time_ms)]
        self.promises = promises(options)

    @staticmethod
    def fresh_cases(options):
        return PYTHON if options.python else ("fresh", "kept")

    def promised(self, case, size):
        return self.promises.get((case, size))

    def jobs(self, seed):
        """The driver's arguments, by job: one job, except for first calls."""
        if self.first:
            shuffled = random.Random(seed).sample(FIRST, len(FIRST))
            return [["first", case, str(size)] for case, size in shuffled]
        return [[*self.runs, *self.fixed, "--shuffle", str(seed)]]


def title(case, size):
    name = TITLES.get(case, case)
    return name if case in ("init", "barrier", "first_dup", "ten_dup") else f"{name}, {length(size)}"


def length(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
