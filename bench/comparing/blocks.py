"""Runs blocks: one library, one new job of two ranks, every item once in random order."""

import json
import os
import random
import signal
import subprocess
import sys
import time

BLOCK_SECONDS_MAX = 60
# Of the comparison with one library, before all is given up.
FAILURES_MAX = 3
# Largest accepted share of the processors' time that the host takes away (steal) during a block.
STEAL_SHARE_MAX = 0.01


class Failed(Exception):
    def __init__(self, text, library=None):
        super().__init__(text)
        self.library = library


def measure(plan, ours, others, rounds, seconds, seed):
    """Rounds of A B B A, Hearth against itself and against each peer in turn. Returns the list of quads."""
    chance = random.Random(seed)
    deadline = time.monotonic() + seconds
    quads = []
    failures = dict.fromkeys((library.name for library in [ours, *others]), 0)
    for number in range(rounds):
        if number > 0 and time.monotonic() > deadline:
            print(f"the time is over after {number} of {rounds} rounds", file=sys.stderr)
            break
        partners = [ours, *others]
        chance.shuffle(partners)
        for partner in partners:
            try:
                quads.append(quad(plan, ours, partner, chance))
            except Failed as problem:
                # A peer's job may hang once; ours must not.
                failures[partner.name] += 1
                if problem.library is ours or failures[partner.name] == FAILURES_MAX:
                    raise
                print(f"note: left out: {problem}", file=sys.stderr)
        show_progress(number + 1, rounds)
    return quads


def quad(plan, ours, partner, chance):
    """Four blocks, A B B A or B A A B; the two of each half are compared with each other."""
    halves = [[ours, partner], [partner, ours]]
    if chance.random() < 0.5:
        halves.reverse()
    order = chance.getrandbits(30) + 1
    pairs = []
    for half in halves:
        results = [block(plan, library, order) for library in half]
        if half[0] is not ours:
            results.reverse()
        pairs.append({"ours": results[0], "theirs": results[1]})
    return {"partner": "itself" if partner is ours else partner.name, "pairs": pairs}


def block(plan, library, order):
    """All items of one library: {"case:bytes": {"ns", "floors"}}, and whether steal time disturbed them."""
    before = processor_times()
    documents = [json.loads(run(library, plan.ranks, arguments)) for arguments in plan.jobs(order)]
    after = processor_times()
    document = documents[0]
    library.version = document["library"]
    total = sum(after.values()) - sum(before.values())
    steal = (after["steal"] - before["steal"]) / total if total > 0 else 0
    items = {
        f"{r['case']}:{r['bytes']}": {
            "ns": r["median_ns"],
            "min_ns": r["min_ns"],
            # With more ranks the floor is meaningless: the placement of two ranks is no state of all.
            "floors": [r["floor_before_ns"], r["floor_after_ns"]] if plan.has_floors else [],
        }
        for document in documents for r in document["results"]
    }
    if plan.with_init:
        begin = time.perf_counter()
        run(library, plan.ranks, ["init"])
        items["init:0"] = {"ns": 1e9 * (time.perf_counter() - begin), "floors": []}
    return {"items": items, "steal": round(steal, 4), "disturbed": steal > STEAL_SHARE_MAX,
            "processors": document.get("processors")}


def run(library, ranks, arguments):
    """The driver's output. A job that hangs is killed with all of its processes."""
    command = library.command(ranks) + arguments
    with subprocess.Popen(command, env=library.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=BLOCK_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failed(f"no end after {BLOCK_SECONDS_MAX} s: {' '.join(command)}", library) from None
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode != 0:
        raise Failed(f"exit code {process.returncode}: {' '.join(command)}\n{output}{errors}", library)
    return output


def processor_times():
    """Ticks of all processors since boot, by use."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return dict(zip(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), ticks))


def busy_processors(seconds=0.5):
    """The number of processors that other programs keep busy now."""
    before = processor_times()
    time.sleep(seconds)
    after = processor_times()
    total = sum(after.values()) - sum(before.values())
    idle = after["idle"] + after["iowait"] - before["idle"] - before["iowait"]
    return (os.cpu_count() or 1) * (total - idle) / total if total > 0 else 0


def processor_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"


def show_progress(done, rounds):
    if sys.stderr.isatty():
        end = "\n" if done == rounds else ""
        print(f"\rround {done} of {rounds}", end=end, file=sys.stderr, flush=True)
