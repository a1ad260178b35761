// Starts the ranks of a job: environment, pipes, processes.
#include <cerrno>
#include <cstring>

#include "base/param.h"
#include "launch/heap_preload.h"
#include "launch/job.h"
#include "launch/other_mpi.h"
#include "launch/program.h"

namespace hearth::launch {
namespace {

constexpr int kNotExecutableCode = 126;
constexpr const char* kMoreFiles = ". Remedy: raise the limit on open files (ulimit -n)";

std::string with_rank(const std::string& pattern, int rank) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.compare(i, 2, "%r") == 0) {
      name += std::to_string(rank);
      ++i;
    } else {
      name += pattern[i];
    }
  }
  return name;
}

// Value of the variable that describes an inherited file to a rank (launch/bootstrap.h).
std::string words_about(const os::Descriptor& file) {
  const int descriptor = file.number();
  return std::to_string(descriptor) + ":" + std::to_string(os::identity_of(descriptor).inode) + ":" +
         std::to_string(os::process_id());
}

}  // namespace

void Job::open_sinks() {
  sinks_.push_back(std::make_unique<Sink>(1));
  output_ = error_ = sinks_.back().get();
  // With 2>&1 both streams share one sink. With two sinks, a line of one stream could be written into a line
  // of the other.
  if (os::identity_of(1) == os::identity_of(2)) return;
  sinks_.push_back(std::make_unique<Sink>(2));
  error_ = sinks_.back().get();
}

Sink* Job::file_sink(const std::string& pattern, int rank) {
  const std::string path = with_rank(pattern, rank);
  Sink*& sink = files_[path];
  if (sink == nullptr) {
    os::Descriptor file = os::open_to_write(path.c_str());
    if (!file.open()) {
      say("cannot write '" + path + "': " + std::strerror(errno));
      return nullptr;
    }
    sinks_.push_back(std::make_unique<Sink>(std::move(file)));
    sink = sinks_.back().get();
  }
  return sink;
}

bool Job::cannot_wait() {
  say(std::string("cannot wait for the ranks (epoll): ") + std::strerror(errno));
  return false;
}

bool Job::make_stream(int rank, Source source, os::Descriptor& for_rank) {
  const bool is_error = source == Source::error;
  const bool apart = is_error && !spec_.merge_output;
  Sink* sink = apart ? error_ : output_;
  const std::string& pattern = apart ? spec_.error_pattern : spec_.output_pattern;
  if (!pattern.empty()) sink = file_sink(pattern, rank);
  if (sink == nullptr) return false;
  os::Pipe pipe;
  if (!os::make_pipe(pipe)) {
    say(std::string("cannot make a pipe: ") + std::strerror(errno) + kMoreFiles);
    return false;
  }
  const std::string prefix = spec_.tag_output ? "[" + std::to_string(rank) + "] " : "";
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  RankStream& stream = is_error ? mine.error : mine.output;
  stream = RankStream(std::move(pipe.read_end), sink, prefix);
  for_rank = std::move(pipe.write_end);
  if (!poller_.add(stream.descriptor(), static_cast<uint64_t>(source) << 32 | static_cast<uint32_t>(rank),
                   true, false)) {
    return cannot_wait();
  }
  ++streams_open_;
  return true;
}

// Returns the descriptor that becomes standard input of the rank that receives ours; -1 on failure.
int Job::prepare_input(os::Descriptor& for_rank) {
  if (!os::is_terminal(0)) return 0;
  return terminal_.open(0, for_rank) ? for_rank.number() : -1;
}

// Programs that use MPI themselves, or are Python, which loads it later, get a shared heap unasked. Others,
// such as a shell or a debugger, do not need one, and may start programs that do not support it. Reports why
// a heap is not shared if an option asked for it.
void Job::share_heap_of(Program& program, const ProgramMpi& mpi) {
  const std::string& wish = param::get_text(param::Id::share_heap);
  const bool asked = spec_.share_heap == Choice::unsaid ? wish == "1" : spec_.share_heap == Choice::yes;
  const std::string path = in_folder(program.folder, program.path);
  const bool uses_mpi = !mpi.is_script && (mpi.is_python || mpi.abi() != MpiAbi::none);
  if (!asked && (spec_.share_heap == Choice::no || wish != "bounded" || !uses_mpi)) return;
  const std::string library = heap_library();
  const std::string reason =
      library.empty() ? "libhearth_heap.so is not installed" : reason_against_heap(path, program.environment);
  if (reason.empty()) {
    add_preload(library, program.environment);
    if (asked) set_variable(program.environment, "HEARTH_SHARE_HEAP", "1");
  } else if (spec_.share_heap == Choice::yes) {
    say("note: the heap of '" + program.spec->command[0] + "' is not shared: " + reason);
  }
}

// Makes a program that was built for another MPI library use Hearth's. Refuses it if that is impossible: it
// would start as jobs of one rank each.
bool Job::choose_library(Program& program, const ProgramMpi& mpi) {
  const MpiSurroundings surroundings = {library_folder(), program.folder, check_.wanted()};
  const MpiPlan plan = plan_mpi(mpi, program.path, surroundings, program.environment);
  if (plan.problem.empty()) return true;
  say("cannot start '" + program.spec->command[0] + "': " + plan.problem);
  exit_code_ = plan.usage ? kUsageCode : kNotExecutableCode;
  return false;
}

// Finds all programs before any is started.
bool Job::find_programs(char** own_environment) {
  for (const ProgramSpec& spec : spec_.programs) {
    Program program;
    program.spec = &spec;
    program.folder = spec.folder.empty() ? spec_.folder : spec.folder;
    program.environment = program_environment(spec_, spec, own_environment);
    const char* path_variable = find_variable(program.environment, "PATH");
    const std::string search_path =
        !spec.search_path.empty() || path_variable == nullptr ? spec.search_path : path_variable;
    FoundProgram found = find_program(spec.command[0], program.folder, search_path);
    if (!found.problem.empty()) {
      say("cannot start '" + spec.command[0] + "': " + found.problem);
      exit_code_ = found.exit_code;
      return false;
    }
    program.path = std::move(found.path);
    const ProgramMpi mpi = find_program_mpi(program.path, program.environment, program.folder);
    if (!choose_library(program, mpi)) return false;
    check_.add_to(program.environment);
    share_heap_of(program, mpi);
    programs_.push_back(std::move(program));
  }
  return true;
}

bool Job::start_rank(int rank, int number, int input) {
  const Program& program = programs_[static_cast<size_t>(number)];
  os::Descriptor output;
  os::Descriptor error;
  if (!make_stream(rank, Source::output, output) || !make_stream(rank, Source::error, error)) return false;
  std::vector<std::string> environment = program.environment;
  RankIdentity identity = {rank, static_cast<int>(rank_count()), number, words_about(segment_for_ranks_), "",
                           ""};
  std::vector<int> kept = {segment_for_ranks_.number()};
  if (arena_for_ranks_.open()) {
    identity.arena = words_about(arena_for_ranks_);
    kept.push_back(arena_for_ranks_.number());
  }
  if (board_for_ranks_.open()) {
    identity.board = words_about(board_for_ranks_);
    kept.push_back(board_for_ranks_.number());
  }
  if (check_for_ranks_.open()) {
    set_variable(environment, "HEARTH_CHECK_BOARD", words_about(check_for_ranks_));
    kept.push_back(check_for_ranks_.number());
  }
  add_rank_variables(identity, environment);
  const std::vector<char*> arguments = pointers_to(program.spec->command);
  const std::vector<char*> variables = pointers_to(environment);
  os::SpawnPlan plan;
  plan.program = program.path.c_str();
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  plan.folder = program.folder.empty() ? nullptr : program.folder.c_str();
  plan.standard_input = input;
  plan.standard_output = output.number();
  plan.standard_error = error.number();
  plan.kept_descriptors = kept;
  plan.processors = bindings_[static_cast<size_t>(rank)].processors;
  plan.processors_asked_for = spec_.placement.bind != Level::automatic;
  plan.announce = reaper_.announce_descriptor();
  plan.complain = complaints_.write_end.number();
  plan.tag = static_cast<uint32_t>(rank);
  Rank& mine = ranks_[static_cast<size_t>(rank)];
  mine.program = &program;
  mine.pid = os::spawn(plan);
  if (mine.pid < 0) {
    say(std::string("cannot start a process: ") + std::strerror(errno) +
        ". Remedy: raise the limit on processes (ulimit -u)");
    return false;
  }
  ++running_;
  mine.handle = os::open_process(mine.pid);
  // Without a pidfd, SIGCHLD reports the end.
  const uint64_t token = static_cast<uint64_t>(Source::rank) << 32 | static_cast<uint32_t>(rank);
  if (mine.handle.open() && !poller_.add(mine.handle.number(), token, true, false)) mine.handle.reset();
  return true;
}

bool Job::start_ranks(char** own_environment) {
  if (!find_programs(own_environment)) return false;
  const os::Descriptor nothing = os::open_to_read("/dev/null");
  if (!nothing.open()) {
    say(std::string("cannot open /dev/null, which ranks read that get no input: ") + std::strerror(errno) +
        (errno == EMFILE ? kMoreFiles : ". Remedy: give the sandbox or container a /dev/null"));
    return false;
  }
  os::Descriptor input_pipe;
  const int input = prepare_input(input_pipe);
  segment_for_ranks_ = os::duplicate_out_of_the_way(segment_.descriptor());
  if (arena_.descriptor() >= 0) arena_for_ranks_ = os::duplicate_out_of_the_way(arena_.descriptor());
  if (board_.descriptor() >= 0) board_for_ranks_ = os::duplicate_out_of_the_way(board_.descriptor());
  if (check_.wanted()) check_for_ranks_ = os::duplicate_out_of_the_way(check_.board().descriptor());
  if (!segment_for_ranks_.open() || input < 0 || !os::make_pipe(complaints_)) {
    say(std::string("cannot open what the ranks need: ") + std::strerror(errno) + kMoreFiles);
    return false;
  }
  os::set_nonblocking(complaints_.read_end.number(), true);
  int rank = 0;
  for (int number = 0; number < static_cast<int>(programs_.size()); ++number) {
    const int last = rank + programs_[static_cast<size_t>(number)].spec->ranks;
    for (; rank < last; ++rank) {
      if (!start_rank(rank, number, rank == spec_.input_rank ? input : nothing.number())) return false;
    }
  }
  if (!poller_.add(complaints_.read_end.number(), static_cast<uint64_t>(Source::complaints) << 32, true,
                   false)) {
    return cannot_wait();
  }
  watch_terminal();
  return true;
}

}  // namespace hearth::launch
