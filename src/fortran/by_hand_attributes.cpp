// Attributes, MPI 5.0 section 19.3.7. Fortran's values are integers of MPI_ADDRESS_KIND, C's are pointers:
//
//   set in Fortran, read in C        the address of a cell with the integer
//   set in C, read in Fortran        the pointer as an integer
//   set in Fortran, read in Fortran  the integer
//
// So a value of Fortran is stored as the address of a cell. All cells are in the blocks of class Cells, so an
// address range identifies the pointers to cells.
#include "fortran/by_hand.h"

namespace hearth::fortran {
namespace {

/// All cells. Blocks are never freed; each has twice the cells of the one before.
class Cells {
 public:
  /// A null pointer if there is no memory.
  MPI_Aint* make(MPI_Aint value) {
    const Guard guard(mutex_);
    if (free_ == nullptr && !grow()) return nullptr;
    Cell* const cell = free_;
    free_ = cell->next;
    cell->value = value;
    return &cell->value;
  }
  bool contains(const void* address) {
    const Guard guard(mutex_);
    for (int i = 0; i < blocks_; ++i) {
      const auto* const first = block_[i];
      if (address >= first && address < first + cells_of(i)) return true;
    }
    return false;
  }
  void release(void* address) {
    if (!contains(address)) return;
    const Guard guard(mutex_);
    auto* const cell = static_cast<Cell*>(address);
    cell->next = free_;
    free_ = cell;
  }

 private:
  union Cell {
    MPI_Aint value;
    Cell* next;
  };
  static constexpr int kBlocksMax = 40;
  static size_t cells_of(int block) { return size_t{64} << block; }

  bool grow() {
    if (blocks_ == kBlocksMax) return false;
    auto* const cells = static_cast<Cell*>(std::calloc(cells_of(blocks_), sizeof(Cell)));
    if (cells == nullptr) return false;
    block_[blocks_] = cells;
    for (size_t i = 0; i < cells_of(blocks_); ++i) {
      cells[i].next = free_;
      free_ = &cells[i];
    }
    ++blocks_;
    return true;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Cell* block_[kBlocksMax] = {};
  int blocks_ = 0;
  Cell* free_ = nullptr;
};
constinit Cells cells;

/// The integer that Fortran sees.
MPI_Aint value_out(void* stored) {
  if (cells.contains(stored)) return *static_cast<MPI_Aint*>(stored);
  return reinterpret_cast<MPI_Aint>(stored);
}

/// Predefined attributes are addresses of integers in C and the integers themselves in Fortran.
MPI_Aint predefined_out(int keyval, void* stored) {
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(stored);
  if (keyval == MPI_WIN_SIZE) return *static_cast<MPI_Aint*>(stored);
  return *static_cast<int*>(stored);
}

bool is_predefined(int keyval) {
  switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_BASE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_SIZE:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return true;
    default:
      return false;
  }
}

template <class Handle, class Value, class Get>
int get_attribute(Handle handle, int keyval_of_fortran, Value* value, int* flag, Get* get) {
  const int keyval = keyval_in(keyval_of_fortran);
  void* stored = nullptr;
  LogicalOut flag_(flag);
  const int code = get(handle, keyval, static_cast<void*>(&stored), flag_.get());
  if (code == MPI_SUCCESS && *flag_.get() != 0) {
    *value = static_cast<Value>(is_predefined(keyval) ? predefined_out(keyval, stored) : value_out(stored));
  }
  flag_.finish();
  return code;
}

template <class Handle, class Set>
int set_attribute(Handle handle, int keyval, MPI_Aint value, const char* name, Set* set) {
  MPI_Aint* const cell = cells.make(value);
  if (cell == nullptr) return refuse(MPI_COMM_SELF, name, "no memory for the attribute", MPI_ERR_NO_MEM);
  const int code = set(handle, keyval_in(keyval), cell);
  if (code != MPI_SUCCESS) cells.release(cell);
  return code;
}

/// The procedures of a key. Lives as long as the process: attributes may outlive the key.
struct Keyval {
  Callback* copy;
  Callback* remove;
  MPI_Aint extra_state;
  bool is_old;  // created by the MPI-1 interface: values are default INTEGERs
};

/// A call of a copy procedure.
int copy_value(const Keyval& key, int handle, int keyval, MPI_Aint value, MPI_Aint& result, int& flag) {
  using Copy = void(int*, int*, MPI_Aint*, MPI_Aint*, MPI_Aint*, int*, int*);
  MPI_Aint extra_state = key.extra_state;
  int logical = logical_out(0);
  int code = MPI_SUCCESS;
  reinterpret_cast<Copy*>(key.copy)(&handle, &keyval, &extra_state, &value, &result, &logical, &code);
  // A procedure of MPI-1 has written the first half only.
  if (key.is_old) result = static_cast<int>(result);
  flag = logical_in(logical);
  return code;
}

template <class Handle, auto out>
int copy_attribute(Handle handle, int keyval, void* state, void* stored, void* result, int* flag) {
  MPI_Aint copied = 0;
  *flag = 0;
  const int code =
      copy_value(*static_cast<Keyval*>(state), out(handle), keyval, value_out(stored), copied, *flag);
  if (code != MPI_SUCCESS || *flag == 0) return code;
  MPI_Aint* const cell = cells.make(copied);
  if (cell == nullptr) return MPI_ERR_NO_MEM;
  *static_cast<void**>(result) = cell;
  return MPI_SUCCESS;
}

template <class Handle, auto out>
int delete_attribute(Handle handle, int keyval, void* stored, void* state) {
  using Delete = void(int*, int*, MPI_Aint*, MPI_Aint*, int*);
  const auto& key = *static_cast<Keyval*>(state);
  int object = out(handle);
  MPI_Aint value = value_out(stored);
  MPI_Aint extra_state = key.extra_state;
  int code = MPI_SUCCESS;
  reinterpret_cast<Delete*>(key.remove)(&object, &keyval, &value, &extra_state, &code);
  if (code == MPI_SUCCESS) cells.release(stored);
  return code;
}

template <class Handle, auto out, class Create>
int create_keyval(const Keyval& given, int* keyval, const char* name, Create* create) {
  auto* const key = make(given);
  if (key == nullptr) return refuse(MPI_COMM_SELF, name, "no memory for another key", MPI_ERR_NO_MEM);
  const int code = create(copy_attribute<Handle, out>, delete_attribute<Handle, out>, keyval, key);
  if (code != MPI_SUCCESS) std::free(key);
  return code;
}

/// The predefined procedures, which a program may call as well.
template <class Value>
void duplicate(const Value* value, Value* copy, int* flag, int* code) {
  *copy = *value;
  *flag = logical_out(1);
  *code = MPI_SUCCESS;
}
void copy_nothing(int* flag, int* code) {
  *flag = logical_out(0);
  *code = MPI_SUCCESS;
}

}  // namespace

namespace by_hand {

int Comm_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                       decltype(&PMPI_Comm_create_keyval) call) {
  return create_keyval<MPI_Comm, comm_out>({copy, remove, *extra_state, false}, keyval,
                                           "MPI_Comm_create_keyval", call);
}
int Type_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                       decltype(&PMPI_Type_create_keyval) call) {
  return create_keyval<MPI_Datatype, type_out>({copy, remove, *extra_state, false}, keyval,
                                               "MPI_Type_create_keyval", call);
}
int Win_create_keyval(Callback* copy, Callback* remove, int* keyval, const MPI_Aint* extra_state,
                      decltype(&PMPI_Win_create_keyval) call) {
  return create_keyval<MPI_Win, win_out>({copy, remove, *extra_state, false}, keyval, "MPI_Win_create_keyval",
                                         call);
}
int Keyval_create(Callback* copy, Callback* remove, int* keyval, const int* extra_state,
                  decltype(&PMPI_Keyval_create) call) {
  return create_keyval<MPI_Comm, comm_out>({copy, remove, *extra_state, true}, keyval, "MPI_Keyval_create",
                                           call);
}

int Comm_get_attr(const int* comm, const int* keyval, MPI_Aint* value, int* flag,
                  decltype(&PMPI_Comm_get_attr) call) {
  return get_attribute(comm_in(*comm), *keyval, value, flag, call);
}
int Type_get_attr(const int* datatype, const int* keyval, MPI_Aint* value, int* flag,
                  decltype(&PMPI_Type_get_attr) call) {
  return get_attribute(type_in(*datatype), *keyval, value, flag, call);
}
int Win_get_attr(const int* win, const int* keyval, MPI_Aint* value, int* flag,
                 decltype(&PMPI_Win_get_attr) call) {
  return get_attribute(win_in(*win), *keyval, value, flag, call);
}
int Attr_get(const int* comm, const int* keyval, int* value, int* flag, decltype(&PMPI_Attr_get) call) {
  return get_attribute(comm_in(*comm), *keyval, value, flag, call);
}

int Comm_set_attr(const int* comm, const int* keyval, const MPI_Aint* value,
                  decltype(&PMPI_Comm_set_attr) call) {
  return set_attribute(comm_in(*comm), *keyval, *value, "MPI_Comm_set_attr", call);
}
int Type_set_attr(const int* datatype, const int* keyval, const MPI_Aint* value,
                  decltype(&PMPI_Type_set_attr) call) {
  return set_attribute(type_in(*datatype), *keyval, *value, "MPI_Type_set_attr", call);
}
int Win_set_attr(const int* win, const int* keyval, const MPI_Aint* value,
                 decltype(&PMPI_Win_set_attr) call) {
  return set_attribute(win_in(*win), *keyval, *value, "MPI_Win_set_attr", call);
}
int Attr_put(const int* comm, const int* keyval, const int* value, decltype(&PMPI_Attr_put) call) {
  return set_attribute(comm_in(*comm), *keyval, *value, "MPI_Attr_put", call);
}

}  // namespace by_hand
}  // namespace hearth::fortran

using namespace hearth::fortran;

extern "C" {

#define HEARTH_FORTRAN_COPY_FUNCTIONS(kind, KIND, Value)                                                     \
  HEARTH_FORTRAN void mpi_##kind##dup_fn_(int*, int*, Value*, Value* in, Value* out, int* flag, int* code) { \
    duplicate(in, out, flag, code);                                                                          \
  }                                                                                                          \
  HEARTH_FORTRAN void mpi_##kind##null_copy_fn_(int*, int*, Value*, Value*, Value*, int* flag, int* code) {  \
    copy_nothing(flag, code);                                                                                \
  }                                                                                                          \
  HEARTH_FORTRAN void mpi_##kind##null_delete_fn_(int*, int*, Value*, Value*, int* code) {                   \
    *code = MPI_SUCCESS;                                                                                     \
  }                                                                                                          \
  HEARTH_FORTRAN_NAMES("mpi_" #kind "dup_fn", "MPI_" #KIND "DUP_FN");                                        \
  HEARTH_FORTRAN_NAMES("mpi_" #kind "null_copy_fn", "MPI_" #KIND "NULL_COPY_FN");                            \
  HEARTH_FORTRAN_NAMES("mpi_" #kind "null_delete_fn", "MPI_" #KIND "NULL_DELETE_FN");
HEARTH_FORTRAN_COPY_FUNCTIONS(comm_, COMM_, MPI_Aint)
HEARTH_FORTRAN_COPY_FUNCTIONS(type_, TYPE_, MPI_Aint)
HEARTH_FORTRAN_COPY_FUNCTIONS(win_, WIN_, MPI_Aint)
HEARTH_FORTRAN_COPY_FUNCTIONS(, , int)

#if HEARTH_FORTRAN_OPENMPI
#define HEARTH_FORTRAN_F08_CALLBACKS(kind)                   \
  HEARTH_FORTRAN_F08_CALLBACK("mpi_" #kind "_dup_fn");       \
  HEARTH_FORTRAN_F08_CALLBACK("mpi_" #kind "_null_copy_fn"); \
  HEARTH_FORTRAN_F08_CALLBACK("mpi_" #kind "_null_delete_fn");
HEARTH_FORTRAN_F08_CALLBACKS(comm)
HEARTH_FORTRAN_F08_CALLBACKS(type)
HEARTH_FORTRAN_F08_CALLBACKS(win)
#endif

}  // extern "C"
