#!/usr/bin/env python3
"""Writes a profiling tool: each MPI function is replaced by one that counts the call and calls its PMPI name.

    make_counting_tool.py OUTPUT.c
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "api"))

from generator import calls, header, table  # noqa: E402

HEAD = """/* Written by make_counting_tool.py. */
#include <mpi-ext.h>
#include <mpi.h>
#include <string.h>

"""

TAIL = """
/* How often a function was called; -1 for a name that the tool does not know. */
long counted_calls(const char* name) {
  for (int i = 0; i < (int)(sizeof functions / sizeof functions[0]); ++i)
    if (strcmp(functions[i].name, name) == 0) return __atomic_load_n(functions[i].calls, __ATOMIC_RELAXED);
  return -1;
}
long counted_calls_of_all(void) {
  long sum = 0;
  for (int i = 0; i < (int)(sizeof functions / sizeof functions[0]); ++i)
    sum += __atomic_load_n(functions[i].calls, __ATOMIC_RELAXED);
  return sum;
}
int counted_functions(void) {
  return (int)(sizeof functions / sizeof functions[0]);
}
"""


def main():
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    bodies, rows = "", ""
    for function, name, large in calls.all_forms(functions):
        if any(parameter.kind == "..." for parameter in function.parameters):
            continue
        prefix = function.prefix
        arguments = ", ".join(parameter.name for parameter in function.parameters)
        bodies += (f"static long calls_of_{name};\n{header.prototype(function, name, large, prefix)} {{\n"
                   f"  __atomic_fetch_add(&calls_of_{name}, 1, __ATOMIC_RELAXED);\n"
                   f"  return P{prefix}{name}({arguments});\n}}\n")
        rows += f'    {{"{prefix}{name}", &calls_of_{name}}},\n'
    listing = f"static const struct {{\n  const char* name;\n  long* calls;\n}} functions[] = {{\n{rows}}};\n"
    Path(sys.argv[1]).write_text(HEAD + bodies + listing + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
