#include "launch/job.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "base/os_machine.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "launch/program.h"
#include "launch/why_words.h"

namespace hearth::launch {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
// How long processes that ranks have started may still write after all ranks have ended.
constexpr uint64_t kDrainNs = 200 * kNsPerMs;
// After this time an incomplete line is shown on a terminal, because it may be a prompt.
constexpr uint64_t kPromptNs = 100 * kNsPerMs;
constexpr size_t kStateLines = 16;
// With --check, waits of this length are examined for deadlocks.
constexpr uint64_t kCheckWhyNs = 1000 * kNsPerMs;
// Without --why and --check, only waits for ended ranks are examined, after this time.
constexpr uint64_t kUnaskedWhyNs = 10'000 * kNsPerMs;
// Most scripts have loaded their modules by then; job_guard.cpp examines slower ones once more.
constexpr uint64_t kGuardNs = 2000 * kNsPerMs;
constexpr uint64_t kStubbornNs = 1000 * kNsPerMs;
constexpr int kTimeoutCode = 124;  // as in timeout(1)

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

uint64_t token_of(uint32_t source, uint32_t index) {
  return static_cast<uint64_t>(source) << 32 | index;
}

shm::RankPhase phase_of(const shm::RankBlock& block) {
  return static_cast<shm::RankPhase>(atomic::load_acquire(block.phase));
}

bool due(uint64_t time_ns, uint64_t now_ns) {
  return time_ns != 0 && now_ns >= time_ns;
}

}  // namespace

Job::Job(const JobSpec& spec, const Reaper& reaper, const shm::Segment& segment, const shm::Arena& arena,
         const profile::Board& board, const JobCheck& check, std::vector<Binding> bindings,
         ParentLink& parent)
    : spec_(spec),
      reaper_(reaper),
      segment_(segment),
      arena_(arena),
      board_(board),
      check_(check),
      bindings_(std::move(bindings)),
      parent_(parent),
      ranks_(bindings_.size()),
      liveness_(segment),
      observer_(segment),
      waits_told_(bindings_.size()) {
  open_sinks();
}

int Job::run(char** own_environment) {
  memory_kills_before_ = os::out_of_memory_kills();
  reserve_.take();
  os::raise_descriptor_limit();
  signals_ = std::make_unique<os::SignalInbox>(kSignals);
  const uint64_t signals = token_of(static_cast<uint32_t>(Source::signals), 0);
  const bool added = signals_->descriptor() >= 0 && poller_.add(signals_->descriptor(), signals, true, false);
  if (added) poller_.wait(0);
  if (!added || poller_.refusal() != 0) {
    say(std::string("cannot wait for signals (signalfd, epoll): ") + std::strerror(errno) +
        ". Remedy: raise the limit on open files (ulimit -n), or allow these calls where a sandbox refuses "
        "them");
    clear_up();
    return 1;
  }
  if (spec_.timeout_ns != 0) limit_at_ = os::now_ns() + spec_.timeout_ns;
  why_asked_ = spec_.why_ns != 0 || check_.wanted();
  why_ns_ = spec_.why_ns != 0 ? spec_.why_ns : why_asked_ ? kCheckWhyNs : kUnaskedWhyNs;
  why_at_ = os::now_ns() + why_ns_;
  if (rank_count() > 1) guard_at_ = os::now_ns() + kGuardNs;

  if (!start_ranks(own_environment)) {
    start_failed_ = true;
    end_job(exit_code_ == 0 ? 1 : exit_code_, true);
  }
  complaints_.write_end.reset();  // the ranks' copies are close-on-exec
  if (parent_.open()) {
    poller_.add(parent_.descriptor(), token_of(static_cast<uint32_t>(Source::parent), 0), true, false);
  }
  loop();
  clear_up();
  if (die_of_broken_pipe_) os::die_of_signal(SIGPIPE);
  return exit_code_;
}

void Job::loop() {
  while (!finished()) {
    for (const os::Poller::Event& event : poller_.wait(next_timeout_ms())) {
      handle(static_cast<Source>(event.token >> 32), static_cast<uint32_t>(event.token));
    }
    handle_times();
    flush_all();
    watch_terminal();
  }
}

bool Job::finished() const {
  if (cannot_kill_) return true;
  if (running_ > 0) return false;
  return streams_open_ == 0 || due(drain_until_, os::now_ns());
}

void Job::handle(Source source, uint32_t index) {
  switch (source) {
    case Source::signals:
      handle_signals();
      break;
    case Source::complaints:
      handle_complaints();
      break;
    case Source::parent:
      handle_parent();
      break;
    case Source::rank: {
      // Verify that the process has ended: the event may belong to an earlier use of its descriptor number.
      Rank& rank = ranks_[index];
      if (!rank.ended && os::has_ended(rank.pid, rank.end)) rank_has_ended(index);
      break;
    }
    case Source::output:
      handle_stream(ranks_[index].output, source, index);
      break;
    case Source::error:
      handle_stream(ranks_[index].error, source, index);
      break;
    case Source::sink:
      break;  // all sinks are flushed before the next wait
    case Source::terminal:
      terminal_.read();
      break;
    case Source::terminal_pipe:
      terminal_.flush();
      break;
  }
}

int Job::next_timeout_ms() const {
  uint64_t next = 0;
  for (const uint64_t time : {limit_at_, terminate_at_, kill_at_, drain_until_, prompt_at_, why_at_,
                              grace_ends_at_, words_at_, stubborn_at_, guard_at_}) {
    if (time != 0 && (next == 0 || time < next)) next = time;
  }
  if (next == 0) return -1;
  const uint64_t now = os::now_ns();
  if (next <= now) return 0;
  return static_cast<int>(std::min((next - now) / kNsPerMs + 1, uint64_t{1'000'000}));
}

void Job::handle_times() {
  const uint64_t now = os::now_ns();
  if (due(limit_at_, now)) {
    limit_at_ = 0;
    time_is_over();
  }
  if (due(terminate_at_, now)) {
    terminate_at_ = 0;
    signal_ranks(SIGTERM);
  }
  if (due(kill_at_, now)) {
    kill_at_ = 0;
    signal_ranks(SIGKILL);
  }
  if (due(stubborn_at_, now)) {
    stubborn_at_ = 0;
    if (running_ > 0) {
      say(running_words("rank") + (running_ == 1 ? " has" : " have") +
          " not ended yet; the same signal once more kills " + (running_ == 1 ? "it" : "them"));
    }
  }
  if (due(guard_at_, now)) look_for_other_mpis();
  if (due(why_at_, now)) look_for_standstill();
  if (due(grace_ends_at_, now)) look_for_survivors();
  if (due(words_at_, now)) say_what_they_did(false);
  if (due(prompt_at_, now)) {
    prompt_at_ = 0;
    for (Rank& rank : ranks_) {
      if (rank.output.open()) rank.output.flush_unfinished();
      if (rank.error.open()) rank.error.flush_unfinished();
    }
  }
}

// ---- signals

void Job::handle_signals() {
  for (int signal = signals_->next(); signal != 0; signal = signals_->next()) handle_signal(signal);
}

void Job::handle_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      look_for_ended_ranks();
      return;
    case SIGINT:
    case SIGTERM:
      quiet_ = true;
      if (++interrupts_ > 1) {
        end_job(128 + signal, true);
        signal_ranks(SIGKILL);
        return;
      }
      stubborn_at_ = os::now_ns() + kStubbornNs;
      break;
    case SIGQUIT:
      quiet_ = true;
      say_why();
      break;
    case SIGHUP:
      quiet_ = true;
      break;
    case SIGTSTP:
      signal_ranks(SIGTSTP);
      flush_all();
      os::stop_self();
      return;
    default:
      break;
  }
  signal_ranks(signal);
}

void Job::signal_ranks(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.pid <= 0) continue;
    // An ended rank is not reaped yet, so its process group still has its number. Processes that it left in
    // the group are ended with the job, but do not receive forwarded signals.
    const bool to_all = signal == SIGTERM || signal == SIGKILL;
    if (rank.ended && !to_all) continue;
    const bool reached =
        os::signal_group(rank.pid, signal) || (!rank.ended && os::signal_process(rank.pid, signal));
    if (!reached && !rank.ended && signal == SIGKILL && errno == EPERM) give_up_killing();
    if (signal == SIGTERM) os::signal_group(rank.pid, SIGCONT);
  }
}

// The ranks have set PR_SET_PDEATHSIG: the kernel kills them when mpiexec ends, and no sandbox refuses that.
void Job::give_up_killing() {
  if (cannot_kill_) return;
  cannot_kill_ = true;
  say("cannot kill " + running_words("rank") + " (kill): " + std::strerror(errno) +
      ". mpiexec ends now, and the kernel kills its ranks. Remedy: allow kill where a sandbox refuses it");
  if (exit_code_ == 0) exit_code_ = 1;
}

// ---- ends of ranks

// For systems without pidfds.
void Job::look_for_ended_ranks() {
  for (uint32_t index = 0; index < rank_count(); ++index) {
    Rank& rank = ranks_[index];
    if (rank.pid <= 0 || rank.ended || rank.handle.open()) continue;
    if (os::has_ended(rank.pid, rank.end)) rank_has_ended(index);
  }
}

void Job::rank_has_ended(uint32_t index) {
  Rank& rank = ranks_[index];
  rank.ended = true;
  --running_;
  const shm::RankPhase phase = phase_of(segment_.rank(static_cast<int>(index)));
  rank.finalized = phase == shm::RankPhase::finalized;
  rank.cause = cause_of(rank.end, phase);
  // Publish the death before anything slow: other ranks wait for it.
  const bool outlived = rank.cause != Cause::none && !ending_ && others_return_errors();
  if (outlived) die_among_survivors(index);
  if (rank.end.by_signal && rank.end.code == SIGKILL) reserve_.release();
  if (rank.handle.open()) {
    poller_.remove(rank.handle.number());
    rank.handle.reset();
  }
  // The rank's last output precedes the message about its end.
  for (RankStream* stream : {&rank.output, &rank.error}) {
    const bool was_open = stream->open();
    stream->drain();
    if (was_open && !stream->open()) --streams_open_;
    tell_if_broken(*stream, index);
  }
  handle_complaints();
  if (outlived) {
    say_death(index);
  } else {
    judge(index);
  }
  if (running_ == 0) {
    if (death_code_ != 0 && !ending_) exit_code_ = code_of_survivors();
    grace_ends_at_ = 0;
    drain_until_ = os::now_ns() + kDrainNs;
    kill_at_ = terminate_at_ = limit_at_ = why_at_ = stubborn_at_ = guard_at_ = 0;
  }
}

void Job::judge(uint32_t index) {
  const Rank& rank = ranks_[index];
  // Pairs with the release store in MPI_Abort: the abort text is complete.
  const shm::JobHeader& job = segment_.job();
  const bool aborted = atomic::load_acquire(job.abort_written) != 0;
  if (rank.cause == Cause::none && !aborted) {
    // The parents, and the other ranks, wait for its MPI_Init.
    if (!parent_.collects() || ending_ || rank.finalized) return;
    say(rank_words(index) + " ended without calling MPI_Init");
    return end_job(1, true);
  }
  if (ending_) return liveness_.mark(static_cast<int>(index));
  if (aborted) {
    const std::string text(job.abort_text, strnlen(job.abort_text, sizeof job.abort_text));
    say("rank " + std::to_string(job.abort_rank) + " ended the job with code " +
        std::to_string(job.abort_code) + (text.empty() ? "" : ": " + text));
    const int code = job.abort_code & 0xff;
    end_job(code == 0 ? 1 : code, true);
    return;
  }
  // After a signal by the user no explanation is needed; the other ranks have received the same signal.
  if (!quiet_) {
    say(rank_words(index) + " " + describe_end(rank.end, rank.cause, memory_ran_out(rank)));
    say_states("ending " + running_words("other rank"));
  }
  liveness_.mark(static_cast<int>(index));
  end_job(exit_code_of(rank.end), !quiet_);
}

void Job::end_job(int exit_code, bool at_once) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  limit_at_ = why_at_ = stubborn_at_ = guard_at_ = 0;
  const uint64_t grace_ns = param::get_time_ns(param::Id::launch_grace);
  const uint64_t now = os::now_ns();
  terminate_at_ = at_once ? 0 : now + grace_ns;
  kill_at_ = (at_once ? now : terminate_at_) + grace_ns;
  if (at_once) signal_ranks(SIGTERM);
}

void Job::time_is_over() {
  if (ending_ || running_ == 0) return;
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g s", static_cast<double>(spec_.timeout_ns) / 1e9);
  say(std::string("the time limit of ") + limit + " is over");
  say("ending " + running_words("rank"));
  say_why();
  end_job(kTimeoutCode, true);
}

void Job::reader_is_gone() {
  for (const auto& sink : sinks_) {
    if (!sink->broken() || die_of_broken_pipe_ || (ending_ && exit_code_ != 0)) continue;
    if (sink->broken_by() == EPIPE) {
      die_of_broken_pipe_ = true;
    } else {
      say(std::string("cannot write the ranks' output: ") + std::strerror(sink->broken_by()));
    }
    end_job(1, true);
    exit_code_ = 1;
  }
}

// Ends the job: kills the processes that ranks left in their groups, and writes out the remaining output.
void Job::clear_up() {
  say_what_they_did(true);
  signal_ranks(SIGKILL);
  for (Rank& rank : ranks_) {
    if (rank.pid > 0 && (rank.ended || !cannot_kill_)) os::reap(rank.pid);
    rank.pid = -1;  // the number may be reused from here on
    rank.output.drain();
    rank.error.drain();
    rank.output.flush_unfinished();
    rank.error.flush_unfinished();
  }
  running_ = 0;
  const int interrupts_before = interrupts_;
  for (flush_all();; flush_all()) {
    const bool all_written =
        std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->empty(); });
    if (all_written || interrupts_ > interrupts_before || poller_.refusal() != 0) return;
    for (const os::Poller::Event& event : poller_.wait(-1)) {
      const auto source = static_cast<Source>(event.token >> 32);
      if (source == Source::signals || source == Source::sink)
        handle(source, static_cast<uint32_t>(event.token));
    }
  }
}

// ---- failures to start

void Job::handle_complaints() {
  if (!complaints_.read_end.open()) return;
  os::SpawnFailure failure;
  for (;;) {
    const intptr_t bytes = os::read_some(complaints_.read_end.number(), &failure, sizeof failure);
    if (bytes < 0) return;  // nothing more for now
    if (bytes != sizeof failure) break;
    if (start_failed_ || failure.tag >= rank_count()) continue;
    start_failed_ = true;
    const Program& program = *ranks_[failure.tag].program;
    const std::string& name = program.spec->command[0];
    const char* reason = std::strerror(failure.error);
    FoundProgram explained = {"", "", 1};
    switch (failure.step) {
      case os::SpawnStep::affinity:
        explained.problem = std::string("cannot bind it to its processors: ") + reason;
        break;
      case os::SpawnStep::folder:
        explained.problem = "cannot enter the folder '" + program.folder + "': " + reason;
        break;
      case os::SpawnStep::descriptors:
        explained.problem = std::string("cannot redirect its output: ") + reason;
        break;
      case os::SpawnStep::program: {
        const bool relative = !program.folder.empty() && program.path[0] != '/';
        explained = explain_failed_start(relative ? program.folder + "/" + program.path : program.path,
                                         failure.error);
        break;
      }
    }
    say("cannot start '" + name + "': " + explained.problem);
    end_job(explained.exit_code, true);
  }
  poller_.remove(complaints_.read_end.number());
  complaints_.read_end.reset();
}

// ---- the job that started this one by MPI_Comm_spawn

void Job::handle_parent() {
  if (!parent_.open()) return;
  const int descriptor = parent_.descriptor();
  switch (parent_.read()) {
    case ParentLink::News::none:
    case ParentLink::News::connected:
      return;
    case ParentLink::News::gone:
      // The launcher of that job reports why it has ended.
      quiet_ = true;
      poller_.remove(descriptor);
      return end_job(1, true);
    case ParentLink::News::parted:
      poller_.remove(descriptor);
      return;
  }
}

// ---- output and input

void Job::handle_stream(RankStream& stream, Source source, uint32_t index) {
  if (!stream.open()) return;
  if (!stream.read()) {
    tell_if_broken(stream, index);
    if (!stream.sink()->broken() && spec_.tag_output) stream.flush_unfinished();
    poller_.remove(stream.descriptor());
    stream.close();
    --streams_open_;
    return;
  }
  if (stream.unfinished() && !spec_.tag_output && prompt_at_ == 0 &&
      os::is_terminal(stream.sink()->descriptor())) {
    prompt_at_ = os::now_ns() + kPromptNs;
  }
  stream.sink()->flush();
  if (stream.sink()->congested()) {
    poller_.remove(stream.descriptor());
    paused_.emplace_back(source, index);
  }
}

void Job::tell_if_broken(const RankStream& stream, uint32_t index) {
  if (stream.broken_by() == 0 || ending_) return;
  say("cannot read what " + rank_words(index) + " writes: " + std::strerror(stream.broken_by()));
  end_job(1, true);
}

void Job::flush_all() {
  sink_watched_.resize(sinks_.size(), false);
  for (size_t i = 0; i < sinks_.size(); ++i) {
    Sink& sink = *sinks_[i];
    const bool left = !sink.flush();
    if (left == sink_watched_[i]) continue;
    const uint64_t token = token_of(static_cast<uint32_t>(Source::sink), static_cast<uint32_t>(i));
    if (left) {
      poller_.add(sink.descriptor(), token, false, true);
    } else {
      poller_.remove(sink.descriptor());
    }
    sink_watched_[i] = left;
  }
  reader_is_gone();
  // Resume streams whose sink has room again.
  std::erase_if(paused_, [&](const auto& entry) {
    Rank& rank = ranks_[entry.second];
    RankStream& stream = entry.first == Source::error ? rank.error : rank.output;
    if (!stream.open()) return true;
    if (stream.sink()->congested()) return false;
    poller_.add(stream.descriptor(), token_of(static_cast<uint32_t>(entry.first), entry.second), true, false);
    return true;
  });
}

void Job::watch_terminal() {
  const bool terminal = terminal_.wants_terminal();
  if (terminal != terminal_watched_) {
    if (terminal) {
      poller_.add(terminal_.terminal(), token_of(static_cast<uint32_t>(Source::terminal), 0), true, false);
    } else {
      poller_.remove(terminal_.terminal());
    }
    terminal_watched_ = terminal;
  }
  const bool pipe = terminal_.wants_pipe();
  if (pipe == terminal_pipe_watched_) return;
  if (pipe) {
    poller_.add(terminal_.pipe(), token_of(static_cast<uint32_t>(Source::terminal_pipe), 0), false, true);
  } else if (terminal_.active()) {
    poller_.remove(terminal_.pipe());
  }
  terminal_pipe_watched_ = pipe;
}

// ---- messages

void Job::say(const std::string& text) {
  if (parent_.collects()) return parent_.note(text);
  error_->write("mpiexec: " + text + "\n");
}

std::string Job::rank_words(uint32_t index) const {
  const Rank& rank = ranks_[index];
  return "rank " + std::to_string(index) + " (" + rank.program->spec->command[0] + ", process " +
         std::to_string(rank.pid) + ")";
}

bool Job::some_rank_used_mpi() const {
  for (uint32_t index = 0; index < rank_count(); ++index) {
    if (phase_of(segment_.rank(static_cast<int>(index))) != shm::RankPhase::outside) return true;
  }
  return false;
}

std::string Job::running_words(const char* whom) const {
  return std::to_string(running_) + " " + whom + (running_ == 1 ? "" : "s");
}

void Job::tell_observer() {
  for (uint32_t index = 0; index < rank_count(); ++index) {
    observer_.set_process(static_cast<int>(index), ranks_[index].pid, ranks_[index].ended);
  }
}

void Job::say_states(const std::string& headline) {
  if (running_ == 0) return;
  say(headline);
  if (!some_rank_used_mpi()) return;
  tell_observer();
  observer_.sample();
  const Snapshot& seen = observer_.latest();
  size_t lines = 0;
  for (uint32_t index = 0; index < rank_count(); ++index) {
    const SeenRank& rank = seen.ranks[index];
    // Of the ended ranks, list only those that the others may wait for in vain.
    const bool missed = ranks_[index].ended && rank.phase == shm::RankPhase::outside;
    if ((ranks_[index].ended && !missed) || ++lines > kStateLines) continue;
    say("  rank " + std::to_string(index) + " " + rank_state_words(rank, seen.now_ns));
  }
  if (lines > kStateLines) say("  and " + std::to_string(lines - kStateLines) + " more");
}

}  // namespace hearth::launch
