#include "abi/collective_types.h"

#include <new>

namespace hearth::abi {

Status RankTypes::read(const MPI_Datatype* handles, int ranks, const char* name) {
  if (const auto wanted = static_cast<size_t>(ranks); wanted > kOwn) {
    more_.reset(new (std::nothrow) datatype::Type*[wanted]);
    if (more_ == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for %s", name);
    types_ = more_.get();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    datatype::Type* type = find<datatype::Type>(handles[rank]);
    if (type == nullptr || !type->committed) {
      return fail(MPI_ERR_TYPE, "%s[%d] %s", name, rank,
                  type == nullptr ? "is no datatype. Likely cause: it was freed, or never set"
                                  : "is not committed. Remedy: MPI_Type_commit");
    }
    types_[rank] = type;
  }
  return {};
}

}  // namespace hearth::abi
