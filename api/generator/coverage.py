"""Generates the linker's symbol map and docs/coverage.md."""

from . import fortran_table
from .calls import all_forms
from .writer import wrap


def symbol_map(functions):
    names = sorted(function.prefix + name for function, name, _ in all_forms(functions))
    symbols = "".join(f"    {name};\n    P{name};\n" for name in names)
    return f"{{\n  global:\n    hearth_calls_v1;\n{symbols}  local:\n    *;\n}};\n"


def _names(rows):
    return [f"`{row.prefix}{row.name}`" + (" (+`_c`)" if row.large_form else "") for row in rows]


def _fortran_row(routine, large):
    old = "yes" if routine.in_old_modules else ""
    new = ("yes, large counts too" if large else "yes") if routine.in_f08 else ""
    buffers = "descriptor" if routine.has_buffers else ""
    return f"| `MPI_{routine.generic}` | {old} | {new} | {buffers} |\n"


def fortran_section(functions):
    """Every routine of Fortran, by name."""
    routines = list(fortran_table.routines(functions))
    generic = {}
    for routine in routines:
        generic.setdefault(routine.generic, []).append(routine)
    rows = "".join(_fortran_row(forms[0], len(forms) > 1) for _, forms in sorted(generic.items()))
    old = sum(routine.in_old_modules for routine in routines)
    new = sum(routine.in_f08 for routine in routines)
    return f"""
## Fortran

`libmpifort_abi.so.1` has {old} routines for `mpif.h` and the module `mpi`, and {new} for `mpi_f08`, large
counts included; each exists as `PMPI_` too.
Beside them: `MPI_Sizeof`, `MPI_F_sync_reg`, `MPI_Status_f2f08`, `MPI_Status_f082f`, the operators
`==` and `/=` of handles. Limits: [guide/fortran.md](guide/fortran.md).

| routine | `mpif.h`, `mpi` | `mpi_f08` | buffers of `mpi_f08` |
|---|---|---|---|
{rows}"""


def coverage_page(groups, functions):
    total = done = 0
    table, lists = "", ""
    for group, title in groups.items():
        rows = [function for function in functions if function.group == group]
        count = sum(len(list(row.forms())) for row in rows)
        ready = sum(len(list(row.forms())) for row in rows if row.implemented)
        if all(row.in_abi for row in rows):
            total, done = total + count, done + ready
        table += f"| {title} | {ready} | {count} |\n"
        missing = [row for row in rows if not row.implemented]
        lists += f"\n## {title}\n\n"
        for heading, chosen in (("Implemented", [row for row in rows if row.implemented]),
                                ("Not yet", missing)):
            if chosen:
                lists += wrap(_names(chosen), indent="", first=0, width=110).join((f"{heading}:\n", ".\n\n"))
        lists = lists.rstrip("\n") + "\n"
    return f"""# What is implemented

Every function of MPI 5.0 is in the library, so that any program loads. A function that is not implemented yet
returns `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler and names itself. `(+_c)` means that the
function has a form with large counts as well; both are counted.

This page is written by `api/generate.py` from `api/functions.txt`.

| group | implemented | of |
|---|---|---|
{table}| **all of MPI 5.0's C ABI** | **{done}** | **{total}** |
{lists}{fortran_section(functions)}"""
