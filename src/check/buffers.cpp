#include "check/buffers.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace hearth::check {
namespace {

constexpr size_t kLanes = 4;
constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

uint64_t hash_bytes(uintptr_t address, size_t bytes, uint64_t seed) {
  const auto* from = reinterpret_cast<const unsigned char*>(address);
  uint64_t lanes[kLanes] = {seed, seed + 1, seed + 2, seed + 3};
  size_t at = 0;
  for (; at + sizeof lanes <= bytes; at += sizeof lanes) {
    uint64_t words[kLanes];
    std::memcpy(words, from + at, sizeof words);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = (lanes[lane] ^ words[lane]) * kFactor;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  }
  for (; at < bytes; ++at) lanes[0] = (lanes[0] ^ from[at]) * kFactor;
  uint64_t hash = bytes;
  for (const uint64_t lane : lanes) hash = (hash ^ lane ^ lane >> 31) * kFactor;
  return hash;
}

}  // namespace

void Buffer::add(uintptr_t address, int64_t count, TypePointer type) {
  if (type == nullptr || count <= 0 || type->size == 0) return;
  const int64_t over = (count - 1) * type->extent;
  const uintptr_t first =
      address + static_cast<uintptr_t>(type->true_lower_bound + std::min<int64_t>(over, 0));
  const uintptr_t last = address + static_cast<uintptr_t>(type->true_lower_bound + type->true_extent +
                                                          std::max<int64_t>(over, 0));
  bounds_.first = std::min(bounds_.first, first);
  bounds_.second = std::max(bounds_.second, last);
  pieces_.push_back({address, count, std::move(type)});
}

bool Buffer::segments(std::vector<Segment>& result) const {
  for (const Piece& piece : pieces_) {
    if (!add_segments(*piece.type, piece.address, piece.count, result)) return false;
  }
  return true;
}

uint64_t Buffer::checksum() const {
  std::vector<Segment> parts;
  if (!segments(parts)) return 0;
  uint64_t hash = 1;
  for (const Segment& part : parts) hash = hash_bytes(part.first, part.second - part.first, hash);
  return hash == 0 ? 1 : hash;
}

uintptr_t Buffer::shared_with(const Buffer& other) const {
  if (empty() || other.empty()) return 0;
  if (bounds_.second <= other.bounds_.first || other.bounds_.second <= bounds_.first) return 0;
  std::vector<Segment> mine;
  std::vector<Segment> theirs;
  if (!segments(mine) || !other.segments(theirs)) return 0;
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  for (size_t i = 0, j = 0; i < mine.size() && j < theirs.size();) {
    const uintptr_t first = std::max(mine[i].first, theirs[j].first);
    if (first < std::min(mine[i].second, theirs[j].second)) return first;
    mine[i].second < theirs[j].second ? ++i : ++j;
  }
  return 0;
}

std::string words_of(const Buffer& buffer) {
  const Segment& bounds = buffer.bounds();
  char text[64];
  std::snprintf(text, sizeof text, "0x%" PRIxPTR " to 0x%" PRIxPTR, bounds.first, bounds.second);
  return text;
}

}  // namespace hearth::check
