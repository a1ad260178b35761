"""Generates the facades: libraries that speak another ABI than the standard one and call libmpi_abi.so.1
through one table of addresses. docs/design/facade.md.

    facade_core.h          the table: its type, a member for each function
    hearth_calls_v1.cpp    the table itself, a part of libmpi_abi.so.1
    facade_calls_*.cpp     the functions of a facade, the same for each; src/facade/NAME/abi.h gives the types
    facade_NAME.inc        the constants of the ABI `NAME`, from api/NAME_constants.txt
"""

import re

from . import entries, kinds
from .calls import all_forms
from .header import prototype
from .meanings import MEANINGS, constants_of, meaning_of
from .table import TableError
from .writer import C_NOTE, wrap

TITLES = {"mpich": "MPICH", "openmpi": "Open MPI"}

HANDLES = {"Comm": "comm", "Datatype": "type", "Errhandler": "errhandler", "File": "file", "Group": "group",
           "Info": "info", "Message": "message", "Op": "op", "Request": "request", "Session": "session",
           "Win": "win"}
# Handle types of the kinds of api/generator/kinds.py.
HANDLE_KINDS = {"comm": "Comm", "comm_named": "Comm", "leader_comm": "Comm", "group": "Group",
                "leader_group": "Group", "type": "Datatype", "any_type": "Datatype", "type_named": "Datatype",
                "op": "Op", "info": "Info", "info_or_null": "Info", "errhandler": "Errhandler", "win": "Win",
                "win_named": "Win", "session": "Session", "file": "File", "file_or_null": "File",
                "request": "Request"}
# The functions that src/facade/by_hand_*.cpp implement: their conversion depends on more than one parameter.
BY_HAND = {
    "Abi_get_version", "Comm_get_attr", "Win_get_attr", "Attr_get", "Grequest_start", "Register_datarep",
    "Register_datarep_c", "Type_get_contents", "Type_get_contents_c", "Buffer_detach", "Comm_detach_buffer",
    "Session_detach_buffer", "T_event_get_info", "Status_c2f", "Status_f2c", "Type_create_struct",
    "Status_get_error", "Status_get_source", "Status_get_tag", "Status_set_error", "Status_set_source",
    "Status_set_tag",
}
# A handle that the library stores after the wrapper has returned cannot be converted.
LEFT_OUT = {"Comm_ishrink"}
# Length of each string that the library returns: MPI_MAX_...
STRINGS = {"Comm_get_name.comm_name": "OBJECT_NAME", "Type_get_name.type_name": "OBJECT_NAME",
           "Win_get_name.win_name": "OBJECT_NAME", "Error_string.string": "ERROR_STRING",
           "Get_library_version.version": "LIBRARY_VERSION_STRING", "Open_port.port_name": "PORT_NAME",
           "Get_processor_name.name": "PROCESSOR_NAME", "Lookup_name.port_name": "PORT_NAME",
           "Info_get_nthkey.key": "INFO_KEY", "File_get_view.datarep": "DATAREP_STRING"}
CALLBACK = re.compile(r"MPI_(\w+_function(?:_c)?|\w+_fn)\b")
HANDLE_TYPE = re.compile(rf"\bMPI_({'|'.join(HANDLES)}|Status)\b")
LENGTHS = ("length", "entries", "request_count", "int")
PUBLIC = 'gnu::visibility("default")'


def members(functions):
    """(function, name, large) of the functions in the table."""
    return [row for row in all_forms(functions) if "inline" not in row[0].marks]


def core_header(functions):
    lines = "".join("  " + prototype(function, "@", large, "").replace("@", f"(*{name})", 1) + ";\n"
                    for function, name, large in members(functions))
    return f"""// The table through which facades call the library. {C_NOTE}
//
// The library and its facades are of one version: `version` and `bytes` are compared when a facade is loaded.
#pragma once

#include <cstddef>

#define HEARTH_MPI_NO_INLINE
#include "mpi-ext.h"
#include "objects/callback_adapters.h"

namespace hearth::abi {{

/// The objects of a type of handles: slot number `slot` is at *base + slot * bytes. *base is null before the
/// first object.
struct PoolPlace {{
  const std::byte* const* base;
  size_t bytes;
}};

/// Index of Core::pools.
enum class PoolKind {{ comm, group, info, op, errhandler, session, win, type, request, message, count_ }};

struct Core {{
  size_t bytes;  // of this structure
  const char* version;
  const PoolPlace* pools;
  objects::CallbackAdapters* adapters;

{lines}}};

}}  // namespace hearth::abi

extern "C" {{
[[gnu::visibility("default")]] extern const hearth::abi::Core hearth_calls_v1;
}}
"""


def core_table(functions):
    rows = "".join(f"    .{name} = P{function.prefix}{name},\n" for function, name, _ in members(functions))
    return f"""// {C_NOTE}
//
// The linker option -Bsymbolic-functions binds these names inside the library, although a facade that exports
// the same names precedes it in the search order.
#include "abi/pool_places.h"
#include "facade_core.h"

extern "C" {{
const hearth::abi::Core hearth_calls_v1 = {{
    .bytes = sizeof(hearth::abi::Core),
    .version = HEARTH_VERSION,
    .pools = hearth::abi::pool_places,
    .adapters = &hearth::objects::callback_adapters,
{rows}}};
}}
"""


def declared(text):
    """A declaration of the standard ABI with the types of the facade. Functions of the user are void
    pointers: src/facade/callbacks.cpp calls them by their own type."""
    text = re.sub(r"\bMPI_\w+_function(_c)? \*", "void *", text)
    text = re.sub(r"\bMPI_T_event_\w+_function ", "void *", text)
    return HANDLE_TYPE.sub(r"\1", text)


class Wrapper:
    """Writes one function of a facade."""

    def __init__(self, function, name, large):
        self.function, self.name, self.large = function, name, large
        self.parameters = [p for p in function.parameters if p.kind != "..."]
        self.before, self.after, self.arguments = [], [], []

    def length(self, index):
        if self.name == "Comm_spawn_multiple":
            return "entries_at_root(count, root, comm)"
        for parameter in reversed(self.parameters[:index]):
            if parameter.kind in LENGTHS:
                return parameter.name
        raise TableError(f"{self.name}: no parameter says how long {self.parameters[index].name} is")

    def place(self, name, declaration, finish="finish()"):
        """An object `name_` that holds converted values; finish() writes them back after the call."""
        self.before.append(f"{declaration};")
        self.arguments.append(f"{name}_.get()")
        if finish:
            self.after.append(f"{name}_.{finish};")

    def convert(self, index):
        parameter = self.parameters[index]
        name, kind = parameter.name, parameter.kind
        if self.special(index):
            return
        if kind == "raw":
            self.raw(parameter, index)
        elif kind in HANDLE_KINDS:
            self.arguments.append(f"{HANDLES[HANDLE_KINDS[kind]]}_in({name})")
        elif kind == "type_at":
            self.place(name, f"InOut<type_in, type_out> {name}_({name})", "")
        elif kind.endswith("_out") and kind[:-4] in HANDLES.values():
            self.place(name, f"Out<{kind}> {name}_({name})")
        elif kind.endswith("_inout") and kind[:-6] in HANDLES.values():
            handle = kind[:-6]
            self.place(name, f"InOut<{handle}_in, {handle}_out> {name}_({name})")
        elif kind.endswith("types"):
            given = name
            if any("place" in each.kind for each in self.parameters) and name == "sendtypes":
                given = "is_in_place(sendbuf) ? nullptr : sendtypes"
            self.place(name, f"ArrayIn<type_in> {name}_({given}, {self.types_length(index)})", "")
        elif kind == "requests":
            self.place(name, f"ArrayIn<request_in> {name}_({name}, {self.length(index)})", "")
        elif kind == "requests_inout":
            self.place(name, f"RequestsInOut {name}_({name}, {self.length(index)})")
        elif kind == "status":
            self.place(name, f"StatusOut {name}_({name})")
        elif kind == "statuses":
            self.place(name, f"StatusesOut {name}_({name}, {self.length(index)})")
        elif kind == "status_in":
            self.place(name, f"StatusIn {name}_({name})", "")
        elif kind == "status_inout":
            self.place(name, f"StatusInOut {name}_({name})")
        elif kind in entries.BUFFERS:
            self.arguments.append(f"buffer_in({name})" if self.function.group == "coll" else name)
        elif kind == "string_out":
            self.string(parameter)
        else:
            self.arguments.append(name)

    def special(self, index):
        """Parameters with a meaning (meanings.py), and sentinels that are pointers."""
        parameter = self.parameters[index]
        name = parameter.name
        meaning = meaning_of(self.function, parameter)
        if meaning is None:
            if name == "buffer" and parameter.kind == "pointer":
                self.arguments.append("buffer_in(buffer)")
                return True
            if name == "array_of_errcodes":
                self.arguments.append(name)
                self.after.append(f"spawn_codes_out({name}, intercomm_.value(), code_);")
                return True
            if "weights" in name:
                self.arguments.append(f"weights_in({name})")
                return True
            return False
        kind = parameter.literal if parameter.kind == "raw" else parameter.kind
        if kind == "ints":
            self.place(name, f"IntsIn<{meaning.name}_in> {name}_({name}, {self.length(index)})", "")
        elif kind == "ints_out":
            self.arguments.append(name)
            self.after.append(f"convert_in_place<{meaning.name}_out>({name}, {self.length(index)}, code_);")
        elif kind == "int_inout":
            self.place(name, f"InOut<{meaning.name}_in, {meaning.name}_out> {name}_({name})")
        elif kind.endswith(("*", "_out")):
            self.arguments.append(name)
            self.after.append(f"convert_in_place<{meaning.name}_out>({name}, 1, code_);")
        elif kind == "MPI_T_cb_safety":
            self.arguments.append(f"static_cast<MPI_T_cb_safety>({meaning.name}_in({name}))")
        else:
            self.arguments.append(f"{meaning.name}_in({name})")
        return True

    def types_length(self, index):
        """The number of entries of an array of datatypes, as C++."""
        kind = self.parameters[index].kind
        if kind == "types" and self.function.group == "coll":
            return "peer_count(comm)"
        if kind != "types":
            return f"degree(comm, Direction::{kind.removesuffix('_types')})"
        return self.length(index)

    def raw(self, parameter, index):
        name, literal = parameter.name, parameter.literal
        if "attr_function" in literal or literal in ("MPI_Copy_function *", "MPI_Delete_function *"):
            self.arguments.append(f"attribute_function_in<{literal.removesuffix(' *')}>({name})")
        elif CALLBACK.search(literal) or literal.startswith("MPI_T_event_") and "_function" in literal:
            self.arguments.append(f"reinterpret_cast<{literal if literal.endswith('*') else literal + ' *'}>"
                                  f"({name})")
        elif literal == "MPI_T_pvar_handle":
            self.arguments.append(f"variable_in({name})")
        elif match := re.fullmatch(r"(?:const )?MPI_(\w+)\[\]", literal):
            handle = HANDLES[match.group(1)]
            self.place(name, f"ArrayIn<{handle}_in> {name}_({name}, {self.length(index)})", "")
        elif (match := re.fullmatch(r"MPI_(\w+) \*", literal)) and match.group(1) in HANDLES:
            self.place(name, f"Out<{HANDLES[match.group(1)]}_out> {name}_({name})")
        elif (match := re.fullmatch(r"MPI_(\w+)", literal)) and match.group(1) in HANDLES:
            self.arguments.append(f"{HANDLES[match.group(1)]}_in({name})")
        else:
            self.arguments.append(name)

    def string(self, parameter):
        limit = STRINGS.get(f"{self.function.name}.{parameter.name}")
        if limit is None:
            self.arguments.append(parameter.name)
            return
        length = next((p.name for p in self.parameters if p.name == "resultlen"), "nullptr")
        name = parameter.name
        self.place(name, f"StringOut<MPI_MAX_{limit}, kMax{_camel(limit)}> {name}_({name})",
                   f"finish({length}, code_)")

    def body(self):
        arguments = ", ".join(parameter.name for parameter in self.parameters)
        if self.function.name in BY_HAND:
            return f"return by_hand::{self.name}({arguments});\n"
        if self.function.direct:
            return self.direct(arguments)
        for index in range(len(self.parameters)):
            self.convert(index)
        target = self.name
        if "calls" in self.function.marks and not self.function.implemented:
            target = self.function.marks["calls"]  # a removed function
        call = f"core().{target}({', '.join(self.arguments)})"
        before = "".join(line + "\n" for line in self.before)
        if not self.after:
            return f"{before}return code_out({call});\n"
        after = "".join(line + "\n" for line in self.after)
        return f"{before}const int code_ = {call};\n{after}return code_out(code_);\n"

    def direct(self, arguments):
        name = self.function.name
        if match := re.fullmatch(r"(\w+)_(toint|c2f)", name):
            return f"return {match.group(1).lower()}_number({arguments});\n"
        if match := re.fullmatch(r"(\w+)_(fromint|f2c)", name):
            return f"return {match.group(1).lower()}_of_number({arguments});\n"
        return f"return core().{self.name}({arguments});\n"

    def definition(self):
        name, prefix = self.name, self.function.prefix
        strong, weak = f"P{prefix}{name}", f"{prefix}{name}"
        head = declared(prototype(self.function, name, self.large, "call_"))
        alias = declared(prototype(self.function, name, self.large, "weak_"))
        body = "".join(f"  {line}\n" for line in self.body().splitlines())
        return (f'[[{PUBLIC}]] {head} asm("{strong}");\n{head} {{\n{body}}}\n'
                f'[[gnu::weak, gnu::alias("{strong}"), {PUBLIC}]] {alias} asm("{weak}");\n')


def by_hand_header(functions):
    rows = "".join(declared(prototype(function, name, large, "")) + ";\n"
                   for function, name, large in all_forms(functions) if function.name in BY_HAND)
    return f"""// The functions of a facade that src/facade/by_hand_*.cpp implement. {C_NOTE}
#pragma once

#include "facade/convert.h"

namespace hearth::facade::by_hand {{

{rows}
}}  // namespace hearth::facade::by_hand
"""


def call_files(functions, removed):
    """{file name: text}"""
    files = {}
    for stem, groups in {**entries.FILES, "removed": ["removed"]}.items():
        text = (f'// {C_NOTE}\n#include "facade/convert.h"\n#include "facade_by_hand.h"\n\n'
                "using namespace hearth::facade;\n\nextern \"C\" {\n")
        for function in [*functions, *removed]:
            if function.group in groups and function.name not in LEFT_OUT:
                for name, large in function.forms():
                    text += "\n" + Wrapper(function, name, large).definition()
        files[f"facade_calls_{stem}.cpp"] = text + "\n}  // extern \"C\"\n"
    return files


class Symbol(str):
    """A predefined handle that is the address of a data object; `number` is that of Fortran."""


def read_constants(path, constants):
    """{name: value or Symbol}"""
    known = {constant.name for constant in constants} | {"MPI_LB", "MPI_UB"}
    values = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\w+) +(?:(-?\d\w*)|(ompi_\w+) +(\d+))", line)
        if not match or match.group(1) not in known:
            raise TableError(f"{path.name}:{number}: cannot read '{line}'")
        name, value, symbol, in_fortran = match.groups()
        if symbol:
            values[name] = Symbol(symbol)
            values[name].number = int(in_fortran)
        else:
            values[name] = int(value, 0)
    return values


def _camel(limit):
    return "".join(word.capitalize() for word in limit.split("_"))


def _pairs(name, rows):
    items = [f"{{{there}, {here}}}" for there, here in rows]
    head = f"inline constexpr Pair k{_camel(name)}[] = {{"
    return head + wrap(items, width=106, first=len(head)) + "};\n"


def _conversions(meaning):
    """The functions that wrappers call. Ranks and tags of messages are on the fast path."""
    name, pairs = meaning.name, f"k{_camel(meaning.name)}"
    if name == "error":
        return ""  # src/facade/codes.cpp
    form = "bits" if meaning.bits else "value"
    quick = "if (value >= 0) [[likely]] return value;\n  " if name in ("rank", "tag") else ""
    number = "MPI_Offset" if name == "displacement" else "int"
    return "".join(
        f"inline {number} {name}_{way}({number} value) {{\n"
        f"  {quick}return {form}_{way}({pairs}, value);\n}}\n"
        for way in ("in", "out"))


def _predefined(constants, values):
    """The rows of the predefined handles, and of their numbers in Fortran where these differ from C."""
    rows, numbers = "", ""
    for handle in HANDLES:
        seen = set()
        for constant in constants:
            if constant.kind != f"MPI_{handle}" or constant.name not in values or constant.value in seen:
                continue
            seen.add(constant.value)
            there = values[constant.name]
            if isinstance(there, Symbol):
                rows += f"HEARTH_PREDEFINED({handle}, {constant.text}, {there})\n"
                if handle != "File":  # src/facade/convert.h
                    numbers += f"HEARTH_FORTRAN_NUMBER({handle}, {constant.text}, {there.number})\n"
            else:
                rows += f"HEARTH_PREDEFINED({handle}, {constant.text}, {there:#010x})\n"
    return rows, numbers


def _fortran_constants(values):
    """The predefined handles with a number in Fortran, by their names in Fortran."""
    return "".join(f"HEARTH_FORTRAN_CONSTANT({name.lower()}, {value.number})\n"
                   for name, value in values.items() if isinstance(value, Symbol))


def constants_file(constants, values):
    """The conversions of constants. As rows of tables (X macros): the predefined handles, their numbers in
    Fortran, and the sets of constants, for tests."""
    sets = ""
    for meaning in MEANINGS:
        chosen = [constant for constant in constants_of(meaning, constants) if constant.name in values]
        if chosen:
            sets += _pairs(meaning.name, [(values[each.name], each.value) for each in chosen])
            sets += _conversions(meaning)
        else:  # the facade's ABI has none of them
            sets += f"inline int {meaning.name}_in(int value) {{\n  return value;\n}}\n"
            sets += f"inline int {meaning.name}_out(int value) {{\n  return value;\n}}\n"
    limits = "".join(f"inline constexpr int kMax{_camel(name.removeprefix('MPI_MAX_'))} = {value};\n"
                     for name, value in values.items() if name.startswith("MPI_MAX_"))
    others = "".join(f"inline constexpr int k{_camel(name.removeprefix('MPI_'))} = {values[name]};\n"
                     for name in ("MPI_ERR_ARG", "MPI_ERR_LASTCODE", "MPI_ERR_OTHER", "MPI_F_STATUS_SIZE",
                                  "MPI_BSEND_OVERHEAD") if name in values)
    rows = "".join(f"HEARTH_SET({meaning.name}, k{_camel(meaning.name)})\n" for meaning in MEANINGS
                   if f" k{_camel(meaning.name)}[]" in sets)
    predefined, numbers = _predefined(constants, values)
    return (f"// {C_NOTE}\n#if defined(HEARTH_PREDEFINED)\n{predefined}"
            f"#elif defined(HEARTH_FORTRAN_NUMBER)\n{numbers}"
            f"#elif defined(HEARTH_FORTRAN_CONSTANT)\n{_fortran_constants(values)}"
            f"#elif defined(HEARTH_SET)\n{rows}#else\n{sets}{limits}{others}#endif\n")


def outputs(functions, removed, constants, folder):
    files = {"facade_core.h": core_header(functions), "hearth_calls_v1.cpp": core_table(functions),
             "facade_by_hand.h": by_hand_header(functions), **call_files(functions, removed)}
    for name in TITLES:
        values = read_constants(folder / f"{name}_constants.txt", constants)
        files[f"facade_{name}.inc"] = constants_file(constants, values)
    return files
