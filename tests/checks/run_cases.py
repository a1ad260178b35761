#!/usr/bin/env python3
"""Runs the cases of cases.txt under mpiexec --check and compares the findings with the expected ones.

    run_cases.py --bin FOLDER --programs FOLDER --page docs/design/checks.md [--write] [--only TEXT]

Exit code 1 if a case has another outcome, or if the table of the page is out of date; --write writes the
table.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_S = 20
BEGIN, END = "<!-- cases: begin -->", "<!-- cases: end -->"
# Outcomes of cases.txt, and their names in the summary.
OUTCOMES = {
    "deadlock": "deadlocks",
    "order": "collectives in another order",
    "arguments": "collectives with other arguments",
    "text": "reductions of characters",
    "type": "messages of another type",
    "changed": "buffers changed while they were sent",
    "overlap": "buffers that overlap",
    "lifecycle": "requests freed while active",
    "ready": "ready sends without a receive",
    "thread": "calls from threads beyond the level asked for",
    "lost": "messages never received",
    "leak": "objects never freed",
    "file": "calls on files that were refused",
}


class Case:
    def __init__(self, family, program, name, ranks, outcome, how):
        self.family, self.program, self.name = family, program, name
        self.ranks, self.outcome, self.how = ranks, outcome, how
        self.right = name.startswith("ok_")

    def __str__(self):
        return f"{self.program} {self.name}"


def read_cases(path):
    family, cases = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            family = line.strip("[]")
        elif line and not line.startswith("#"):
            words = line.split()
            cases.append(Case(family, *words[:4], words[4] if len(words) > 4 else ""))
    return cases


def told_by(arguments, case):
    """The outcome in the words of cases.txt, and the text on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "found.json")
        # Erroneous programs end at the first finding; correct ones run to their end.
        how = "yes" if case.right else "fatal"
        command = [Path(arguments.bin, "mpiexec"), f"--check={case.how or how}", "--check-json", report,
                   "--timeout", str(LIMIT_S), "--oversubscribe", "-n", case.ranks,
                   Path(arguments.programs, f"checks_{case.program}"), case.name]
        environment = dict(os.environ, HEARTH_PROFILE="none")
        done = subprocess.run(command, capture_output=True, text=True, env=environment,
                              timeout=LIMIT_S + 20, check=False)
        counts = json.loads(report.read_text(encoding="utf-8"))["counts"] if report.exists() else {}
    words = {short for short, name in OUTCOMES.items() if counts.get(name)}
    refused = not words and done.returncode not in (0, 124) and re.search(r"MPI_\w+\(", done.stderr)
    if refused:
        words.add("refused")
    if done.returncode == 0 and case.outcome not in ("clean", "missed"):
        words.add("exit-code-0")
    if done.returncode != 0 and (case.right or not words):
        words.add(f"exit-code-{done.returncode}")
    return words, done.stderr


def is_as_expected(case, words):
    if case.outcome == "clean":
        return not words
    if case.outcome == "missed":
        return not words - {"exit-code-0"}
    return case.outcome in words and "exit-code-0" not in words


def table(cases):
    """By class: erroneous programs, detected ones, correct programs and false alarms."""
    families = {}
    for case in cases:
        row = families.setdefault(case.family, [0, 0, 0])
        if case.right:
            row[2] += 1
        else:
            row[0] += 1
            row[1] += case.outcome != "missed"
    lines = ["| class | wrong programs | told of | right programs | false alarms |", "|---|---|---|---|---|"]
    for family, (wrong, told, right) in families.items():
        lines.append(f"| {family} | {wrong} | {told} | {right} | 0 |")
    wrong, told, right = (sum(row[i] for row in families.values()) for i in range(3))
    lines.append(f"| **all** | **{wrong}** | **{told}** | **{right}** | **0** |")
    missed = ", ".join(f"`{case.name}`" for case in cases if case.outcome == "missed")
    strict = ", ".join(f"`{case.name}`" for case in cases
                       if "strict" in case.how and not case.right)
    lines += ["", f"Not told of: {missed}.", f"Told of with `--check=strict` only: {strict}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    cases = read_cases(Path(__file__).resolve().parent / "cases.txt")
    chosen = [case for case in cases if arguments.only in str(case)]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, (words, written) in zip(chosen, pool.map(lambda case: told_by(arguments, case), chosen)):
            if not is_as_expected(case, words):
                wrong += 1
                print(f"{case}: expected {case.outcome}, came out as {', '.join(sorted(words)) or 'clean'}")
                print("  " + "\n  ".join(written.splitlines()[:12]))
    print(f"{len(chosen)} cases, {wrong} of them not as expected")
    page = arguments.page.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    fresh = f"{before}{BEGIN}\n{table(cases)}\n{END}{after}"
    if arguments.write and not wrong:
        arguments.page.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        print(f"the table of {arguments.page} is out of date: run_cases.py --write")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
