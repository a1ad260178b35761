"""The section of mpi.h beyond the header of the standard ABI: handles in Fortran's form, removed functions.
Also the page docs/beyond_the_standard.md, which lists these names."""

import re

from .header import prototype
from .writer import wrap

# A status has the same eight integers in Fortran as in C.
STATUS_BODIES = {
    "Status_c2f": ["int i;", "f_status[0] = c_status->MPI_SOURCE;", "f_status[1] = c_status->MPI_TAG;",
                   "f_status[2] = c_status->MPI_ERROR;",
                   "for (i = 0; i < 5; ++i) f_status[3 + i] = c_status->MPI_internal[i];",
                   "return MPI_SUCCESS;"],
    "Status_f2c": ["int i;", "c_status->MPI_SOURCE = (int)f_status[0];",
                   "c_status->MPI_TAG = (int)f_status[1];",
                   "c_status->MPI_ERROR = (int)f_status[2];",
                   "for (i = 0; i < 5; ++i) c_status->MPI_internal[i] = (int)f_status[3 + i];",
                   "return MPI_SUCCESS;"],
}
TYPES = ["MPI_Fint", "MPI_F08_status"]
CONSTANTS = ["MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE",
             "MPI_F08_STATUSES_IGNORE"]
# Conversions of mpi_f08's statuses, which the header alone has: (name, type and name of both parameters).
F08_CONVERSIONS = [
    ("Status_c2f08", "const MPI_Status *c_status", "MPI_F08_status *f08_status"),
    ("Status_f082c", "const MPI_F08_status *f08_status", "MPI_Status *c_status"),
    ("Status_f2f08", "const MPI_Fint *f_status", "MPI_F08_status *f08_status"),
    ("Status_f082f", "const MPI_F08_status *f08_status", "MPI_Fint *f_status"),
]
REMOVED_TYPES = ["MPI_Handler_function"]


def inline_functions(functions):
    return [function for function in functions if "inline" in function.marks]


def removed_functions(removed):
    """[(name, replacement)] of mpi_removed.in.h"""
    return re.findall(r'^HEARTH_MPI_REMOVED\("use (\w+)"\)\nint (\w+)\(', removed, re.MULTILINE)


def _body(function):
    if function.name in STATUS_BODIES:
        return STATUS_BODIES[function.name]
    arguments = ", ".join(parameter.name for parameter in function.parameters)
    return [f"return MPI_{function.marks['inline']}({arguments});"]


def _conversions(functions):
    declared, defined = "", ""
    for function in inline_functions(functions):
        declared += prototype(function, function.name, False, "PMPI_") + ";\n"
        # A program may define the name as a macro (-DMPI_Comm_f2c=MPI_Comm_fromint).
        body = "\n".join(f"  {line}" for line in _body(function))
        defined += (f"#ifndef MPI_{function.name}\n{prototype(function, function.name, False, 'MPI_')};\n"
                    f"#ifdef HEARTH_MPI_INLINE\nHEARTH_MPI_INLINE "
                    f"{prototype(function, function.name, False, 'MPI_')} {{\n{body}\n}}\n#endif\n#endif\n")
    return declared + defined


def _f08_conversions():
    text = ""
    for name, source, target in F08_CONVERSIONS:
        given, result = source.split("*")[1], target.split("*")[1]
        body = f"*{result} = *{given};\n  return MPI_SUCCESS;"
        if "MPI_Fint" in source:
            body = f"return MPI_Status_f2c({given}, {result});"
        elif "MPI_Fint" in target:
            body = f"return MPI_Status_c2f({given}, {result});"
        text += (f"#ifndef MPI_{name}\nstatic __inline__ int MPI_{name}({source}, {target}) {{\n"
                 f"  {body}\n}}\n#endif\n")
    return text


def header_section(functions, removed):
    return f"""
/* Beyond the header of the standard ABI (docs/beyond_the_standard.md). HEARTH_MPI_STANDARD_ONLY, defined
   before this file is included, hides all of it; HEARTH_MPI_NO_REMOVED hides the removed functions. */
#ifndef HEARTH_MPI_STANDARD_ONLY

/* Handles and statuses in Fortran's form. The calls are inlined over functions of the ABI, so that the
   program also runs on ABI libraries without these symbols. HEARTH_MPI_NO_INLINE leaves the declarations: for
   tools in C++ that define these functions themselves. */
#ifndef MPI_Fint
typedef int MPI_Fint;
#endif
#define MPI_F_STATUS_IGNORE ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *)0)
#if defined(__GNUC__) && !defined(HEARTH_MPI_NO_INLINE)
#define HEARTH_MPI_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))
#endif
{_conversions(functions)}#undef HEARTH_MPI_INLINE

/* A status of the module mpi_f08 is that of C. */
typedef MPI_Status MPI_F08_status;
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *)0)
#if defined(__GNUC__) && !defined(HEARTH_MPI_NO_INLINE)
{_f08_conversions()}#endif

#if !defined(HEARTH_MPI_NO_REMOVED) && (defined(__GNUC__) || defined(__cplusplus))
#ifdef __GNUC__
#define HEARTH_MPI_REMOVED(remedy) static __inline__ __attribute__((__deprecated__(remedy)))
#else
#define HEARTH_MPI_REMOVED(remedy) static inline
#endif
{removed}#undef HEARTH_MPI_REMOVED
#endif

#endif
"""


def names(functions, removed):
    """Every MPI_ name of the section."""
    return sorted([*TYPES, *CONSTANTS, *REMOVED_TYPES, *("MPI_" + row[0] for row in F08_CONVERSIONS),
                   *(prefix + function.name for function in inline_functions(functions)
                     for prefix in ("MPI_", "PMPI_")),
                   *(name for _, name in removed_functions(removed))])


def _listed(words):
    return wrap([f"`{word}`" for word in words], indent="", first=0, width=110)


def page(functions, constants, removed):
    calls = ["MPI_" + function.name for function in inline_functions(functions)]
    rows = "".join(f"| `{name}` | `{remedy}` |\n" for remedy, name in removed_functions(removed))
    extensions = ["MPIX_" + function.name for function in functions if function.prefix == "MPIX_"]
    values = [constant.name for constant in constants if constant.extension]
    return f"""# Beyond the standard's header

`mpi.h` is the header of MPI 5.0's standard ABI, followed by one marked section with the names on this page.
The section changes no value and no layout of the ABI. A program that uses it still runs on other libraries
with the same ABI: its functions are inlined over functions of the ABI.

This page is written by `api/generate.py` from the tables in `api/`.

## Macros that a program may define before `#include <mpi.h>`

| macro | effect |
|---|---|
| `HEARTH_MPI_STANDARD_ONLY` | hides the whole section |
| `HEARTH_MPI_NO_REMOVED` | hides the functions that MPI-3.0 removed |
| `HEARTH_MPI_NO_INLINE` | declares the Fortran conversions without inline definitions |

A profiling tool in C++ that is compiled by Clang and defines the conversions itself needs the last one.

A name of the section that is already a macro (`-DMPI_Address=MPI_Get_address`, `-DMPI_Fint=int`) is left as
the program defines it. `mpi.h` defines `HEARTH_MPI_H` once it is included.

## Handles and statuses in Fortran's form (MPI 5.0 section 19.3)

MPI 5.0 has these in every library with Fortran support; the ABI's C header leaves them out, because the size
of Fortran's INTEGER depends on the compiler. Here `MPI_Fint` is `int`. A handle's Fortran form is the integer
of `MPI_X_toint`, a status is eight integers. The library exports the functions too, `PMPI_` names included.

Functions:
{_listed(calls)}.

Types and constants:
{_listed(TYPES + CONSTANTS)}.

Functions of the header alone:
{_listed("MPI_" + row[0] for row in F08_CONVERSIONS)}.

The constants are null pointers. `libmpifort_abi.so.1` converts its own `MPI_STATUS_IGNORE` before it
calls C; another Fortran interface must do so as well. `MPI_F_STATUS_SIZE`,
`MPI_F_SOURCE`, `MPI_F_TAG` and `MPI_F_ERROR` are part of the ABI.

## Functions that MPI-3.0 removed

They are deprecated inline forms: a call compiles with a warning that names the replacement. The library has
no symbols for them.

| removed | calls |
|---|---|
{rows}
`{REMOVED_TYPES[0]}` is `MPI_Comm_errhandler_function`. Not provided: `MPI_LB` and `MPI_UB`, which were
datatypes and have no value in the ABI (use `MPI_Type_create_resized`), and the combiners
`MPI_COMBINER_HVECTOR_INTEGER`, `MPI_COMBINER_HINDEXED_INTEGER` and `MPI_COMBINER_STRUCT_INTEGER`, which no
call returns. Functions that MPI 5.0 only deprecates (`MPI_Attr_put`, `MPI_Keyval_create` and others) are in
the standard's header.

## Reductions of MPI_CHAR

`MPI_SUM` and the other predefined operations take `MPI_CHAR` as the small integer that `char` is in C, as
other libraries do. MPI 5.0 section 6.9.2 defines none of them on it; `mpiexec --check` reports the first such
call.

## `mpi-ext.h`

Fault tolerance in the form of ULFM ([failures.md](guide/failures.md)). Macro: `HEARTH_HAVE_FAULT_TOLERANCE`.

Functions:
{_listed(extensions)}.

Constants:
{_listed(values)}.
"""
