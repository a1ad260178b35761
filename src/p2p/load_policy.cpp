#include "p2p/load_policy.h"

#include <string>

#include "base/copy.h"
#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::p2p {
namespace {

// Fragments between two trials, unless the last one was lost. A trial covers two fragments and costs about 80
// ns; a fragment of 16 KiB takes 300 ns with a shared cache.
constexpr uint32_t kPiecesPerTrial = 32;
// Consecutive lost trials before a switch: an interrupt slows down one fragment, not several.
constexpr uint8_t kLostMax = 3;
// The other order must be faster by 1/kMargin of the time of the current one.
constexpr uint64_t kMargin = 16;
// Threshold of in-order reads, kSlowNs per kSlowBytes: between lines of a shared cache (1.2 ns per line) and
// lines of another cache (4.3 ns). Below it the order is always in_order: four pages may be faster for single
// fragments, but not for whole messages.
constexpr uint64_t kSlowNs = 5;
constexpr uint64_t kSlowBytes = 128;

}  // namespace

LoadPolicy::Choice load_choice() {
  const std::string& word = param::get_text(param::Id::p2p_loads);
  if (word == "in_order") return LoadPolicy::Choice::in_order;
  return word == "four_pages" ? LoadPolicy::Choice::four_pages : LoadPolicy::Choice::by_time;
}

void LoadPolicy::update(uint64_t bytes, uint64_t in_order_ns, uint64_t four_pages_ns) {
  const bool near = in_order_ns * kSlowBytes < kSlowNs * bytes;
  const uint64_t used_ns = four_pages_ ? four_pages_ns : in_order_ns;
  const uint64_t other_ns = four_pages_ ? in_order_ns : four_pages_ns;
  const bool lost = near ? four_pages_ : other_ns + used_ns / kMargin < used_ns;
  if (!lost) {
    lost_ = 0;
  } else if (++lost_ == kLostMax) {
    four_pages_ = !four_pages_;
    lost_ = 0;
  }
}

void LoadPolicy::copy(bool four_pages, void* to, const std::byte* from, size_t bytes) {
  if (four_pages) return copy::run(copy::Engine::four_pages, to, from, bytes);
  copy_shared_bytes(to, from, bytes, bytes);
}

void LoadPolicy::read(void* to, const std::byte* from, size_t bytes) {
  const bool is_second = first_bytes_ != 0;
  if (choice_ != Choice::by_time || (!is_second && lost_ == 0 && ++pieces_ < kPiecesPerTrial))
    return copy(four_pages_, to, from, bytes);
  // Alternates which order goes first, because the first fragment of a message takes longer than the next.
  const bool four_pages = begins_with_four_ != is_second;
  const uint64_t begin_ns = os::now_ns();
  copy(four_pages, to, from, bytes);
  const uint64_t took_ns = os::now_ns() - begin_ns;
  if (!is_second) {
    first_bytes_ = bytes;
    first_ns_ = took_ns;
    return;
  }
  if (bytes == first_bytes_)
    update(bytes, four_pages ? first_ns_ : took_ns, four_pages ? took_ns : first_ns_);
  first_bytes_ = 0;
  pieces_ = 0;
  begins_with_four_ = !begins_with_four_;
}

}  // namespace hearth::p2p
