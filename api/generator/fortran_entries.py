"""Generates the entry points of libmpifort_abi.so.1, in C++. Each calls the MPI_ function of C, so that
profilers written in C see Fortran programs; its twin pmpi_... calls PMPI_.

The forms of a routine are explained in fortran_table.py, conversions in src/fortran/convert.h, sections of
arrays in src/fortran/section.h.
"""

import re

from . import entries, fortran_table
from .table import TableError
from .writer import C_NOTE, wrap

ADDRESS_ONLY = re.compile(r"Get_address|Fetch_and_op|Compare_and_swap|Free_mem|Win_detach|\w+_end")
CONTIGUOUS_ONLY = re.compile(r"\w*[bB]uffer\w*|Win_create|Win_attach")
NONBLOCKING = re.compile(r"I(?!n)\w+|Ineighbor\w+|\w+_init|File_i\w+|\w+_begin")
REDUCTION = re.compile(r"I?(all)?reduce\w*|I?(ex)?scan\w*", re.IGNORECASE)

# Routines after which LOGICALs may have other values, beside those by hand that initialise the library.
SETS_BOOLEANS = ("Abi_set_fortran_booleans", "Session_init")


def section_mode(routine, index):
    """How an entry with descriptors passes the buffer `index` if it is not contiguous.

    address     the address of the first element
    contiguous  not at all: error
    copied      through a contiguous copy, which a blocking call can make
    single      as one element of a derived datatype
    blocks      with an element type of the section's stride
    """
    name = routine.function.name
    if ADDRESS_ONLY.fullmatch(name):
        return "address"
    if CONTIGUOUS_ONLY.fullmatch(name):
        return "contiguous"
    if not NONBLOCKING.fullmatch(name) and routine.function.group != "rma":
        return "copied"
    if REDUCTION.fullmatch(name) or name.lower().removesuffix("_init").endswith("alltoallw"):
        return "contiguous"
    buffer = routine.arguments[index].name
    behind = [argument.kind for argument in routine.arguments[index + 1:]]
    if behind[0].endswith("counts") or "alltoall" in name or name.startswith(("Psend", "Precv")):
        return "blocks"
    several = {"recvbuf": ("gather",), "sendbuf": ("scatter",)}.get(buffer, ())
    if any(word in name.lower() for word in several):
        return "blocks"
    return "single"


def described_by(routine, index):
    """Indices of the count and the type that describe the buffer `index`."""
    count = None
    for position in range(index + 1, len(routine.arguments)):
        kind = routine.arguments[position].kind
        if kind in ("count", "large_count") and count is None:
            count = position
        if kind in ("type", "any_type", "type_named"):
            return count, position
    raise TableError(f"{routine.name}: nothing describes {routine.arguments[index].name}")


class Body:
    """Writes one form of one routine: `ts` with descriptors."""

    def __init__(self, routine, ts, f08=False):
        self.routine, self.ts, self.f08 = routine, ts, f08
        self.before, self.after = [], []
        self.uses = [self.expand(argument.use, argument) for argument in routine.arguments]
        if not routine.by_hand:
            for index, argument in enumerate(routine.arguments):
                self.argument(index, argument)

    @staticmethod
    def expand(text, argument):
        return text.replace("%", argument.name)

    def argument(self, index, argument):
        name = argument.name
        if argument.use == "DETACHED":
            self.before.append(f"Detached {name}_({name}, {'true' if self.f08 else 'false'});")
            self.uses[index] = f"{name}_.get()"
            self.after.append(f"{name}_.finish(code_);")
        elif argument.buffer and self.ts:
            self.section(index, argument)
        elif argument.string and self.ts:
            self.before.append(argument.before.replace("%_len", "%->elem_len").replace(
                "(%,", "(static_cast<const char*>(%->base_addr),").replace("%", name))
        else:
            if argument.before:
                self.before.append(self.expand(argument.before, argument))
            if argument.after:
                self.after.append(self.expand(argument.after, argument))

    def section(self, index, argument):
        name, mode = argument.name, section_mode(self.routine, index)
        translated = argument.use.replace("(%)", f"({name}->base_addr)")
        if mode == "address":
            self.uses[index] = translated
            return
        if mode == "contiguous":
            self.before.append(f"Contiguous {name}_(*{name});")
            self.uses[index] = translated
        elif mode == "copied":
            way = "in" if argument.buffer == "in" else "in_out"
            self.before.append(f"Copied {name}_(*{name}, Copied::Way::{way});")
            self.uses[index] = argument.use.replace("%", f"{name}_.get()")
            self.after.append(f"{name}_.finish();")
        else:
            count, datatype = described_by(self.routine, index)
            number = self.routine.arguments[count].name if count else ""
            kind = self.routine.arguments[datatype].name
            if mode == "single":
                self.before.append(f"Single {name}_(*{name}, *{number}, type_in(*{kind}));")
                self.uses[count] = f"{name}_.count()"
            else:
                self.before.append(f"Blocks {name}_(*{name}, type_in(*{kind}));")
            self.uses[index] = argument.use.replace("%", f"{name}_.get()")
            self.uses[datatype] = f"{name}_.type()"
        self.before.append(f"if ({name}_.problem() != nullptr) [[unlikely]] "
                           f'return refuse({self.reporter()}, "MPI_{self.routine.name}: {name}", '
                           f"{name}_.problem());")

    def reporter(self):
        for argument in self.routine.arguments:
            if argument.kind in ("comm", "win", "file"):
                return argument.use.replace("%", argument.name)
        return "MPI_COMM_SELF"

    def parameters(self):
        items = []
        for argument in self.routine.arguments:
            if self.ts and (argument.buffer or argument.string):
                items.append(f"const Descriptor* {argument.name}")
            else:
                items.append(self.expand(argument.cpp, argument))
        lengths = [] if self.ts else [f"size_t {a.name}_len" for a in self.routine.arguments if a.string]
        return items, lengths

    def arguments(self):
        lengths = [] if self.ts else [f"{a.name}_len" for a in self.routine.arguments if a.string]
        return [argument.name for argument in self.routine.arguments], lengths

    def lines(self):
        if self.routine.name in SETS_BOOLEANS:
            self.after.append("read_booleans();")
        if self.routine.by_hand:
            names, lengths = self.arguments()
            return [f"return by_hand::{self.routine.name}({', '.join([*names, *lengths, 'call'])});"]
        call = f"call({', '.join(self.uses)})"
        if not self.after:
            return [*self.before, f"return {call};"]
        return [*self.before, f"const int code_ = {call};", *self.after, "return code_;"]


class Writer:
    """Collects the text of one source file."""

    def __init__(self):
        self.text = ""

    def entry(self, routine, symbol, body):
        """The two functions `symbol` and p`symbol`, with their common code."""
        items, lengths = body.parameters()
        result = routine.result or "int"
        code = f"code_{symbol}"
        head = f"static inline {result} {code}("
        self.text += head + wrap([*items, *lengths, f"decltype(&PMPI_{routine.name}) call"], indent=" " * 4,
                                 width=108, first=len(head)) + ") {\n"
        for length in lengths:
            self.text += f"  static_cast<void>({length.split()[1]});\n"
        self.text += "".join(f"  {line}\n" for line in body.lines()) + "}\n"
        names, passed = body.arguments()
        outer = routine.result or "void"
        parameters = [*items, *(["int* ierror"] if routine.has_ierror else []), *lengths]
        for prefix, called in (("", "MPI_"), ("p", "PMPI_")):
            head = f"HEARTH_FORTRAN {outer} {prefix}{symbol}("
            self.text += head + wrap(parameters or ["void"], " " * 4, 108, len(head)) + ") {\n"
            call = f"{code}({', '.join([*names, *passed, called + routine.name])})"
            if routine.result:
                self.text += f"  return {call};\n}}\n"
            elif routine.has_ierror:
                self.text += f"  leave(ierror, {call});\n}}\n"
            else:
                self.text += f"  {call};\n}}\n"

    def alias(self, new, old):
        for prefix in ("", "p"):
            self.text += f'HEARTH_FORTRAN_ALIAS("{prefix}{new}", "{prefix}{old}");\n'

    def mangled(self, name):
        """The names that other compilers, or options of them, give to a routine of mpif.h."""
        for prefix in ("", "p"):
            old = f"{prefix}{name.lower()}_"
            for new in (f"{old}_", old[:-1], f"{prefix}{name}".upper()):
                self.text += f'HEARTH_FORTRAN_ALIAS("{new}", "{old}");\n'

    def routine(self, routine):
        base = f"mpi_{routine.name.lower()}"
        if routine.in_old_modules:
            self.entry(routine, f"{base}_", Body(routine, False))
            self.mangled(f"mpi_{routine.name}")
            if any(argument.name == "baseptr" for argument in routine.arguments):
                self.alias(f"{base}_cptr_", f"{base}_")
                self.mangled(f"mpi_{routine.name}_cptr")
        if routine.in_f08:
            self.routine_of_f08(routine, base)

    def routine_of_f08(self, routine, base):
        """HEARTH_FORTRAN_F08 is 1 for the routines of other modules under the names of mpi_f08, 2 for all."""
        self.text += f"#if HEARTH_FORTRAN_F08 >= {1 if routine.in_old_modules else 2}\n"
        if not routine.in_old_modules or fortran_table.DETACH.fullmatch(routine.function.name):
            self.entry(routine, f"{base}_f08_", Body(routine, False, True))
        else:
            self.alias(f"{base}_f08_", f"{base}_")
        self.text += "#endif\n"
        if routine.has_buffers:
            self.text += "#if HEARTH_FORTRAN_F08 >= 2\n"
            self.entry(routine, f"{base}_f08ts_", Body(routine, True, True))
            self.text += "#endif\n"


def entry_files(functions):
    """{file name: text}"""
    routines = list(fortran_table.routines(functions))
    files = {}
    for stem, groups in entries.FILES.items():
        chosen = [routine for routine in routines if routine.function.group in groups]
        if not chosen:
            continue
        writer = Writer()
        for routine in chosen:
            writer.text += "\n"
            writer.routine(routine)
        files[f"fortran_{stem}.cpp"] = (
            f'// {C_NOTE}\n#include "fortran/by_hand.h"\n#include "fortran/convert.h"\n'
            f'#include "fortran/section.h"\n\nusing namespace hearth::fortran;\n\nextern "C" {{\n'
            f'{writer.text}\n}}  // extern "C"\n')
    return files
