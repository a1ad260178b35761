#include "launch/job_check.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/atomic.h"
#include "base/param.h"
#include "launch/call_name.h"
#include "launch/heap_preload.h"
#include "launch/program.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kLinesMax = 16;

void note(const std::string& text) {
  std::fprintf(stderr, "mpiexec: %s\n", text.c_str());
}

std::string at(const std::string& site) {
  return site.empty() ? "" : " at " + site;
}

bool is_choice(const std::string& word) {
  return word == "yes" || word == "no" || word == "fatal" || word == "strict";
}

}  // namespace

Status JobCheck::open(const JobSpec& job, int ranks, JobCheck& check) {
  const std::string wish = param::get_text(param::Id::check);
  check.how_ = !job.check.empty() ? job.check : !wish.empty() ? wish : "no";
  for (size_t begin = 0; begin <= check.how_.size();) {
    const size_t end = std::min(check.how_.find(',', begin), check.how_.size());
    const std::string word = check.how_.substr(begin, end - begin);
    if (!is_choice(word)) {
      return fail(MPI_ERR_ARG, "--check: '%s' is none of yes, fatal, strict and no", word.c_str());
    }
    if (word == "no") return {};
    check.fatal_ = check.fatal_ || word == "fatal";
    begin = end + 1;
  }
  check.library_ = library_beside("libhearth_check.so");
  if (check.library_.empty()) {
    return fail(MPI_ERR_ARG,
                "--check: libhearth_check.so is not in the lib folder of this installation, or its path has "
                "a colon or "
                "a space in it");
  }
  if (!job.check_json.empty()) {
    check.json_name_ = job.check_json;
    check.json_ = os::open_to_write(job.check_json.c_str());
    if (!check.json_.open()) {
      return fail(MPI_ERR_ARG, "cannot write '%s': %s", job.check_json.c_str(), std::strerror(errno));
    }
  }
  return shm::CheckBoard::create(static_cast<uint32_t>(ranks), check.board_);
}

void JobCheck::add_to(std::vector<std::string>& environment) const {
  if (!wanted()) return;
  add_preload(library_, environment);
  set_variable(environment, "HEARTH_CHECK", how_);
}

void JobCheck::note_deadlock(const std::string& text) const {
  if (wanted()) board_.add(shm::CheckClass::deadlock, shm::kNoRank, text);
}

bool JobCheck::all_finalized() const {
  for (uint32_t rank = 0; rank < board_.ranks(); ++rank) {
    // Pairs with the release store at the end of MPI_Finalize.
    if (atomic::load_acquire(board_.part(rank).finalized) == 0) return false;
  }
  return true;
}

std::string JobCheck::name_of_comm(uint32_t rank, uint32_t place) const {
  if (place >= shm::kCheckComms) return "a communicator";
  const char* name = board_.part(rank).comm[place].name;
  const std::string text(name, strnlen(name, sizeof shm::CheckComm::name));
  return text.empty() ? "a communicator without a name" : text;
}

void JobCheck::tell(shm::CheckClass kind, const std::vector<std::string>& lines) const {
  std::string all;
  for (const std::string& line : lines) {
    std::fprintf(stderr, "check: %s%s\n", all.empty() ? "" : "  ", line.c_str());
    all += (all.empty() ? "" : "\n") + line;
  }
  board_.add(kind, shm::kNoRank, all);
}

// Pre: all ranks have finalized, so a recorded message without a matching receive is lost.
void JobCheck::look_for_lost_messages() const {
  uint64_t sent = 0;
  uint64_t received = 0;
  bool all_counted = true;
  for (uint32_t rank = 0; rank < board_.ranks(); ++rank) {
    const shm::RankPart& part = board_.part(rank);
    sent += part.messages_sent;
    received += part.messages_received;
    all_counted = all_counted && part.uncounted == 0;
  }
  if (all_counted && sent == received) return;
  using Key = std::tuple<uint32_t, uint32_t, int, uint32_t, uint32_t>;  // from, to, tag, site, communicator
  std::map<Key, std::pair<uint64_t, const shm::MessageRecord*>> lost;
  for (uint32_t rank = 0; rank < board_.ranks(); ++rank) {
    for (const shm::MessageRecord& record : board_.part(rank).message) {
      if (record.version == 0 || record.taken != 0 || record.to >= board_.ranks()) continue;
      if (board_.part(record.to).uncounted != 0) continue;
      auto& entry = lost[{rank, record.to, record.tag, record.site, record.comm_place}];
      ++entry.first;
      entry.second = &record;
    }
  }
  size_t lines = 0;
  for (const auto& [key, entry] : lost) {
    if (++lines > kLinesMax) break;
    const uint32_t from = std::get<0>(key);
    const shm::MessageRecord& record = *entry.second;
    const std::string number = entry.first == 1 ? "a message" : std::to_string(entry.first) + " messages";
    tell(shm::CheckClass::lost_message,
         {number + " from rank " + std::to_string(from) + " to rank " + std::to_string(record.to) + ", tag " +
              std::to_string(record.tag) + ", on " + name_of_comm(from, record.comm_place) +
              (entry.first == 1 ? " was" : " were") + " never received",
          std::string("sent in ") + call_name(record.call) + at(board_.site_words(from, record.site)),
          "Each message has to be received before MPI_Finalize (MPI 5.0 section 11.2.2). Remedy: the receive "
          "that is "
          "missing, or that asks for another tag or communicator"});
  }
  if (lost.size() > kLinesMax) note("and " + std::to_string(lost.size() - kLinesMax) + " more such places");
}

// Finds collectives that some ranks completed without waiting for the ranks that never called them.
void JobCheck::look_for_missing_collectives() const {
  struct Side {
    uint64_t number = 0;
    uint32_t rank = 0;
    const shm::CheckComm* comm = nullptr;
  };
  std::map<uint64_t, std::pair<Side, Side>> by_comm;  // ranks with the fewest and the most calls
  for (uint32_t rank = 0; rank < board_.ranks(); ++rank) {
    const shm::RankPart& part = board_.part(rank);
    for (uint32_t place = 0; place < std::min<size_t>(part.comms, shm::kCheckComms); ++place) {
      const shm::CheckComm& comm = part.comm[place];
      const Side side = {comm.collectives, rank, &comm};
      auto [entry, fresh] = by_comm.try_emplace(comm.id, side, side);
      if (fresh) continue;
      if (side.number < entry->second.first.number) entry->second.first = side;
      if (side.number > entry->second.second.number) entry->second.second = side;
    }
  }
  for (const auto& [id, sides] : by_comm) {
    const auto& [fewest, most] = sides;
    // A communicator that only some ranks freed is reported for the others as never freed.
    if (fewest.number == most.number || fewest.comm->freed != most.comm->freed) continue;
    const auto last = [&](const Side& side) {
      if (side.number == 0) return "rank " + std::to_string(side.rank) + ": none";
      return "rank " + std::to_string(side.rank) + ": " + std::to_string(side.number) + ", the last one " +
             call_name(side.comm->last_call) + at(board_.site_words(side.rank, side.comm->last_site));
    };
    tell(shm::CheckClass::collective_order,
         {"ranks have called different numbers of collectives on " +
              std::string(most.comm->name, strnlen(most.comm->name, sizeof most.comm->name)),
          last(most), last(fewest),
          "All members call the collectives of a communicator, in the same order (MPI 5.0 section 6.14). "
          "Remedy: the "
          "call that is missing"});
  }
}

void JobCheck::write_json() const {
  nlohmann::json findings = nlohmann::json::array();
  const uint32_t number = std::min<uint32_t>(board_.header().findings, shm::kCheckFindings);
  for (uint32_t i = 0; i < number; ++i) {
    const shm::CheckFinding& finding = board_.header().finding[i];
    if (atomic::load_acquire(finding.written) == 0) continue;  // its rank was killed while writing
    nlohmann::json row = {{"class", shm::name_of(static_cast<shm::CheckClass>(finding.kind))},
                          {"text", std::string(finding.text, strnlen(finding.text, sizeof finding.text))}};
    if (finding.rank != shm::kNoRank) row["rank"] = finding.rank;
    findings.push_back(row);
  }
  nlohmann::json counts;
  for (size_t kind = 0; kind < shm::kCheckClasses; ++kind) {
    counts[shm::name_of(static_cast<shm::CheckClass>(kind))] = board_.header().found[kind];
  }
  const std::string text = nlohmann::json({{"findings", findings}, {"counts", counts}})
                               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                           "\n";
  for (size_t done = 0; done < text.size();) {
    const intptr_t more = os::write_some(json_.number(), text.data() + done, text.size() - done);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) {
      note("cannot write '" + json_name_ + "': " + std::strerror(errno));
      return;
    }
    done += static_cast<size_t>(more);
  }
}

int JobCheck::finish(int exit_code, bool started) {
  if (!wanted()) return exit_code;
  uint32_t attached = 0;
  uint64_t messages = 0;
  uint64_t compared = 0;
  uint64_t collectives = 0;
  for (uint32_t rank = 0; rank < board_.ranks(); ++rank) {
    const shm::RankPart& part = board_.part(rank);
    attached += part.attached;
    messages += part.messages_received;
    compared += part.messages_compared;
    collectives += part.collectives;
  }
  if (attached == board_.ranks() && all_finalized()) {
    look_for_lost_messages();
    look_for_missing_collectives();
  }
  uint64_t found = 0;
  std::string text;
  for (size_t kind = 0; kind < shm::kCheckClasses; ++kind) {
    const uint64_t number = atomic::load_relaxed(board_.header().found[kind]);
    found += number;
    if (number == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(shm::name_of(static_cast<shm::CheckClass>(kind))) + " " +
            std::to_string(number);
  }
  const std::string checked = std::to_string(messages) + " messages, of which " + std::to_string(compared) +
                              " could be compared, and " + std::to_string(collectives) +
                              " calls of collectives";
  if (attached == 0) {
    if (started) note("check: nothing was checked: no rank called MPI_Init with libhearth_check.so loaded");
  } else if (found == 0) {
    note("check: nothing found in " + checked);
  } else {
    note("check: found " + text + "; checked " + checked);
  }
  if (json_.open()) write_json();
  return exit_code == 0 && fatal_ && found > 0 ? 1 : exit_code;
}

}  // namespace hearth::launch
