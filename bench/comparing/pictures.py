"""Pictures of comparisons: time over bytes, a line for each library, a panel for each case and state of the
machine. Needs Matplotlib (`scripts/setup.sh performance`)."""

import matplotlib
from matplotlib import figure, ticker

from . import cases, peers, ratios

# The same measurements make the same file; text stays text; readable on light and on dark pages.
GREY = "#7a8694"
matplotlib.rcParams.update({
    "svg.hashsalt": "hearth", "svg.fonttype": "none", "font.size": 9,
    "text.color": GREY, "axes.labelcolor": GREY, "axes.edgecolor": GREY,
    "xtick.color": GREY, "ytick.color": GREY, "grid.color": GREY, "grid.alpha": 0.25,
})
STYLES = {"hearth": ("#d9480f", "o", 2.2), "openmpi": ("#1c7ed6", "s", 1.2), "mpich": ("#2f9e44", "^", 1.2),
          "impi": ("#9c36b5", "D", 1.2)}


def series(rows, case, state):
    """{library: [(bytes, us)]} of one case in one state, lengths increasing."""
    found = {}
    for row in sorted(rows, key=lambda r: r["bytes"]):
        if row["case"] != case or row["state"] != state or row["bytes"] == 0:
            continue
        found.setdefault("hearth", []).append((row["bytes"], row["ns"] / 1e3))
        for name, entry in row["peers"].items():
            found.setdefault(name, []).append((row["bytes"], entry["ns"] / 1e3))
    return found


def draw_panel(axes, lines, title):
    for name, points in lines.items():
        color, marker, width = STYLES[name]
        label, order = ("Hearth", 3) if name == "hearth" else (peers.title(name), 2)
        axes.plot(*zip(*points), color=color, marker=marker, markersize=3, linewidth=width, label=label,
                  zorder=order)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: cases.length(round(x))))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axes.tick_params(axis="x", rotation=45)
    axes.grid(True, which="major")
    axes.set_title(title, fontsize=9)
    axes.set_ylabel("us")


def draw(rows, plotted, path):
    """Writes an SVG file. False if no case was measured at two lengths or more."""
    states = [state for state in [name for name, _ in ratios.STATES] + ["any"]
              if any(row["state"] == state for row in rows)]
    panels = [(case, state, series(rows, case, state)) for case in plotted for state in states]
    panels = [panel for panel in panels if any(len(points) > 1 for points in panel[2].values())]
    if not panels:
        return False
    columns = min(2, len(panels))
    count = -(-len(panels) // columns)
    picture = figure.Figure(figsize=(4.2 * columns, 3.2 * count), layout="constrained")
    picture.patch.set_alpha(0)
    for number, (case, state, lines) in enumerate(panels, 1):
        axes = picture.add_subplot(count, columns, number)
        axes.patch.set_alpha(0)
        where = "" if state == "any" else f", {ratios.STATE_TEXT[state]}"
        draw_panel(axes, lines, cases.TITLES.get(case, case) + where)
        if number == 1:
            axes.legend(frameon=False, labelcolor=GREY)
    picture.savefig(path, format="svg", metadata={"Date": None})
    return True
