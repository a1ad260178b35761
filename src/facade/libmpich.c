/* libmpich.so.12 needs libmpi.so.12 and has no symbol of its own; a library needs a source file. */
typedef int hearth_facade_is_in_libmpi_so_12;
