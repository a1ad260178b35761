// Adaptive store policy: how a sender writes into bounce buffers for one receiver. There are two kinds of
// stores:
//
//   plain      the data stay in the sender's cache until the receiver reads them. Best if the two share a
//              cache.
//   streaming  non-temporal, past the caches. A bounce buffer that the receiver has read is in the receiver's
//              cache, and plain stores have to invalidate its lines there: on Zen 3 2 to 5 ns per line with a
//              shared cache, 30 to 60 without. Streaming stores take 5 ns in both cases.
//
// Where the processor's string copy is as fast in both cases, it replaces both from some length on
// (copy::choose_for_reader).
//
// The reported topology does not decide this: it may be missing or wrong, or change while the job runs
// (virtual processors migrate). So the policy samples the time of a plain store now and then, and switches if
// necessary. One per peer, owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/type.h"

namespace hearth::p2p {

class StorePolicy {
 public:
  /// Measured, or fixed by the parameter p2p_stores.
  enum class Choice : uint8_t { by_time, plain, streaming };

  explicit StorePolicy(Choice choice = Choice::by_time)
      : choice_(choice), streams_(choice == Choice::streaming) {}

  /// Packs bytes [offset, offset + bytes) of the message into one or several consecutive bounce buffers.
  void fill(const datatype::Type& type, const void* buffer, int64_t offset, std::byte* to, size_t bytes);
  /// Whether plain stores were measured as slow: the two share no cache.
  bool streams() const { return streams_; }
  /// Whether plain stores were measured as fast: the two share a cache.
  bool near() const { return !streams_ && (fast_samples_ == kSettledSamples || choice_ == Choice::plain); }
  /// Updates the policy with a sample: a plain store took `line_ns` longer than one into the own cache.
  void update(uint64_t line_ns);

 private:
  bool wants_sample(size_t bytes) const;

  static constexpr uint8_t kSettledSamples = 4;

  Choice choice_;
  bool streams_;
  uint8_t slow_samples_ = 0;  // consecutive slow samples
  uint8_t fast_samples_ = 0;  // consecutive fast samples, at most kSettledSamples
  uint32_t pieces_ = 0;
};

/// The value of p2p_stores; unknown values mean by_time.
StorePolicy::Choice store_choice();

}  // namespace hearth::p2p
