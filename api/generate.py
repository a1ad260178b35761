#!/usr/bin/env python3
"""Writes everything that follows from the tables functions.txt and constants.txt.

    generate.py --out FOLDER     mpi.h, declarations, entry points and the symbol map, into FOLDER
    generate.py --coverage FILE  the page that says what is implemented
    generate.py --coverage FILE --check   nothing; fails when the page is out of date

A file is written only when its content changes.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generator import calls, checks, coverage, entries, header, table  # noqa: E402
from generator.writer import write_if_changed  # noqa: E402


def outputs(groups, functions, constants):
    """{file name: text} of the build folder."""
    types = (HERE / "mpi_types.in.h").read_text(encoding="utf-8")
    callbacks = (HERE / "mpi_callbacks.in.h").read_text(encoding="utf-8")
    return {
        "mpi.h": header.mpi_header(groups, functions, constants, types, callbacks),
        "mpi-ext.h": header.extension_header(functions, constants),
        "hearth_calls.h": calls.calls_header(groups, functions),
        "hearth_calls_table.cpp": calls.calls_table(functions, constants),
        "hearth_types.inc": calls.types_table(constants),
        "hearth_error_classes.inc": calls.error_names(constants),
        "check_calls.cpp": checks.check_calls(functions),
        "libmpi_abi.map": coverage.symbol_map(functions),
        **entries.entry_files(functions),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    try:
        groups, functions = table.read_functions(HERE / "functions.txt")
        constants = table.read_constants(HERE / "constants.txt")
        if arguments.out:
            for name, text in outputs(groups, functions, constants).items():
                write_if_changed(arguments.out / name, text)
        if arguments.coverage:
            page = coverage.coverage_page(groups, functions)
            if arguments.check:
                if arguments.coverage.read_text(encoding="utf-8") != page:
                    sys.exit(f"{arguments.coverage} is out of date: run api/generate.py --coverage on it")
            else:
                write_if_changed(arguments.coverage, page)
    except table.TableError as error:
        sys.exit(f"api/generate.py: {error}")


if __name__ == "__main__":
    main()
