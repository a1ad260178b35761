"""Generates the entry points: PMPI_X with MPI_X as its weak alias, one source file for each set of groups."""

import re

from . import kinds
from .header import prototype
from .table import TableError
from .writer import C_NOTE

# The groups of each source file, chosen so that all files take about the same time to compile.
FILES = {
    "pt2pt": ["pt2pt"],
    "request": ["request"],
    "coll": ["coll"],
    "objects": ["comm", "group", "op", "attr"],
    "datatype": ["datatype"],
    "environment": ["error", "info", "init", "misc", "timer", "abi", "fortran"],
    "process": ["topo", "session", "dpm", "ulfm"],
    "rma": ["rma"],
    "io": ["io"],
    "tool": ["tool"],
}

# Headers of fast paths other than inline_path.h.
INLINE_PATHS = {"rma": "abi/inline_path_rma.h"}

BUFFERS = ("in", "out", "in_or_place", "in_or_place_at_root", "out_or_place_at_root")
DESCRIBES_BUFFER = ("count", "counts", "local_counts", "displacements", "aints", "type", "types")
LENGTHS = ("length", "entries", "request_count")
PLACES = {
    "root": "is_root_here(*comm_, root)",
    "leaf": "is_leaf_here(*comm_, root)",
    "part": "takes_part(*comm_, root)",
    "later": "comm_->rank > 0 || sendbuf == MPI_IN_PLACE",
}


FREQUENT = ("Send", "Isend", "Recv")
PUBLIC = 'gnu::visibility("default")'


class Entry:
    """Writes the body of one form of one function."""

    def __init__(self, function, name, large):
        self.function, self.name, self.large = function, name, large
        self.parameters = [p for p in function.parameters if p.kind != "..."]

    def condition(self, index):
        """When the argument is significant: its place, and whether the buffer before it is MPI_IN_PLACE."""
        parameter = self.parameters[index]
        terms = [f"at_{parameter.place}_"] if parameter.place else []
        if parameter.kind in BUFFERS:
            return " && ".join(terms)
        for before in reversed(self.parameters[:index]):
            if before.kind in BUFFERS:
                if "place" in before.kind and parameter.kind in DESCRIBES_BUFFER:
                    terms.append(f"!{before.name}_placed_")
                break
        return " && ".join(terms)

    def length(self, index):
        """The parameter with the number of entries of the array."""
        for before in reversed(self.parameters[:index]):
            if before.kind in LENGTHS:
                return before.name
        return ""

    def count_and_type(self, index):
        """Names of the count and the type of a buffer; None if the buffer has an array of counts."""
        count = ""
        for parameter in self.parameters[index + 1:]:
            if parameter.kind.endswith("counts"):
                return None
            if parameter.kind in ("count", "large_count") and not count:
                count = parameter.name
            if parameter.kind in ("type", "any_type"):
                return count, parameter.name
        return None

    def size_of_each(self, index):
        """C++ expression: the size of the elements that an array of counts refers to."""
        for parameter in self.parameters[index + 1:]:
            if parameter.kind == "type":
                return f"{parameter.name}_->size"
            if parameter.kind in BUFFERS or parameter.kind.endswith("types"):
                break
        return "1"

    def length_checks(self):
        """Checks that the size of each message fits into 64 bits."""
        usable = {parameter.name for parameter in self.parameters if parameter.kind == "type"}
        pairs = {}
        for index, parameter in enumerate(self.parameters):
            count, datatype = parameter.kind in BUFFERS and self.count_and_type(index) or ("", "")
            if count and datatype in usable:
                pairs[count] = kinds.refuse_if(f"{{cond&&}}!bytes_fit({count}, *{datatype}_)")
        return "".join(self.expand(pairs[parameter.name], index)
                       for index, parameter in enumerate(self.parameters) if parameter.name in pairs)

    def expand(self, template, index):
        condition, length = self.condition(index), self.length(index)
        text = template.replace("{reject}", self.leaving("reject(kCall, words_, {i})"))
        text = text.replace("{n}", self.parameters[index].name).replace("{i}", str(index))
        text = text.replace("{size}", self.size_of_each(index))
        text = text.replace("{cond&&}", f"{condition} && " if condition else "")
        text = text.replace("{cond?}", f"{condition} ? " if condition else "")
        text = re.sub(r"\{:([^}]*)\}", lambda match: f" : {match.group(1)}" if condition else "", text)
        return text.replace("{length&&}", f" && {length} > 0" if length else "")

    def buffer_check(self, index):
        parameter = self.parameters[index]
        name, condition = parameter.name, self.condition(index)
        terms = [condition] if condition else []
        described = self.count_and_type(index)
        if described:
            terms.append(f"is_odd({name})")
            if parameter.kind.endswith("_or_place"):
                terms.append(f"!{name}_placed_")
            elif parameter.kind.endswith("_at_root"):
                terms.append(f"!({name}_placed_ && at_root_)")
            count = described[0] or "1"
            terms.append(f"!odd_buffer_fits({name}, {count}, *{described[1]}_)")
        elif parameter.kind in ("in", "out"):
            terms.append(f"{name} == MPI_IN_PLACE")
        elif parameter.kind.endswith("_at_root"):
            terms.append(f"{name}_placed_ && !at_root_")
        else:
            return ""
        return self.expand(kinds.refuse_if(" && ".join(terms)), index)

    def kind(self, parameter):
        if parameter.kind == "raw":
            return kinds.Kind(parameter.literal, "%")
        kind = kinds.KINDS[parameter.kind]
        if not kind.implementation:
            raise TableError(f"{self.name}: kinds.py does not say yet what an implementation gets for "
                             f"'{parameter.kind}'")
        return kind

    def checks(self):
        text = ""
        ordered = sorted(range(len(self.parameters)), key=lambda i: (self.kind(self.parameters[i]).order, i))
        places_done = False
        for index in ordered:
            parameter = self.parameters[index]
            kind = self.kind(parameter)
            if kind.order > kinds.ROOTS and not places_done:
                text += self.places()
                places_done = True
            if kind.check == kinds.BUFFER_CHECK:
                text += self.buffer_check(index)
            else:
                text += self.expand(kind.check, index)
            if not self.large:
                text += self.expand(kind.small_before, index)
        return text + self.length_checks()

    def places(self):
        used = {parameter.place for parameter in self.parameters if parameter.place}
        if any(parameter.kind.endswith("_at_root") for parameter in self.parameters):
            used.add("root")
        text = "".join(f"const bool at_{place}_ = {PLACES[place]};\n" for place in sorted(used))
        for parameter in self.parameters:
            if "place" in parameter.kind and parameter.kind in BUFFERS:
                text += (f"[[maybe_unused]] const bool {parameter.name}_placed_ = "
                         f"{parameter.name} == MPI_IN_PLACE;\n")
        return text

    def call(self):
        arguments, after, always = [], "", ""
        for index, parameter in enumerate(self.parameters):
            kind = self.kind(parameter)
            narrow = not self.large and kind.small_argument
            arguments.append(self.expand(kind.small_argument if narrow else kind.argument, index))
            after += self.expand(kind.after, index)
            always += self.expand(kind.always, index)
            if not self.large:
                after += self.expand(kind.small_after, index)
        if "form" in self.function.marks:
            arguments.append("Form::large" if self.large else "Form::small")
        # No exception of the library crosses the ABI. Exceptions of a user's function pass through.
        return (f"Status result_;\ntry {{\n"
                f"result_ = mpi::{self.function.implementation}({', '.join(arguments)});\n"
                "} catch (const std::bad_alloc&) {\nresult_ = out_of_memory();\n"
                "} catch (const std::length_error&) {\nresult_ = out_of_memory();\n}\n"
                f"{always}"
                f"if (!result_.ok()) [[unlikely]] return {self.leaving('raise(kCall, words_, result_)')};\n"
                f"{after}return {self.leaving('MPI_SUCCESS')};\n")

    @property
    def holds_lock(self):
        return not {"any_time", "no_lock", "in_handler"} & self.function.marks.keys()

    def leaving(self, code):
        """The result of an entry that may hold the lock."""
        return f"leave({code})" if self.holds_lock else code

    def words(self):
        words = ", ".join(f"word({parameter.name})" for parameter in self.parameters) or "0"
        return f"uint64_t words_[] = {{{words}}};\n"

    def guard(self):
        marks = self.function.marks
        if "no_lock" in marks:
            return ""
        if "any_time" in marks:
            guard = ("const AnyTimeGuard guard_;\n"
                     "if (!guard_.entered()) [[unlikely]] return refuse_in_handler(kCall, words_);\n")
            if self.function.group == "tool" and self.function.name not in ("T_init_thread", "T_finalize"):
                guard += "if (tool_users == 0) [[unlikely]] return MPI_T_ERR_NOT_INITIALIZED;\n"
            return guard
        names = "".join(f", {parameter.name}" for parameter in self.parameters)
        # The most frequent calls are counted by their implementation if they do not take the fast path.
        plainly = "is_active_untraced" if self.function.name in FREQUENT else "is_active_unwatched"
        if "in_handler" in marks:
            return "if (!is_active()) return refuse(kCall, words_);\n"
        return ("if (!Inside::is_open()) [[unlikely]] {\n"
                "if (const int code_ = enter_otherwise(kCall, words_); code_ != MPI_SUCCESS) return code_;\n"
                f"take_back(words_{names});\n"
                "} else {\nInside::set_gate(Inside::Gate::inside);\n}\n"
                f"if (!{plainly}()) [[unlikely]] {{\n{self.watch()}take_back(words_{names});\n}}\n")

    def watch(self):
        """Counts the call and, if a count and a type follow each other, its bytes."""
        if self.function.name in FREQUENT:
            return "begin_traced(kCall);\n"
        watch = "watch_collective" if self.function.group == "coll" else "watch"
        for index, parameter in enumerate(self.parameters):
            if parameter.kind not in ("count", "large_count"):
                continue
            for behind in self.parameters[index + 1:index + 3]:
                if behind.kind in ("type", "any_type"):
                    return f"{watch}(kCall, {parameter.name}, {behind.name});\n"
        return f"{watch}(kCall);\n"

    def body(self):
        if self.function.direct:
            arguments = ", ".join(parameter.name for parameter in self.parameters)
            return f"return mpi::{self.function.implementation}({arguments});\n"
        if not self.function.implemented:
            return self.words() + f"return unimplemented(Call::{self.name.lower()}, words_);\n"
        return (f"constexpr Call kCall = Call::{self.name.lower()};\n{self.words()}keep(words_);\n"
                f"{self.guard()}{self.checks()}{self.call()}")


def _indent(text):
    return "".join(f"  {line}\n" for line in text.splitlines())


def _definition(function, name, large):
    target = function.marks.get("alias", name)
    strong = "P" + function.prefix
    weak = (f'[[gnu::weak, gnu::alias("{strong}{target}"), {PUBLIC}]]\n'
            f"{prototype(function, name, large, function.prefix)};\n")
    if "alias" in function.marks:
        return (f'[[gnu::alias("{strong}{target}"), {PUBLIC}]]\n'
                f"{prototype(function, name, large, strong)};\n{weak}")
    entry = Entry(function, name, large)
    body, before = entry.body(), ""
    if "inline_path" in function.marks:
        # The regular path is a separate function, so that the fast path saves no registers.
        before = (f"[[gnu::noinline]] static {prototype(function, name, large, 'in_full_')} {{\n"
                  f"{_indent(body)}}}\n")
        arguments = ", ".join(parameter.name for parameter in entry.parameters)
        body = (f"if (inline_path::{function.implementation}({arguments})) [[likely]] return MPI_SUCCESS;\n"
                f"const int code_ = in_full_{name}({arguments});\n"
                "stay_on_stack();\nreturn code_;\n")
    return (f"{before}[[{PUBLIC}]]\n{prototype(function, name, large, strong)} {{\n"
            f"{_indent(body)}}}\n{weak}")


def entry_files(functions):
    """{file name: text}"""
    files = {}
    for stem, groups in FILES.items():
        text = (f'// {C_NOTE}\n#define HEARTH_MPI_NO_INLINE\n'
                f'#include "{INLINE_PATHS.get(stem, "abi/inline_path.h")}"\n'
                '#include "abi/entry.h"\n#include "mpi-ext.h"\n\n'
                'using namespace hearth;\nusing namespace hearth::abi;\n\nextern "C" {\n')
        for function in functions:
            if function.group in groups:
                for name, large in function.forms():
                    text += "\n" + _definition(function, name, large)
        files[f"entries_{stem}.cpp"] = text + "\n}  // extern \"C\"\n"
    listed = {group for groups in FILES.values() for group in groups}
    missing = {function.group for function in functions} - listed
    if missing:
        raise TableError(f"no entry file lists the groups {', '.join(sorted(missing))}")
    return files
