#!/usr/bin/env python3
"""Checks the models of tests/models exhaustively with SPIN: make check-models, or check.py [model...].

Each model describes some lines of src; docs/design/memory_model.md goes through it line by line. In each of
its right variants no state may violate an assertion or be stuck. With any one of its BROKEN_... words SPIN
must find such a state; otherwise the model would not detect the error in the code either.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# In addition to the variant without a word.
RIGHT_VARIANTS = {"agreement": ["RANKS=2"], "area": ["RANKS=2"], "leave": ["TWO_DEATHS"],
                  "sleep": ["FENCES"]}
DEPTH_MAX = 300_000
MEMORY_MIB_MAX = 3000
SECONDS_MAX = 600


def run(command, folder):
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    return result.returncode, result.stdout + result.stderr


def search(model, word):
    """(errors, states) that SPIN finds. Exits if the search failed or was not exhaustive."""
    with tempfile.TemporaryDirectory() as folder:
        words = [f"-D{word}"] if word else []
        for command in (
            ["spin", "-a", *words, str(HERE / f"{model}.pml")],
            ["gcc", "-w", "-O1", "-DSAFETY", f"-DMEMLIM={MEMORY_MIB_MAX}", "-o", "pan", "pan.c"],
        ):
            code, output = run(command, folder)
            if code != 0:
                sys.exit(f"{model} {word}: {' '.join(command)}\n{output}")
        _, output = run(["./pan", f"-m{DEPTH_MAX}"], folder)
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if errors is None or states is None:
        sys.exit(f"{model} {word}: the search has not ended\n{output}")
    if int(errors[1]) == 0 and ("max search depth too small" in output or "Search not completed" in output):
        sys.exit(f"{model} {word}: the search was not exhaustive\n{output}")
    return int(errors[1]), int(states[1])


def main(arguments):
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            sys.exit(f"check_models: there is no '{tool}' (scripts/setup.sh models brings it)")
    failures = 0
    for path in sorted(HERE.glob("*.pml")):
        model = path.stem
        if arguments and model not in arguments:
            continue
        broken = sorted(set(re.findall(r"\bBROKEN_\w+", path.read_text(encoding="utf-8"))))
        if not broken:
            sys.exit(f"{model}: no BROKEN_... word, so nothing shows that it notices anything")
        for word in ["", *RIGHT_VARIANTS.get(model, []), *broken]:
            errors, states = search(model, word)
            wanted = word in broken
            good = (errors > 0) == wanted
            failures += not good
            verdict = "refuted, as it must be" if wanted else "holds in all of them"
            wrong = "NOT refuted" if wanted else "does NOT hold"
            print(f"{model:10} {word or 'as it is':20} {states:9} states: {verdict if good else wrong}",
                  flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
