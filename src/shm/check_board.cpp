#include "shm/check_board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "mpi.h"

namespace hearth::shm {
namespace {

constexpr uint64_t kMagic = 0x6b63656863687469;
constexpr uint32_t kRanksMax = 65536;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

const char* name_of(CheckClass kind) {
  switch (kind) {
    case CheckClass::collective_order:
      return "collectives in another order";
    case CheckClass::collective_arguments:
      return "collectives with other arguments";
    case CheckClass::type_mismatch:
      return "messages of another type";
    case CheckClass::reduced_text:
      return "reductions of characters";
    case CheckClass::buffer_changed:
      return "buffers changed while they were sent";
    case CheckClass::buffer_overlap:
      return "buffers that overlap";
    case CheckClass::request_lifecycle:
      return "requests freed while active";
    case CheckClass::ready_send:
      return "ready sends without a receive";
    case CheckClass::thread_level:
      return "calls from threads beyond the level asked for";
    case CheckClass::lost_message:
      return "messages never received";
    case CheckClass::leak:
      return "objects never freed";
    case CheckClass::file_refused:
      return "calls on files that were refused";
    case CheckClass::deadlock:
      return "deadlocks";
    case CheckClass::count_:
      break;
  }
  return "?";
}

size_t message_place(uint64_t comm, uint32_t to, int tag, uint64_t number) {
  const uint64_t stream = mix(mix(comm, to), static_cast<uint32_t>(tag));
  // Successive messages have adjacent records, so that a stream overwrites its own records only after a full
  // round.
  return static_cast<size_t>((stream + number) % kCheckMessages);
}

size_t collective_place(uint64_t comm, uint64_t number) {
  return static_cast<size_t>((mix(comm, 1) + number) % kCheckCollectives);
}

CheckBoard::~CheckBoard() {
  if (header_ != nullptr) os::release(header_, bytes_);
}

CheckBoard::CheckBoard(CheckBoard&& other) noexcept {
  swap(other);
}

CheckBoard& CheckBoard::operator=(CheckBoard&& other) noexcept {
  swap(other);
  return *this;
}

void CheckBoard::swap(CheckBoard& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(header_, other.header_);
  std::swap(bytes_, other.bytes_);
}

size_t CheckBoard::bytes_for(uint32_t ranks) {
  const size_t page = os::page_bytes();
  return (sizeof(BoardHeader) + ranks * sizeof(RankPart) + page - 1) / page * page;
}

Status CheckBoard::create(uint32_t ranks, CheckBoard& board) {
  const size_t bytes = bytes_for(ranks);
  os::Descriptor file(os::create_sparse_memory("hearth-check", bytes));
  void* address = file.open() ? os::map_sparse(file.number(), 0, bytes) : nullptr;
  if (address == nullptr) {
    return fail(MPI_ERR_NO_MEM, "--check: cannot make the file that the ranks share: %s",
                std::strerror(errno));
  }
  board.file_ = std::move(file);
  board.header_ = static_cast<BoardHeader*>(address);
  board.bytes_ = bytes;
  board.header_->ranks = ranks;
  board.header_->magic = kMagic;
  return {};
}

bool CheckBoard::attach(os::Descriptor file, CheckBoard& board) {
  const size_t bytes = os::file_bytes(file.number());
  if (bytes < bytes_for(1)) return false;
  void* address = os::map_sparse(file.number(), 0, bytes);
  if (address == nullptr) return false;
  auto* header = static_cast<BoardHeader*>(address);
  if (header->magic != kMagic || header->ranks > kRanksMax || bytes_for(header->ranks) != bytes) {
    os::release(address, bytes);
    return false;
  }
  board.file_ = std::move(file);
  board.header_ = header;
  board.bytes_ = bytes;
  return true;
}

RankPart& CheckBoard::part(uint32_t rank) const {
  auto* parts = reinterpret_cast<RankPart*>(header_ + 1);
  return parts[std::min(rank, header_->ranks - 1)];
}

bool CheckBoard::report_once(uint64_t key) const {
  if (key == 0) key = 1;
  for (size_t step = 0; step < kCheckKeys; ++step) {
    uint64_t& place = header_->reported[(key + step) % kCheckKeys];
    const uint64_t there = atomic::load_relaxed(place);
    if (there == key) return false;
    if (there != 0) continue;
    if (atomic::compare_exchange(place, uint64_t{0}, key)) return true;
    if (atomic::load_relaxed(place) == key) return false;
  }
  return true;
}

void CheckBoard::add(CheckClass kind, uint32_t rank, const std::string& text) const {
  atomic::fetch_add(header_->found[static_cast<size_t>(kind)], uint64_t{1});
  const uint32_t place = atomic::fetch_add(header_->findings, 1u);
  if (place >= kCheckFindings) return;
  CheckFinding& finding = header_->finding[place];
  finding.kind = static_cast<uint32_t>(kind);
  finding.rank = rank;
  const size_t bytes = std::min(text.size(), sizeof finding.text - 1);
  std::memcpy(finding.text, text.data(), bytes);
  // Pairs with mpiexec's load when it prints the findings.
  atomic::store_release(finding.written, 1u);
}

std::string CheckBoard::site_words(uint32_t rank, uint32_t site) const {
  if (rank >= header_->ranks) return "";
  const RankPart& of_rank = part(rank);
  // Pairs with the store of the rank that has written the text.
  if (site >= std::min<size_t>(atomic::load_acquire(of_rank.sites), kCheckSites)) return "";
  const char* text = of_rank.site[site].text;
  return std::string(text, strnlen(text, kCheckTextBytes));
}

}  // namespace hearth::shm
