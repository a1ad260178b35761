/* libmpichfort.so.12 needs libmpifort.so.12 and has no symbol of its own; a library needs a source file. */
typedef int hearth_library_is_in_libmpifort_so_12;
