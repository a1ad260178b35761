#include "launch/job_report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/os_wait.h"
#include "launch/call_name.h"
#include "mpi.h"
#include "profile/report/json.h"
#include "profile/report/page.h"
#include "profile/report/trace.h"
#include "profile/report/words.h"

namespace hearth::launch {
namespace {

// Events per rank (5 MiB); trace viewers remain responsive with this many.
constexpr uint64_t kTraceEvents = 1 << 17;

std::string command_of(const JobSpec& job) {
  std::string text;
  for (const ProgramSpec& program : job.programs) {
    text += (text.empty() ? "-n " : " : -n ") + std::to_string(program.ranks);
    for (const std::string& word : program.command) text += " " + word;
  }
  return text;
}

bool write_all(int descriptor, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const intptr_t written = os::write_some(descriptor, text.data() + at, text.size() - at);
    if (written <= 0 && errno != EINTR) return false;
    if (written > 0) at += static_cast<size_t>(written);
  }
  return true;
}

void note(const std::string& text) {
  std::fprintf(stderr, "mpiexec: %s\n", text.c_str());
}

}  // namespace

Status JobReport::open_file(const std::string& name, File& file) {
  file = {name, os::open_to_write(name.c_str())};
  if (file.descriptor.open()) return {};
  return fail(MPI_ERR_ARG, "cannot write '%s': %s", name.c_str(), std::strerror(errno));
}

Status JobReport::open(const JobSpec& job, int ranks, JobReport& report) {
  for (const std::string& name : job.profile_files) {
    HEARTH_TRY(open_file(name, report.profiles_.emplace_back()));
  }
  if (!job.trace_file.empty()) HEARTH_TRY(open_file(job.trace_file, report.trace_));
  if (report.profiles_.empty() && job.trace_file.empty()) return {};
  return profile::Board::create(static_cast<uint32_t>(ranks), job.trace_file.empty() ? 0 : kTraceEvents,
                                report.board_);
}

void JobReport::write(const JobSpec& job, const shm::Segment& segment, int exit_code) const {
  if (!board_.usable()) return;
  profile::JobFacts facts;
  facts.command = command_of(job);
  facts.version = HEARTH_VERSION;
  facts.processors = static_cast<int>(segment.job().usable_processors);
  facts.exit_code = exit_code;
  facts.ended_ns = os::now_ns();
  facts.call_name = call_name;
  for (int rank = 0; rank < segment.rank_count(); ++rank) facts.places.push_back(segment.rank(rank).place);
  if (!profiles_.empty()) {
    const profile::Summary summary = profile::summarize(board_, facts);
    for (const File& file : profiles_) {
      const bool as_json = file.name.ends_with(".json");
      if (!write_all(file.descriptor.number(), as_json ? to_json(summary) : to_page(summary))) {
        note("cannot write '" + file.name + "': " + std::strerror(errno));
      }
    }
    note(summary.verdict);
    if (summary.machines() > 1) note(machines_words(summary));
  }
  if (trace_.descriptor.open()) {
    bool whole = true;
    const auto write_piece = [&](const std::string& piece) {
      return whole = write_all(trace_.descriptor.number(), piece);
    };
    const profile::TraceCounts told = profile::write_trace(board_, facts, write_piece);
    if (!whole) note("cannot write '" + trace_.name + "': " + std::strerror(errno));
    if (told.dropped > 0) {
      note("the trace holds " + std::to_string(told.events) + " events; " + std::to_string(told.dropped) +
           " later ones found no room in their rank's buffer");
    }
  }
}

}  // namespace hearth::launch
