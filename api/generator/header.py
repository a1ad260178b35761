"""mpi.h"""

from dataclasses import replace

from .kinds import c_declaration
from .writer import C_NOTE, wrap


def prototype(function, name, large, prefix):
    arguments = [c_declaration(parameter, large) for parameter in function.parameters] or ["void"]
    space = "" if function.returns.endswith("*") else " "
    head = f"{function.returns}{space}{prefix}{name}("
    return head + wrap(arguments, indent=" " * 8, width=108, first=len(head)) + ")"


def _constant(constant):
    kind, text = constant.kind, constant.text
    if kind in ("macro", "int"):
        return f"#define {constant.name} {f'({text})' if text.startswith('-') else text}"
    return f"#define {constant.name} (({kind}){text})"


def _constants(constants):
    lines, heading = [], None
    for constant in constants:
        if constant.heading != heading:
            heading = constant.heading
            lines.append(f"\n/* {heading} */")
        lines.append(_constant(constant))
    return "\n".join(lines)


def _enumerations(constants):
    types = {}
    for constant in constants:
        if constant.kind.startswith("enum "):
            types.setdefault((constant.kind, constant.heading), []).append(constant)
    text = ""
    for (kind, heading), members in types.items():
        body = ",\n".join(f"  {member.name} = {member.text}" for member in members)
        text += f"/* {heading} */\ntypedef {kind} {{\n{body}\n}} {kind[5:]};\n"
    return text


STANDARD_NOTE = """MPI 5.0 with its standard ABI: values and layouts are the same in every library
   with this ABI. The last section, which is marked, is beyond the standard's header."""


def facade_header(title, groups, functions, constants, values, types, callbacks):
    """The header of the ABI of a facade, whose name is `title`. `values`: {name: value or symbol}, of the
    constants that this ABI has."""
    chosen, symbols = [], []
    for constant in constants:
        value = values.get(constant.name)
        if isinstance(value, str):
            if value not in symbols:
                symbols.append(value)
            chosen.append(replace(constant, text=value))
        elif value is not None:
            text = f"{value:#x}" if value > 0 else str(value)
            chosen.append(replace(constant, value=value, text=text))
        elif constant.kind == "macro" or constant.kind.startswith("enum "):
            chosen.append(constant)
    types += "".join(f"extern char {symbol}[];\n" for symbol in symbols)
    note = f"MPI 5.0 with {title}'s ABI, for the library of Fortran of programs that were built for {title}."
    return mpi_header(groups, functions, chosen, types, callbacks, "", note=note)


def mpi_header(groups, functions, constants, types, callbacks, beyond, note=STANDARD_NOTE):
    declarations = ""
    constants = [constant for constant in constants if not constant.extension]
    others = {function.group for function in functions if not function.in_abi}
    for group, title in groups.items():
        if group in others:
            continue
        declarations += f"\n/* {title} */\n"
        for function in functions:
            if function.group != group or not function.in_abi:
                continue
            for name, large in function.forms():
                declarations += prototype(function, name, large, "MPI_") + ";"
                if "deprecated" in function.marks:
                    declarations += f" /* deprecated since MPI {function.marks['deprecated']} */"
                declarations += "\n"
                declarations += prototype(function, name, large, "PMPI_") + ";\n"
    versions = _constants([constant for constant in constants if constant.kind == "macro"])
    others = _constants([constant for constant in constants
                         if constant.kind != "macro" and not constant.kind.startswith("enum ")])
    return f"""/* {note}
   {C_NOTE} */
#ifndef HEARTH_MPI_H
#define HEARTH_MPI_H
{versions}

{types}
#ifdef __cplusplus
extern "C" {{
#endif

{_enumerations(constants)}
{callbacks}{others}
{declarations}{beyond}
#ifdef __cplusplus
}}
#endif
#endif
"""


def extension_header(functions, constants):
    constants = _constants([constant for constant in constants if constant.extension])
    declarations = ""
    for function in functions:
        if function.prefix != "MPI_":
            for prefix in (function.prefix, "P" + function.prefix):
                declarations += prototype(function, function.name, False, prefix) + ";\n"
    return f"""/* Extensions of MPI 5.0: calls to survive the failure of processes, in the form of
   ULFM. The values are not part of the standard.
   {C_NOTE} */
#ifndef HEARTH_MPI_EXT_H
#define HEARTH_MPI_EXT_H

#include <mpi.h>

#define HEARTH_HAVE_FAULT_TOLERANCE 1
{constants}

#ifdef __cplusplus
extern "C" {{
#endif

{declarations}
#ifdef __cplusplus
}}
#endif
#endif
"""
