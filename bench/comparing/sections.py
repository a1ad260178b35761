"""The sections of bench/many_cores: what is measured, with how many ranks, and between which libraries."""

from . import blocks, machine, peers

TIME_MS = 8  # of each case and length in a block
SHORT_AND_LONG = "8,1024,16384,65536,262144,1048576"


class Section:
    """Runs of one driver command for several libraries. Also the plan of blocks.block()."""

    def __init__(self, title, ranks, runs, libraries, processors=None):
        """`processors`: on which the two ranks must be."""
        self.title, self.ranks, self.runs, self.libraries = title, ranks, runs, libraries
        self.processors = processors
        # Bound ranks stay in one state, although the time of a line between them may vary across a limit of
        # ratios.STATES: on a mesh of 16 cores it takes 80 to 160 ns.
        self.has_floors = False
        self.with_init = False
        self.rounds = []  # [{library's name: block}]
        self.order = None
        self.problems = {}  # {library's name: why it is left out}

    def jobs(self, seed):
        return [[*self.runs, "--time-ms", str(TIME_MS), "--shuffle", str(seed)]]

    def measure(self, chance):
        """One round: each library once; the order of the next round is the reverse of this one."""
        if self.order is None:
            self.order = list(self.libraries)
            chance.shuffle(self.order)
        seed = chance.getrandbits(30) + 1
        results = {}
        for library in self.order:
            if library.name in self.problems:
                continue
            try:
                result = blocks.block(self, library, seed)
                if self.processors not in (None, result["processors"]):
                    raise blocks.Failed(f"ran on processors {result['processors']}")
                results[library.name] = result
            except blocks.Failed as problem:
                self.problems[library.name] = str(problem)
        self.order.reverse()
        self.rounds.append(results)

    def quads(self):
        """The rounds in the form of blocks.measure(); Hearth is the first library."""
        ours, *others = (library.name for library in self.libraries)
        quads = []
        for other in others:
            pairs = [{"ours": r[ours], "theirs": r[other]} for r in self.rounds if ours in r and other in r]
            quads.append({"partner": other, "pairs": pairs})
        mine = [r[ours] for r in self.rounds if ours in r]
        successive = [{"ours": a, "theirs": b} for a, b in zip(mine, mine[1:])]
        quads.append({"partner": "itself", "pairs": successive})
        return quads

    def partners(self):
        return [library.name for library in self.libraries[1:] if library.name not in self.problems]


def distance(libraries):
    """Two ranks on two processors, for each relation of processors that this machine has."""
    sections = []
    for relation, (one, other) in machine.pairs_by_relation().items():
        places = f"{one},{other}"
        bound = []
        for library in libraries:
            there = library.with_options(library.name, peers.BINDING[library.name](places))
            there.title = library.title
            bound.append(there)
        sections.append(Section(f"Two ranks on processors {one} and {other}: {relation}", 2,
                                [f"latency:{SHORT_AND_LONG}", "rate:8", "bandwidth:1048576"], bound,
                                [one, other]))
    return sections


def rank_counts():
    count, limit = 2, len(machine.processors())
    while count < limit:
        yield count
        count *= 2
    yield limit


def all_pairs(libraries):
    """Messages of all pairs at the same time."""
    runs = ["pairs:8,1024,16384,65536,1048576"]
    return [Section(f"{ranks // 2} pairs at the same time", ranks, runs, libraries)
            for ranks in rank_counts() if ranks >= 4 and ranks % 2 == 0]


def collectives(libraries):
    runs = ["barrier", "bcast:8,1024,65536,1048576", "reduce:8,1024,65536,1048576",
            "allreduce:8,1024,65536,1048576", "allgather:8,1024,65536", "alltoall:8,1024,16384,65536"]
    return [Section(f"Collectives of {ranks} ranks", ranks, runs, libraries) for ranks in rank_counts()]


def affinity(libraries):
    """Hearth with and without bindings, on half of the processors."""
    ranks = max(2, len(machine.processors()) // 2)
    ours = libraries[0]
    others = [ours.with_options(f"Hearth {' '.join(options)}", options)
              for options in (["--bind-to", "none"], ["--bind-to", "core"], ["--map-by", "spread"],
                              ["--bind-to", "hwthread"])]
    runs = ["latency:8,65536", "barrier", "allreduce:8,65536", "alltoall:1024", "pairs:65536"]
    return [Section(f"Binding: {ranks} ranks, default beside other ways", ranks, runs, [ours, *others])]


# Hearth's protocols for long messages, each fixed by parameters.
SETTINGS = {
    "plain stores": {"HEARTH_P2P_STORES": "plain"},
    "string copy": {"HEARTH_P2P_STORES": "plain", "HEARTH_COPY_STRING_BYTES_MIN": "8K"},
    "arena from 64 KiB": {"HEARTH_P2P_STORES": "plain", "HEARTH_P2P_ARENA_BYTES_MIN": "64K"},
    "CMA from 64 KiB": {"HEARTH_P2P_ARENA_BYTES_MIN": "1T", "HEARTH_P2P_SINGLE_COPY_BYTES_MIN": "64K"},
    "first fragment 32 KiB": {"HEARTH_P2P_FIRST_FRAGMENT_BYTES": "32K"},
}


def settings(libraries):
    """The default choice of protocol beside each fixed one, between two ranks and between all pairs."""
    ours = libraries[0]
    others = [ours.with_variables(name, variables) for name, variables in SETTINGS.items()]
    two = ["latency:16384,65536,262144,1048576", "kept:65536,262144,1048576", "bandwidth:65536,1048576",
           "bidirectional:16384,65536,262144"]
    many = ["kept:65536,1048576", "pairs:16384,65536,1048576"]
    return [Section(f"Protocols for long messages, {ranks} ranks", ranks, runs, [ours, *others])
            for ranks, runs in ((2, two), (len(machine.processors()), many))]


BY_NAME = {"distance": distance, "pairs": all_pairs, "collectives": collectives, "affinity": affinity,
           "settings": settings}
