// What ranks are told that call different collectives, or the same ones with different amounts of data. MPI
// says that such a program is wrong; without this it would wait for ever.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "coll/select.h"

namespace hearth::coll {

/// What a rank does.
struct Disagreement {
  int rank;
  Collective kind;
  int64_t bytes;
};

/// MPI_ERR_TRUNCATE where `other` has more data of the same kind, else MPI_ERR_OTHER.
[[gnu::cold]] Status disagree(const Disagreement& other, const Disagreement& own);
/// After such an error, of this process or of `rank`.
[[gnu::cold]] Status out_of_step(int rank);

}  // namespace hearth::coll
