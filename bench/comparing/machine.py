"""The topology of the processors as the kernel reports it: which of them are near each other."""

import os
from pathlib import Path

CPU = Path("/sys/devices/system/cpu")
# From near to far.
RELATIONS = ["threads of one core", "one last-level cache", "one package", "two packages"]
UNKNOWN = "not known"


def processors():
    return sorted(os.sched_getaffinity(0))


def numbers(text):
    """{0, 1, 2, 8} of "0-2,8"."""
    result = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip():
            result.update(range(int(first), int(last or first) + 1))
    return result


def read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def last_level_cache(processor):
    """The processors that share it."""
    best, shared = 0, set()
    for folder in sorted((CPU / f"cpu{processor}" / "cache").glob("index*")):
        level = int(read(folder / "level") or 0)
        if level >= best:
            best, shared = level, numbers(read(folder / "shared_cpu_list"))
    return shared


def relation(one, other):
    topology = CPU / f"cpu{one}" / "topology"
    if not topology.exists():
        return UNKNOWN
    if other in numbers(read(topology / "thread_siblings_list")):
        return RELATIONS[0]
    if other in last_level_cache(one):
        return RELATIONS[1]
    package = [read(CPU / f"cpu{p}" / "topology" / "physical_package_id") for p in (one, other)]
    return RELATIONS[2] if package[0] == package[1] else RELATIONS[3]


def pairs_by_relation():
    """{relation: (processor, processor)}, one pair of each that this machine has."""
    usable = processors()
    found = {}
    for other in usable[1:]:
        found.setdefault(relation(usable[0], other), (usable[0], other))
    return dict(sorted(found.items(), key=lambda item: [*RELATIONS, UNKNOWN].index(item[0])))
