// Routines whose conversion depends on several arguments, or which keep state for later calls: callbacks,
// attributes, spawning, strings with a length of their own. The entry points that
// api/generator/fortran_entries.py writes call them; `call` is the function of C. Each returns an error code.
#pragma once

#include "fortran/convert.h"

namespace hearth::fortran::by_hand {

// by_hand_strings.cpp
int Init(decltype(&PMPI_Init) call);
int Init_thread(const int* required, int* provided, decltype(&PMPI_Init_thread) call);
int Info_create_env(int* info, decltype(&PMPI_Info_create_env) call);
int Info_get(const int* info, const char* key, const int* valuelen, char* value, int* flag, size_t key_len,
             size_t value_len, decltype(&PMPI_Info_get) call);
int Info_get_string(const int* info, const char* key, int* buflen, char* value, int* flag, size_t key_len,
                    size_t value_len, decltype(&PMPI_Info_get_string) call);
int Session_get_nth_pset(const int* session, const int* info, const int* n, int* pset_len, char* pset_name,
                         size_t pset_name_len, decltype(&PMPI_Session_get_nth_pset) call);
int Comm_spawn(const char* command, const char* argv, const int* maxprocs, const int* info, const int* root,
               const int* comm, int* intercomm, int* array_of_errcodes, size_t command_len, size_t argv_len,
               decltype(&PMPI_Comm_spawn) call);
int Comm_spawn_multiple(const int* count, const char* array_of_commands, const char* array_of_argv,
                        const int* array_of_maxprocs, const int* array_of_info, const int* root,
                        const int* comm, int* intercomm, int* array_of_errcodes, size_t array_of_commands_len,
                        size_t array_of_argv_len, decltype(&PMPI_Comm_spawn_multiple) call);
int Type_get_contents(const int* datatype, const int* max_integers, const int* max_addresses,
                      const int* max_datatypes, int* array_of_integers, MPI_Aint* array_of_addresses,
                      int* array_of_datatypes, decltype(&PMPI_Type_get_contents) call);
int Type_get_contents_c(const int* datatype, const MPI_Count* max_integers, const MPI_Count* max_addresses,
                        const MPI_Count* max_large_counts, const MPI_Count* max_datatypes,
                        int* array_of_integers, MPI_Aint* array_of_addresses,
                        MPI_Count* array_of_large_counts, int* array_of_datatypes,
                        decltype(&PMPI_Type_get_contents_c) call);

// by_hand_callbacks.cpp
int Op_create(Callback* user_fn, const int* commute, int* op, decltype(&PMPI_Op_create) call);
int Op_create_c(Callback* user_fn, const int* commute, int* op, decltype(&PMPI_Op_create_c) call);
int Comm_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_Comm_create_errhandler) call);
int File_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_File_create_errhandler) call);
int Win_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_Win_create_errhandler) call);
int Session_create_errhandler(Callback* function, int* errhandler,
                              decltype(&PMPI_Session_create_errhandler) call);
int Grequest_start(Callback* query_fn, Callback* free_fn, Callback* cancel_fn, const MPI_Aint* extra_state,
                   int* request, decltype(&PMPI_Grequest_start) call);
int Register_datarep(const char* datarep, Callback* read, Callback* write, Callback* extent,
                     const MPI_Aint* extra_state, size_t datarep_len, decltype(&PMPI_Register_datarep) call);
int Register_datarep_c(const char* datarep, Callback* read, Callback* write, Callback* extent,
                       const MPI_Aint* extra_state, size_t datarep_len,
                       decltype(&PMPI_Register_datarep_c) call);

// by_hand_attributes.cpp
int Comm_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                       decltype(&PMPI_Comm_create_keyval) call);
int Type_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                       decltype(&PMPI_Type_create_keyval) call);
int Win_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                      decltype(&PMPI_Win_create_keyval) call);
int Keyval_create(Callback* copy, Callback* remove, int* keyval, const int* extra_state,
                  decltype(&PMPI_Keyval_create) call);
int Comm_get_attr(const int* comm, const int* keyval, MPI_Aint* value, int* flag,
                  decltype(&PMPI_Comm_get_attr) call);
int Type_get_attr(const int* datatype, const int* keyval, MPI_Aint* value, int* flag,
                  decltype(&PMPI_Type_get_attr) call);
int Win_get_attr(const int* win, const int* keyval, MPI_Aint* value, int* flag,
                 decltype(&PMPI_Win_get_attr) call);
int Attr_get(const int* comm, const int* keyval, int* value, int* flag, decltype(&PMPI_Attr_get) call);
int Comm_set_attr(const int* comm, const int* keyval, const MPI_Aint* value,
                  decltype(&PMPI_Comm_set_attr) call);
int Type_set_attr(const int* datatype, const int* keyval, const MPI_Aint* value,
                  decltype(&PMPI_Type_set_attr) call);
int Win_set_attr(const int* win, const int* keyval, const MPI_Aint* value, decltype(&PMPI_Win_set_attr) call);
int Attr_put(const int* comm, const int* keyval, const int* value, decltype(&PMPI_Attr_put) call);

}  // namespace hearth::fortran::by_hand
