"""The kinds of parameters: their C types, their checks, the argument of the implementation.

In a declarator % is the parameter's name. In code, {n} is the name and {i} its position in the call. {cond&&}
and {cond?} insert the condition under which the argument is significant in this process, if there is one
(rooted collectives, arguments with MPI_IN_PLACE). {size} is the size of the datatype of an array of counts, 1
if each count has its own datatype. `check` is C++ that rejects an invalid argument, `argument` the argument
of the implementation; `after` runs after success, `always` after success and failure. Checks run in the order
of `order`: communicators first, since the other checks need them.
"""

from dataclasses import dataclass, replace

COMMS, ROOTS, HANDLES, VALUES, BUFFERS, OUTPUTS = range(6)


@dataclass
class Kind:
    small: str
    implementation: str = ""  # declarator in hearth_calls.h; "" if no implemented function uses the kind
    large: str = ""  # declarator in the _c form, if it differs
    order: int = VALUES
    check: str = ""
    argument: str = "{n}"
    after: str = ""
    always: str = ""
    small_before: str = ""  # for outputs that the small form narrows
    small_argument: str = ""
    small_after: str = ""

    def declarator(self, large):
        return self.large if large and self.large else self.small

    def differs(self):
        return bool(self.large)



def refuse_if(condition):
    return f"if ({condition}) [[unlikely]] return {{reject}};\n"


def handle_in(mpi_type, cpp_type):
    return Kind(f"MPI_{mpi_type} %", f"{cpp_type}& %", order=HANDLES,
                check=f"{cpp_type}* const {{n}}_ = find<{cpp_type}>({{n}});\n" + refuse_if("{n}_ == nullptr"),
                argument="*{n}_")


def handle_out(mpi_type, cpp_type):
    return Kind(f"MPI_{mpi_type} *%", f"{cpp_type}*& %", order=OUTPUTS,
                check=refuse_if("{n} == nullptr") + f"{cpp_type}* {{n}}_ = nullptr;\n",
                argument="{n}_", after="*{n} = to_handle({n}_);\n")


def handle_inout(mpi_type, cpp_type):
    """For the _free functions: the implementation sets the pointer to nullptr."""
    return Kind(f"MPI_{mpi_type} *%", f"{cpp_type}*& %", order=HANDLES,
                check=refuse_if("{n} == nullptr") + f"{cpp_type}* {{n}}_ = find<{cpp_type}>(*{{n}});\n" +
                refuse_if("{n}_ == nullptr"),
                argument="{n}_", after="*{n} = to_handle({n}_);\n")


def nullable_inout(mpi_type, cpp_type):
    """Requests and messages: may be null; the handle is written back even if the call fails."""
    return Kind(f"MPI_{mpi_type} *%", f"{cpp_type}*& %", order=HANDLES,
                check=f"{cpp_type}* {{n}}_;\n" + refuse_if("!take({n}, {n}_)") +
                f"{cpp_type}* const {{n}}_before_ = {{n}}_;\n",
                argument="{n}_", always="if ({n}_ != {n}_before_) *{n} = to_handle({n}_);\n")


def type_in(test, fallback="insignificant_type()"):
    return Kind("MPI_Datatype %", "datatype::Type& %", order=HANDLES,
                check="datatype::Type* const {n}_ = {cond?}find<datatype::Type>({n}){:" + fallback + "};\n" +
                refuse_if(test), argument="*{n}_")


BUFFER_CHECK = "entries.py writes it: it depends on other parameters"


def buffer(constant):
    return Kind(f"{constant}void *%", f"{constant}void* %", order=BUFFERS, check=BUFFER_CHECK)


def output(c_type, cpp_type, large=""):
    return Kind(f"{c_type} *%", f"{cpp_type}& %", large=large and f"{large} *%", order=OUTPUTS,
                check=refuse_if("{n} == nullptr"), argument="*{n}")


def array(element, cpp_type, large=""):
    return Kind(f"const {element} %[]", f"{cpp_type} %", large=large and f"const {large} %[]", order=BUFFERS,
                check=refuse_if("{cond&&}{n} == nullptr{length&&}"))


def counts_for(processes):
    """One count for each process."""
    return Kind("const int %[]", "CountArray %", "const MPI_Count %[]", order=BUFFERS,
                check=refuse_if(f"{{cond&&}}!counts_fit(CountArray({{n}}), {processes}, {{size}})"),
                argument="CountArray({n})")


KINDS = {
    # Buffers. An empty message may have any address, so the check needs the count and the type that follow.
    "in": buffer("const "),
    "out": buffer(""),
    "in_or_place": buffer("const "),
    "in_or_place_at_root": buffer("const "),
    "out_or_place_at_root": buffer(""),
    "pointer": Kind("void *%", "void* %"),
    "const_pointer": Kind("const void *%", "const void* %"),
    "pointer_out": Kind("void *%", "void* %", order=OUTPUTS, check=refuse_if("{n} == nullptr")),

    # Numbers.
    "int": Kind("int %", "int %"),
    "count": Kind("int %", "Count %", "MPI_Count %", check=refuse_if("{cond&&}{n} < 0"),
                  argument="{cond?}{n}{:0}"),
    "large_count": Kind("MPI_Count %", "Count %", check=refuse_if("{n} < 0")),
    "request_count": Kind("int %", "int %", check=refuse_if("{n} < 0")),
    "length": Kind("int %", "int %", check=refuse_if("{n} < 0")),
    "entries": Kind("int %", "Count %", "MPI_Count %", check=refuse_if("{n} < 0")),
    "size": Kind("int %", "Count %", "MPI_Count %", check=refuse_if("{n} < 0")),
    "aint": Kind("MPI_Aint %", "MPI_Aint %"),
    "aint_size": Kind("MPI_Aint %", "MPI_Aint %", check=refuse_if("{n} < 0")),
    "window_size": Kind("MPI_Aint %", "MPI_Aint %", check=refuse_if("{n} < 0")),
    "integer": Kind("int %", "int64_t %", "MPI_Count %"),
    "displacement": Kind("MPI_Aint %", "int64_t %", "MPI_Count %"),
    "wide_size": Kind("MPI_Aint %", "Count %", "MPI_Count %", check=refuse_if("{n} < 0")),
    "disp_unit": Kind("int %", "MPI_Aint %", "MPI_Aint %"),
    "offset": Kind("MPI_Offset %", "MPI_Offset %"),

    # Ranks and tags, of the communicator of the call.
    "dest": Kind("int %", "int %", check=refuse_if("!is_peer(*comm_, {n}) && {n} != MPI_PROC_NULL")),
    "source": Kind("int %", "int %",
                   check=refuse_if("!is_peer(*comm_, {n}) && {n} != MPI_ANY_SOURCE && {n} != MPI_PROC_NULL")),
    "target": Kind("int %", "int %", check=refuse_if("!is_target(*win_, {n}) && {n} != MPI_PROC_NULL")),
    "root": Kind("int %", "int %", order=ROOTS, check=refuse_if("!is_root(*comm_, {n})")),
    "tag": Kind("int %", "int %", check=refuse_if("{n} < 0")),
    "tag_or_any": Kind("int %", "int %", check=refuse_if("{n} < 0 && {n} != MPI_ANY_TAG")),

    # Arrays.
    "counts": counts_for("comm_->peer_count"),
    "local_counts": counts_for("comm_->size"),
    "displacements": Kind("const int %[]", "CountArray %", "const MPI_Aint %[]", order=BUFFERS,
                          check=refuse_if("{cond&&}{n} == nullptr"), argument="CountArray({n})"),
    "integers": array("int", "CountArray", "MPI_Count"),
    "wide_displacements": array("MPI_Aint", "CountArray", "MPI_Count"),
    "aints": array("MPI_Aint", "CountArray"),
    "ints": array("int", "const int*"),
    "ints_out": Kind("int %[]", "int* %", order=OUTPUTS, check=refuse_if("{n} == nullptr{length&&}")),
    "types": Kind("const MPI_Datatype %[]", "const MPI_Datatype* %", order=BUFFERS,
                  check=refuse_if("{cond&&}{n} == nullptr{length&&}")),
    "requests": Kind("const MPI_Request %[]", "const MPI_Request* %", order=BUFFERS,
                     check=refuse_if("{n} == nullptr{length&&}")),
    "requests_inout": Kind("MPI_Request %[]", "MPI_Request* %", order=BUFFERS,
                           check=refuse_if("{n} == nullptr{length&&}")),

    # Objects.
    "comm": replace(handle_in("Comm", "objects::Comm"), order=COMMS),
    "comm_named": Kind("MPI_Comm %", "objects::Comm& %", order=COMMS,
                       check="objects::Comm* const {n}_ = find_named({n});\n" + refuse_if("{n}_ == nullptr"),
                       argument="*{n}_"),
    # Significant at one process only, where the implementation checks it.
    "leader_comm": Kind("MPI_Comm %", "objects::Comm* %", argument="find<objects::Comm>({n})"),
    "comm_out": handle_out("Comm", "objects::Comm"),
    "comm_inout": handle_inout("Comm", "objects::Comm"),
    "group": handle_in("Group", "objects::Group"),
    "leader_group": Kind("MPI_Group %", "objects::Group* %", argument="find<objects::Group>({n})"),
    "group_out": handle_out("Group", "objects::Group"),
    "group_inout": handle_inout("Group", "objects::Group"),
    "type": type_in("!usable({n}_)"),
    "any_type": type_in("{n}_ == nullptr"),
    "type_named": Kind("MPI_Datatype %", "datatype::Type& %", order=HANDLES,
                       check="datatype::Type* const {n}_ = find_named({n});\n" + refuse_if("{n}_ == nullptr"),
                       argument="*{n}_"),
    "type_at": Kind("MPI_Datatype *%", "datatype::Type& %", order=HANDLES,
                    check=refuse_if("{n} == nullptr") +
                    "datatype::Type* const {n}_ = find<datatype::Type>(*{n});\n" +
                    refuse_if("{n}_ == nullptr"),
                    argument="*{n}_"),
    "type_out": handle_out("Datatype", "datatype::Type"),
    "type_inout": handle_inout("Datatype", "datatype::Type"),
    "op": Kind("MPI_Op %", "objects::Op& %", order=HANDLES,
               check="objects::Op* const {n}_ = {cond?}find<objects::Op>({n}){:insignificant_op()};\n" +
               refuse_if("{n}_ == nullptr"), argument="*{n}_"),
    "op_out": handle_out("Op", "objects::Op"),
    "op_inout": handle_inout("Op", "objects::Op"),
    "info": handle_in("Info", "objects::Info"),
    "info_or_null": Kind("MPI_Info %", "objects::Info* %", order=HANDLES,
                         check="objects::Info* const {n}_ = find<objects::Info>({n});\n" +
                         refuse_if("{n}_ == nullptr && {n} != MPI_INFO_NULL"), argument="{n}_"),
    "info_out": handle_out("Info", "objects::Info"),
    "info_inout": handle_inout("Info", "objects::Info"),
    "errhandler": handle_in("Errhandler", "objects::Errhandler"),
    "errhandler_out": handle_out("Errhandler", "objects::Errhandler"),
    "errhandler_inout": handle_inout("Errhandler", "objects::Errhandler"),
    "win": replace(handle_in("Win", "objects::Win"), order=COMMS),
    "win_named": Kind("MPI_Win %", "objects::Win& %", order=COMMS,
                      check="objects::Win* const {n}_ = find_named({n});\n" + refuse_if("{n}_ == nullptr"),
                      argument="*{n}_"),
    "win_out": handle_out("Win", "objects::Win"),
    "win_inout": handle_inout("Win", "objects::Win"),
    "session": handle_in("Session", "objects::Session"),
    "session_out": handle_out("Session", "objects::Session"),
    "session_inout": handle_inout("Session", "objects::Session"),
    "request": Kind("MPI_Request %", "p2p::Request* %", order=HANDLES,
                    check="p2p::Request* {n}_;\n" + refuse_if("!take(&{n}, {n}_)"), argument="{n}_"),
    "request_out": handle_out("Request", "p2p::Request"),
    "request_inout": nullable_inout("Request", "p2p::Request"),
    "message_out": handle_out("Message", "p2p::Message"),
    "message_inout": nullable_inout("Message", "p2p::Message"),

    "file": replace(handle_in("File", "objects::File"), order=COMMS),
    # MPI_FILE_NULL, which holds the default error handler, is nullptr.
    "file_or_null": Kind("MPI_File %", "objects::File* %", order=COMMS,
                         check="objects::File* const {n}_ = find<objects::File>({n});\n" +
                         refuse_if("{n}_ == nullptr && {n} != MPI_FILE_NULL"), argument="{n}_"),
    "file_out": handle_out("File", "objects::File"),
    # MPI_File_close ends the handle even if it fails.
    "file_inout": replace(handle_inout("File", "objects::File"), after="",
                          always="*{n} = to_handle({n}_);\n"),

    # Statuses. A null pointer is MPI_STATUS_IGNORE.
    "status": Kind("MPI_Status *%", "MPI_Status* %"),
    "statuses": Kind("MPI_Status *%", "MPI_Status* %"),
    "status_in": Kind("const MPI_Status *%", "const MPI_Status& %", order=OUTPUTS,
                      check=refuse_if("{n} == nullptr"), argument="*{n}"),
    "status_inout": output("MPI_Status", "MPI_Status"),

    # Results.
    "int_out": output("int", "int"),
    "int_inout": output("int", "int"),
    "count_out": Kind("int *%", "Count& %", "MPI_Count *%", order=OUTPUTS, check=refuse_if("{n} == nullptr"),
                      argument="*{n}", small_before="Count {n}_ = 0;\n", small_argument="{n}_",
                      small_after="*{n} = narrow({n}_);\n"),
    "number_out": Kind("int *%", "Count& %", "MPI_Count *%", order=OUTPUTS, check=refuse_if("{n} == nullptr"),
                       argument="*{n}"),
    "extent_out": output("MPI_Aint", "Count", "MPI_Count"),
    "aint_out": output("MPI_Aint", "MPI_Aint"),
    "offset_out": output("MPI_Offset", "MPI_Offset"),
    "disp_unit_out": Kind("int *%", "MPI_Aint& %", "MPI_Aint *%", order=OUTPUTS,
                          check=refuse_if("{n} == nullptr"), argument="*{n}",
                          small_before="MPI_Aint {n}_ = 0;\n", small_argument="{n}_",
                          small_after="*{n} = narrow({n}_);\n"),
    "position": Kind("int *%", "Count& %", "MPI_Count *%", order=OUTPUTS, check=refuse_if("{n} == nullptr"),
                     argument="*{n}", small_before="Count {n}_ = *{n};\n", small_argument="{n}_",
                     small_after="*{n} = narrow({n}_);\n"),
    "wide_position": output("MPI_Aint", "Count", "MPI_Count"),

    # Strings.
    "string": Kind("const char *%", "const char* %", order=BUFFERS, check=refuse_if("{n} == nullptr")),
    "string_out": Kind("char *%", "char* %", order=OUTPUTS, check=refuse_if("{n} == nullptr")),
}


# Arrays with an entry for each neighbour that a process sends to or receives from; null is valid without
# neighbours.
for end, degree in ("destination", "out_degree"), ("source", "in_degree"):
    KINDS[f"{end}_counts"] = replace(KINDS["counts"], check=refuse_if(
        f"comm_->{degree}() > 0 && !counts_fit(CountArray({{n}}), comm_->{degree}(), {{size}})"))
    for each in "displacements", "aints", "types":
        KINDS[f"{end}_{each}"] = replace(KINDS[each], check=refuse_if(
            f"{{n}} == nullptr && comm_->{degree}() > 0"))


def c_declaration(parameter, large):
    """The declaration in mpi.h."""
    if parameter.kind == "...":
        return "..."
    if parameter.kind == "raw":
        return place_name(parameter.literal, parameter.name)
    return KINDS[parameter.kind].declarator(large).replace("%", parameter.name)


def place_name(c_type, name):
    """'int[][3]' and 'ranges' make 'int ranges[][3]'."""
    head, bracket, dimensions = c_type.partition("[")
    space = "" if head.endswith("*") else " "
    return f"{head.strip()}{space}{name}{bracket}{dimensions}"


def is_large_sensitive(parameter):
    return parameter.kind in KINDS and KINDS[parameter.kind].differs()
