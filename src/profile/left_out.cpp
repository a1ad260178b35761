// The rank's half of --profile and --trace in a build without them. No board can be attached, so there is
// never a recorder (profile::process_recorder), and its functions are never called.
#include "base/left_out.h"
#include "base/check.h"
#include "profile/board.h"
#include "profile/recorder.h"

namespace hearth::profile {
namespace {

constexpr const char* kOption = "HEARTH_WITH_PROFILE";

}  // namespace

Board::~Board() = default;

Board& Board::operator=(Board&&) noexcept {
  return *this;
}

Status Board::create(uint32_t, uint64_t, Board&) {
  return left_out("a profile", kOption);
}

Status Board::attach(os::Descriptor, uint32_t, int, Board&) {
  return left_out("mpiexec --profile", kOption);
}

Status Board::create_part(const std::string&, uint32_t, int, const PartFacts&, Board&) {
  return left_out("HEARTH_PROFILE_FOLDER", kOption);
}

Part Board::part(int) const {
  return {};
}

bool Board::reserve_comm(int) const {
  return false;
}

Recorder::Recorder(const Board& board, PeerIndex self, int) : board_(board), part_(), head_(*part_.head) {
  HEARTH_CHECK(board_.part(self).head != nullptr);  // never: no board is usable
}

void Recorder::begin() {}
void Recorder::end(uint64_t) {}
void Recorder::set_limits(PeerIndex, topo::Relation, const Limits&) {}
void Recorder::set_method(PeerIndex, const char*) {}
void Recorder::sent(PeerIndex, int, uint64_t, int, bool) {}
void Recorder::fell_back(PeerIndex, int, uint64_t) {}
void Recorder::arrived(PeerIndex, uint64_t, int) {}
void Recorder::received_sample(uint64_t) {}
void Recorder::unexpected(size_t, uint64_t) {}
void Recorder::copied(PeerIndex, uint64_t, uint64_t, uint64_t) {}
void Recorder::waited(Wait, PeerIndex, uint64_t, bool, int) {}
void Recorder::wait_is_over(Wait, PeerIndex, uint64_t, uint64_t) {}
int Recorder::note_site() {
  return -1;
}
Moment* Recorder::collective(const CommFacts&, const CollectiveCall&) {
  return nullptr;
}
void Recorder::called(int, uint64_t, uint64_t) {}

void count_drawn_post(int, uint64_t) {}

}  // namespace hearth::profile
