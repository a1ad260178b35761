/* A library that only loads another one has no symbol of its own; a library needs a source file. */
typedef int hearth_library_loads_another;
