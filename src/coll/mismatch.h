// Errors of a collective mismatch: ranks call different collectives, or the same one with different amounts
// of data. MPI calls such a program erroneous; without detection it would hang.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/peer_index.h"
#include "base/status.h"
#include "coll/select.h"

namespace hearth::coll {

/// The call of a rank, as seen by itself or by another rank.
struct MismatchedCall {
  int rank;
  Collective kind;
  int64_t bytes;
};

/// MPI_ERR_TRUNCATE if `other` has more data in the same kind of collective, else MPI_ERR_OTHER.
[[gnu::cold]] Status mismatch_error(const MismatchedCall& other, const MismatchedCall& own);
/// For `rank`, which waits for a rank that reported a mismatch: `own.rank` saw `other`.
[[gnu::cold]] Status mismatch_elsewhere(const MismatchedCall& other, const MismatchedCall& own, int rank);
/// After a mismatch on this process, or on `rank` if it published no reason.
[[gnu::cold]] Status out_of_step(int rank);
/// MPIX_ERR_PROC_FAILED: other ranks of this machine know of the death of that process, but this one does not
/// yet.
[[gnu::cold]] Status died_elsewhere(PeerIndex process);

/// A mismatch or a death in a word that other ranks read; 0: none.
struct PublishedMismatch {
  uint64_t word;

  MismatchedCall what() const {
    return {static_cast<int>(word >> 40 & 0x3f'ffff), static_cast<Collective>(word >> 36 & 15),
            static_cast<int64_t>(word & kBytesMax)};
  }
  static PublishedMismatch of(const MismatchedCall& what) {
    const auto bytes = static_cast<uint64_t>(what.bytes);
    return {kSays | static_cast<uint64_t>(what.rank & 0x3f'ffff) << 40 |
            static_cast<uint64_t>(what.kind) << 36 | std::min(bytes, kBytesMax)};
  }

  bool is_death() const { return (word & kDeath) == kDeath; }
  PeerIndex dead() const { return static_cast<PeerIndex>(word & 0xffff'ffff); }
  static PublishedMismatch death_of(PeerIndex process) { return {kDeath | static_cast<uint32_t>(process)}; }

 private:
  static constexpr uint64_t kDeath = uint64_t{3} << 62;
  static constexpr uint64_t kBytesMax = (uint64_t{1} << 36) - 1;  // larger values are clamped to it
  static constexpr uint64_t kSays = uint64_t{1} << 63;
};

}  // namespace hearth::coll
