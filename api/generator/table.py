"""Reads api/functions.txt and api/constants.txt."""

import re
from dataclasses import dataclass, field


class TableError(Exception):
    """A row that cannot be read, with its file and line."""


@dataclass
class Parameter:
    name: str
    kind: str  # a key of kinds.KINDS; "raw" for a literal C type; "..." for variable arguments
    place: str = ""  # root, leaf, part, or "" for everywhere
    literal: str = ""  # the C type if kind is raw


@dataclass
class Function:
    group: str
    name: str  # without MPI_
    implemented: bool
    large_form: bool  # whether this row also defines a _c form
    parameters: list
    marks: dict = field(default_factory=dict)

    @property
    def large_only(self):
        return self.name.endswith(("_c", "_x"))

    @property
    def implementation(self):
        return (self.marks.get("inline") or self.marks.get("calls", self.name)).lower()

    @property
    def returns(self):
        return self.marks.get("returns", "int")

    @property
    def prefix(self):
        return "MPIX_" if "extension" in self.marks else "MPI_"

    @property
    def direct(self):
        """Returns a value instead of an error code."""
        return "returns" in self.marks

    @property
    def in_abi(self):
        """Declared by the header of the standard ABI."""
        return self.prefix == "MPI_" and "inline" not in self.marks

    def forms(self):
        """(name, large) of each function that this row defines."""
        yield self.name, self.large_only
        if self.large_form:
            yield self.name + "_c", True


@dataclass
class Constant:
    name: str
    value: int
    text: str  # as written, so that hexadecimal stays hexadecimal
    kind: str  # C type, "macro" or "enum T"
    heading: str
    c_type: str = ""  # of a datatype
    element: str = ""

    @property
    def extension(self):
        """Beyond MPI 5.0."""
        return self.heading.endswith("mpi-ext.h")


TOKEN = re.compile(r"[\w.]+:\{[^}]*\}|\S+")


def _parse_parameter(token, where):
    if token == "...":
        return Parameter("...", "...")
    match = re.fullmatch(r"(\w+):(?:\{([^}]*)\}|(\w+)(?:@(root|leaf|part|later))?)", token)
    if not match:
        raise TableError(f"{where}: '{token}' is not parameter:kind")
    name, literal, kind, place = match.groups()
    return Parameter(name, "raw" if literal else kind, place or "", literal or "")


def _parse_row(line, group, where):
    match = re.fullmatch(r"(yes|no) +(\w+?)(\(_c\))?(?: \[([^\]]*)\])?((?: .*)?)", line)
    if not match:
        raise TableError(f"{where}: cannot read '{line}'")
    implemented, name, large, marks, rest = match.groups()
    parsed = {}
    for mark in (marks or "").split(","):
        word, _, value = mark.strip().partition(" ")
        if word:
            if word not in ("any_time", "no_lock", "in_handler", "returns", "calls", "alias", "inline_path",
                            "deprecated", "form", "extension", "inline"):
                raise TableError(f"{where}: unknown mark '{word}'")
            parsed[word] = value
    parameters = [_parse_parameter(token, where) for token in TOKEN.findall(rest)]
    return Function(group, name, implemented == "yes", bool(large), parameters, parsed)


def _rows(path):
    """(line number, row) with continuation lines joined and comments removed."""
    start, row = 0, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        if line.startswith(" ") and row:
            row += " " + line.strip()
            continue
        if row:
            yield start, row
        start, row = number, line.strip()
    if row:
        yield start, row


def read_functions(path):
    """({group: title}, [Function])"""
    groups, functions, group = {}, [], None
    for number, row in _rows(path):
        where = f"{path.name}:{number}"
        heading = re.fullmatch(r"\[(\w+)\] (.*)", row)
        if heading:
            group = heading.group(1)
            groups[group] = heading.group(2)
        else:
            functions.append(_parse_row(row, group, where))
    names = [name for function in functions for name, _ in function.forms()]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise TableError(f"{path.name}: listed twice: {', '.join(sorted(repeated))}")
    return groups, functions


def read_constants(path):
    constants, heading, kind = [], "", ""
    for number, row in _rows(path):
        match = re.fullmatch(r"\[(.*)\] (.+)", row)
        if match:
            heading, kind = match.groups()
            continue
        match = re.fullmatch(r"(MPIX?_\w+) +(-?(?:0x[0-9a-f]+|\d+))(?: +: (.+) = (\w+))?", row)
        if not match:
            raise TableError(f"{path.name}:{number}: cannot read '{row}'")
        name, text, c_type, element = match.groups()
        constants.append(Constant(name, int(text, 0), text, kind, heading, c_type or "", element or ""))
    return constants
