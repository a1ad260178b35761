"""Generates what Fortran programs include and use: mpif.h and the sources of the modules.

    hearth_mpi_types.f90  kinds, types, numbers and sentinels that both modules have
    mpi.f90               handles are INTEGERs; MPI 5.0 section 19.1.3
    mpi_f08.f90           handles are derived types, buffers are descriptors; section 19.1.2

The modules have no code: interfaces, types and constants only. A program links libmpifort_abi.so.1 and no
object of a module.
"""

import re

from . import fortran_entries, fortran_table
from .facade import HANDLES
from .writer import C_NOTE

INDENT = "  "
COLUMNS = 110
DECLARATION_COLUMNS = 95  # without indentation
HANDLE_KINDS = {f"MPI_{name}": name for name in HANDLES}
# Constants of C that Fortran lacks, or has with another value (MPI 5.0 section 19.3.9 and appendix A).
LEFT_OUT = re.compile(r"MPIX_(?!TYPECLASS)\w+|MPI_T_\w+|MPI_F_\w+|MPI_\w+_FN(_NULL(_C)?)?|MPI_ERRCODES_IGNORE"
                      r"|MPI_ARGVS?_NULL|MPI_STATUS(ES)?_IGNORE|MPI_UNWEIGHTED|MPI_WEIGHTS_EMPTY")
# Strings of Fortran have no terminating zero.
SHORTER = re.compile(r"MPI_MAX_\w+")
FORTRAN_ONLY = [("MPI_STATUS_SIZE", 8), ("MPI_SOURCE", 1), ("MPI_TAG", 2), ("MPI_ERROR", 3),
                ("MPI_ADDRESS_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_OFFSET_KIND", 8),
                ("MPI_INTEGER_KIND", 4)]
# Name, variable of the library, shape in the shared module; src/fortran/sentinels.h.
SENTINELS = [("MPI_BOTTOM", "bottom", "INTEGER", ""), ("MPI_IN_PLACE", "in_place", "INTEGER", ""),
             ("MPI_BUFFER_AUTOMATIC", "buffer_automatic", "INTEGER", ""),
             ("MPI_ERRCODES_IGNORE", "errcodes_ignore", "INTEGER", "(1)"),
             ("MPI_UNWEIGHTED", "unweighted", "INTEGER", "(1)"),
             ("MPI_WEIGHTS_EMPTY", "weights_empty", "INTEGER", "(1)"),
             ("MPI_ARGV_NULL", "argv_null", "CHARACTER(LEN=1)", "(1)"),
             ("MPI_ARGVS_NULL", "argvs_null", "CHARACTER(LEN=1)", "(1, 1)")]
STATUS_SENTINELS = [("MPI_STATUS_IGNORE", "status_ignore", ""),
                    ("MPI_STATUSES_IGNORE", "statuses_ignore", "1")]

AINT = "INTEGER(KIND=MPI_ADDRESS_KIND)"
_COPY = [(f"{AINT}", "extra_state, attribute_val_in, attribute_val_out"), ("INTEGER", "ierror"),
         ("LOGICAL", "flag")]
_DELETE = [(f"{AINT}", "attribute_val, extra_state"), ("INTEGER", "ierror")]


def callbacks():
    """(name, arguments, declarations) of the procedures that programs pass."""
    for suffix, kind in ("", "INTEGER"), ("_c", "INTEGER(KIND=MPI_COUNT_KIND)"):
        yield (f"MPI_User_function{suffix}", "invec, inoutvec, len, datatype",
               [("TYPE(C_PTR), VALUE", "invec, inoutvec"), (kind, "len"), ("TYPE(MPI_Datatype)", "datatype")])
        yield (f"MPI_Datarep_conversion_function{suffix}",
               "userbuf, datatype, count, filebuf, position, extra_state, ierror",
               [("TYPE(C_PTR), VALUE", "userbuf, filebuf"), ("TYPE(MPI_Datatype)", "datatype"),
                (kind, "count"), ("INTEGER(KIND=MPI_OFFSET_KIND)", "position"), (AINT, "extra_state"),
                ("INTEGER", "ierror")])
    yield ("MPI_Datarep_extent_function", "datatype, extent, extra_state, ierror",
           [("TYPE(MPI_Datatype)", "datatype"), (AINT, "extent, extra_state"), ("INTEGER", "ierror")])
    for name, handle in ("Comm", "oldcomm"), ("Type", "oldtype"), ("Win", "oldwin"):
        type_name = "Datatype" if name == "Type" else name
        key = f"{name.lower()}_keyval"
        yield (f"MPI_{name}_copy_attr_function",
               f"{handle}, {key}, extra_state, attribute_val_in, attribute_val_out, flag, ierror",
               [(f"TYPE(MPI_{type_name})", handle), ("INTEGER", key), *_COPY])
        handle = "datatype" if name == "Type" else name.lower()
        yield (f"MPI_{name}_delete_attr_function", f"{handle}, {key}, attribute_val, extra_state, ierror",
               [(f"TYPE(MPI_{type_name})", handle), ("INTEGER", key), *_DELETE])
    for name in "Comm", "File", "Win", "Session":
        handle = "fh" if name == "File" else name.lower()
        yield (f"MPI_{name}_errhandler_function", f"{handle}, error_code",
               [(f"TYPE(MPI_{name})", handle), ("INTEGER", "error_code")])
    yield ("MPI_Grequest_query_function", "extra_state, status, ierror",
           [(AINT, "extra_state"), ("TYPE(MPI_Status)", "status"), ("INTEGER", "ierror")])
    yield "MPI_Grequest_free_function", "extra_state, ierror", [(AINT, "extra_state"), ("INTEGER", "ierror")]
    yield ("MPI_Grequest_cancel_function", "extra_state, complete, ierror",
           [(AINT, "extra_state"), ("LOGICAL", "complete"), ("INTEGER", "ierror")])


# The procedures that the library has: name and the callback whose interface it has.
PREDEFINED = {
    **{f"MPI_{name.upper()}_{kind}_FN": f"MPI_{name}_{'delete' if 'DEL' in kind else 'copy'}_attr_function"
       for name in ("Comm", "Type", "Win") for kind in ("DUP", "NULL_COPY", "NULL_DELETE")},
    "MPI_CONVERSION_FN_NULL": "MPI_Datarep_conversion_function",
    "MPI_CONVERSION_FN_NULL_C": "MPI_Datarep_conversion_function_c",
}
PREDEFINED_OLD = ("MPI_DUP_FN", "MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN")


def _wrapped(head, items, tail="", depth=0):
    """A statement of free form, continued with &."""
    lines, line = [], INDENT * depth + head
    for number, item in enumerate(items):
        piece = item + (", " if number + 1 < len(items) else "")
        if len(line) + len(piece) > COLUMNS - 2:
            lines.append(line.rstrip() + " &")
            line = INDENT * (depth + 2)
        line += piece
    if len(line) + len(tail) > COLUMNS:
        lines.append(line + " &")
        line = INDENT * (depth + 2)
    return "\n".join([*lines, line + tail]) + "\n"


def _joined(declarations):
    """The same declarations with one line for names of equal type, which makes the modules shorter. An array
    stays behind the names that its bounds may refer to."""
    lines = {}
    for declaration in declarations:
        kind, _, name = declaration.partition(" :: ")
        last = next(reversed(lines), None)
        has_no_bounds = "(" not in name.replace("(*)", "") and not kind.startswith("!")
        length = len(lines.get(kind, "")) + len(name)
        if kind in lines and (has_no_bounds or kind == last) and length < DECLARATION_COLUMNS:
            lines[kind] += f", {name}"
        elif kind in lines:
            lines[declaration] = declaration  # a line of its own
        else:
            lines[kind] = declaration
    return list(lines.values())


def _procedure(keyword, name, arguments, declarations, tail="", depth=2):
    text = _wrapped(f"{keyword} {name}(", arguments, f"){tail}", depth)
    body = "".join(f"{INDENT * (depth + 1)}{line}\n" if not line.startswith("!") else f"{line}\n"
                   for line in ["IMPORT", *_joined(declarations)])
    return text + body + f"{INDENT * depth}END {keyword.split()[-1]}\n"


def callback_interfaces():
    text = f"{INDENT}ABSTRACT INTERFACE\n"
    for name, arguments, declarations in callbacks():
        text += _procedure("SUBROUTINE", name, arguments.split(", "),
                           [f"{kind} :: {names}" for kind, names in declarations])
    return text + f"{INDENT}END INTERFACE\n"


def predefined_interfaces():
    known = {name: (arguments, declarations) for name, arguments, declarations in callbacks()}
    text = f"{INDENT}INTERFACE\n"
    for name, callback in PREDEFINED.items():
        arguments, declarations = known[callback]
        text += _procedure("SUBROUTINE", name, arguments.split(", "),
                           [f"{kind} :: {names}" for kind, names in declarations])
    return text + f"{INDENT}END INTERFACE\n"


class Interface:
    """The interface of one entry point. form: mpi, cptr, f08 (without descriptors) or f08ts."""

    def __init__(self, routine, form):
        self.routine, self.form = routine, form
        self.module = "mpi" if form in ("mpi", "cptr") else "f08"

    def buffer(self, index, argument):
        name = argument.fortran_name
        intent = ", INTENT(IN)" if argument.buffer == "in" else ""
        pending = self.module == "f08" and fortran_entries.section_mode(self.routine, index) != "copied"
        asynchronous = ", ASYNCHRONOUS" if pending else ""
        if self.form == "f08ts":
            return [f"TYPE(*), DIMENSION(..){intent}{asynchronous} :: {name}"]
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"!DIR$ IGNORE_TKR {name}",
                f"TYPE(*), DIMENSION(*){intent}{asynchronous} :: {name}"]

    def declarations(self):
        lines = []
        routine = self.routine
        for index, argument in enumerate(routine.arguments):
            if argument.buffer:
                lines += self.buffer(index, argument)
            elif argument.name == "baseptr" and self.form == "cptr":
                lines.append(argument.declaration("f08"))
            elif argument.use == "DETACHED" and self.module == "mpi":
                lines += self.buffer(index, argument)
            else:
                text = argument.declaration(self.module)
                if self.module == "f08" and self.stays_in_use(argument):
                    text = text.replace(" ::", ", ASYNCHRONOUS ::")
                lines.append(text)
        if routine.has_ierror:
            optional = ", OPTIONAL" if self.module == "f08" else ""
            lines.append(f"INTEGER{optional}, INTENT(OUT) :: ierror")
        return lines

    def stays_in_use(self, argument):
        """Arrays that a nonblocking operation reads after the call."""
        pending = fortran_entries.NONBLOCKING.fullmatch(self.routine.function.name)
        return (pending and self.routine.function.group == "coll"
                and argument.kind.endswith(("counts", "displacements", "types", "aints")))

    def text(self, prefix):
        routine = self.routine
        suffix = {"mpi": "", "cptr": "_cptr", "f08": "_f08", "f08ts": "_f08ts"}[self.form]
        name = f"{prefix}{routine.name}{suffix}"
        names = [argument.fortran_name for argument in routine.arguments]
        if routine.has_ierror:
            names.append("ierror")
        tail = f' BIND(C, NAME="{name.lower()}_")' if self.form == "f08ts" else ""
        keyword = "SUBROUTINE"
        declarations = self.declarations()
        if routine.result:
            keyword = {"double": "DOUBLE PRECISION", "MPI_Aint": AINT}[routine.result] + " FUNCTION"
        return _procedure(keyword, name, names, declarations, tail)


def f08_interfaces(routines, descriptors=True):
    generic = {}
    for routine in routines:
        if routine.in_f08:
            generic.setdefault(routine.generic, []).append(routine)
    text = ""
    for prefix in ("MPI_", "PMPI_"):
        for name, members in generic.items():
            text += f"{INDENT}INTERFACE {prefix}{name}\n"
            signatures = []
            for routine in members:
                if routine.signature() in signatures:
                    continue  # kinds of equal size: the generic interface would be ambiguous
                signatures.append(routine.signature())
                form = "f08ts" if routine.has_buffers and descriptors else "f08"
                text += Interface(routine, form).text(prefix)
            text += f"{INDENT}END INTERFACE {prefix}{name}\n"
    return text


def mpi_interfaces(routines):
    text = ""
    for prefix in ("MPI_", "PMPI_"):
        plain = ""
        for routine in routines:
            if not routine.in_old_modules:
                continue
            if any(argument.name == "baseptr" for argument in routine.arguments):
                both = Interface(routine, "mpi").text(prefix) + Interface(routine, "cptr").text(prefix)
                text += f"{INDENT}INTERFACE {prefix}{routine.name}\n{both}{INDENT}END INTERFACE\n"
            else:
                plain += Interface(routine, "mpi").text(prefix)
        text += f"{INDENT}INTERFACE\n{plain}{INDENT}END INTERFACE\n"
    return text


def extra_interfaces(module):
    """Routines without a form in C; src/fortran/extra.cpp."""
    text = ""
    suffix = "_f08" if module == "f08" else ""
    optional = ", OPTIONAL" if module == "f08" else ""
    for prefix in ("MPI_", "PMPI_"):
        for name, old_way, new_way in (("Status_f2f08", "IN", "OUT"), ("Status_f082f", "OUT", "IN")):
            first, second = ("f_status", "f08_status") if name.endswith("08") else ("f08_status", "f_status")
            text += f"{INDENT}INTERFACE {prefix}{name}\n" + _procedure(
                "SUBROUTINE", f"{prefix}{name}{suffix}", [first, second, "ierror"],
                [f"INTEGER, INTENT({old_way}) :: f_status(MPI_STATUS_SIZE)",
                 f"TYPE(MPI_Status), INTENT({new_way}) :: f08_status",
                 f"INTEGER{optional}, INTENT(OUT) :: ierror"]) + f"{INDENT}END INTERFACE\n"
        text += f"{INDENT}INTERFACE {prefix}Sizeof\n" + _procedure(
            "SUBROUTINE", f"{prefix}Sizeof_f08ts", ["x", "size", "ierror"],
            ["TYPE(*), DIMENSION(..), INTENT(IN) :: x", "INTEGER, INTENT(OUT) :: size",
             f"INTEGER{optional}, INTENT(OUT) :: ierror"],
            f' BIND(C, NAME="{prefix.lower()}sizeof_f08ts_")') + f"{INDENT}END INTERFACE\n"
        if module == "f08":
            declarations = ["TYPE(*), DIMENSION(..), ASYNCHRONOUS :: buf"]
            name, tail = f"{prefix}F_sync_reg_f08ts", f' BIND(C, NAME="{prefix.lower()}f_sync_reg_f08ts_")'
        else:
            declarations = ["!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf", "!DIR$ IGNORE_TKR buf",
                            "TYPE(*), DIMENSION(*) :: buf"]
            name, tail = f"{prefix}F_sync_reg", ""
        text += (f"{INDENT}INTERFACE {prefix}F_sync_reg\n" +
                 _procedure("SUBROUTINE", name, ["buf"], declarations, tail) + f"{INDENT}END INTERFACE\n")
    return text


def operators():
    text = ""
    for symbol, word in ("==", "eq"), ("/=", "ne"):
        text += f"{INDENT}INTERFACE OPERATOR({symbol})\n"
        for name in HANDLES:
            text += _procedure("ELEMENTAL LOGICAL FUNCTION", f"MPI_{name}_{word}", ["a", "b"],
                               [f"TYPE(MPI_{name}), INTENT(IN) :: a, b"])
        text += f"{INDENT}END INTERFACE\n"
    return text


def _value(constant):
    return constant.value - 1 if SHORTER.fullmatch(constant.name) else constant.value


def _chosen(constants):
    return [constant for constant in constants if not LEFT_OUT.fullmatch(constant.name)
            and constant.kind not in ("void *",) and not constant.kind.startswith("enum")]


def _integers(constants):
    for name, value in FORTRAN_ONLY:
        yield "INTEGER", name, value
    for constant in _chosen(constants):
        if constant.kind not in HANDLE_KINDS:
            kind = "INTEGER(KIND=MPI_OFFSET_KIND)" if constant.kind == "MPI_Offset" else "INTEGER"
            yield kind, constant.name, _value(constant)


def _handles(constants):
    for constant in _chosen(constants):
        if constant.kind in HANDLE_KINDS:
            yield constant.kind, constant.name, constant.value


def types_module(constants):
    numbers = "".join(f"{INDENT}{kind}, PARAMETER :: {name} = {value}\n"
                      for kind, name, value in _integers(constants))
    types = "".join(f"{INDENT}TYPE, BIND(C) :: MPI_{name}\n{INDENT * 2}INTEGER :: MPI_VAL\n"
                    f"{INDENT}END TYPE MPI_{name}\n" for name in HANDLES)
    sentinels = "".join(f'{INDENT}{kind}, BIND(C, NAME="mpi_fortran_{cell}_") :: {name}{shape}\n'
                        for name, cell, kind, shape in SENTINELS)
    return f"""! What the modules mpi and mpi_f08 have in common. {C_NOTE}
MODULE hearth_mpi_types
  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR
  IMPLICIT NONE
  PUBLIC
  PRIVATE :: C_PTR
{numbers}
{types}
  TYPE, BIND(C) :: MPI_Status
    INTEGER :: MPI_SOURCE
    INTEGER :: MPI_TAG
    INTEGER :: MPI_ERROR
    INTEGER :: MPI_internal(5)
  END TYPE MPI_Status

{sentinels}
{operators()}END MODULE hearth_mpi_types
"""


def _booleans(subarrays):
    return (f"{INDENT}LOGICAL, PARAMETER :: MPI_SUBARRAYS_SUPPORTED = .{subarrays}.\n"
            f"{INDENT}LOGICAL, PARAMETER :: MPI_ASYNC_PROTECTS_NONBLOCKING = .{subarrays}.\n")


def mpi_module(routines, constants):
    handles = "".join(f"{INDENT}INTEGER, PARAMETER :: {name} = {value}\n"
                      for _, name, value in _handles(constants))
    sentinels = "".join(
        f'{INDENT}INTEGER, BIND(C, NAME="mpi_fortran_{cell}_") :: {name}(MPI_STATUS_SIZE'
        f'{", " + more if more else ""})\n' for name, cell, more in STATUS_SENTINELS)
    externals = "".join(f"{INDENT}EXTERNAL :: {name}\n" for name in (*PREDEFINED, *PREDEFINED_OLD))
    return f"""! MPI 5.0 section 19.1.3. {C_NOTE}
MODULE mpi
  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR
  USE hearth_mpi_types
  IMPLICIT NONE
  PUBLIC
  PRIVATE :: C_PTR
{_booleans("FALSE")}{handles}
{sentinels}
{externals}
{extra_interfaces("mpi")}{mpi_interfaces(routines)}END MODULE mpi
"""


def f08_module(routines, constants, descriptors=True):
    handles = "".join(f"{INDENT}TYPE({kind}), PARAMETER :: {name} = {kind}({value})\n"
                      for kind, name, value in _handles(constants))
    sentinels = "".join(
        f'{INDENT}TYPE(MPI_Status), BIND(C, NAME="mpi_fortran_{cell}_") :: {name}'
        f'{f"({more})" if more else ""}\n' for name, cell, more in STATUS_SENTINELS)
    return f"""! MPI 5.0 section 19.1.2. {C_NOTE}
MODULE mpi_f08
  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR
  USE hearth_mpi_types
  IMPLICIT NONE
  PUBLIC
  PRIVATE :: C_PTR
{_booleans("TRUE" if descriptors else "FALSE")}{handles}
{sentinels}
{callback_interfaces()}{predefined_interfaces()}{extra_interfaces("f08")}\
{f08_interfaces(routines, descriptors)}END MODULE mpi_f08
"""


def header(constants):
    """mpif.h, valid in fixed and in free form: columns 7 to 72, no continuation."""
    lines = []

    def add(text):
        if len(text) > 66:
            raise ValueError(f"mpif.h: too long: {text}")
        lines.append("      " + text)

    for kind, name, value in [*_integers(constants), *(("INTEGER", n, v) for _, n, v in _handles(constants))]:
        add(f"{kind.replace('KIND=MPI_OFFSET_KIND', 'KIND=8')} {name}")
        add(f"PARAMETER ({name}={value})")
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        add(f"LOGICAL {name}")
        add(f"PARAMETER ({name}=.FALSE.)")
    for name, cell, kind, shape in [
            *SENTINELS, *((n, c, "INTEGER", f"(8{', ' + m if m else ''})") for n, c, m in STATUS_SENTINELS)]:
        add(f"{kind} {name}{shape}")
        add(f"COMMON /MPI_FORTRAN_{cell.upper()}/ {name}")
    for name in (*PREDEFINED, *PREDEFINED_OLD):
        add(f"EXTERNAL {name}")
    for prefix in ("MPI_", "PMPI_"):
        for name in ("WTIME", "WTICK"):
            add(f"DOUBLE PRECISION {prefix}{name}")
            add(f"EXTERNAL {prefix}{name}")
        for name in ("AINT_ADD", "AINT_DIFF"):
            add(f"INTEGER(KIND=8) {prefix}{name}")
            add(f"EXTERNAL {prefix}{name}")
    return (f"! For programs in fixed and in free form.\n! {C_NOTE}\n" + "\n".join(lines) + "\n")


def outputs(functions, constants):
    """{file name: text}"""
    routines = list(fortran_table.routines(functions))
    return {
        "fortran/hearth_mpi_types.f90": types_module(constants),
        "fortran/mpi.f90": mpi_module(routines, constants),
        "fortran/mpi_f08.f90": f08_module(routines, constants),
        "fortran/plain/mpi_f08.f90": f08_module(routines, constants, descriptors=False),
        "fortran/mpif.h": header(constants),
    }
