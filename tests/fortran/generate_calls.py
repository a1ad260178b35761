#!/usr/bin/env python3
"""Writes programs that call every routine of Fortran, and the library that they call: a recorder.

    generate_calls.py FOLDER

The recorder has every function of MPI. It prints the name and the arguments of the one that a program has
announced, and writes values into its results. A program in C makes the same calls with the same values, and
prints the results as Fortran must see them. So the output of a program in Fortran must be that of the program
in C, which the test compares (test_calls.py):

    calls_c.c        each function
    calls_77.f90     mpif.h
    calls_mpi.f90    module mpi
    calls_f08.f90    module mpi_f08, with large counts
    recorder.c       the recorder

Each call is made twice: as MPI_ and as PMPI_, and then with a recorder that returns an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import fortran_modules, fortran_table, header, kinds, table  # noqa: E402
from generator.facade import HANDLES  # noqa: E402

TOINT = {"Datatype": "Type"}
HANDLE = re.compile(r"MPI_(" + "|".join(HANDLES) + r")\b")
WIDE = ("MPI_Count", "MPI_Aint", "MPI_Offset")
FLAGS = fortran_table.LOGICAL
# Lengths of arrays, which all have two entries.
LENGTH_KEYS = r"Comm_spawn_multiple\.count|Type_get_contents\w*\.max"
# Lengths of strings, which count the terminating zero in C.
TEXT_LENGTHS = ("Info_get_string.buflen", "Session_get_nth_pset.pset_len")
ERROR = 13  # of the recorder, in the last round


class Value:
    """One parameter of one routine: its category, and a number that makes its values unlike others."""

    def __init__(self, routine, parameter, position, literal):
        self.name = parameter.name
        self.key = f"{routine.function.name}.{parameter.name}"
        self.number = 100 * (position + 1) + len(routine.name)
        self.kind = parameter.kind
        self.literal = literal
        self.const = literal.startswith("const ")
        self.category, self.base = self.classify()
        self.fortran = {"indx": "index"}.get(self.name, self.name)

    def classify(self):
        text = self.literal.removeprefix("const ").strip()
        base = re.match(r"\w+", text).group(0)
        stars = text.count("*") + text.count("[")
        handle = HANDLE.fullmatch(base)
        special = {"attribute_val": "attribute", "extra_state": "extra_state", "baseptr": "pointer",
                   "buffer_addr": "pointer", "array_of_argv": "argvs", "array_of_commands": "argv",
                   "argv": "argv", "ranges": "ranges", "logical_true": "opaque", "logical_false": "opaque"}
        if self.name in special:
            return special[self.name], base
        if base.endswith(("_function", "_function_c")):
            return "callback", base
        if handle:
            return ("handle" if not stars else "handles" if self.is_array() else "handle_at"), handle.group(1)
        if base == "MPI_Status":
            return ("statuses" if self.kind == "statuses" else "status"), base
        if base == "char":
            return "string", base
        if base == "void":
            return "buffer", base
        if not stars:
            return "number", base
        return ("numbers" if self.is_array() else "number_at"), base

    def is_array(self):
        return ("[" in self.literal or "weights" in self.name or self.name == "array_of_errcodes")

    @property
    def is_logical(self):
        return bool(FLAGS.fullmatch(self.key)) and self.category.startswith("number")

    @property
    def is_input(self):
        """Whether the call reads it."""
        return (self.const or self.category in ("number", "handle") or "inout" in self.kind
                or self.kind in ("position", "wide_position", "type_at"))

    @property
    def is_output(self):
        return (self.category in ("number_at", "handle_at", "pointer") or self.category in
                ("numbers", "handles", "status", "statuses", "string", "attribute") and not self.const
                and self.kind not in ("pointer", "status_in"))

    def given(self, index=0):
        """The value that the call gets, in C. Arrays have two entries."""
        if self.is_logical:
            return 1 - index
        if self.kind in fortran_table.LENGTHS or re.match(LENGTH_KEYS, self.key):
            return 2
        if self.name == "root":
            return 1
        if self.key in TEXT_LENGTHS:
            return 20
        if self.category in ("handle", "handle_at", "handles"):
            return 5000 + self.number + index
        return self.number + index

    def result(self, index=0):
        """The value that the recorder writes, in C."""
        if self.is_logical:
            return 1 - index
        if self.name == "outcount":
            return 2
        if self.key in TEXT_LENGTHS:
            return 6
        return (9000 if self.category.startswith("handle") else 7000) + self.number + index

    def shown(self, index=0):
        """The result that Fortran must see."""
        value = self.result(index)
        if fortran_table.INDEX.fullmatch(self.key) or fortran_table.INDICES.fullmatch(self.key):
            return value + 1
        if self.key in TEXT_LENGTHS:
            return value - 1
        return value


def values_of(routine):
    """The parameters of C that Fortran has as well."""
    listed = [parameter for parameter in routine.function.parameters if parameter.kind != "..."]
    if routine.function.name in ("Init", "Init_thread", "Info_create_env"):
        listed = [parameter for parameter in listed if parameter.name not in ("argc", "argv")]
    return [Value(routine, parameter, position, c_type(routine, parameter))
            for position, parameter in enumerate(listed)]


def c_type(routine, parameter):
    """The parameter's type in C, with [] for arrays."""
    text = kinds.c_declaration(parameter, routine.large)
    return re.sub(rf"\b{parameter.name}\b", "", text, count=1).strip()


# The recorder.

def logged(value):
    """C statements that print an argument."""
    name, kind = value.name, value.category
    say = f'say(" {name}=");'
    if kind == "number" or kind == "number_at" and value.is_input:
        star = "*" if kind == "number_at" else ""
        return f"{say} number({star}{name});"
    if kind == "numbers" and value.const:
        return f"{say} number({name}[0]); number({name}[1]);"
    if kind == "ranges":
        return f"{say} number({name}[0][0]); number({name}[1][2]);"
    if kind == "handle" or kind == "handle_at" and value.is_input:
        star = "*" if kind == "handle_at" else ""
        return f"{say} handle((void*){star}{name});"
    if kind == "handles" and (value.const or "inout" in value.kind):
        return f"{say} handle((void*){name}[0]); handle((void*){name}[1]);"
    if kind == "string" and value.const:
        return f"{say} text({name});"
    if kind == "argv":
        end = f" if ({name}[2] == 0) say(\" end\");" if value.name == "argv" else ""
        return f"{say} text({name}[0]); text({name}[1]);{end}"
    if kind == "argvs":
        return f"{say} text({name}[0][0]); text({name}[0][1]); text({name}[1][0]); if ({name}[1][1] == 0) " \
               'say(" end");'
    if kind == "buffer":
        return f"{say} number(*(const int*){name});"
    if kind == "callback":
        return f'{say} say({name} != 0 ? " given" : " null");'
    if kind == "status" and value.kind in ("status_in", "status_inout"):
        return f"{say} number({name}->MPI_SOURCE); number({name}->MPI_ERROR);"
    if kind == "attribute" and value.kind == "pointer":
        return f"{say} number(*(MPI_Aint*){name});"
    return ""


def written(value):
    """C statements that write a result."""
    name, kind = value.name, value.category
    if not value.is_output:
        is_written = kind == "buffer" and not value.const
        return f"if ({name} != 0) *(int*){name} = {value.result()};" if is_written else ""
    if kind in ("number_at",):
        return f"*{name} = {value.result()};"
    if kind == "numbers":
        return f"{name}[0] = {value.result()}; {name}[1] = {value.result(1)};"
    if kind == "handle_at":
        return f"*{name} = made({value.result()});"
    if kind == "handles":
        return f"{name}[0] = made({value.result()}); {name}[1] = made({value.result(1)});"
    if kind == "string":
        return f'strcpy({name}, "out{value.number}");'
    if kind == "pointer" or kind == "attribute" and value.kind == "pointer_out":
        return f"*(void**){name} = (void*){value.result()}L;"
    if kind in ("status", "statuses"):
        return "".join(f"{name}[{i}].MPI_SOURCE = {value.result(i)}; "
                       f"{name}[{i}].MPI_TAG = {value.result(i) + 3};"
                       for i in range(2 if kind == "statuses" else 1))
    return ""


RECORDER_HEAD = r"""/* Written by generate_calls.py, which explains it. */
#define HEARTH_MPI_NO_INLINE
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static char expected[64];
static int code;

/* What was printed before a crash is not lost. */
__attribute__((constructor)) static void print_lines(void) { setvbuf(stdout, 0, _IOLBF, 4096); }
static void say(const char* words) { fputs(words, stdout); }
static void number(long value) { printf(" %ld", value); }
static void text(const char* words) { printf(" '%s'", words); }
/* Handles are addresses that differ from their numbers. */
static void* made(long value) { return (void*)(value < 4096 ? value : value * 16); }
static int numbered(void* handle) { return (int)((long)handle < 4096 ? (long)handle : (long)handle / 16); }
static void handle(void* object) { number(numbered(object)); }
static int is_expected(const char* name) { return strcmp(expected, name) == 0; }

/* For programs in Fortran and in C. */
void announce_(const char* name, const int* result, long length) {
  memcpy(expected, name, (size_t)length);
  expected[length] = 0;
  code = *result;
}
void show_number_(const char* name, const long* value, long length) {
  expected[0] = 0;
  printf("  %.*s %ld\n", (int)length, name, *value);
}
void show_text_(const char* name, const char* value, long length, long value_length) {
  while (value_length > 0 && value[value_length - 1] == ' ') --value_length;
  printf("  %.*s '%.*s'\n", (int)length, name, (int)value_length, value);
}
"""
# The functions that the Fortran library calls for its own queries.
HELPERS = {
    "Comm_size": "*size = 2;", "Comm_rank": "*rank = 1;", "Comm_test_inter": "*flag = 0;",
    "Topo_test": "*status = is_cartesian() ? MPI_CART : MPI_DIST_GRAPH;", "Cartdim_get": "*ndims = 2;",
    "Dist_graph_neighbors_count": "*indegree = 2; *outdegree = 2; *weighted = 0;",
    "Type_get_envelope": "*num_integers = *num_addresses = *num_datatypes = 2; *combiner = 0;",
    "Type_get_envelope_c": "*num_integers = *num_addresses = *num_large_counts = *num_datatypes = 2; "
                           "*combiner = 0;",
    "Abi_get_fortran_booleans": "*is_set = 0;",
}


def recorder(functions, routines):
    chosen = {routine.name: routine for routine in routines}
    text = RECORDER_HEAD + 'static int is_cartesian(void) { return strstr(expected, "Cart_") != 0; }\n'
    for function in functions:
        if function.prefix != "MPI_" or function.group == "tool":
            continue
        for name, large in function.forms():
            if "inline" in function.marks:
                continue
            for prefix in ("MPI_", "PMPI_"):
                body = recorded(function, name, chosen.get(name), prefix)
                text += f"{header.prototype(function, name, large, prefix)} {{\n{body}}}\n"
    return text


def recorded(function, name, routine, prefix):
    if name.endswith("_toint"):
        return f"  return numbered({function.parameters[0].name});\n"
    if name.endswith("_fromint"):
        return f"  return made({function.parameters[0].name});\n"
    if routine is None:
        return "  return 0;\n"
    values = values_of(routine)
    helper = HELPERS.get(name, "") if prefix == "PMPI_" else ""
    lines = [f'  if (!is_expected("{prefix}{name}")) {{ {helper} return 0; }}', f'  say("{prefix}{name}:");']
    lines += [f"  {line}" for line in map(logged, values) if line]
    lines.append('  say("\\n");')
    if routine.result or name == "Pcontrol":
        lines.append(f"  return {'12345' if routine.result else '0'};")
    else:
        lines.append("  if (code != 0) return code;")
        lines += [f"  {line}" for line in map(written, values) if line]
        lines.append("  return 0;")
    return "\n".join(lines) + "\n"


def rounds(name):
    """(prefix, code of the recorder)"""
    both = [("MPI_", 0), ("PMPI_", 0)]
    return both if name == "Pcontrol" else [*both, ("MPI_", ERROR)]


# The program in C.

def c_call(routine, prefix, code):
    declarations, arguments, shows = [], [], []
    for value in values_of(routine):
        name, kind = value.name, value.category
        argument = name
        if kind == "number":
            declarations.append(f"{value.base} {name} = {value.given()};")
        elif kind == "number_at":
            given = value.given() + (value.key in TEXT_LENGTHS)
            declarations.append(f"{value.base} {name} = {given};")
            argument = f"&{name}"
        elif kind == "numbers":
            declarations.append(f"{value.base} {name}[2] = {{{value.given()}, {value.given(1)}}};")
        elif kind == "ranges":
            declarations.append(f"int {name}[2][3] = {{{{{value.number}}}, {{0, 0, {value.number + 1}}}}};")
        elif kind in ("handle", "handle_at"):
            declarations.append(f"MPI_{value.base} {name} = made_{value.base}({value.given()});")
            argument = name if kind == "handle" else f"&{name}"
        elif kind == "handles":
            declarations.append(f"MPI_{value.base} {name}[2] = {{made_{value.base}({value.given()}), "
                                f"made_{value.base}({value.given(1)})}};")
        elif kind == "string":
            text = f"text{value.number}" if value.const else ""
            declarations.append(f'char {name}[8192] = "{text}";')
        elif kind == "argv":
            declarations.append(f'char* {name}[3] = {{"one", "two", 0}};')
        elif kind == "argvs":
            declarations.append(f'char* {name}_0[3] = {{"one", "two", 0}}; '
                                f'char* {name}_1[2] = {{"three", 0}}; '
                                f"char** {name}[2] = {{{name}_0, {name}_1}};")
        elif kind in ("buffer", "opaque"):
            declarations.append(f"int {name}[4] = {{{value.number}}};")
        elif kind == "callback":
            argument = f"({value.base}*)nothing"
        elif kind in ("status", "statuses"):
            fields = f"{value.number}, 0, {value.number + 2}, {{0}}"
            declarations.append(f"MPI_Status {name}[2] = {{{{{fields}}}}};")
        elif kind == "extra_state":
            declarations.append(f"char {name}[8];")
        elif kind == "attribute" and value.kind == "pointer":
            declarations.append(f"MPI_Aint {name}_cell = {value.number}; void* {name} = &{name}_cell;")
        elif kind in ("attribute", "pointer"):
            declarations.append(f"void* {name} = 0;")
            argument = f"&{name}"
        arguments.append(argument)
        if code == 0:
            shows += c_shows(value)
    if routine.function.name in ("Init", "Init_thread", "Info_create_env"):
        arguments = [*({"Info_create_env": ["0", "0"]}.get(routine.name, ["0", "0"])), *arguments]
    announce = f'  announce("{prefix}{routine.name}", {code});\n'
    call = f"{prefix}{routine.name}({', '.join(arguments)})"
    if routine.result:
        body = f"  show(\"result\", (long){call});\n"
    elif routine.has_ierror:
        body = f"  int ierror_ = {call};\n  show(\"ierror\", ierror_);\n"
    else:
        body = f"  {call};\n"
    lines = "".join(f"  {line}\n" for line in declarations)
    return "{\n" + lines + announce + body + "".join(f"  {line}\n" for line in shows) + "}\n"


def c_shows(value):
    name, kind = value.name, value.category
    if kind == "buffer" and not value.const:
        return [f'show("{name}", {name}[0]);']
    if not value.is_output:
        return []
    if kind in ("number_at", "handle_at"):
        return [f'show("{name}", {value.shown()});']
    if kind in ("numbers", "handles"):
        return [f'show("{name}", {value.shown()});', f'show("{name}", {value.shown(1)});']
    if kind == "string":
        return [f'show_text_("{name}", {name}, {len(name)}, (long)strlen({name}));']
    if kind in ("attribute", "pointer"):
        if kind == "attribute" and value.kind == "pointer":
            return []
        return [f'SHOW_POINTER("{name}", (long){name});' if name == "buffer_addr" else
                f'show("{name}", (long){name});']
    if kind in ("status", "statuses"):
        return [line for i in range(2 if kind == "statuses" else 1)
                for line in (f'show("{name}", {name}[{i}].MPI_SOURCE);',
                             f'show("{name}", {name}[{i}].MPI_TAG);')]
    return []


def c_program(routines):
    makers = "".join(f"static MPI_{name} made_{name}(int value) "
                     f"{{ return MPI_{TOINT.get(name, name)}_fromint(value); }}\n" for name in HANDLES)
    parts = main = ""
    for number, routine in enumerate(routines):
        guard = "is_new" if not routine.in_old_modules else "is_old" if not routine.in_f08 else ""
        body = "".join(c_call(routine, *each) for each in rounds(routine.name))
        parts += f"static void call_{number}(void) {{\n{body}}}\n"
        main += f"  {f'if ({guard}) ' if guard else ''}call_{number}();\n"
    return f"""/* Written by generate_calls.py. */
#include <mpi.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wcast-function-type"
void announce_(const char* name, const int* result, long length);
void show_number_(const char* name, const long* value, long length);
void show_text_(const char* name, const char* value, long length, long value_length);
static int is_new, is_old;
static void announce(const char* name, int result) {{ announce_(name, &result, (long)strlen(name)); }}
static void show(const char* name, long value) {{ show_number_(name, &value, (long)strlen(name)); }}
/* The address of a detached buffer is visible in mpi_f08 alone. */
#define SHOW_POINTER(name, value) do {{ if (is_new) show(name, value); }} while (0)
static void nothing(void) {{}}
{makers}{parts}
/* The argument is the form: 77, mpi or f08. */
int main(int argc, char** argv) {{
  is_new = argc > 1 && strcmp(argv[1], "f08") == 0;
  is_old = !is_new;
{main}  return 0;
}}
"""


# The programs in Fortran.

KINDS = {"int": "integer", "MPI_Count": "integer(kind=MPI_COUNT_KIND)",
         "MPI_Aint": "integer(kind=MPI_ADDRESS_KIND)", "MPI_Offset": "integer(kind=MPI_OFFSET_KIND)"}


class FortranCall:
    """One call in one form: 77, mpi or f08."""

    def __init__(self, routine, form, prefix, code):
        self.routine, self.form, self.prefix, self.code = routine, form, prefix, code
        self.declarations, self.sets, self.arguments, self.shows = [], [], [], []
        for value in values_of(routine):
            getattr(self, value.category)(value, value.fortran)

    def declare(self, kind, name, shape=""):
        self.declarations.append(f"{kind} :: {name}{shape}")

    def show(self, value, expression):
        if self.code == 0 and value.is_output:
            self.shows.append(f"call show_number('{value.name}', int({expression}, 8))")

    def number(self, value, name):
        self.declare("logical" if value.is_logical else KINDS[value.base], name)
        self.sets.append(f"{name} = {'.true.' if value.is_logical else value.given()}")
        self.arguments.append(name)

    def number_at(self, value, name):
        self.declare("logical" if value.is_logical else KINDS[value.base], name)
        self.sets.append(f"{name} = {'.false.' if value.is_logical else value.given()}")
        self.arguments.append(name)
        self.show(value, f"merge(1, 0, {name})" if value.is_logical else name)

    def numbers(self, value, name):
        logical = value.is_logical
        self.declare("logical" if logical else KINDS[value.base], name, "(2)")
        self.sets.append(f"{name} = " + ("[.true., .false.]" if logical else
                                         f"[{value.given()}, {value.given(1)}]"))
        self.arguments.append(name)
        for i in (1, 2):
            self.show(value, f"merge(1, 0, {name}({i}))" if logical else f"{name}({i})")

    def ranges(self, value, name):
        self.declare("integer", name, "(3, 2)")
        self.sets += [f"{name} = 0", f"{name}(1, 1) = {value.number}", f"{name}(3, 2) = {value.number + 1}"]
        self.arguments.append(name)

    def of_handle(self, value):
        if self.form == "f08":
            return f"type(MPI_{value.base})", "%MPI_VAL"
        return "integer", ""

    def handle(self, value, name):
        kind, field = self.of_handle(value)
        self.declare(kind, name)
        self.sets.append(f"{name}{field} = {value.given()}")
        self.arguments.append(name)

    def handle_at(self, value, name):
        self.handle(value, name)
        self.show(value, f"{name}{self.of_handle(value)[1]}")

    def handles(self, value, name):
        kind, field = self.of_handle(value)
        self.declare(kind, name, "(2)")
        self.sets += [f"{name}({i + 1}){field} = {value.given(i)}" for i in (0, 1)]
        self.arguments.append(name)
        for i in (1, 2):
            self.show(value, f"{name}({i}){field}")

    def string(self, value, name):
        self.declare("character(len=8300)", name)
        self.sets.append(f"{name} = '{f'text{value.number}' if value.const else 'xxx'}'")
        self.arguments.append(name)
        if self.code == 0 and value.is_output:
            self.shows.append(f"call show_text('{value.name}', {name})")

    def argv(self, value, name):
        self.declare("character(len=7)", name, "(3)")
        self.sets.append(f"{name} = ['one    ', 'two    ', '       ']")
        self.arguments.append(name)

    def argvs(self, value, name):
        self.declare("character(len=7)", name, "(2, 3)")
        self.sets += [f"{name} = ' '", f"{name}(1, 1) = 'one'", f"{name}(1, 2) = 'two'",
                      f"{name}(2, 1) = 'three'"]
        self.arguments.append(name)

    def buffer(self, value, name):
        self.declare("integer, asynchronous", name, "(4)")
        self.sets.append(f"{name} = {value.number}")
        self.arguments.append(name)
        if self.code == 0 and not value.const:
            self.shows.append(f"call show_number('{value.name}', int({name}(1), 8))")

    def opaque(self, value, name):
        self.declare("logical", name)
        self.sets.append(f"{name} = .true.")
        self.arguments.append(name)

    def callback(self, value, name):
        del name
        own = f"a_{value.base.removeprefix('MPI_').lower()}"
        self.arguments.append(own if self.form == "f08" else "a_procedure")

    def status(self, value, name):
        self.statuses(value, name, array=False)

    def statuses(self, value, name, array=True):
        new = self.form == "f08"
        kind = "type(MPI_Status)" if new else "integer"
        shape = ("(2)" if new else "(MPI_STATUS_SIZE, 2)") if array else ("" if new else "(MPI_STATUS_SIZE)")
        self.declare(kind, name, shape)

        def part(field, i):
            place = {"SOURCE": "MPI_SOURCE", "TAG": "MPI_TAG", "ERROR": "MPI_ERROR"}[field]
            if new:
                return f"{name}({i})%{place}" if array else f"{name}%{place}"
            return f"{name}({place}, {i})" if array else f"{name}({place})"

        self.sets += [f"{part('SOURCE', 1)} = {value.number}", f"{part('TAG', 1)} = 0",
                      f"{part('ERROR', 1)} = {value.number + 2}"]
        self.arguments.append(name)
        for i in range(1, 3 if array else 2):
            self.show(value, part("SOURCE", i))
            self.show(value, part("TAG", i))

    def is_small(self, value):
        return value.key in ("Attr_get.attribute_val", "Attr_put.attribute_val", "Keyval_create.extra_state")

    def extra_state(self, value, name):
        self.declare("integer" if self.is_small(value) else KINDS["MPI_Aint"], name)
        self.sets.append(f"{name} = {value.number}")
        self.arguments.append(name)

    def attribute(self, value, name):
        self.extra_state(value, name)
        if value.kind == "pointer_out":
            self.show(value, name)

    def pointer(self, value, name):
        if value.name == "buffer_addr" and self.form != "f08":
            self.declare("integer, asynchronous", name, "(4)")
            self.sets.append(f"{name} = 0")
            self.arguments.append(name)
            return
        self.declare("type(c_ptr)" if self.form == "f08" else KINDS["MPI_Aint"], name)
        if self.form != "f08":
            self.sets.append(f"{name} = 0")
        self.arguments.append(name)
        self.show(value, f"transfer({name}, 0_8)" if self.form == "f08" else name)

    def text(self):
        routine = self.routine
        name = f"{self.prefix}{routine.name if routine.generic == routine.name else routine.generic}"
        if routine.name != routine.generic and self.is_ambiguous():
            return ""
        lines = [f"call announce('{self.prefix}{routine.name}', {self.code})"]
        arguments = list(self.arguments)
        declarations = list(self.declarations)
        if routine.has_ierror:
            arguments.append("ierror")
            declarations.append("integer :: ierror")
            self.sets.append("ierror = -1")
            self.shows.insert(0, "call show_number('ierror', int(ierror, 8))")
        call = f"{name}({', '.join(arguments)})"
        if routine.result:
            lines.append(f"call show_number('result', int({call}, 8))")
        else:
            lines.append(f"call {call}")
        body = [*declarations, *self.sets, *lines, *self.shows]
        return "block\n" + "".join(folded(f"  {line}") for line in body) + "end block\n"

    def is_ambiguous(self):
        """Whether the large form has the same signature as the small one, and therefore no name."""
        return self.routine.signature() == SMALL[self.routine.generic]


SMALL = {}


def folded(line):
    """A line of at most 120 columns, continued with &."""
    text = ""
    while len(line) > 118:
        cut = line.rfind(",", 0, 116) + 1
        text, line = text + line[:cut] + " &\n", "    " + line[cut:].lstrip()
    return text + line + "\n"


def f08_procedures():
    """Procedures with the interfaces of all callbacks, which are never called."""

    text = ""
    for name, arguments, declarations in fortran_modules.callbacks():
        own = f"a_{name.removeprefix('MPI_').lower()}"
        text += folded(f"subroutine {own}({arguments})")
        text += "".join(f"  {kind} :: {names}\n" for kind, names in declarations) + "end subroutine\n"
    return text


def fortran_program(routines, form):
    chosen = [routine for routine in routines
              if (routine.in_f08 if form == "f08" else routine.in_old_modules)]
    use = {"77": "", "mpi": "use mpi\n", "f08": "use mpi_f08\n"}[form]
    include = "include 'mpif.h'\n" if form == "77" else ""
    start = f"{use}use, intrinsic :: iso_c_binding, only: c_ptr\nimplicit none\n{include}"
    parts, calls = "", ""
    for number in range(0, len(chosen), 10):
        body = "".join(FortranCall(routine, form, *each).text() for routine in chosen[number:number + 10]
                       for each in rounds(routine.name))
        parts += f"subroutine calls_{number}()\nuse procedures\n{start}{body}end subroutine\n"
        calls += f"call calls_{number}()\n"
    procedures = f08_procedures() if form == "f08" else "subroutine a_procedure()\nend subroutine\n"
    uses = "use mpi_f08\nuse, intrinsic :: iso_c_binding, only: c_ptr\n" if form == "f08" else ""
    return (f"! Written by generate_calls.py.\nmodule procedures\n{uses}implicit none\ncontains\n{procedures}"
            f"end module\n{parts}program calls\n{calls}end program\n")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    _, functions = table.read_functions(ROOT / "api" / "functions.txt")
    routines = list(fortran_table.routines(functions))
    for routine in routines:
        if routine.name == routine.generic:
            SMALL[routine.name] = routine.signature()
    called = [routine for routine in routines
              if routine.name == routine.generic or routine.signature() != SMALL[routine.generic]]
    (folder / "recorder.c").write_text(recorder(functions, routines))
    (folder / "calls_c.c").write_text(c_program(called))
    for form in ("77", "mpi", "f08"):
        (folder / f"calls_{form}.f90").write_text(fortran_program(routines, form))


if __name__ == "__main__":
    main()
