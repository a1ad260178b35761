#include "launch/options.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/chaos.h"
#include "base/os_io.h"
#include "launch/hosts.h"
#include "launch/placement_words.h"
#include "launch/words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr int kRanksMax = 65536;
constexpr double kTimeoutSecondsMax = 1e9;
constexpr uint64_t kWhyNs = 5'000'000'000;

struct Parser {
  JobSpec& job;
  ProgramSpec program;
  std::string option;  // as the user wrote it, for messages
};

using Handler = Status (*)(Parser& parser, const Words& values);

struct Option {
  const char* names;      // without dashes; one or two are accepted; --help prints the first name
  const char* arguments;  // "" for none; "NAME VALUE" also accepts NAME=VALUE; "[=VALUE]" is optional
  const char* text;       // for --help; null: accepted, but without effect on one machine; "": hidden
  Handler handle;
};

Status read_number(const Parser& parser, const std::string& text, int least, int most, int& value) {
  if (to_number(text, least, most, value)) return {};
  return fail(MPI_ERR_ARG, "%s needs a number from %d to %d, not '%s'", parser.option.c_str(), least, most,
              text.c_str());
}

Status read_timeout(const char* origin, const std::string& text, uint64_t& timeout_ns) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(seconds) || seconds < 0 ||
      seconds > kTimeoutSecondsMax) {
    return fail(MPI_ERR_ARG, "%s needs a number of seconds, not '%s'", origin, text.c_str());
  }
  timeout_ns = static_cast<uint64_t>(seconds * 1e9);
  return {};
}

EnvironmentEdit edit_of(const Words& values) {
  EnvironmentEdit edit;
  const size_t equals = values[0].find('=');
  edit.name = values[0].substr(0, equals);
  if (values.size() > 1) {
    edit.value = values[1];
  } else if (equals != std::string::npos) {
    edit.value = values[0].substr(equals + 1);
  } else {
    edit.pass_on = true;
  }
  return edit;
}

void pass_on(const std::string& list, std::vector<EnvironmentEdit>& edits) {
  for (const std::string& name : split(list, ',')) {
    if (!name.empty()) edits.push_back({name, "", true});
  }
}

Status handle_input(Parser& parser, const Words& values) {
  if (values[0] == "none") return parser.job.input_rank = -1, Status();
  if (values[0] == "all") {
    return fail(MPI_ERR_ARG, "%s all: standard input goes to one rank only; name it by its number",
                parser.option.c_str());
  }
  return read_number(parser, values[0], 0, kRanksMax - 1, parser.job.input_rank);
}

Status handle_initial_errhandler(Parser& parser, const Words& values) {
  for (const char* known : {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"}) {
    if (values[0] != known) continue;
    parser.job.environment.push_back({"HEARTH_INITIAL_ERRHANDLER", known, false});
    return {};
  }
  return fail(MPI_ERR_ARG,
              "%s: '%s' is no handler; there are mpi_errors_are_fatal, mpi_errors_abort and "
              "mpi_errors_return",
              parser.option.c_str(), values[0].c_str());
}

// By its first bytes: on some file systems all files are executable.
bool is_program(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) return false;  // opening a pipe would block
  const os::Descriptor file = os::open_to_read(name.c_str());
  char first[SELFMAG] = {};
  if (!file.open() || os::read_some(file.number(), first, sizeof first) <= 0) return false;
  return std::memcmp(first, ELFMAG, SELFMAG) == 0 || std::memcmp(first, "#!", 2) == 0;
}

// The name of a file that mpiexec or the ranks write. With the name forgotten, the next word is an option or
// the program itself, which must not be overwritten.
Status read_written_file(const Parser& parser, const std::string& text, std::string& name) {
  const bool option = text.starts_with('-');
  if (option || is_program(text)) {
    return fail(MPI_ERR_ARG, "%s needs the name of a file to write, but '%s' is %s", parser.option.c_str(),
                text.c_str(), option ? "an option" : "a program, which would be overwritten");
  }
  name = text;
  return {};
}

Status handle_host_file(Parser& parser, const Words& values) {
  if (!os::open_to_read(values[0].c_str()).open()) {
    return fail(MPI_ERR_ARG, "%s: cannot read '%s': %s", parser.option.c_str(), values[0].c_str(),
                std::strerror(errno));
  }
  for (std::string& host : hosts_in_text(os::read_text(values[0].c_str()))) {
    parser.job.hosts.push_back(std::move(host));
  }
  return {};
}

Status handle_chaos(Parser& parser, const Words& values) {
  chaos::Plan plan;
  HEARTH_TRY(chaos::parse(values[0], plan));
  parser.job.chaos = values[0];
  parser.job.environment.push_back({"HEARTH_CHAOS", values[0], false});
  return {};
}

Status ignore(Parser& parser, const Words& values) {
  Words words = {parser.option};
  words.insert(words.end(), values.begin(), values.end());
  parser.job.ignored.push_back(std::move(words));
  return {};
}

// clang-format off
const Option kOptions[] = {
    {"n np c", "N", "start N ranks of the program that follows (default 1)",
     [](Parser& p, const Words& v) { return read_number(p, v[0], 1, kRanksMax, p.program.ranks); }},
    {"ppn N npernode perhost", "N", "ranks on a machine; on one machine the same as -n",
     [](Parser& p, const Words& v) { return read_number(p, v[0], 1, kRanksMax, p.job.ranks_per_node); }},
    {"wdir wd", "FOLDER", "working folder of this program's ranks",
     [](Parser& p, const Words& v) { p.program.folder = v[0]; return Status(); }},
    {"gwdir", "FOLDER", "working folder of all ranks",
     [](Parser& p, const Words& v) { p.job.folder = v[0]; return Status(); }},
    {"host hosts H", "NAMES",
     "host names, separated by commas, each optionally with :SLOTS: docs/guide/several_machines.md",
     [](Parser& p, const Words& v) {
       for (std::string& host : split(v[0], ',')) p.job.hosts.push_back(std::move(host));
       return Status();
     }},
    {"hostfile machinefile default-hostfile f", "FILE",
     "the same, from a file with one host per line", handle_host_file},

    {"x", "NAME[=VALUE]", "set a variable in this program's ranks, or pass it on",
     [](Parser& p, const Words& v) { p.program.environment.push_back(edit_of(v)); return Status(); }},
    {"env", "NAME VALUE", "set a variable in this program's ranks",
     [](Parser& p, const Words& v) { p.program.environment.push_back(edit_of(v)); return Status(); }},
    {"genv", "NAME VALUE", "set a variable in all ranks",
     [](Parser& p, const Words& v) { p.job.environment.push_back(edit_of(v)); return Status(); }},
    {"envlist", "NAMES", "pass these variables on to this program's ranks (separated by commas)",
     [](Parser& p, const Words& v) { pass_on(v[0], p.program.environment); return Status(); }},
    {"genvlist", "NAMES", "pass these variables on to all ranks (separated by commas)",
     [](Parser& p, const Words& v) { pass_on(v[0], p.job.environment); return Status(); }},
    {"genvall envall", "", "pass the whole environment on (the default)",
     [](Parser& p, const Words&) { p.job.inherit = Inherit::all; return Status(); }},
    {"genvnone envnone", "", "pass on only variables that other options name",
     [](Parser& p, const Words&) { p.job.inherit = Inherit::none; return Status(); }},

    {"tag-output l prepend-rank", "", "begin each line of output with [RANK]",
     [](Parser& p, const Words&) { p.job.tag_output = true; return Status(); }},
    {"merge-stderr-to-stdout", "", "write the ranks' standard error to standard output",
     [](Parser& p, const Words&) { p.job.merge_output = true; return Status(); }},
    {"outfile-pattern", "FILE", "write standard output to files; %r in the name is the rank",
     [](Parser& p, const Words& v) { p.job.output_pattern = v[0]; return Status(); }},
    {"errfile-pattern", "FILE", "write standard error to files; %r in the name is the rank",
     [](Parser& p, const Words& v) { p.job.error_pattern = v[0]; return Status(); }},
    {"output-filename", "NAME", "write both to files: NAME.RANK.out and NAME.RANK.err",
     [](Parser& p, const Words& v) {
       p.job.output_pattern = v[0] + ".%r.out";
       p.job.error_pattern = v[0] + ".%r.err";
       return Status();
     }},
    {"stdin s", "RANK", "the rank that gets standard input (default 0), or none", handle_input},

    {"timeout", "SECONDS", "end the job after that time, say what each rank waits for, and exit with 124",
     [](Parser& p, const Words& v) { return read_timeout(p.option.c_str(), v[0], p.job.timeout_ns); }},

    {"profile", "FILE", "write messages and waits per pair of ranks: an HTML page, or JSON for FILE.json",
     [](Parser& p, const Words& v) {
       return read_written_file(p, v[0], p.job.profile_files.emplace_back());
     }},
    {"trace", "FILE", "write a timeline of each rank for Perfetto or chrome://tracing: docs/guide/tools.md",
     [](Parser& p, const Words& v) { return read_written_file(p, v[0], p.job.trace_file); }},
    {"survive enable-recovery disable-auto-cleanup", "",
     "a failed rank does not end the job: docs/guide/failures.md",
     [](Parser& p, const Words&) { p.job.survive = true; return Status(); }},
    {"with-ft", "KIND", "the same in Open MPI's form: ulfm, mpi or none",
     [](Parser& p, const Words& v) { p.job.survive = v[0] == "ulfm" || v[0] == "mpi"; return Status(); }},

    {"why", "[=SECONDS]",
     "report waits longer than this (default 5), and which rank waits for which: docs/guide/tools.md",
     [](Parser& p, const Words& v) {
       if (v.empty()) return p.job.why_ns = kWhyNs, Status();
       HEARTH_TRY(read_timeout(p.option.c_str(), v[0], p.job.why_ns));
       if (p.job.why_ns == 0) p.job.why_ns = 1;
       return Status();
     }},

    {"keep-waiting", "", "do not end a job whose ranks wait for ranks that have ended: docs/guide/tools.md",
     [](Parser& p, const Words&) { p.job.keep_waiting = true; return Status(); }},

    {"check", "[=HOW]",
     "report errors in how the program uses MPI; HOW is fatal, strict or both: docs/guide/tools.md",
     [](Parser& p, const Words& v) { p.job.check = v.empty() ? "yes" : v[0]; return Status(); }},
    {"check-json", "FILE", "the same, and write it to a file",
     [](Parser& p, const Words& v) {
       if (p.job.check.empty()) p.job.check = "yes";
       return read_written_file(p, v[0], p.job.check_json);
     }},

    {"chaos", "FAULTS",
     "inject faults, for tests: at random from a seed, or a named one: docs/design/reliability.md",
     handle_chaos},

    {"bind-to binding", "LEVEL[:N]",
     "bind to none, hwthread, core (l1), l2, l3, numa, package (socket), board (node); rr; user:LIST",
     [](Parser& p, const Words& v) { return read_bind(p.option, v[0], p.job.placement); }},
    {"map-by", "LEVEL[:PE=N]",
     "place by slot, hwthread, core, l2, l3, numa, package, board; spread; ppr:N:LEVEL; pe-list=LIST",
     [](Parser& p, const Words& v) { return read_map(p.option, v[0], p.job.placement); }},
    {"cpu-set cpu-list", "LIST", "use only these processors, as 0-3,8",
     [](Parser& p, const Words& v) {
       return read_processors(p.option, v[0], p.job.placement.only_processors);
     }},
    {"bind-to-core", "", "as --bind-to core",
     [](Parser& p, const Words&) { p.job.placement.bind = Level::core; return Status(); }},
    {"bind-to-socket", "", "as --bind-to socket",
     [](Parser& p, const Words&) { p.job.placement.bind = Level::package; return Status(); }},
    {"bind-to-none", "", "as --bind-to none",
     [](Parser& p, const Words&) { p.job.placement.bind = Level::none; return Status(); }},
    {"byslot bycore bynode", "", "as --map-by slot",
     [](Parser& p, const Words&) { p.job.placement.map = Level::core; return Status(); }},
    {"bysocket", "", "as --map-by socket",
     [](Parser& p, const Words&) { p.job.placement.map = Level::package; return Status(); }},
    {"use-hwthread-cpus", "", "bind to hardware threads unless another binding is requested",
     [](Parser& p, const Words&) {
       if (p.job.placement.bind == Level::automatic) p.job.placement.bind = Level::hwthread;
       return Status();
     }},
    {"place-by", "FILE",
     "place ranks that exchange many bytes on near processors, by a profile: docs/guide/binding.md",
     [](Parser& p, const Words& v) { p.job.traffic_file = v[0]; return Status(); }},
    {"report-bindings print-rank-map display-map", "", "print where each rank is bound, with a drawing",
     [](Parser& p, const Words&) { p.job.report_bindings = true; return Status(); }},
    {"do-not-launch", "", "start nothing; with --report-bindings: only show the bindings",
     [](Parser& p, const Words&) { p.job.do_not_launch = true; return Status(); }},
    {"share-heap", "", "allocate the programs' heap in memory that all ranks share: docs/design/arena.md",
     [](Parser& p, const Words&) { p.job.share_heap = Choice::yes; return Status(); }},
    {"no-share-heap", "", "keep the heap private, even if HEARTH_SHARE_HEAP is set",
     [](Parser& p, const Words&) { p.job.share_heap = Choice::no; return Status(); }},
    {"initial-errhandler", "HANDLER",
     "error handler from the start: mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",
     handle_initial_errhandler},
    {"oversubscribe", "", "suppress the note that there are more ranks than processors",
     [](Parser& p, const Words&) { p.job.placement.oversubscribe = true; return Status(); }},
    {"nooversubscribe", "", "fail if there are more ranks than processors",
     [](Parser& p, const Words&) { p.job.placement.forbid_oversubscribe = true; return Status(); }},
    {"allow-run-as-root", "", "accepted: root may always run programs",
     [](Parser&, const Words&) { return Status(); }},

    {"help h", "", "print this help",
     [](Parser& p, const Words&) { p.job.show_help = true; return Status(); }},
    {"version V", "", "print the version",
     [](Parser& p, const Words&) { p.job.show_version = true; return Status(); }},
    {"spawned-by", "SOCKET", "",  // for MPI_Comm_spawn
     [](Parser& p, const Words& w) { return read_number(p, w[0], 0, kRanksMax - 1, p.job.spawned_by); }},
    {"man-page", "", "", [](Parser& p, const Words&) { p.job.show_man_page = true; return Status(); }},

    {"mca gmca prtemca pmixmca omca", "NAME VALUE", nullptr, ignore},
    {"am tune", "FILES", nullptr, ignore},
    {"rank-by ranking", "LEVEL", nullptr, ignore},
    {"launcher bootstrap rmk bootstrap-exec launcher-exec", "NAME", nullptr, ignore},
    {"iface", "NAME", nullptr, ignore},
    {"localhost", "NAME", nullptr, ignore},
    {"display", "WHAT", nullptr, ignore},
    {"usize", "N", nullptr, ignore},
    {"prefix path", "FOLDER", nullptr, ignore},
    {"membind", "WHAT", nullptr, ignore},
    {"personality", "NAME", nullptr, ignore},
    {"v verbose", "", nullptr, ignore},
    {"q quiet", "", nullptr, ignore},
    {"display-allocation", "", nullptr, ignore},
    {"report-state-on-timeout get-stack-traces", "", nullptr, ignore},
    {"disable-hostname-propagation no-local nolocal local", "", nullptr, ignore},
};
// clang-format on

std::string without_dashes(const std::string& word) {
  const size_t dashes = word.starts_with("--") ? 2 : 1;
  return word.substr(dashes);
}

const Option* find_option(const std::string& name) {
  for (const Option& option : kOptions) {
    const Words names = split(option.names, ' ');
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
}

std::string printed(const std::string& name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

Status unknown_option(const std::string& word) {
  const std::string name = without_dashes(word);
  std::string nearest;
  size_t best = 3;  // greater distances are not misspellings
  for (const Option& option : kOptions) {
    for (const std::string& known : split(option.names, ' ')) {
      const size_t steps = edit_distance(name, known);
      if (known.size() > 2 && steps < best) {
        best = steps;
        nearest = known;
      }
    }
  }
  if (nearest.empty()) {
    return fail(MPI_ERR_ARG, "unknown option '%s'; 'mpiexec --help' lists what there is", word.c_str());
  }
  return fail(MPI_ERR_ARG, "unknown option '%s'; did you mean '%s'? 'mpiexec --help' lists what there is",
              word.c_str(), printed(nearest).c_str());
}

// "-n4": an option with one number, written together with it, as Open MPI and MPICH accept it.
const Option* find_with_number(const std::string& name, std::string& number) {
  const size_t digits = name.find_first_of("0123456789");
  if (digits == 0 || digits == std::string::npos) return nullptr;
  number = name.substr(digits);
  if (number.find_first_not_of("0123456789") != std::string::npos) return nullptr;
  const Option* option = find_option(name.substr(0, digits));
  return option != nullptr && std::strcmp(option->arguments, "N") == 0 ? option : nullptr;
}

// Parses one option and its arguments from words[next...].
Status take_option(Parser& parser, const Words& words, size_t& next) {
  std::string word = words[next++];
  Words values;
  const Option* option = find_option(without_dashes(word));
  if (const size_t equals = word.find('='); option == nullptr && equals != std::string::npos) {
    option = find_option(without_dashes(word.substr(0, equals)));  // --name=value
    values.push_back(word.substr(equals + 1));
    word.resize(equals);
  }
  if (std::string number; option == nullptr) {
    option = find_with_number(without_dashes(word), number);
    if (option == nullptr) return unknown_option(words[next - 1]);
    values.push_back(number);
    word.resize(word.size() - number.size());
  }
  parser.option = word;
  const bool may_be_left_out = option->arguments[0] == '[';
  size_t wanted = std::strlen(option->arguments) == 0 ? 0 : split(option->arguments, ' ').size();
  if (may_be_left_out) wanted = values.size();
  if (values.size() > wanted) return fail(MPI_ERR_ARG, "%s takes no value", word.c_str());
  // "NAME VALUE" may be written as one word: NAME=VALUE.
  const auto is_complete = [&] {
    return values.size() == wanted ||
           (wanted == 2 && values.size() == 1 && values[0].find('=') != std::string::npos);
  };
  while (!is_complete()) {
    if (next >= words.size()) {
      return fail(MPI_ERR_ARG, "%s needs %s", word.c_str(), option->arguments);
    }
    values.push_back(words[next++]);
  }
  return option->handle(parser, values);
}

Status finish_program(Parser& parser) {
  if (parser.program.command.empty()) {
    return fail(MPI_ERR_ARG, "no program to start; the form is mpiexec -n 2 program arguments");
  }
  if (parser.program.command[0].empty()) {
    return fail(MPI_ERR_ARG, "the program's name is empty. Likely cause: an unset variable of the shell");
  }
  parser.job.programs.push_back(std::move(parser.program));
  parser.program = {};
  return {};
}

}  // namespace

Status parse_command_line(const std::vector<std::string>& words, JobSpec& job) {
  if (const char* limit = std::getenv("MPIEXEC_TIMEOUT"); limit != nullptr && *limit != '\0') {
    HEARTH_TRY(read_timeout("MPIEXEC_TIMEOUT", limit, job.timeout_ns));
  }
  Parser parser = {job, {}, {}};
  for (size_t next = 0; next < words.size();) {
    if (words[next] == ":") {
      HEARTH_TRY(finish_program(parser));
      ++next;
      continue;
    }
    if (words[next] == "--") {
      ++next;
    } else if (words[next].size() > 1 && words[next][0] == '-') {
      HEARTH_TRY(take_option(parser, words, next));
      if (job.show_help || job.show_version || job.show_man_page) return {};
      continue;
    }
    while (next < words.size() && words[next] != ":") parser.program.command.push_back(words[next++]);
  }
  // The programs of --spawned-by come over its socket.
  return job.spawned_by >= 0 && parser.program.command.empty() ? Status() : finish_program(parser);
}

std::vector<OptionText> option_texts() {
  std::vector<OptionText> texts;
  for (const Option& option : kOptions) {
    if (option.text != nullptr && *option.text == '\0') continue;
    OptionText& row = texts.emplace_back();
    for (const std::string& name : split(option.names, ' ')) row.names.push_back(printed(name));
    const bool separate = *option.arguments != '\0' && *option.arguments != '[';
    row.arguments = (separate ? " " : "") + std::string(option.arguments);
    row.text = option.text;
  }
  return texts;
}

std::string help_text() {
  constexpr size_t kTextColumn = 34;
  std::string text =
      "Usage: mpiexec [options] program [arguments] [: [options] program [arguments]]...\n"
      "Starts ranks of MPI programs, or of any programs, on this machine. Options may begin with one dash or "
      "two.\n\n";
  const std::vector<OptionText> options = option_texts();
  for (const OptionText& option : options) {
    if (option.text == nullptr) continue;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "  " : ", ") + name;
    names += option.arguments;
    if (names.size() + 1 > kTextColumn) names += '\n' + std::string(kTextColumn - 1, ' ');
    names.resize(std::max(names.size() + 1, kTextColumn), ' ');
    text += names + option.text + '\n';
  }
  text += "\nAccepted without effect on one machine, and reported in one line:\n ";
  size_t column = 1;
  for (const OptionText& option : options) {
    if (option.text != nullptr) continue;
    for (const std::string& shown : option.names) {
      if (column + shown.size() > 100) {
        text += "\n ";
        column = 1;
      }
      text += " " + shown;
      column += shown.size() + 1;
    }
  }
  text +=
      "\n\nExit code: 0 if every rank ended with 0, otherwise that of the first rank that failed (128 + N "
      "if\n"
      "signal N killed it); the code given to MPI_Abort; 124 after --timeout (MPIEXEC_TIMEOUT in the\n"
      "environment has the same meaning); 127 or 126 when a program is missing or cannot be executed; 2 for "
      "a\n"
      "wrong command line. docs/... are files of the source; man mpiexec has the variables and more.\n";
  return text;
}

}  // namespace hearth::launch
