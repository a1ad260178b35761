#include "hearth.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench.h"
#include "bench_collectives.h"
#include "bench_skew.h"
#include "doctor.h"
#include "hearth_page.h"
#include "info.h"
#include "mpi.h"
#include "paper/bench_paper.h"
#include "profile.h"
#include "top.h"
#include "tune.h"
#include "tune_check.h"
#include "why.h"

namespace {

using hearth::Status;
using hearth::tools::BenchOptions;
using hearth::tools::CheckOptions;
using hearth::tools::DoctorOptions;
using hearth::tools::InfoOptions;
using hearth::tools::PaperOptions;
using hearth::tools::ProfileOptions;
using hearth::tools::SkewOptions;
using hearth::tools::TopOptions;
using hearth::tools::TuneOptions;
using hearth::tools::WhyOptions;

constexpr const char* kBenchFooter =
    "Cases:\n"
    "  latency        half round trip of one message\n"
    "  bandwidth      one way, up to 64 messages in flight (2 MiB)\n"
    "  bidirectional  both ways at once, up to 64 in flight (2 MiB) each\n"
    "  rate           one way, 64 in flight at every length\n"
    "  pairs          rank i to rank i + P/2, 64 in flight; needs -n 4 or more to say something new\n"
    "  unexpected     64 messages that came before their receives, last one received first\n";

CLI::App& add_info(CLI::App& app, InfoOptions& options) {
  CLI::App& info = *app.add_subcommand("info", "build, machine, parameters, memory, protocols");
  CLI::Option* program =
      info.add_option("program", options.program,
                      "only this program or script: for which MPI library it was built, and which it gets");
  info.add_flag("--json", options.json, "as JSON");
  info.add_flag("--memory", options.memory, "only the memory of a rank, beside the original design's")
      ->excludes(program);
  CLI::Option* explain = info.add_flag("--explain", options.explain,
                                       "only which protocol a message takes, why, and why no other")
                             ->excludes(program);
  info.add_option("--size", options.bytes, "of the message that --explain is about (as in 1024 or 64KiB)")
      ->transform(CLI::AsSizeValue(false))
      ->needs(explain);
  info.add_option("-n,--ranks", options.ranks, "of the job that --memory and --explain are about")
      ->check(CLI::Range(1u, 65536u));
  return info;
}

CLI::App& add_bench(CLI::App& app, BenchOptions& options, std::vector<std::string>& collectives, bool& skew) {
  CLI::App& bench = *app.add_subcommand("bench", "how fast messages are between ranks");
  bench.add_option("cases", options.cases, "what to measure")->capture_default_str();
  bench.add_option("-n,--ranks", options.ranks, "ranks of the job")->capture_default_str();
  bench.add_option("--hosts", options.hosts, "run it on these machines (names with commas between them)");
  bench.add_option("--alloc", options.alloc, "where the buffers come from")
      ->check(CLI::IsMember({"malloc", "mpi"}))
      ->capture_default_str();
  bench.add_option("--offset", options.offset, "of both buffers from the start of a page")
      ->check(CLI::Range(0, 4095))
      ->capture_default_str();
  bench.add_option("--min-bytes", options.min_bytes, "shortest message (as in 1024 or 64KiB)")
      ->transform(CLI::AsSizeValue(false));
  bench.add_option("--max-bytes", options.max_bytes, "longest message")->transform(CLI::AsSizeValue(false));
  bench.add_option("--sizes", options.sizes, "these lengths and no others")->delimiter(',');
  bench.add_option("--time-ms", options.time_ms, "time for each case and length")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  bench.add_option("--window", options.window, "messages in flight (default: by the case)")
      ->check(CLI::Range(1, 64));
  bench
      .add_option("--collective", collectives,
                  fmt::format("instead: the time of the slowest rank in these: {}, or all",
                              fmt::join(hearth::tools::collective_names(), ", ")))
      ->delimiter(',');
  bench.add_flag("--skew", skew,
                 "instead: what messages cost a producer whose consumer lags, by three ways; of its "
                 "options --alloc, --sizes (one), --json and --plot count");
  bench.add_option("--json", options.json_file, "write the results to this file ('-': standard output)");
  bench.add_option("--plot", options.plot_file, "draw the results into this SVG file");
  bench.footer(kBenchFooter);
  return bench;
}

CLI::App& add_paper(CLI::App& bench, PaperOptions& options) {
  CLI::App& paper =
      *bench.add_subcommand("paper", "the papers' experiments: which of their claims this machine confirms");
  paper.footer("");  // by default that of bench, which is about other cases
  paper.add_option("names", options.names, "of experiments");
  paper.add_flag("--all", options.all, "all experiments, in some minutes");
  paper.add_flag("--list", options.list, "say which there are, and what they are about");
  paper.add_flag("--quick", options.quick,
                 "as little as shows that everything runs; the numbers mean little");
  paper.add_option("-o,--output", options.page_file,
                   "write the report to this file: one page with plots, for any browser");
  paper.add_option("--json", options.json_file, "write all numbers to this file ('-': standard output)");
  paper.add_option("--mpi", options.prefixes,
                   "measure the MPI library of this prefix too (bin/mpicc, bin/mpiexec); again for more");
  paper.add_option(
      "--application", options.application,
      "the program, with its words, whose messages are examined instead of those of the included one");
  paper.add_option("--application-ranks", options.application_ranks, "its ranks")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  return paper;
}

CLI::App& add_tune(CLI::App& app, TuneOptions& options, CheckOptions& check, bool& checks) {
  CLI::App& tune = *app.add_subcommand("tune", "measure this machine and write its profile of thresholds");
  tune.add_flag("--quick", options.quick, "only what matters most, in seconds");
  tune.add_flag(
      "--background", options.background,
      "as mpiexec does it in the background: seconds, at the lowest priority, only on an idle machine "
      "that has no profile");
  CLI::Option* check_flag = tune.add_flag(
      "--check", checks, "instead: where the way that the library takes is more than 10 % behind another");
  tune.add_option("--min-bytes", check.min_bytes, "shortest message of --check (as in 1024 or 64KiB)")
      ->transform(CLI::AsSizeValue(false))
      ->needs(check_flag);
  tune.add_option("--max-bytes", check.max_bytes, "longest message of --check")
      ->transform(CLI::AsSizeValue(false))
      ->needs(check_flag);
  tune.add_option("-o,--output", options.output_file,
                  "write the profile to this file ('-': standard output) instead of your own place");
  tune.add_option("--plot", options.plot_file, "draw the curves and the crossovers into this SVG file");
  return tune;
}

CLI::App& add_profile(CLI::App& app, ProfileOptions& options) {
  CLI::App& profile = *app.add_subcommand("profile",
                                          "where messages went in a job on several machines: of what its "
                                          "ranks have left in HEARTH_PROFILE_FOLDER");
  profile.add_option("folder", options.folder, "where those files are")
      ->required()
      ->check(CLI::ExistingDirectory);
  profile.add_option("-o,--output", options.output_files,
                     "write a page, or JSON for FILE.json ('-': JSON on standard output)");
  return profile;
}

CLI::App& add_why(CLI::App& app, WhyOptions& options) {
  CLI::App& why = *app.add_subcommand("why", "why a running job stands still: who waits for whom");
  why.add_option("pid", options.pid, "process number of mpiexec or of a rank (default: of the only job)");
  why.add_flag("--json", options.json, "as JSON");
  return why;
}

CLI::App& add_top(CLI::App& app, TopOptions& options) {
  CLI::App& top = *app.add_subcommand("top", "what the ranks of a running job do, live");
  top.add_option("pid", options.pid, "process number of mpiexec or of a rank (default: of the only job)");
  CLI::Option* once = top.add_flag("--once", options.once, "print a table and end");
  top.add_flag("--json", options.json, "as JSON")->needs(once);
  const std::vector<std::string> orders(std::begin(hearth::tools::kTopOrders),
                                        std::end(hearth::tools::kTopOrders));
  top.add_option("--sort", options.sort, "the order of the ranks")
      ->check(CLI::IsMember(orders))
      ->capture_default_str();
  top.add_option("--seconds", options.seconds, "between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  return top;
}

CLI::App& add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App& doctor = *app.add_subcommand(
      "doctor", "what jobs need here, on one machine and on several: there or not, and the remedy");
  doctor.add_option("--hosts", options.hosts,
                    "machines (names with commas between them) between which to try the way");
  doctor.add_option("--hostfile", options.host_file, "the same from a file, as mpiexec takes it")
      ->check(CLI::ExistingFile);
  doctor.add_flag("--between", options.between,
                  "only the way between the machines of the job that this is a rank of");
  doctor.add_flag("--json", options.json, "as JSON");
  return doctor;
}

// By default, the lengths and the memory for which the library itself chooses between the two protocols.
Status bench_skew(const CLI::App& bench, const BenchOptions& options) {
  SkewOptions skew;
  if (options.sizes.size() > 1) {
    return hearth::fail(MPI_ERR_ARG, "--skew measures one length, not %zu", options.sizes.size());
  }
  if (!options.sizes.empty()) skew.bytes = options.sizes[0];
  if (bench.count("--alloc") > 0) skew.from_mpi = options.alloc == "mpi";
  skew.json_file = options.json_file;
  skew.plot_file = options.plot_file;
  return hearth::tools::run_skew(skew);
}

// --man-page is for the build, so --help hides it.
void add_man_page(CLI::App& app) {
  const auto print = [&app] {
    const std::string page = hearth::tools::man_page_text(app);
    if (std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      throw CLI::RuntimeError("cannot write the man page", 1);
    }
    throw CLI::Success();
  };
  app.add_flag_callback("--man-page", print)->group("");
}

// CLI11 says for an unknown subcommand only that one is required.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
  std::string text = CLI::FailureMessage::simple(app, error);
  const std::vector<std::string> unknown = app->remaining();
  if (error.get_name() == "RequiredError" && !unknown.empty()) {
    text = "there is no subcommand '" + unknown.front() + "'. " + text;
  }
  return text;
}

int report(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "hearth: %s\n", hearth::last_failure_text());
  return 1;
}

}  // namespace

int hearth::tools::run_hearth(int count, char** words) {
  CLI::App app("Hearth MPI: what it is, what it would do, and how fast it is here");
  app.set_version_flag("--version", "hearth " HEARTH_VERSION);
  app.require_subcommand(1);
  app.failure_message(failure_text);
  add_man_page(app);
  InfoOptions info_options;
  BenchOptions bench_options;
  TuneOptions tune_options;
  const CLI::App& info = add_info(app, info_options);
  bool skew = false;
  std::vector<std::string> collectives;
  CLI::App& bench = add_bench(app, bench_options, collectives, skew);
  PaperOptions paper_options;
  const CLI::App& paper = add_paper(bench, paper_options);
  CheckOptions check_options;
  bool checks = false;
  add_tune(app, tune_options, check_options, checks);
  ProfileOptions profile_options;
  const CLI::App& profile = add_profile(app, profile_options);
  WhyOptions why_options;
  const CLI::App& why = add_why(app, why_options);
  DoctorOptions doctor_options;
  const CLI::App& doctor = add_doctor(app, doctor_options);
  TopOptions top_options;
  const CLI::App& top = add_top(app, top_options);
  try {
    app.parse(count, words);
    if (info.parsed()) return report(run_info(info_options));
    if (doctor.parsed()) {
      bool healthy = true;
      const int code = report(run_doctor(doctor_options, healthy));
      return healthy ? code : 1;
    }
    if (profile.parsed()) return report(run_profile(profile_options));
    if (why.parsed()) return report(run_why(why_options));
    if (top.parsed()) return report(run_top(top_options));
    if (paper.parsed()) return report(run_paper(paper_options));
    if (skew) return report(bench_skew(bench, bench_options));
    if (!collectives.empty()) return report(run_bench_collectives(bench_options, collectives));
    if (bench.parsed()) return report(run_bench(bench_options));
    if (checks) return report(run_check(check_options));
    tune_options.quick = tune_options.quick || tune_options.background;
    return report(run_tune(tune_options));
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hearth: %s\n", error.what());
    return 1;
  }
}
