#include "check/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomic.h"
#include "base/os_process.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::check {
namespace {

constexpr const char* kPrefix = "check: ";
constexpr const char* kIndented = "check:   ";

// The file that mpiexec passes in HEARTH_CHECK_BOARD=descriptor:inode:pid.
os::Descriptor board_file() {
  const char* words = std::getenv("HEARTH_CHECK_BOARD");
  int descriptor = -1;
  uint64_t inode = 0;
  int launcher = 0;
  if (words == nullptr || std::sscanf(words, "%d:%" SCNu64 ":%d", &descriptor, &inode, &launcher) != 3) {
    return os::Descriptor();
  }
  if (os::identity_of(descriptor).inode == inode) {
    os::set_close_on_exec(descriptor, true);
    return os::Descriptor(descriptor);
  }
  // A program between mpiexec and this process has closed it: open the launcher's own descriptor.
  const std::string path = "/proc/" + std::to_string(launcher) + "/fd/" + std::to_string(descriptor);
  os::Descriptor file = os::open_to_read_and_write(path.c_str());
  if (!file.open() || os::identity_of(file.number()).inode != inode) return os::Descriptor();
  return file;
}

}  // namespace

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ (value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2))) * 0xbf58476d1ce4e5b9;
  return hash ^ hash >> 29;
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = text.size();
  for (const char letter : text) hash = mix(hash, static_cast<unsigned char>(letter));
  return hash;
}

void Report::open() {
  if (board_.usable()) return;
  const std::string words = param::get_text(param::Id::check);
  fatal_ = words.find("fatal") != std::string::npos;
  strict_ = words.find("strict") != std::string::npos;
  const char* rank = std::getenv("HEARTH_RANK");
  if (rank == nullptr) return;
  rank_ = static_cast<uint32_t>(std::strtoul(rank, nullptr, 10));
  os::Descriptor file = board_file();
  if (!file.open() || !shm::CheckBoard::attach(std::move(file), board_)) return;
  // The rank's part is in use already: this process was started by the rank and must not write to it.
  if (rank_ >= board_.ranks() || atomic::exchange(own().attached, 1u) != 0) {
    board_ = shm::CheckBoard();
    return;
  }
  // Publish the sites that were recorded before the board was open.
  for (const std::string& text : own_sites_) {
    const uint32_t place = own().sites;
    if (place >= shm::kCheckSites) break;
    std::strncpy(own().site[place].text, text.c_str(), shm::kCheckTextBytes - 1);
    atomic::store_release(own().sites, place + 1);  // pairs with CheckBoard::site_words
  }
}

std::string Report::words_for(const void* address) {
  // Read the mappings again each time, because libraries may have been loaded; each site is looked up only
  // once.
  const launch::ProcessCode code(os::process_id(), tables_);
  const std::string words = launch::words_of(code.find(reinterpret_cast<uintptr_t>(address) - 1));
  return words.empty() ? "a place without a name" : words;
}

uint32_t Report::site_of(const void* return_address) {
  const auto known = sites_.find(return_address);
  if (known != sites_.end()) return known->second;
  const auto number = static_cast<uint32_t>(own_sites_.size());
  own_sites_.push_back(words_for(return_address));
  sites_[return_address] = number;
  if (has_board() && number < shm::kCheckSites) {
    std::strncpy(own().site[number].text, own_sites_.back().c_str(), shm::kCheckTextBytes - 1);
    atomic::store_release(own().sites, number + 1);  // pairs with CheckBoard::site_words
  }
  return number;
}

std::string Report::site_words(uint32_t rank, uint32_t site) const {
  if (rank == rank_) return site < own_sites_.size() ? own_sites_[site] : "";
  return board_.usable() ? board_.site_words(rank, site) : "";
}

bool Report::first_to_tell(uint64_t key) {
  if (has_board()) return board_.report_once(key);
  return told_.emplace(key, true).second;
}

void Report::add(const Finding& finding, bool at_end) {
  std::string text = finding.what;
  for (const std::string& detail : finding.details) text += "\n" + detail;
  uint64_t key = finding.key;
  if (key == 0) {
    // Report once per site: loops, and all ranks, would repeat the finding.
    key = hash_of(std::to_string(static_cast<int>(finding.kind)));
    for (const std::string& detail : finding.details) key = mix(key, hash_of(detail));
    if (finding.details.empty()) key = mix(key, hash_of(finding.what));
  }
  const bool first = first_to_tell(mix(key, static_cast<uint64_t>(finding.kind)));
  if (first) {
    std::string lines = std::string(kPrefix) + "rank " + std::to_string(rank_) + ": " + finding.what + "\n";
    for (const std::string& detail : finding.details) lines += kIndented + detail + "\n";
    lines += kIndented + finding.why + "\n";
    static_cast<void>(os::write_some(2, lines.data(), lines.size()));
  }
  if (has_board()) {
    if (first) {
      board_.add(finding.kind, rank_, text + "\n" + finding.why);
    } else {
      atomic::fetch_add(board_.header().found[static_cast<size_t>(finding.kind)], uint64_t{1});
    }
  }
  if (fatal_ && !at_end) PMPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace hearth::check
