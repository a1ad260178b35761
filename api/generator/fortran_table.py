"""The Fortran form of each function: which routines exist, and for each parameter its declaration in the
modules `mpi` and `mpi_f08`, its C++ type in the entry point, and its conversion (src/fortran/convert.h).

In a declaration % is the parameter's name. A routine has up to four entry points; MPI_Send has

    mpi_send_          mpif.h, module mpi, and mpi_f08 without descriptors (its alias mpi_send_f08_)
    mpi_send_c_f08_    the same with a large count, mpi_f08 only
    mpi_send_f08ts_    mpi_f08: buffers arrive as descriptors (Fortran 2018, `type(*), dimension(..)`)
    mpi_send_c_f08ts_

Each exists as pmpi_ as well. All handles are INTEGERs in memory, so an entry without descriptors serves all
modules.
"""

import re
from dataclasses import dataclass, field

from . import kinds
from .facade import HANDLE_KINDS, HANDLES
from .table import TableError

LENGTHS = ("length", "entries", "request_count")
INTEGERS = {"int": "INTEGER", "MPI_Count": "INTEGER(KIND=MPI_COUNT_KIND)",
            "MPI_Aint": "INTEGER(KIND=MPI_ADDRESS_KIND)", "MPI_Offset": "INTEGER(KIND=MPI_OFFSET_KIND)"}
# Functions for C alone: the tool interface, conversions of handles, extensions; and forms whose Fortran
# signature is that of another one.
EXCLUDED_GROUPS = ("tool", "fortran", "ulfm")
EXCLUDED = re.compile(r"\w+_(fromint|toint)|P(send|recv)_init_c")
# Deprecated since MPI 2.0: without a form in mpi_f08.
ONLY_OLD = ("Attr_delete", "Attr_get", "Attr_put", "Keyval_create", "Keyval_free")
# The implementation is in src/fortran/by_hand_*.cpp.
BY_HAND = re.compile(
    r"Init|Init_thread|Info_create_env|Grequest_start|Op_create(_c)?|\w+_create_keyval|\w+_create_errhandler"
    r"|Keyval_create|\w+_[gs]et_attr|Attr_(get|put)|Register_datarep(_c)?|Comm_spawn(_multiple)?"
    r"|Type_get_contents(_c)?|Info_get(_string)?|Session_get_nth_pset")
# Functions that return the address of a buffer, which only mpi_f08 can receive (MPI 5.0 section 3.6).
DETACH = re.compile(r"Buffer_detach|\w+_detach_buffer")
LOGICAL = re.compile(
    r"\w+\.(flag|commute|high|reorder|weighted)|Cart_(create|map|get)\.periods|Cart_sub\.remain_dims"
    r"|Abi_get_fortran_booleans\.is_set|Grequest\w*\.complete")
INDEX = re.compile(r"(Waitany|Testany|Request_get_status_any)\.indx")
INDICES = re.compile(r"(Waitsome|Testsome|Request_get_status_some)\.array_of_indices")
# Length of each string that the library returns: MPI_MAX_... of C.
STRINGS = {"Comm_get_name.comm_name": "OBJECT_NAME", "Type_get_name.type_name": "OBJECT_NAME",
           "Win_get_name.win_name": "OBJECT_NAME", "Error_string.string": "ERROR_STRING",
           "Get_library_version.version": "LIBRARY_VERSION_STRING", "Open_port.port_name": "PORT_NAME",
           "Get_processor_name.name": "PROCESSOR_NAME", "Lookup_name.port_name": "PORT_NAME",
           "Info_get_nthkey.key": "INFO_KEY", "File_get_view.datarep": "DATAREP_STRING"}
INFO_TEXT = re.compile(r"Info_\w+\.(key|value)")
# C types whose value is checked at the root alone, and the kind of the same parameter elsewhere.
SIGNIFICANT_AT_ROOT = {"const char *": "string", "MPI_Info": "info_or_null"}
# Number of entries of arrays with a length that no parameter before gives.
ARRAY_LENGTHS = {
    "Cart_get.periods": "cart_dimensions(*comm, *maxdims)",
    "Cart_sub.remain_dims": "cart_dimensions(*comm)",
}
ADDRESS_KIND = "INTEGER(KIND=MPI_ADDRESS_KIND)"


@dataclass
class Argument:
    name: str
    cpp: str  # declarator of the entry's parameter
    mpi: str  # declaration in module mpi
    f08: str = ""  # in module mpi_f08, if it differs
    use: str = "%"  # argument of the C call
    before: str = ""
    after: str = ""
    string: bool = False  # CHARACTER(*): its length is another parameter, behind all arguments
    buffer: str = ""  # "in" or "out": a choice buffer
    kind: str = ""  # of api/functions.txt

    @property
    def fortran_name(self):
        return {"indx": "index"}.get(self.name, self.name)

    def declaration(self, module):
        text = self.f08 if module == "f08" and self.f08 else self.mpi
        return text.replace("%", self.fortran_name)


@dataclass
class Routine:
    function: object
    name: str  # without MPI_
    large: bool
    arguments: list = field(default_factory=list)

    @property
    def result(self):
        """C type of the value that a function returns; "" of subroutines."""
        return self.function.returns if self.function.direct and self.name != "Pcontrol" else ""

    @property
    def has_ierror(self):
        return not self.function.direct

    @property
    def has_buffers(self):
        return any(argument.buffer for argument in self.arguments)

    @property
    def by_hand(self):
        return bool(BY_HAND.fullmatch(self.name))

    @property
    def in_old_modules(self):
        """In mpif.h and the module mpi, which have no large counts but those of functions of their own."""
        return not self.name.endswith("_c") or self.name in ("Op_create_c", "Register_datarep_c")

    @property
    def in_f08(self):
        return self.name not in ONLY_OLD

    @property
    def generic(self):
        """The name that programs call."""
        if self.name.endswith("_c") and self.name not in ("Op_create_c", "Register_datarep_c"):
            return self.name[:-2]
        return self.name

    def signature(self):
        """What distinguishes the specific procedures of a generic one: types of the arguments in mpi_f08. The
        three kinds of large integers are one: all have 8 bytes."""
        return [re.sub(r"KIND=\w+|,.*|::.*", "", argument.declaration("f08")).strip()
                for argument in self.arguments]


def _number(c_type, intent="IN", shape=""):
    return f"{INTEGERS[c_type]}, INTENT({intent}) :: %{shape}"


def _handle(name, c_name, intent, shape="", **more):
    return Argument(name, ("const int *%" if intent == "IN" else "int *%"),
                    f"INTEGER, INTENT({intent}) :: %{shape}",
                    f"TYPE(MPI_{c_name}), INTENT({intent}) :: %{shape}", **more)


class Converter:
    """Makes the arguments of one routine."""

    def __init__(self, function, name, large):
        self.function, self.name, self.large = function, name, large
        self.parameters = [p for p in function.parameters if p.kind != "..."]

    def length(self, index):
        own = ARRAY_LENGTHS.get(f"{self.function.name}.{self.parameters[index].name}")
        if own:
            return own
        for parameter in reversed(self.parameters[:index]):
            if parameter.kind in LENGTHS:
                return f"*{parameter.name}"
        raise TableError(f"{self.name}: no parameter says how long {self.parameters[index].name} is")

    def c_type(self, parameter):
        """(element type, "" | "*" | "[]", is const) of the C parameter."""
        text = kinds.c_declaration(parameter, self.large)
        match = re.fullmatch(r"(const )?(\w+) (\**)\w+((?:\[\d*\])*)", text)
        if not match:
            raise TableError(f"{self.name}: cannot read {text}")
        return match.group(2), match.group(3) or match.group(4), bool(match.group(1))

    def convert(self, index):
        parameter = self.parameters[index]
        key, name = f"{self.function.name}.{parameter.name}", parameter.name
        kind = SIGNIFICANT_AT_ROOT.get(parameter.literal, parameter.kind)
        for rule in (self.callback, self.pointer, self.logical, self.index, self.handle, self.handles,
                     self.status, self.string, self.weights):
            argument = rule(key, name, kind, parameter, index)
            if argument is not None:
                break
        else:
            argument = self.number(parameter)
        argument.kind = kind
        return argument

    def callback(self, key, name, kind, parameter, index):
        del key, index
        match = kind == "raw" and re.fullmatch(r"(MPI_\w+_function(_c)?) \*", parameter.literal)
        if not match:
            return None
        interface = match.group(1)
        return Argument(name, "Callback *%", "EXTERNAL :: %", f"PROCEDURE({interface}) :: %")

    def pointer(self, key, name, kind, parameter, index):
        del parameter, index
        if kind in ("in", "out") or kind.endswith(("_or_place", "_at_root")):
            argument = self.choice(name, "in" if kind.startswith("in") else "out")
            if "place" in kind:
                argument.use = "place_in(%)"
            return argument
        if name == "attribute_val" or name == "extra_state":
            old = key in ("Attr_get.attribute_val", "Attr_put.attribute_val", "Keyval_create.extra_state")
            kind_of = "INTEGER" if old else ADDRESS_KIND
            c_type = "int" if old else "MPI_Aint"
            if kind == "pointer_out":
                return Argument(name, f"{c_type} *%", f"{kind_of}, INTENT(OUT) :: %")
            return Argument(name, f"const {c_type} *%", f"{kind_of}, INTENT(IN) :: %")
        if key.startswith("Abi_") and kind == "pointer":
            intent = "OUT" if "_get_" in key else "IN"
            return Argument(name, "void *%", f"LOGICAL, INTENT({intent}) :: %")
        if name == "baseptr":
            return Argument(name, "void *%", f"{ADDRESS_KIND}, INTENT(OUT) :: %",
                            "TYPE(C_PTR), INTENT(OUT) :: %")
        if name == "buffer_addr":
            return Argument(name, "void *%", "", "TYPE(C_PTR), INTENT(OUT) :: %", use="DETACHED")
        if name == "buffer" and kind == "pointer":
            return Argument(name, "void *%", "", buffer="out", use="attached_in(%)")
        if kind in ("pointer", "const_pointer"):
            return self.choice(name, "in" if kind == "const_pointer" else "out")
        return None

    @staticmethod
    def choice(name, way):
        cpp = "const void *%" if way == "in" else "void *%"
        return Argument(name, cpp, "", buffer=way, use="buffer_in(%)")

    def logical(self, key, name, kind, parameter, index):
        if not LOGICAL.fullmatch(key):
            return None
        element, form, const = self.c_type(parameter)
        del element
        if form == "":
            return Argument(name, "const int *%", "LOGICAL, INTENT(IN) :: %", use="logical_in(*%)")
        if form == "*":
            return Argument(name, "int *%", "LOGICAL, INTENT(OUT) :: %", before="LogicalOut %_(%);",
                            use="%_.get()", after="%_.finish();")
        length = self.length(index)
        if const or kind == "ints":
            return Argument(name, "const int *%", "LOGICAL, INTENT(IN) :: %(*)",
                            before=f"LogicalsIn %_(%, {length});", use="%_.get()")
        return Argument(name, "int *%", "LOGICAL, INTENT(OUT) :: %(*)",
                        after=f"if (code_ == MPI_SUCCESS) logicals_out(%, {length});")

    def index(self, key, name, kind, parameter, index):
        del kind, parameter, index
        if INDEX.fullmatch(key):
            return Argument(name, "int *%", "INTEGER, INTENT(OUT) :: %", before="IndexOut %_(%);",
                            use="%_.get()", after="%_.finish();")
        if INDICES.fullmatch(key):
            return Argument(name, "int *%", "INTEGER, INTENT(OUT) :: %(*)",
                            after="indices_out(%, outcount, code_);")
        return None

    def handle(self, key, name, kind, parameter, index):
        del key, index
        if kind in HANDLE_KINDS:
            c_name = HANDLE_KINDS[kind]
            return _handle(name, c_name, "IN", use=f"{HANDLES[c_name]}_in(*%)")
        for c_name, short in HANDLES.items():
            if kind == f"{short}_out":
                return _handle(name, c_name, "OUT", before=f"Out<{short}_out> %_(%);", use="%_.get()",
                               after="%_.finish();")
            if kind == f"{short}_inout" or (kind == "type_at" and short == "type"):
                return _handle(name, c_name, "INOUT", before=f"InOut<{short}_in, {short}_out> %_(%);",
                               use="%_.get()", after="%_.finish();")
        return None

    def handles(self, key, name, kind, parameter, index):
        del key
        if kind.endswith("types") and kind != "any_types":
            place = ""
            if name == "sendtypes" and any("place" in each.kind for each in self.parameters):
                place = "PLACE"
            return _handle(name, "Datatype", "IN", "(*)", use="%_.get()",
                           before=f"HandlesIn<type_in> %_(%, {self.types_length(index, place)});")
        if kind == "requests":
            return _handle(name, "Request", "IN", "(*)", use="%_.get()",
                           before=f"HandlesIn<request_in> %_(%, {self.length(index)});")
        if kind == "requests_inout":
            return _handle(name, "Request", "INOUT", "(*)", use="%_.get()", after="%_.finish();",
                           before=f"RequestsInOut %_(%, {self.length(index)});")
        if kind == "raw" and parameter.literal in ("const MPI_Info[]", "MPI_Datatype[]"):
            c_name = re.search(r"MPI_(\w+)", parameter.literal).group(1)
            return _handle(name, c_name, "IN" if c_name == "Info" else "OUT", "(*)")
        return None

    def types_length(self, index, place):
        kind = self.parameters[index].kind
        if kind == "types" and self.function.group == "coll":
            return "is_in_place(sendbuf) ? 0 : peer_count(*comm)" if place else "peer_count(*comm)"
        if kind != "types":
            return f"degree(*comm, Direction::{kind.removesuffix('_types')})"
        return self.length(index)

    def status(self, key, name, kind, parameter, index):
        del key, parameter, index
        if kind == "status":
            return Argument(name, "int *%", "INTEGER :: %(MPI_STATUS_SIZE)", "TYPE(MPI_Status) :: %",
                            use="status_in(%)")
        if kind == "statuses":
            return Argument(name, "int *%", "INTEGER :: %(MPI_STATUS_SIZE, *)", "TYPE(MPI_Status) :: %(*)",
                            use="statuses_in(%)")
        if kind == "status_in":
            return Argument(name, "const int *%", "INTEGER, INTENT(IN) :: %(MPI_STATUS_SIZE)",
                            "TYPE(MPI_Status), INTENT(IN) :: %", use="status_in(%)")
        if kind == "status_inout":
            return Argument(name, "int *%", "INTEGER, INTENT(INOUT) :: %(MPI_STATUS_SIZE)",
                            "TYPE(MPI_Status), INTENT(INOUT) :: %", use="status_in(%)")
        return None

    def string(self, key, name, kind, parameter, index):
        del index
        if kind == "string":
            trim = ", Trim::both" if INFO_TEXT.fullmatch(key) else ""
            return Argument(name, "const char *%", "CHARACTER(LEN=*), INTENT(IN) :: %", string=True,
                            before=f"TextIn %_(%, %_len{trim});", use="%_.get()")
        if kind == "string_out":
            limit = STRINGS.get(key)
            if limit is None:  # by hand
                return Argument(name, "char *%", "CHARACTER(LEN=*), INTENT(OUT) :: %", string=True)
            return Argument(name, "char *%", "CHARACTER(LEN=*), INTENT(OUT) :: %", string=True,
                            before=f"TextOut<MPI_MAX_{limit}> %_(%, %_len);", use="%_.get()",
                            after="%_.finish(code_);")
        if kind == "raw" and parameter.literal == "char *":
            return Argument(name, "char *%", "CHARACTER(LEN=*), INTENT(OUT) :: %", string=True)
        if kind == "raw" and parameter.literal.startswith("char *"):
            shape = {"array_of_argv": "(count, *)"}.get(name, "(*)")
            return Argument(name, "const char *%", f"CHARACTER(LEN=*), INTENT(IN) :: %{shape}", string=True)
        return None

    def weights(self, key, name, kind, parameter, index):
        del index
        if name == "array_of_errcodes":
            return Argument(name, "int *%", "INTEGER :: %(*)")
        if "weights" not in name or kind != "raw":
            return None
        const = parameter.literal.startswith("const")
        intent = ", INTENT(IN)" if const else ""
        return Argument(name, "const int *%" if const else "int *%", f"INTEGER{intent} :: %(*)",
                        use="weights_in(%)")

    def number(self, parameter):
        name, kind = parameter.name, parameter.kind
        if parameter.literal == "int[][3]":
            return Argument(name, "const int (*%)[3]", "INTEGER, INTENT(IN) :: %(3, *)",
                            use="const_cast<int (*)[3]>(%)")
        element, form, const = self.c_type(parameter)
        if form == "":
            return Argument(name, f"const {element} *%", _number(element), use="*%")
        if form == "[]":
            way = "IN" if const else "INOUT" if self.function.name == "Dims_create" else "OUT"
            return Argument(name, f"{'const ' if const else ''}{element} *%", _number(element, way, "(*)"))
        way = "INOUT" if kind.endswith("inout") or "position" in kind else "OUT"
        return Argument(name, f"{element} *%", _number(element, way))


def routines(functions):
    for function in functions:
        if function.group in EXCLUDED_GROUPS:
            continue
        for name, large in function.forms():
            if EXCLUDED.fullmatch(name):
                continue
            yield _routine(function, name, large)


def _routine(function, name, large):
    converter = Converter(function, name, large)
    if name in ("Init", "Init_thread", "Info_create_env"):
        converter.parameters = [p for p in converter.parameters if p.name not in ("argc", "argv")]
    arguments = [converter.convert(index) for index in range(len(converter.parameters))]
    return Routine(function, name, large, arguments)
