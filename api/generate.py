#!/usr/bin/env python3
"""Generates all files that are derived from the tables functions.txt and constants.txt.

    generate.py --out FOLDER     mpi.h, declarations, entry points and the symbol map, into FOLDER
    generate.py --coverage FILE  the page that lists the implemented functions
    generate.py --beyond FILE    the page that lists what mpi.h has beyond the standard's header
    generate.py --coverage FILE --beyond FILE --check   writes nothing; fails if a page is out of date

A file is written only when its content changes.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FACADE_TYPES = {"mpich": "mpich_types.in.h", "openmpi": "openmpi_types.in.h"}
sys.path.insert(0, str(HERE))

from generator import (beyond, calls, checks, coverage, entries, facade, fortran_entries,  # noqa: E402
                       fortran_modules, header, table)
from generator.writer import write_if_changed  # noqa: E402


def removed_functions():
    return (HERE / "mpi_removed.in.h").read_text(encoding="utf-8")


def outputs(groups, functions, removed, constants):
    """{file name: text} of the build folder."""
    section = beyond.header_section(functions, removed_functions())
    types = (HERE / "mpi_types.in.h").read_text(encoding="utf-8")
    callbacks = (HERE / "mpi_callbacks.in.h").read_text(encoding="utf-8")
    facade_headers = {}
    for name, title in facade.TITLES.items():
        values = facade.read_constants(HERE / f"{name}_constants.txt", constants)
        facade_types = (HERE / FACADE_TYPES[name]).read_text(encoding="utf-8")
        facade_headers[f"{name}/mpi.h"] = header.facade_header(title, groups, functions, constants, values,
                                                               facade_types, callbacks)
    return {
        "mpi.h": header.mpi_header(groups, functions, constants, types, callbacks, section),
        **facade_headers,
        "mpi-ext.h": header.extension_header(functions, constants),
        "hearth_calls.h": calls.calls_header(groups, functions),
        "hearth_calls_table.cpp": calls.calls_table(functions, constants),
        "hearth_types.inc": calls.types_table(constants),
        "hearth_error_classes.inc": calls.error_names(constants),
        "check_calls.cpp": checks.check_calls(functions),
        "libmpi_abi.map": coverage.symbol_map(functions),
        **entries.entry_files(functions),
        **fortran_entries.entry_files(functions),
        **fortran_modules.outputs(functions, constants),
        **facade.outputs(functions, removed, constants, HERE),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--coverage", type=Path)
    parser.add_argument("--beyond", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    try:
        groups, functions = table.read_functions(HERE / "functions.txt")
        constants = table.read_constants(HERE / "constants.txt")
        if arguments.out:
            _, removed = table.read_functions(HERE / "removed_functions.txt")
            for name, text in outputs(groups, functions, removed, constants).items():
                write_if_changed(arguments.out / name, text)
        pages = []
        if arguments.coverage:
            pages.append((arguments.coverage, coverage.coverage_page(groups, functions)))
        if arguments.beyond:
            pages.append((arguments.beyond, beyond.page(functions, constants, removed_functions())))
        for path, text in pages:
            if not arguments.check:
                write_if_changed(path, text)
            elif path.read_text(encoding="utf-8") != text:
                sys.exit(f"{path} is out of date: run api/generate.py on it")
    except table.TableError as error:
        sys.exit(f"api/generate.py: {error}")


if __name__ == "__main__":
    main()
