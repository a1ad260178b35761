"""From blocks to ratios.

The unit is a pair of consecutive blocks: the ratio of Hearth's median to the peer's, for one item. A pair
counts only if the machine stayed in one state: the floor, the time of one cache line between the two
processors, is measured before and after each item in both blocks. A ratio is the median over pairs, with a
95 % bootstrap interval over pairs. The spread of Hearth against itself shows the noise of a ratio.
"""

import math
import random
import statistics

from . import cases

# Upper end of the floor in ns for each state. A floor beyond the last one was disturbed.
STATES = [("smt", 20.0), ("near", 100.0), ("far", 600.0)]
STATE_TEXT = {
    "smt": "threads of one core",
    "near": "cores that share a cache",
    "far": "cores far from each other",
    "any": "whatever the state",
}
PAIRS_MIN = 4
RESAMPLES = 2000
# Ratios this close to 1 are called equal, even where the resolution is finer.
EQUAL = 0.02


def state_of(floors):
    """The state if all floors are in the same one; None if they differ or one was disturbed."""
    if not floors:
        return "any"
    names = set()
    for floor in floors:
        names.add(next((name for name, limit in STATES if 0 < floor < limit), None))
    return names.pop() if len(names) == 1 else None


def pair_state(ours, theirs):
    states = {state_of(ours["floors"]), state_of(theirs["floors"])}
    return states.pop() if len(states) == 1 else None


def collect(quads):
    """{(partner, item, state): [(ours ns, theirs ns)]} and {partner: [kept, rejected]}."""
    found, counts = {}, {}
    for quad in quads:
        partner = quad["partner"]
        count = counts.setdefault(partner, [0, 0])
        for pair in quad["pairs"]:
            disturbed = pair["ours"]["disturbed"] or pair["theirs"]["disturbed"]
            for item, ours in pair["ours"]["items"].items():
                theirs = pair["theirs"]["items"][item]
                state = pair_state(ours, theirs)
                if disturbed or state is None or min(ours["ns"], theirs["ns"]) <= 0:
                    count[1] += 1
                    continue
                count[0] += 1
                found.setdefault((partner, item, state), []).append((ours["ns"], theirs["ns"]))
    return found, counts


def median_ratio(pairs, chance):
    """The median of the ratios, and its 95 % interval by resampling the pairs."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    medians = sorted(statistics.median(chance.choices(logs, k=len(logs))) for _ in range(RESAMPLES))
    low, high = medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]
    return math.exp(statistics.median(logs)), math.exp(low), math.exp(high)


def verdict(ratio, low, high, resolution):
    """`resolution`: deviation of Hearth from itself. `open`: beyond it, but the interval contains 1."""
    band = 1 + max(EQUAL, resolution)
    if 1 / band <= ratio <= band:
        return "equal"
    if high < 1:
        return "faster"
    return "slower" if low > 1 else "open"


def compare(quads, peers, seed=0):
    """One row for each item and state with enough pairs with every peer."""
    chance = random.Random(seed)
    found, counts = collect(quads)
    rows = []
    for item, state in sorted({(i, s) for _, i, s in found}, key=lambda key: row_order(*key)):
        row = row_of(found, item, state, peers, chance)
        if row is not None:
            rows.append(row)
    pairs = {partner: {"kept": kept, "rejected": lost} for partner, (kept, lost) in counts.items()}
    return {"rows": rows, "pairs": pairs}


def row_order(item, state):
    case, size = split(item)
    return ([name for name, _ in STATES].index(state) if state != "any" else len(STATES),
            cases.ORDER.index(case) if case in cases.ORDER else len(cases.ORDER), size)


def split(item):
    case, size = item.split(":")
    return case, int(size)


def row_of(found, item, state, peers, chance):
    against = {p: found.get((p, item, state), []) for p in peers}
    itself = found.get(("itself", item, state), [])
    if any(len(pairs) < PAIRS_MIN for pairs in list(against.values()) or [itself]):
        return None
    resolution = None
    if len(itself) >= PAIRS_MIN:
        _, low, high = median_ratio(itself, chance)
        resolution = max(high, 1 / low) - 1
    ratios = {}
    for peer, pairs in against.items():
        ratio, low, high = median_ratio(pairs, chance)
        ratios[peer] = {
            "ratio": ratio, "low": low, "high": high, "pairs": len(pairs),
            "ns": statistics.median(theirs for _, theirs in pairs),
            "verdict": verdict(ratio, low, high, resolution or 0),
        }
    case, size = split(item)
    # The best peer is the fastest one.
    best = max(ratios, key=lambda peer: ratios[peer]["ratio"]) if ratios else None
    ours = [value for pairs in against.values() for value, _ in pairs] + [a for a, _ in itself]
    return {"case": case, "bytes": size, "state": state, "ns": statistics.median(ours), "best": best,
            "resolution": resolution, "peers": ratios}
