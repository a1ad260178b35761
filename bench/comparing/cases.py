"""What is compared by default, and what was promised for it.

An item is (case, bytes). `init` is the wall time of an empty program from the start of mpiexec to its end.
"""

RUNS = ["latency:0,8,16,32,48,1024,4096,65536,262144,1048576,4194304", "rate:8"]
INIT = ("init", 0)
# Derived datatypes: --derived.
DERIVED_BYTES = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]
DERIVED = ["vector8", "vector64", "vector512", "vector4096", "struct"]
DERIVED_PROMISED = 0.80

# The greatest ratio of our time to the best peer's that was promised (two ranks, malloc buffers).
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
    "vector8": "vector, blocks of 8 B",
    "vector64": "vector, blocks of 64 B",
    "vector512": "vector, blocks of 512 B",
    "vector4096": "vector, blocks of 4 KiB",
    "struct": "structures",
    "init": "empty program",
}


def derived_runs():
    """A vector of blocks is at least one block long."""
    runs = []
    for case in DERIVED:
        sizes = [n for n in DERIVED_BYTES if not case.startswith("vector") or n >= int(case[len("vector"):])]
        runs.append(f"{case}:{','.join(map(str, sizes))}")
    return runs


class Plan:
    """The driver's arguments, the same for every library."""

    def __init__(self, options):
        self.runs = options.runs or (derived_runs() if options.derived else RUNS)
        self.with_init = options.runs is None and not options.derived
        self.fixed = ["--alloc", options.alloc, "--send-offset", str(options.send_offset),
                      "--recv-offset", str(options.recv_offset), "--time-ms", str(options.time_ms)]

        self.as_promised = options.alloc == "malloc" and options.send_offset == options.recv_offset == 0

    def promised(self, case, size):
        return PROMISED.get((case, size)) if self.as_promised else None

    def arguments(self, seed):
        return [*self.runs, *self.fixed, "--shuffle", str(seed)]


def title(case, size):
    name = TITLES.get(case, case)
    return name if case == "init" else f"{name}, {length(size)}"


def length(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
