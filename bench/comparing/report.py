"""The comparison as text for a terminal and as a fragment of docs/performance.md."""

from . import cases, peers, ratios


def time_text(ns):
    for unit, name in ((1e6, "ms"), (1e3, "us")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}" if ns / unit < 1000 else f"{ns / unit:.0f} {name}"
    return f"{ns:.3g} ns"


def ratio_text(entry):
    return f"{entry['ratio']:.2f} ({entry['low']:.2f} to {entry['high']:.2f})"


def promise_text(row):
    promised = row.get("promised")
    if promised is None or row["best"] is None:
        return "-"
    kept = row["peers"][row["best"]]["ratio"] <= promised
    return f"{promised:.2f}: {'kept' if kept else 'not kept'}"


def header(names, with_promises=True):
    titles = [peers.title(name) for name in names]
    promised = ["promised"] if with_promises else []
    return ["", "Hearth", *titles, *[f"ratio to {t}" for t in titles], "best", *promised, "itself"]


def cells(row, names, with_promises=True):
    resolution = "-" if row["resolution"] is None else f"+-{100 * row['resolution']:.1f} %"
    best = "-"
    if row["best"] is not None:
        entry = row["peers"][row["best"]]
        best = f"{ratio_text(entry)} {entry['verdict']}"
    return [cases.title(row["case"], row["bytes"]), time_text(row["ns"]),
            *[time_text(row["peers"][n]["ns"]) for n in names],
            *[f"{row['peers'][n]['ratio']:.2f}" for n in names], best,
            *([promise_text(row)] if with_promises else []), resolution]


def tables(comparison):
    """(state, header, rows) for each state of the machine that occurred often enough."""
    names = list(comparison["rows"][0]["peers"]) if comparison["rows"] else []
    with_promises = any(row.get("promised") is not None for row in comparison["rows"])
    for state in [name for name, _ in ratios.STATES] + ["any"]:
        rows = [cells(row, names, with_promises) for row in comparison["rows"] if row["state"] == state]
        if rows:
            yield state, header(names, with_promises), rows


def versions(libraries):
    texts = [" ".join(version.split(", package:")[0].split()) for version in libraries.values()]
    return "; ".join(dict.fromkeys(texts))


def markdown_table(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "|".join(["---"] + ["---:"] * (len(titles) - 1)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def notes(comparison):
    kept = sum(count["kept"] for count in comparison["pairs"].values())
    lost = sum(count["rejected"] for count in comparison["pairs"].values())
    about = comparison["about"]
    return [
        f"{about['options']['ranks']} ranks, {about['date']}, {about['processor']}, Linux {about['kernel']}.",
        "Libraries: " + versions(about["libraries"]) + ".",
        "Ratios are our time divided by theirs, below 1 is faster; in brackets the 95 % interval. `best`: "
        "the peer that leaves us least ahead. `itself`: how far Hearth was from itself in the same run.",
        f"{lost} of {kept + lost} pairs are left out: the machine changed its state or was disturbed.",
    ]


def as_text(comparison):
    parts = []
    for state, titles, rows in tables(comparison):
        lines = [titles, *rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
        parts.append(f"\nMachine: {ratios.STATE_TEXT[state]}")
        for line in lines:
            padded = [cell.rjust(width) for cell, width in zip(line, widths)]
            padded[0] = line[0].ljust(widths[0])
            parts.append("  ".join(padded).rstrip())
    if not parts:
        parts.append("No item was met often enough in one state of the machine: try more rounds, or fewer "
                     "programs beside it.")
    return "\n".join(parts + [""] + notes(comparison))


def as_markdown(comparison):
    lines = []
    for state, titles, rows in tables(comparison):
        lines += [f"Machine: {ratios.STATE_TEXT[state]}.", "", *markdown_table(titles, rows), ""]
    return "\n".join(lines + notes(comparison)) + "\n"
