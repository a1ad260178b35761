// Adapters for user callbacks whose handles and codes are not those of the standard ABI.
//
// A facade (src/facade) sets these functions when it is loaded. The library then calls the adapter with the
// user's function instead of the function itself; the adapter converts handles, counts and codes. Null
// without a facade. One process has one ABI, so the adapters are global: objects need no word for them.
//
// Written once, by the constructor of the facade, before any MPI call.
#pragma once

#include "mpi.h"
#include "objects/attribute.h"
#include "objects/errhandler.h"

namespace hearth::objects {

struct CallbackAdapters {
  /// The name of the facade's ABI; nullptr without a facade.
  const char* abi;
  void (*reduce)(MPI_User_function* function, void* in, void* inout, int count, MPI_Datatype datatype);
  void (*reduce_c)(MPI_User_function_c* function, void* in, void* inout, MPI_Count count,
                   MPI_Datatype datatype);
  /// `handle` is the communicator, datatype or window, as `kind` says. The result is a code of the standard
  /// ABI.
  int (*copy_attribute)(CopyFunction function, KeyvalKind kind, void* handle, int keyval, void* extra_state,
                        void* value_in, void* value_out, int* flag);
  int (*delete_attribute)(DeleteFunction function, KeyvalKind kind, void* handle, int keyval, void* value,
                          void* extra_state);
  /// `handler` has the user's function and the kind of `handle`.
  void (*report_error)(const Errhandler& handler, void* handle, int code);
};

inline constinit CallbackAdapters callback_adapters{};

}  // namespace hearth::objects
