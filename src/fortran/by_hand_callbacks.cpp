// Procedures of the program that C calls.
//
// Most callbacks get the user's extra state, which points to the procedures of Fortran here. Operations and
// error handlers get none: each of their procedures has its own C function, from a table of fixed size.
#include <array>
#include <utility>

#include "fortran/by_hand.h"

namespace hearth::fortran {
namespace {

constexpr size_t kThunks = 512;

template <class Type, class... Arguments>
void run(Callback* procedure, Arguments... arguments) {
  reinterpret_cast<Type*>(procedure)(arguments...);
}

/// A procedure, and for an error handler the function that gets the number of its object.
struct Slot {
  Callback* procedure;
  int (*number_of)(void* object);
};

/// The functions of C for procedures of one family. A procedure keeps its function for the life of the
/// process. The functions of a family differ in the types of pointers only, so one function serves all of
/// them; each is a constant and a jump.
template <class Family>
class Thunks {
 public:
  using Function = typename Family::Function;

  /// A null pointer if all functions are in use.
  static Function* of(const Slot& slot) {
    static constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static size_t used = 0;
    const Guard guard(mutex);
    for (size_t i = 0; i < used; ++i) {
      if (slots_[i].procedure == slot.procedure && slots_[i].number_of == slot.number_of)
        return functions()[i];
    }
    if (used == kThunks) return nullptr;
    slots_[used] = slot;
    return functions()[used++];
  }
  static const Slot& slot(size_t index) { return slots_[index]; }

 private:
  template <size_t... indices>
  static constexpr std::array<Function*, kThunks> make(std::index_sequence<indices...>) {
    return {Family::template call<indices>...};
  }
  static const std::array<Function*, kThunks>& functions() {
    static constexpr std::array<Function*, kThunks> table = make(std::make_index_sequence<kThunks>());
    return table;
  }
  static inline Slot slots_[kThunks];
};

/// Operations, of default counts and of large ones.
struct Reductions {
  using Function = void(void* in, void* in_out, void* count, void* datatype);
  template <size_t slot>
  static void call(void* in, void* in_out, void* count, void* datatype) {
    reduce(in, in_out, count, datatype, slot);
  }
  [[gnu::noinline]] static void reduce(void* in, void* in_out, void* count, void* datatype, size_t slot) {
    int type = type_out(*static_cast<MPI_Datatype*>(datatype));
    run<void(void*, void*, void*, int*)>(Thunks<Reductions>::slot(slot).procedure, in, in_out, count, &type);
  }
};

/// Error handlers of all types of objects.
struct Handlers {
  using Function = void(void* object, int* code, ...);
  template <size_t slot>
  static void call(void* object, int* code, ...) {
    handle(object, code, slot);
  }
  [[gnu::noinline]] static void handle(void* object, int* code, size_t slot) {
    const Slot& used = Thunks<Handlers>::slot(slot);
    int number = used.number_of(object);
    run<void(int*, int*)>(used.procedure, &number, code);
  }
};

template <class Handle, auto out>
int number_of(void* object) {
  return out(*static_cast<Handle*>(object));
}

constexpr const char* kNoThunk =
    "more than 512 different procedures: each keeps a function of C for the life of the process. Likely "
    "cause: internal procedures, which have another address in each instance of their host. Remedy: use a "
    "procedure of a module";

template <class Handle, auto out, class Function>
int create_errhandler(Callback* procedure, int* errhandler, const char* name,
                      int create(Function*, MPI_Errhandler*)) {
  auto* const thunk = Thunks<Handlers>::of({procedure, number_of<Handle, out>});
  if (thunk == nullptr) return refuse(MPI_COMM_SELF, name, kNoThunk, MPI_ERR_NO_MEM);
  Out<errhandler_out> errhandler_(errhandler);
  const int code = create(reinterpret_cast<Function*>(thunk), errhandler_.get());
  errhandler_.finish();
  return code;
}

template <class Function>
int create_op(Callback* procedure, const int* commute, int* op, const char* name,
              int create(Function*, int, MPI_Op*)) {
  auto* const thunk = Thunks<Reductions>::of({procedure, nullptr});
  if (thunk == nullptr) return refuse(MPI_COMM_SELF, name, kNoThunk, MPI_ERR_NO_MEM);
  Out<op_out> op_(op);
  const int code = create(reinterpret_cast<Function*>(thunk), logical_in(*commute), op_.get());
  op_.finish();
  return code;
}

// Generalized requests.

struct Grequest {
  Callback* query;
  Callback* free;
  Callback* cancel;
  MPI_Aint extra_state;
};

int query_grequest(void* state, MPI_Status* status) {
  auto* const request = static_cast<Grequest*>(state);
  int code = MPI_SUCCESS;
  run<void(MPI_Aint*, int*, int*)>(request->query, &request->extra_state, reinterpret_cast<int*>(status),
                                   &code);
  return code;
}

int free_grequest(void* state) {
  auto* const request = static_cast<Grequest*>(state);
  int code = MPI_SUCCESS;
  run<void(MPI_Aint*, int*)>(request->free, &request->extra_state, &code);
  std::free(request);
  return code;
}

int cancel_grequest(void* state, int complete) {
  auto* const request = static_cast<Grequest*>(state);
  int logical = logical_out(complete);
  int code = MPI_SUCCESS;
  run<void(MPI_Aint*, int*, int*)>(request->cancel, &request->extra_state, &logical, &code);
  return code;
}

// Representations of data in files.

struct Datarep {
  Callback* read;
  Callback* write;
  Callback* extent;
  MPI_Aint extra_state;
};

template <Callback* Datarep::*procedure, class Number>
int convert(void* userbuf, MPI_Datatype datatype, Number count, void* filebuf, MPI_Offset position,
            void* state) {
  auto* const datarep = static_cast<Datarep*>(state);
  int type = type_out(datatype);
  int code = MPI_SUCCESS;
  run<void(void*, int*, Number*, void*, MPI_Offset*, MPI_Aint*, int*)>(
      datarep->*procedure, userbuf, &type, &count, filebuf, &position, &datarep->extra_state, &code);
  return code;
}

int file_extent(MPI_Datatype datatype, MPI_Aint* extent, void* state) {
  auto* const datarep = static_cast<Datarep*>(state);
  int type = type_out(datatype);
  int code = MPI_SUCCESS;
  run<void(int*, MPI_Aint*, MPI_Aint*, int*)>(datarep->extent, &type, extent, &datarep->extra_state, &code);
  return code;
}

}  // namespace
}  // namespace hearth::fortran

// The procedures that stand for "no conversion". Never called: recognised by their address.
extern "C" {
HEARTH_FORTRAN void mpi_conversion_fn_null_() {}
HEARTH_FORTRAN void mpi_conversion_fn_null_c_() {
  // A body that differs from the other function's, so that no linker merges the two.
  asm volatile("");
}
HEARTH_FORTRAN_NAMES("mpi_conversion_fn_null", "MPI_CONVERSION_FN_NULL");
HEARTH_FORTRAN_NAMES("mpi_conversion_fn_null_c", "MPI_CONVERSION_FN_NULL_C");
#if HEARTH_FORTRAN_OPENMPI
HEARTH_FORTRAN_F08_CALLBACK("mpi_conversion_fn_null");
#endif
}

namespace hearth::fortran {
namespace {

template <class Number, class Create>
int register_datarep(const char* datarep, Callback* read, Callback* write, Callback* extent,
                     const MPI_Aint* extra_state, size_t datarep_len, Create* create) {
  const TextIn name(datarep, datarep_len);
  // Lives as long as the process, like the representation.
  auto* const state = make(Datarep{read, write, extent, *extra_state});
  if (state == nullptr) {
    return refuse(MPI_COMM_SELF, "MPI_Register_datarep", "no memory for the representation", MPI_ERR_NO_MEM);
  }
  const auto chosen = [](Callback* procedure, auto* function) {
    const bool none = procedure == mpi_conversion_fn_null_ || procedure == mpi_conversion_fn_null_c_;
    return none ? nullptr : function;
  };
  const int code = create(name.get(), chosen(read, convert<&Datarep::read, Number>),
                          chosen(write, convert<&Datarep::write, Number>), file_extent, state);
  if (code != MPI_SUCCESS) std::free(state);
  return code;
}

}  // namespace

namespace by_hand {

int Op_create(Callback* user_fn, const int* commute, int* op, decltype(&PMPI_Op_create) call) {
  return create_op(user_fn, commute, op, "MPI_Op_create", call);
}
int Op_create_c(Callback* user_fn, const int* commute, int* op, decltype(&PMPI_Op_create_c) call) {
  return create_op(user_fn, commute, op, "MPI_Op_create_c", call);
}

int Comm_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_Comm_create_errhandler) call) {
  return create_errhandler<MPI_Comm, comm_out>(function, errhandler, "MPI_Comm_create_errhandler", call);
}
int File_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_File_create_errhandler) call) {
  return create_errhandler<MPI_File, file_out>(function, errhandler, "MPI_File_create_errhandler", call);
}
int Win_create_errhandler(Callback* function, int* errhandler, decltype(&PMPI_Win_create_errhandler) call) {
  return create_errhandler<MPI_Win, win_out>(function, errhandler, "MPI_Win_create_errhandler", call);
}
int Session_create_errhandler(Callback* function, int* errhandler,
                              decltype(&PMPI_Session_create_errhandler) call) {
  return create_errhandler<MPI_Session, session_out>(function, errhandler, "MPI_Session_create_errhandler",
                                                     call);
}

int Grequest_start(Callback* query_fn, Callback* free_fn, Callback* cancel_fn, const MPI_Aint* extra_state,
                   int* request, decltype(&PMPI_Grequest_start) call) {
  auto* const state = make(Grequest{query_fn, free_fn, cancel_fn, *extra_state});
  if (state == nullptr) {
    return refuse(MPI_COMM_SELF, "MPI_Grequest_start", "no memory for a request", MPI_ERR_NO_MEM);
  }
  Out<request_out> request_(request);
  const int code = call(query_grequest, free_grequest, cancel_grequest, state, request_.get());
  if (code != MPI_SUCCESS) std::free(state);
  request_.finish();
  return code;
}

int Register_datarep(const char* datarep, Callback* read, Callback* write, Callback* extent,
                     const MPI_Aint* extra_state, size_t datarep_len, decltype(&PMPI_Register_datarep) call) {
  return register_datarep<int>(datarep, read, write, extent, extra_state, datarep_len, call);
}
int Register_datarep_c(const char* datarep, Callback* read, Callback* write, Callback* extent,
                       const MPI_Aint* extra_state, size_t datarep_len,
                       decltype(&PMPI_Register_datarep_c) call) {
  return register_datarep<MPI_Count>(datarep, read, write, extent, extra_state, datarep_len, call);
}

}  // namespace by_hand
}  // namespace hearth::fortran
