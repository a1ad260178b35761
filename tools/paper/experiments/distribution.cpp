// Lengths and channels of an application's messages.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/os_io.h"
#include "mpi.h"
#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace distribution {

constexpr const char* kMessages = "messages";
constexpr const char* kBytes = "bytes";
// From 4 to 64 KiB, as in the paper.
constexpr double kRangeFactor = 16;
constexpr double kMostShare = 0.9;

/// Adds messages by the shortest length of their class.
void add_sizes(const Json& sizes, std::map<double, double>& messages) {
  for (const auto& [begin, count] : sizes.items()) messages[std::stod(begin)] += count.get<double>();
}

Curve share_curve(const char* name, const std::map<double, double>& values) {
  double all = 0;
  for (const auto& [place, value] : values) all += value;
  Curve curve{name, {}};
  for (const auto& [place, value] : values)
    if (all > 0) curve.points.push_back({place, tune::median_interval({100 * value / all})});
  return curve;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

Status look_at(const Json& profile, Findings& findings) {
  std::map<double, double> messages, bytes;
  for (const Json& protocol : profile.at("protocols")) add_sizes(protocol.at("messages_by_size"), messages);
  // A class reaches to less than twice its shortest length, so its messages count as 1.5 times that length.
  for (const auto& [place, count] : messages) bytes[place] = count * place * 1.5;
  findings.plots = {{"Messages and bytes by length", "%", ""}};
  findings.plots[0].curves = {share_curve(kMessages, messages), share_curve(kBytes, bytes)};
  Listing channels{"Channels", {"both ranks share", "#messages", "#bytes", "#even distribution"}, {}};
  const double all_messages = profile.at("messages").get<double>(),
               all_bytes = profile.at("bytes").get<double>();
  const auto share = [](double part, double all) { return all > 0 ? part / all : 0; };
  for (const Json& channel : profile.at("channels")) {
    const double even = channel.at("even_share").get<double>();
    const double part = share(channel.at("messages").get<double>(), all_messages);
    channels.rows.push_back({channel.at("relation").get<std::string>(), percent(part),
                             percent(share(channel.at("bytes").get<double>(), all_bytes)), percent(even)});
    // Channels are listed closest relation first.
    if (channels.rows.size() == 1) {
      findings.numbers["nearest_share"] = part;
      findings.numbers["nearest_even_share"] = even;
    }
  }
  findings.numbers["channels"] = static_cast<double>(channels.rows.size());
  findings.numbers["messages"] = all_messages;
  findings.listings = {channels};
  return {};
}

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::filesystem::path file = laboratory.scratch("profile.json");
  Job job;
  job.ranks = laboratory.application_ranks;
  job.launcher_options = {"--profile", file.string()};
  job.words = {"application", laboratory.quick() ? "32" : "256", laboratory.quick() ? "20" : "4000"};
  Samples none;
  if (laboratory.application.empty()) {
    findings.notes.emplace_back(
        "the application is this installation's own, a plane of heat; --application names another");
    HEARTH_TRY(laboratory.run(job, none, findings));
  } else {
    findings.notes.push_back(fmt::format("the application: {}", fmt::join(laboratory.application, " ")));
    HEARTH_TRY(laboratory.run_application(job));
  }
  const Json profile = Json::parse(os::read_text(file.c_str()), nullptr, false);
  if (profile.is_discarded() || !profile.contains("channels"))
    return fail(MPI_ERR_OTHER, "mpiexec --profile wrote no profile of the application");
  return look_at(profile, findings);
}

/// The largest share within a range of lengths whose ends differ by the factor, and where it begins.
double densest(const Curve& curve, double& from) {
  double most = 0;
  for (const Point& begin : curve.points) {
    double sum = 0;
    for (const Point& point : curve.points)
      if (point.place >= begin.place && point.place < kRangeFactor * std::max(begin.place, 1.0))
        sum += point.value.middle;
    if (sum > most) {
      most = sum;
      from = begin.place;
    }
  }
  return most / 100;
}

std::vector<Judgement> judge(const Findings& findings) {
  if (findings.number("messages") <= 0)
    return {not_measurable("the application sent no message"),
            not_measurable("the application sent no message")};
  const double near = findings.number("nearest_share"), even = findings.number("nearest_even_share");
  double messages_from = 0, bytes_from = 0;
  const double messages = densest(findings.curve(kMessages), messages_from);
  const double bytes = densest(findings.curve(kBytes), bytes_from);
  return {
      findings.number("channels") < 2
          ? not_measurable("all ranks are equally far from each other as far as this machine tells: there is "
                           "one channel")
          : confirmed(
                near > even,
                fmt::format("the nearest channel has {} of the messages, evenly distributed it would have {}",
                            percent(near), percent(even))),
      confirmed(
          messages > kMostShare && bytes > kMostShare,
          fmt::format(
              "{} of the messages are of {} or more and less than 16 times that, and {} of the bytes are in "
              "messages of {} or more and less than 16 times that",
              percent(messages), bytes_text(static_cast<uint64_t>(messages_from)), percent(bytes),
              bytes_text(static_cast<uint64_t>(bytes_from))))};
}

constexpr Claim kClaims[] = {
    {"section 5.2, figures 3 and 4",
     "Applications send more between near processes than they would if each sent as much to every other one.",
     "confirmed when the nearest channel's share of the messages is above that of the even distribution"},
    {"section 5.2, figure 3",
     "An application's messages lie in a narrow range of lengths: of NAMD's more than 90 % of the messages "
     "and of the bytes "
     "between 4 KiB and 64 KiB.",
     "confirmed when more than 90 % of the messages, and of the bytes, lie in a range of lengths whose ends "
     "differ by a factor of "
     "16; it speaks for the one application that was examined"},
};

}  // namespace distribution

extern const Experiment kDistribution = {
    "distribution",
    "Lengths and channels of an application's messages",
    kMulticore2007,
    "mpiexec --profile looks at an application of four ranks: messages by length, and by what lies between "
    "sender and receiver, "
    "beside the even distribution. The paper examined NAMD, HPL and NAS; here it is a small one of our own, "
    "a plane of heat "
    "(bench/paper/application.c), or the one that --application names.",
    distribution::kClaims,
    distribution::measure,
    distribution::judge,
};

}  // namespace hearth::tools::paper
