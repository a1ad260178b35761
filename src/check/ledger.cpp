#include "check/ledger.h"

#include <algorithm>

namespace hearth::check {

void Ledger::add(ObjectKind kind, uint64_t handle, MadeBy made_by, bool lasting) {
  constexpr uint64_t kPredefined = 4096;
  if (handle < kPredefined) return;
  const std::lock_guard guard(mutex_);
  Entry& entry = entries_[handle];
  if (entry.makers.empty()) entry = {kind, ++generations_, lasting, {}};
  entry.makers.push_back(made_by);
}

std::optional<MadeBy> Ledger::remove(ObjectKind kind, uint64_t handle) {
  const std::lock_guard guard(mutex_);
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.kind != kind) return std::nullopt;
  const MadeBy maker = found->second.makers.back();
  found->second.makers.pop_back();
  if (found->second.makers.empty()) entries_.erase(found);
  return maker;
}

uint64_t Ledger::generation(uint64_t handle) const {
  const std::lock_guard guard(mutex_);
  const auto found = entries_.find(handle);
  return found == entries_.end() ? 0 : found->second.generation;
}

std::vector<Ledger::Left> Ledger::left(bool any_time) const {
  const std::lock_guard guard(mutex_);
  std::vector<Left> result;
  for (const auto& [handle, entry] : entries_) {
    // These kinds may be freed after MPI_Finalize.
    const bool later = entry.kind == ObjectKind::info || entry.kind == ObjectKind::errhandler;
    if (entry.lasting || later != any_time) continue;
    for (const MadeBy& maker : entry.makers) {
      const auto same = std::find_if(result.begin(), result.end(), [&, &entry = entry](const Left& left) {
        return left.kind == entry.kind && left.made_by.call == maker.call &&
               left.made_by.return_address == maker.return_address;
      });
      if (same != result.end()) {
        ++same->number;
      } else {
        result.push_back({entry.kind, maker, 1});
      }
    }
  }
  std::sort(result.begin(), result.end(), [](const Left& a, const Left& b) {
    return std::pair(a.kind, a.made_by.return_address) < std::pair(b.kind, b.made_by.return_address);
  });
  return result;
}

const char* name_of(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::comm:
      return "communicator";
    case ObjectKind::group:
      return "group";
    case ObjectKind::type:
      return "datatype";
    case ObjectKind::op:
      return "reduction operation";
    case ObjectKind::info:
      return "info object";
    case ObjectKind::errhandler:
      return "error handler";
    case ObjectKind::session:
      return "session";
    case ObjectKind::message:
      return "message of MPI_Mprobe";
    case ObjectKind::file:
      return "file";
    case ObjectKind::count_:
      break;
  }
  return "?";
}

}  // namespace hearth::check
