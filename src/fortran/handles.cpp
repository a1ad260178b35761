#include "fortran/handles.h"

#include <cstring>

#include "facade_core.h"

// Weak: another library with the standard ABI has no such table.
extern "C" [[gnu::weak]] const hearth::abi::Core hearth_calls_v1;

namespace hearth::fortran {
namespace {

static_assert(static_cast<int>(abi::PoolKind::comm) == 0 &&
              static_cast<int>(abi::PoolKind::errhandler) == 4 &&
              static_cast<int>(abi::PoolKind::type) == 7 && static_cast<int>(abi::PoolKind::message) == 9 &&
              static_cast<int>(abi::PoolKind::count_) == 10);
static_assert(sizeof(Places) == sizeof(abi::PoolPlace) &&
              offsetof(Places, bytes) == offsetof(abi::PoolPlace, bytes));

const Places* find() {
  const abi::Core* const core = &hearth_calls_v1;
  if (core == nullptr || core->bytes != sizeof(abi::Core)) return nullptr;
  if (std::strcmp(core->version, HEARTH_VERSION) != 0) return nullptr;
  return reinterpret_cast<const Places*>(core->pools);
}

}  // namespace

const Places* const places = find();

}  // namespace hearth::fortran
