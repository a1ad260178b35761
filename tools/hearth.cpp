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
    "  pairs          rank i to rank i + P/2, 64 in flight; differs from rate with 4 ranks or more\n"
    "  unexpected     64 messages that arrive before their receives; the last one is received first\n";

CLI::App& add_info(CLI::App& app, InfoOptions& options) {
  CLI::App& info = *app.add_subcommand("info", "build, machine, parameters, memory, protocols");
  CLI::Option* program = info.add_option(
      "program", options.program,
      "show only the MPI library for which this program or script was built, and the one it gets");
  info.add_flag("--json", options.json, "print JSON");
  info.add_flag("--memory", options.memory,
                "show only the memory of a rank, compared with the design of the papers")
      ->excludes(program);
  CLI::Option* explain =
      info.add_flag("--explain", options.explain, "show only the protocol of a message, and why it is chosen")
          ->excludes(program);
  info.add_option("--size", options.bytes, "bytes of the message for --explain, as in 1024 or 64KiB")
      ->transform(CLI::AsSizeValue(false))
      ->needs(explain);
  info.add_option("-n,--ranks", options.ranks, "ranks of the job for --memory and --explain")
      ->check(CLI::Range(1u, 65536u));
  return info;
}

CLI::App& add_bench(CLI::App& app, BenchOptions& options, std::vector<std::string>& collectives, bool& skew) {
  CLI::App& bench = *app.add_subcommand("bench", "measure messages and collectives between ranks");
  bench.add_option("cases", options.cases, "the cases to measure")->capture_default_str();
  bench.add_option("-n,--ranks", options.ranks, "ranks of the job")->capture_default_str();
  bench.add_option("--hosts", options.hosts,
                   "run the job on these machines: host names, separated by commas");
  bench.add_option("--alloc", options.alloc, "how the buffers are allocated")
      ->check(CLI::IsMember({"malloc", "mpi"}))
      ->capture_default_str();
  bench.add_option("--offset", options.offset, "bytes from the start of a page to both buffers")
      ->check(CLI::Range(0, 4095))
      ->capture_default_str();
  bench.add_option("--min-bytes", options.min_bytes, "shortest message, as in 1024 or 64KiB")
      ->transform(CLI::AsSizeValue(false));
  bench.add_option("--max-bytes", options.max_bytes, "longest message")->transform(CLI::AsSizeValue(false));
  bench.add_option("--sizes", options.sizes, "exactly these message lengths")->delimiter(',');
  bench.add_option("--time-ms", options.time_ms, "measuring time for each case and length")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  bench.add_option("--window", options.window, "messages in flight (default: as the case says)")
      ->check(CLI::Range(1, 64));
  bench
      .add_option("--collective", collectives,
                  fmt::format("measure these collectives instead (time of the slowest rank): {}, or all",
                              fmt::join(hearth::tools::collective_names(), ", ")))
      ->delimiter(',');
  bench.add_flag("--skew", skew,
                 "measure instead how messages delay a producer whose consumer lags, with three "
                 "protocols; accepts --alloc, one length of --sizes, --json and --plot");
  bench.add_option("--json", options.json_file,
                   "write the results as JSON to this file ('-': standard output)");
  bench.add_option("--plot", options.plot_file, "draw the results into this SVG file");
  bench.footer(kBenchFooter);
  return bench;
}

CLI::App& add_paper(CLI::App& bench, PaperOptions& options) {
  CLI::App& paper =
      *bench.add_subcommand("paper", "run the experiments of the papers and compare with their results");
  paper.footer("");  // by default that of bench, which is about other cases
  paper.add_option("names", options.names, "names of experiments");
  paper.add_flag("--all", options.all, "run all experiments, which takes some minutes");
  paper.add_flag("--list", options.list, "list the experiments with a description");
  paper.add_flag(
      "--quick", options.quick,
      "run each experiment briefly, as a test of the experiments: the figures are not significant");
  paper.add_option("-o,--output", options.page_file,
                   "write the report to this file, an HTML page with plots");
  paper.add_option("--json", options.json_file, "write all numbers to this file ('-': standard output)");
  paper.add_option("--mpi", options.prefixes,
                   "also measure the MPI library of this prefix (bin/mpicc, bin/mpiexec); may be repeated");
  paper.add_option(
      "--application", options.application,
      "a program with its arguments, whose messages are examined instead of those of the included program");
  paper.add_option("--application-ranks", options.application_ranks, "ranks of that program")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  return paper;
}

CLI::App& add_tune(CLI::App& app, TuneOptions& options, CheckOptions& check, bool& checks) {
  CLI::App& tune = *app.add_subcommand("tune", "measure this machine and write its profile of thresholds");
  tune.add_flag("--quick", options.quick, "measure only the most important thresholds, in seconds");
  tune.add_flag(
      "--background", options.background,
      "tune as mpiexec does in the background: in seconds, at the lowest priority, and only on an idle "
      "machine that has no profile");
  CLI::Option* check_flag = tune.add_flag(
      "--check", checks, "list instead where the chosen protocol is more than 10 % slower than another one");
  tune.add_option("--min-bytes", check.min_bytes, "shortest message of --check, as in 1024 or 64KiB")
      ->transform(CLI::AsSizeValue(false))
      ->needs(check_flag);
  tune.add_option("--max-bytes", check.max_bytes, "longest message of --check")
      ->transform(CLI::AsSizeValue(false))
      ->needs(check_flag);
  tune.add_option("-o,--output", options.output_file,
                  "write the profile to this file ('-': standard output) instead of the user's own profile");
  tune.add_option("--plot", options.plot_file, "draw the curves and the crossovers into this SVG file");
  return tune;
}

CLI::App& add_profile(CLI::App& app, ProfileOptions& options) {
  CLI::App& profile =
      *app.add_subcommand("profile",
                          "summarise the messages of a job on several machines, from the files that its "
                          "ranks have written to HEARTH_PROFILE_FOLDER");
  profile.add_option("folder", options.folder, "the folder with these files")
      ->required()
      ->check(CLI::ExistingDirectory);
  profile.add_option(
      "-o,--output", options.output_files,
      "write an HTML page, or JSON to a name that ends in .json ('-': JSON to standard output)");
  return profile;
}

CLI::App& add_why(CLI::App& app, WhyOptions& options) {
  CLI::App& why =
      *app.add_subcommand("why", "explain why a running job does not progress: which rank waits for which");
  why.add_option("pid", options.pid, "PID of mpiexec or of a rank (default: the only running job)");
  why.add_flag("--json", options.json, "print JSON");
  return why;
}

CLI::App& add_top(CLI::App& app, TopOptions& options) {
  CLI::App& top = *app.add_subcommand("top", "show what the ranks of a running job do, repeatedly");
  top.add_option("pid", options.pid, "PID of mpiexec or of a rank (default: the only running job)");
  CLI::Option* once = top.add_flag("--once", options.once, "print one table and exit");
  top.add_flag("--json", options.json, "print JSON")->needs(once);
  const std::vector<std::string> orders(std::begin(hearth::tools::kTopOrders),
                                        std::end(hearth::tools::kTopOrders));
  top.add_option("--sort", options.sort, "column by which the ranks are sorted")
      ->check(CLI::IsMember(orders))
      ->capture_default_str();
  top.add_option("--seconds", options.seconds, "time between two samples")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  return top;
}

CLI::App& add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App& doctor = *app.add_subcommand(
      "doctor", "check what jobs need on this machine and between machines, with remedies");
  doctor.add_option("--hosts", options.hosts,
                    "also test the connections between these machines: host names, separated by commas");
  doctor.add_option("--hostfile", options.host_file, "the same, with the machines of a hostfile of mpiexec")
      ->check(CLI::ExistingFile);
  doctor.add_flag("--between", options.between,
                  "in a rank of a job: test only the connections between the machines of the job");
  doctor.add_flag("--json", options.json, "print JSON");
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
  CLI::App app("Hearth MPI: facts, measurements, and diagnostics of running jobs");
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
