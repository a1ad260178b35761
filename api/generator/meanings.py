"""The integers of MPI that are constants of one set: which parameters hold them.

api/functions.txt says what a parameter is to the library (`int`); this table says what its values mean. Error
texts print the names of the constants (calls.py), and the facades convert the values (facade.py).
"""

import re
from dataclasses import dataclass


@dataclass
class Meaning:
    name: str
    constants: str  # pattern of the names of api/constants.txt
    parameters: str  # pattern of "Function.parameter"; kinds in `kinds` have the meaning as well
    kinds: tuple = ()
    bits: bool = False  # the values are or-ed


MEANINGS = [
    Meaning("rank", r"MPI_(ANY_SOURCE|PROC_NULL|ROOT)",
            r"Cart_shift\.rank_\w+|Group_translate_ranks\.ranks\d|Win_\w+\.rank",
            ("dest", "source", "target", "root")),
    Meaning("tag", r"MPI_ANY_TAG", r"(?!)", ("tag_or_any",)),
    Meaning("error", r"MPI(X|_T)?_(SUCCESS|ERR_(?!LASTCODE)\w+)",
            r"(?!Abort)\w+\.(errorclass|errorcode)"),
    Meaning("thread_level", r"MPI_THREAD_\w+", r"\w+\.(required|provided)"),
    Meaning("order", r"MPI_ORDER_\w+", r"Type_create_\w+\.order"),
    Meaning("distribution", r"MPI_DISTRIBUTE_(NONE|BLOCK|CYCLIC)", r"\w+\.array_of_distribs"),
    Meaning("distribution_argument", r"MPI_DISTRIBUTE_DFLT_DARG", r"\w+\.array_of_dargs"),
    Meaning("combiner", r"MPI_COMBINER_\w+", r"\w+\.combiner"),
    Meaning("typeclass", r"MPIX?_TYPECLASS_\w+", r"\w+\.typeclass"),
    Meaning("comparison", r"MPI_(IDENT|CONGRUENT|SIMILAR|UNEQUAL)", r"\w+_compare\.result"),
    Meaning("topology", r"MPI_(CART|GRAPH|DIST_GRAPH)", r"Topo_test\.status"),
    Meaning("split_type", r"MPI_COMM_TYPE_\w+", r"\w+\.split_type"),
    Meaning("lock_type", r"MPI_LOCK_\w+", r"\w+\.lock_type"),
    Meaning("window_flavor", r"MPI_WIN_FLAVOR_\w+", r"(?!)"),
    Meaning("window_model", r"MPI_WIN_(UNIFIED|SEPARATE)", r"(?!)"),
    Meaning("assertion", r"MPI_MODE_NO\w+", r"\w+\.assert", bits=True),
    Meaning("access_mode", r"MPI_MODE_(?!NO)\w+", r"\w+\.amode", bits=True),
    Meaning("whence", r"MPI_SEEK_\w+", r"\w+\.whence"),
    Meaning("displacement", r"MPI_DISPLACEMENT_CURRENT", r"File_set_view\.disp"),
    Meaning("keyval", r"MPI_(KEYVAL_INVALID|TAG_UB|IO|HOST|WTIME_IS_GLOBAL|APPNUM|LASTUSEDCODE|UNIVERSE_SIZE"
            r"|WIN_(BASE|DISP_UNIT|SIZE|CREATE_FLAVOR|MODEL))", r"\w+\.(\w+_)?keyval"),
    Meaning("verbosity", r"MPI_T_VERBOSITY_\w+", r"T_\w+\.verbosity"),
    Meaning("binding", r"MPI_T_BIND_\w+", r"T_\w+\.bind"),
    Meaning("scope", r"MPI_T_SCOPE_\w+", r"T_\w+\.scope"),
    Meaning("variable_class", r"MPI_T_PVAR_CLASS_\w+", r"T_\w+\.var_class"),
    Meaning("callback_safety", r"MPI_T_CB_REQUIRE_\w+", r"T_\w+\.cb_safety"),
    Meaning("source_order", r"MPI_T_SOURCE_\w+", r"T_\w+\.ordering"),
]


def meaning_of(function, parameter):
    """The Meaning of a parameter, or None."""
    for meaning in MEANINGS:
        if parameter.kind in meaning.kinds or re.fullmatch(meaning.parameters,
                                                           f"{function.name}.{parameter.name}"):
            return meaning
    return None


def constants_of(meaning, constants):
    return [constant for constant in constants if re.fullmatch(meaning.constants, constant.name)]
