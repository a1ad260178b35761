"""Generates check_calls.cpp: the calls of libhearth_check.so, each a wrapper of the library's PMPI call."""

from .header import prototype
from .writer import C_NOTE

# The groups of calls that libhearth_check.so does not wrap.
LEFT_OUT = ("tool", "timer", "rma", "misc")
PUBLIC = 'gnu::visibility("default")'
# A standard send may wait for its receive.
SYNCHRONOUS = {"Send": "Ssend", "Isend": "Issend", "Send_init": "Ssend_init"}


def is_checked(function):
    return (function.implemented and not function.direct and function.group not in LEFT_OUT
            and function.prefix == "MPI_" and "no_lock" not in function.marks)


def _argument(parameter, parameters):
    if parameter.kind == "status":
        return f"visit_.status({parameter.name})"
    if parameter.kind == "statuses":
        length = next(each.name for each in parameters if each.kind == "request_count")
        return f"visit_.statuses({parameter.name}, {length})"
    return parameter.name


def _definition(function, name, large):
    parameters = [parameter for parameter in function.parameters if parameter.kind != "..."]
    words = ", ".join(f"word({parameter.name})" for parameter in parameters) or "0"
    arguments = ", ".join(_argument(parameter, parameters) for parameter in parameters)
    target = f"PMPI_{name}({arguments})"
    if function.name in SYNCHRONOUS:
        synchronous = SYNCHRONOUS[function.name] + ("_c" if large else "")
        target = f"visit_.strict() ? PMPI_{synchronous}({arguments}) : {target}"
    return (f"[[{PUBLIC}]]\n{prototype(function, name, large, 'MPI_')} {{\n"
            f"  const uint64_t words_[] = {{{words}}};\n"
            f"  Visit visit_(Call::{name.lower()}, words_, __builtin_return_address(0));\n"
            f"  return visit_.end({target});\n}}\n")


def check_calls(functions):
    text = (f'// {C_NOTE}\n#include "check/visit.h"\n#include "check/word.h"\n\n'
            'using namespace hearth::check;\n\nextern "C" {\n')
    for function in functions:
        if is_checked(function):
            for name, large in function.forms():
                text += "\n" + _definition(function, name, large)
    return text + '\n}  // extern "C"\n'
