"""Generates hearth_calls.h, hearth_calls_table.cpp and hearth_types.inc: declarations and tables of calls."""

import re

from .kinds import KINDS, place_name
from .meanings import MEANINGS, constants_of, meaning_of
from .writer import C_NOTE, wrap


def served(functions):
    """The rows with an implementation function, each function once."""
    seen = set()
    for function in functions:
        if function.implemented and "alias" not in function.marks and function.implementation not in seen:
            seen.add(function.implementation)
            yield function


def kind_name(kind):
    """The enumerator of a kind, renamed if it is a keyword of C++."""
    return kind + "_" if kind in ("int",) else kind


def implementation_parameter(parameter):
    if parameter.kind == "raw":
        return place_name(parameter.literal, parameter.name)
    return KINDS[parameter.kind].implementation.replace("%", parameter.name)


def signature(function):
    result = function.returns if function.direct else "Status"
    head = f"{result} {function.implementation}("
    arguments = [implementation_parameter(parameter) for parameter in function.parameters
                 if parameter.kind != "..."]
    if "form" in function.marks:
        arguments.append("Form form")
    return head + wrap(arguments, indent=" " * 4, width=108, first=len(head)) + ")"


def all_forms(functions):
    for function in functions:
        for name, large in function.forms():
            yield function, name, large


def calls_header(groups, functions):
    numbers = "\n".join(f"  {name.lower()}," for _, name, _ in all_forms(functions))
    kinds = wrap([kind_name(kind) for kind in KINDS] + ["raw", "raw_int"], indent="  ", width=108, first=2)
    meanings = wrap([meaning.name for meaning in MEANINGS], indent="  ", width=108, first=2)
    declarations = ""
    for group, title in groups.items():
        rows = [function for function in served(functions) if function.group == group]
        if rows:
            declarations += f"\n// {title}\n" + "".join(signature(function) + ";\n" for function in rows)
    return f"""// The functions that implement MPI's calls, and the numbers of the calls.
// {C_NOTE}
//
// The entry points call these with checked arguments and under the library's lock. An argument that is not
// significant in this process (of a rooted collective, or with MPI_IN_PLACE) is 0 or a type of size 0; arrays
// are passed unchanged.
#pragma once

#include <cstdint>

#include "base/counts.h"
#include "base/status.h"
#include "mpi.h"

namespace hearth::objects {{
struct Comm;
struct Errhandler;
struct File;
struct Group;
struct Info;
struct Op;
struct Session;
struct Win;
}}  // namespace hearth::objects
namespace hearth::datatype {{
struct Type;
}}
namespace hearth::p2p {{
struct Message;
struct Request;
}}  // namespace hearth::p2p

namespace hearth::abi {{

/// One number for each function of mpi.h, large forms included.
enum class Call : uint16_t {{
{numbers}
  count_
}};

/// The kinds of api/generator/kinds.py.
enum class Kind : uint8_t {{
  {kinds}
}};

/// The sets of constants of api/generator/meanings.py.
enum class Meaning : uint8_t {{
  none,
  {meanings}
}};

struct Parameter {{
  const char* name;
  Kind kind;
  Meaning meaning;  // of a number that is passed by value
}};

struct NamedNumber {{
  int value;
  const char* name;
}};

/// A set of constants; with `bits`, an argument combines some of them.
struct ConstantSet {{
  const NamedNumber* constants;
  int count;
  bool bits;
}};
/// Indexed by Meaning.
extern const ConstantSet constant_sets[];

struct CallInfo {{
  const char* name;  // MPI_Send
  const Parameter* parameters;
  uint8_t parameter_count;
  bool implemented;
  const char* group;  // as in api/functions.txt
}};

/// Indexed by Call.
extern const CallInfo call_table[];

struct NamedHandle {{
  uint16_t value;
  const char* name;
}};
/// The predefined handles by value; where two names share a value, the first of api/constants.txt.
extern const NamedHandle handle_names[];
extern const int handle_name_count;

}}  // namespace hearth::abi

namespace hearth::mpi {{
{declarations}
}}  // namespace hearth::mpi
"""


def _kind_of(parameter):
    if parameter.kind != "raw":
        return kind_name(parameter.kind)
    return "raw_int" if parameter.literal in ("int", "const int") else "raw"


def _meaning_name(function, parameter):
    """The enumerator of Meaning; only numbers that are passed by value have one."""
    declarator = parameter.literal if parameter.kind == "raw" else KINDS[parameter.kind].small
    meaning = meaning_of(function, parameter)
    return meaning.name if meaning and not re.search(r"[*\[]", declarator) else "none"


def _constant_sets(constants):
    arrays, rows = "", "    {nullptr, 0, false},\n"
    for meaning in MEANINGS:
        chosen = constants_of(meaning, constants)
        items = wrap([f'{{{each.value}, "{each.name}"}}' for each in chosen], width=106)
        arrays += f"constexpr NamedNumber {meaning.name}_constants[] = {{\n    {items}}};\n"
        rows += f'    {{{meaning.name}_constants, {len(chosen)}, {"true" if meaning.bits else "false"}}},\n'
    return arrays, rows


def calls_table(functions, constants):
    parameters, rows = "", ""
    for function in functions:
        listed = [parameter for parameter in function.parameters if parameter.kind != "..."]
        name = function.name.lower()
        if listed:
            items = ", ".join(f'{{"{parameter.name}", Kind::{_kind_of(parameter)}, '
                              f"Meaning::{_meaning_name(function, parameter)}}}" for parameter in listed)
            parameters += f"constexpr Parameter {name}_parameters[] = {{{items}}};\n"
        for form, _ in function.forms():
            rows += (f'    {{"{function.prefix}{form}", {f"{name}_parameters" if listed else "nullptr"}, '
                     f'{len(listed)}, {"true" if function.implemented else "false"}, "{function.group}"}},\n')
    arrays, sets = _constant_sets(constants)
    names = {}
    for constant in constants:
        if constant.kind.startswith("MPI_") and 0 < constant.value < 4096 and "*" not in constant.kind \
                and not constant.kind.startswith("MPI_T_"):
            names.setdefault(constant.value, constant.name)
    handles = "".join(f'    {{{value:#x}, "{name}"}},\n' for value, name in sorted(names.items()))
    return f"""// {C_NOTE}
#include "hearth_calls.h"

namespace hearth::abi {{
namespace {{

{parameters}
{arrays}
}}  // namespace

const ConstantSet constant_sets[] = {{
{sets}}};

const CallInfo call_table[] = {{
{rows}}};

const NamedHandle handle_names[] = {{
{handles}}};
const int handle_name_count = sizeof handle_names / sizeof handle_names[0];

}}  // namespace hearth::abi
"""


NEEDS = {"__int128": "__SIZEOF_INT128__", "__float128": "__SIZEOF_FLOAT128__"}


def types_table(constants):
    """Rows of datatype/predefined.cpp."""
    rows, seen = "", set()
    for constant in constants:
        if not constant.c_type or constant.value in seen:
            continue
        seen.add(constant.value)
        base = constant.c_type.removesuffix("[2]")
        if "+" in base:
            first, second = base.split("+")
            row = f"HEARTH_PAIR({constant.name}, {constant.text}, {first}, {second}, {constant.element})\n"
        else:
            macro = "HEARTH_COMPLEX" if base != constant.c_type else "HEARTH_TYPE"
            row = f"{macro}({constant.name}, {constant.text}, {base}, {constant.element})\n"
        if base in NEEDS:
            row = (f"#ifdef {NEEDS[base]}\n{row}#else\n"
                   f"HEARTH_ABSENT({constant.name}, {constant.text})\n#endif\n")
        rows += row
    return f"// {C_NOTE}\n// Macro, name, handle, C type or types, element type of reductions.\n{rows}"


def error_names(constants):
    rows = "".join(f"HEARTH_ERROR_CLASS({constant.name})\n" for constant in constants
                   if constant.heading.startswith("Error classes"))
    return f"// {C_NOTE}\n{rows}"
