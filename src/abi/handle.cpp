#include "abi/handle.h"

#include "abi/error.h"
#include "datatype/predefined.h"
#include "objects/lifetime.h"

namespace hearth::abi {
namespace {

constexpr int kFirstUserNumber = 4096;

// Initial references of a predefined object: more than wrong frees by the user could release.
constexpr uint32_t kForever = uint32_t{1} << 30;

template <class Object>
uint32_t constant_of(HandleOf<Object> handle) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
}

template <class Object>
void enter(Object& object, HandleOf<Object> handle) {
  object.slot = 0;
  object.alive = Pool<Object>::kAlive;
  object.references = kForever;
  object.predefined = constant_of<Object>(handle);
  objects::pools.predefined[object.predefined] = &object;
}

struct PredefinedOp {
  MPI_Op handle;
  objects::OpKind kind;
  bool commutative = true;
};

struct PredefinedErrhandler {
  MPI_Errhandler handle;
  objects::ErrhandlerKind kind;
};

/// The predefined objects that do not depend on the job. Never destroyed: see base/immortal.h.
struct Predefined {
  objects::Op ops[16];
  objects::Errhandler errhandlers[3];
  objects::Group empty_group;
  objects::Info environment;
  p2p::Message no_proc;
  objects::Comm null_comm;
  objects::Win null_win;

  Predefined() {
    using objects::OpKind;
    const PredefinedOp op_rows[] = {
        {MPI_SUM, OpKind::sum},       {MPI_MIN, OpKind::min},
        {MPI_MAX, OpKind::max},       {MPI_PROD, OpKind::prod},
        {MPI_BAND, OpKind::band},     {MPI_BOR, OpKind::bor},
        {MPI_BXOR, OpKind::bxor},     {MPI_LAND, OpKind::land},
        {MPI_LOR, OpKind::lor},       {MPI_LXOR, OpKind::lxor},
        {MPI_MINLOC, OpKind::minloc}, {MPI_MAXLOC, OpKind::maxloc},
        {MPI_NO_OP, OpKind::no_op},   {MPI_REPLACE, OpKind::replace, false},
    };
    objects::Op* op = ops;
    for (const PredefinedOp& row : op_rows) {
      op->kind = row.kind;
      op->commutative = row.commutative;
      enter(*op++, row.handle);
    }
    using objects::ErrhandlerKind;
    const PredefinedErrhandler errhandler_rows[] = {
        {MPI_ERRORS_ARE_FATAL, ErrhandlerKind::errors_are_fatal},
        {MPI_ERRORS_ABORT, ErrhandlerKind::errors_abort},
        {MPI_ERRORS_RETURN, ErrhandlerKind::errors_return},
    };
    objects::Errhandler* errhandler = errhandlers;
    for (const PredefinedErrhandler& row : errhandler_rows) {
      errhandler->kind = row.kind;
      enter(*errhandler++, row.handle);
    }
    empty_group.index(-1);
    enter(empty_group, MPI_GROUP_EMPTY);
    enter(environment, MPI_INFO_ENV);
    enter(no_proc, MPI_MESSAGE_NO_PROC);
    null_comm.slot = 0;
    null_comm.alive = Pool<objects::Comm>::kAlive;
    null_comm.predefined = constant_of<objects::Comm>(MPI_COMM_NULL);
    null_comm.rank = MPI_UNDEFINED;
    null_comm.name = "MPI_COMM_NULL";
    null_win.slot = 0;
    null_win.alive = Pool<objects::Win>::kAlive;
    null_win.predefined = constant_of<objects::Win>(MPI_WIN_NULL);
    null_win.name = "MPI_WIN_NULL";
    datatype::enter_predefined_types();
  }
};

// Made when the library is loaded: info objects and error handlers may be used before MPI_Init.
Predefined& predefined = *new Predefined;

}  // namespace

objects::Comm* find_named(MPI_Comm handle) {
  return handle == MPI_COMM_NULL ? &predefined.null_comm : find<objects::Comm>(handle);
}

objects::Win* find_named(MPI_Win handle) {
  return handle == MPI_WIN_NULL ? &predefined.null_win : find<objects::Win>(handle);
}

datatype::Type* find_named(MPI_Datatype handle) {
  return handle == MPI_DATATYPE_NULL ? &datatype::null_type() : find<datatype::Type>(handle);
}

objects::Errhandler& predefined_errhandler(MPI_Errhandler handle) {
  return *find<objects::Errhandler>(handle);
}

void set_predefined_comms(objects::Comm& world, objects::Comm& self) {
  world.predefined = constant_of<objects::Comm>(MPI_COMM_WORLD);
  self.predefined = constant_of<objects::Comm>(MPI_COMM_SELF);
  objects::pools.predefined[world.predefined] = &world;
  objects::pools.predefined[self.predefined] = &self;
}

void drop_predefined_comms() {
  for (const MPI_Comm handle : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    objects::Comm& comm = predefined_comm(handle);
    objects::pools.predefined[comm.predefined] = nullptr;
    comm.predefined = 0;
    objects::free_handle(comm);
  }
}

objects::Comm& predefined_comm(MPI_Comm handle) {
  return *find<objects::Comm>(handle);
}

namespace {

// Requests and messages live in the engine, which exists between MPI_Init and MPI_Finalize only.
template <class Object>
bool pool_exists() {
  return true;
}
template <>
bool pool_exists<p2p::Request>() {
  return p2p::process_engine != nullptr;
}
template <>
bool pool_exists<p2p::Message>() {
  return p2p::process_engine != nullptr;
}

}  // namespace

// A constant of the ABI converts to itself, even while its object does not exist: MPI_COMM_WORLD before
// MPI_Init.
template <class Object>
bool is_constant(uintptr_t value) {
  using Traits = HandleTraits<Object>;
  return value - Traits::kFirst < Traits::kCount && handle_name(value) != nullptr;
}

template <class Object>
int to_int(HandleOf<Object> handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (is_constant<Object>(value)) return static_cast<int>(value);
  const Object* object = pool_exists<Object>() ? find<Object>(handle) : nullptr;
  if (object == nullptr) return static_cast<int>(HandleTraits<Object>::kFirst);
  return kFirstUserNumber + static_cast<int>(object->slot);
}

template <class Object>
HandleOf<Object> from_int(int number) {
  const auto value = static_cast<uintptr_t>(number);
  if (is_constant<Object>(value)) return reinterpret_cast<HandleOf<Object>>(value);
  if (number < kFirstUserNumber || !pool_exists<Object>()) return null_handle<Object>();
  return to_handle<Object>(HandleTraits<Object>::pool().at(static_cast<size_t>(number - kFirstUserNumber)));
}

#define HEARTH_INTEGER_HANDLES(Object)           \
  template int to_int<Object>(HandleOf<Object>); \
  template HandleOf<Object> from_int<Object>(int);
HEARTH_INTEGER_HANDLES(objects::Comm)
HEARTH_INTEGER_HANDLES(objects::Group)
HEARTH_INTEGER_HANDLES(objects::Op)
HEARTH_INTEGER_HANDLES(objects::Info)
HEARTH_INTEGER_HANDLES(objects::Errhandler)
HEARTH_INTEGER_HANDLES(objects::Session)
HEARTH_INTEGER_HANDLES(objects::Win)
HEARTH_INTEGER_HANDLES(objects::File)
HEARTH_INTEGER_HANDLES(datatype::Type)
HEARTH_INTEGER_HANDLES(p2p::Request)
HEARTH_INTEGER_HANDLES(p2p::Message)
#undef HEARTH_INTEGER_HANDLES

}  // namespace hearth::abi
