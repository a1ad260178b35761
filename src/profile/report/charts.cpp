#include "profile/report/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "profile/markup.h"
#include "profile/report/words.h"

namespace hearth::profile {
namespace {

constexpr size_t kRanksDrawn = 64;
constexpr size_t kSquares = 64;  // of the matrix, in each direction
constexpr size_t kRanksWithNumbers = 10;

[[gnu::format(printf, 1, 2)]] std::string print(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string begin_svg(double width, double height, const std::string& label) {
  return print("<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"",
               width, height, width, height) +
         escaped(label) + "\">\n";
}

std::string text_at(double x, double y, const char* anchor, const std::string& words, const char* kind = "") {
  return print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, kind) +
         escaped(words) + "</text>\n";
}

std::string box(double x, double y, double width, double height, const std::string& kind,
                const std::string& title, double opacity = 1) {
  return print("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill-opacity=\"%.3f\" class=\"", x,
               y, width, height, opacity) +
         kind + "\"><title>" + escaped(title) + "</title></rect>\n";
}

std::string legend(double x, double y, const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [kind, words] : entries) {
    out += box(x, y - 9, 10, 10, kind, words);
    out += text_at(x + 15, y, "start", words);
    x += 30 + 6.6 * static_cast<double>(words.size());
  }
  return out;
}

struct TimePart {
  const char* kind;
  const char* words;
  double value_s;
};

std::vector<TimePart> parts_of(const RankSummary& rank) {
  const auto waited = [&rank](Wait wait) { return rank.waited_s[static_cast<size_t>(wait)]; };
  return {{"k-rest", "the rest", rank.rest_s()},
          {"k-copy", "long copies", rank.copied_s},
          {"k-late-sender", "late sender", waited(Wait::late_sender)},
          {"k-late-receiver", "late receiver", waited(Wait::late_receiver)},
          {"k-request", "any request", waited(Wait::request)},
          {"k-collective", "collective", waited(Wait::collective)},
          {"k-finalize", "finalize", waited(Wait::finalize)}};
}

}  // namespace

std::string time_chart(const Summary& summary) {
  // In large jobs, show the ranks that wait longest.
  std::vector<size_t> shown(summary.size());
  for (size_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() > kRanksDrawn) {
    std::stable_sort(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return summary.ranks[a].waited_all_s() > summary.ranks[b].waited_all_s();
    });
    shown.resize(kRanksDrawn);
    std::sort(shown.begin(), shown.end());
  }
  const double row = shown.size() <= 16 ? 22 : 12;
  const double left = 64;
  const double width = 720;
  const double height = 34 + row * static_cast<double>(shown.size()) + 24;
  const double longest = std::max(summary.run_s, 1e-9);
  std::string out = begin_svg(left + width + 16, height, "Time of each rank: waiting, copying and the rest");
  std::vector<std::pair<std::string, std::string>> names;
  for (const TimePart& part : parts_of(RankSummary())) names.emplace_back(part.kind, part.words);
  out += legend(left, 14, names);
  double y = 30;
  for (const size_t rank : shown) {
    out += text_at(left - 8, y + row * 0.68, "end", "rank " + std::to_string(rank));
    double x = left;
    for (const TimePart& part : parts_of(summary.ranks[rank])) {
      const double length = std::min(part.value_s / longest * width, left + width - x);
      if (length <= 0) continue;
      out += box(x, y + 1, length, row - 3, part.kind,
                 "rank " + std::to_string(rank) + ", " + part.words + ": " + time_words(part.value_s));
      x += length;
    }
    y += row;
  }
  out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", left, y,
               left + width, y);
  for (int tick = 0; tick <= 4; ++tick) {
    out += text_at(left + width * tick / 4, y + 16, tick == 4 ? "end" : "middle",
                   time_words(longest * tick / 4));
  }
  return out + "</svg>\n";
}

std::string matrix_chart(const Summary& summary, bool bytes) {
  const size_t each = (summary.size() + kSquares - 1) / kSquares;
  const size_t squares = (summary.size() + each - 1) / each;
  std::vector<uint64_t> values(squares * squares);
  for (size_t from = 0; from < summary.size(); ++from) {
    for (size_t to = 0; to < summary.size(); ++to) {
      const Traffic& traffic = summary.between(from, to);
      values[from / each * squares + to / each] += bytes ? traffic.bytes : traffic.messages;
    }
  }
  const uint64_t most = *std::max_element(values.begin(), values.end());
  const double left = 44;
  const double top = 34;
  const double side = std::min(56.0, 360.0 / static_cast<double>(squares));
  const double length = side * static_cast<double>(squares);
  const std::string what = bytes ? "Bytes" : "Messages";
  std::string out = begin_svg(left + std::max(length, 280.0) + 12, top + length + 26,
                              what + " from each rank to each rank");
  out += text_at(left, 14, "start", what + ": row sends, column receives", "panel");
  const auto label = [each](size_t square) { return std::to_string(square * each); };
  const size_t label_step = std::max<size_t>(1, (squares + 15) / 16);
  for (size_t from = 0; from < squares; ++from) {
    const double at = side * static_cast<double>(from);
    if (from % label_step == 0) {
      out += text_at(left - 6, top + at + side / 2 + 4, "end", label(from));
      out += text_at(left + at + side / 2, top - 6, "middle", label(from));
    }
    for (size_t to = 0; to < squares; ++to) {
      const uint64_t value = values[from * squares + to];
      const double x = left + side * static_cast<double>(to);
      const std::string words = bytes ? bytes_words(value) : count_words(value) + " messages";
      const std::string title =
          (each == 1 ? "rank " : "ranks from ") + label(from) + " to " + label(to) + ": " + words;
      out += box(x, top + at, side - 1, side - 1, "k-empty", title);
      if (value == 0) continue;
      // Logarithmic shades, so that pairs with little traffic remain visible.
      const double shade = 0.12 + 0.88 * std::log2(1.0 + static_cast<double>(value)) /
                                      std::log2(1.0 + static_cast<double>(most));
      out += box(x, top + at, side - 1, side - 1, "k-heat", title, shade);
      if (summary.size() <= kRanksWithNumbers) {
        out += text_at(x + side / 2 - 0.5, top + at + side / 2 + 4, "middle",
                       bytes ? bytes_words(value) : count_words(value), shade > 0.5 ? "on-heat" : "strong");
      }
    }
  }
  if (each > 1) {
    out += text_at(left, top + length + 18, "start", std::to_string(each) + " ranks in a square", "small");
  }
  return out + "</svg>\n";
}

std::string channel_chart(const Summary& summary) {
  const Traffic all = summary.all();
  const double left = 170;
  const double width = 460;
  const double row = 62;
  std::string out = begin_svg(left + width + 80, 34 + row * static_cast<double>(summary.channels.size()) + 8,
                              "Share of each channel in messages and bytes, beside the even distribution");
  out +=
      legend(left, 14, {{"k-messages", "messages"}, {"k-bytes", "bytes"}, {"k-even", "even distribution"}});
  double y = 34;
  for (const Channel& channel : summary.channels) {
    out += text_at(left - 10, y + 26, "end", channel_words(channel.relation));
    const auto share = [](uint64_t part, uint64_t whole) {
      return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const std::pair<const char*, std::pair<double, std::string>> bars[] = {
        {"k-messages",
         {share(channel.traffic.messages, all.messages),
          count_words(channel.traffic.messages) + " messages"}},
        {"k-bytes", {share(channel.traffic.bytes, all.bytes), bytes_words(channel.traffic.bytes)}},
        {"k-even", {channel.even_share, "if each rank sent as much to each other rank"}}};
    double at = y;
    for (const auto& [kind, value] : bars) {
      out += box(left, at, std::max(1.0, value.first * width), 13, kind,
                 channel_words(channel.relation) + ": " + percent_words(value.first) + ", " + value.second);
      out += text_at(left + std::max(1.0, value.first * width) + 6, at + 11, "start",
                     percent_words(value.first), "small");
      at += 16;
    }
    y += row;
  }
  return out + "</svg>\n";
}

std::string size_chart(const Summary& summary) {
  int last = 1;
  uint64_t most = 1;
  for (int i = 0; i < kClasses; ++i) {
    uint64_t sum = 0;
    for (const WaySummary& way : summary.ways) sum += way.by_size[static_cast<size_t>(i)];
    most = std::max(most, sum);
    if (sum > 0) last = i;
  }
  const double left = 72;
  const double top = 34;
  const double height = 200;
  const double step = std::min(44.0, 720.0 / (last + 1));
  const double width = step * (last + 1);
  // Powers of ten: no 64-bit count exceeds 10^20.
  const int powers = std::min(19, static_cast<int>(std::ceil(std::log10(static_cast<double>(most) + 0.5))));
  const auto up = [&](double count) {
    return count < 1 ? 0.0 : (std::log10(count) + 1) / (powers + 1) * height;
  };
  std::string out = begin_svg(left + std::max(width, 430.0) + 12, top + height + 56,
                              "Number of messages by length, coloured by protocol, on a logarithmic axis");
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < summary.ways.size(); ++i)
    names.emplace_back("w" + std::to_string(i), summary.ways[i].name);
  out += legend(left, 14, names);
  for (int power = 0; power <= powers; ++power) {
    const double y = top + height - up(std::pow(10, power));
    out += print("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", left, y,
                 left + width, y);
    out += text_at(left - 8, y + 4, "end", count_words(static_cast<uint64_t>(std::pow(10, power))), "small");
  }
  for (int i = 0; i <= last; ++i) {
    const double x = left + step * i;
    // Logarithms do not add up: the column's height shows the sum, divided in proportion to the counts.
    double sum = 0;
    for (const WaySummary& way : summary.ways)
      sum += static_cast<double>(way.by_size[static_cast<size_t>(i)]);
    double y = top + height;
    for (size_t w = 0; w < summary.ways.size() && sum > 0; ++w) {
      const uint64_t count = summary.ways[w].by_size[static_cast<size_t>(i)];
      if (count == 0) continue;
      const double part = up(sum) * static_cast<double>(count) / sum;
      y -= part;
      out += box(x + 1.5, y, step - 3, part, "w" + std::to_string(w),
                 class_words(i) + ", " + summary.ways[w].name + ": " + count_words(count) + " messages");
    }
    if (i % 2 == 0 || step > 42) {
      out += text_at(x + step / 2, top + height + 16, "middle", i == 0 ? "0" : bytes_words(class_begin(i)),
                     "tiny");
    }
  }
  out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", left, top + height,
               left + width, top + height);
  out += text_at(left + width / 2, top + height + 40, "middle",
                 "bytes of a message: this many, to less than twice as many");
  return out + "</svg>\n";
}

std::string small_bars(const Classes& classes, const std::string& label) {
  constexpr double kStep = 7;
  constexpr double kHeight = 26;
  int last = 0;
  uint64_t most = 1;
  for (int i = 0; i < kClasses; ++i) {
    if (classes[static_cast<size_t>(i)] == 0) continue;
    last = i;
    most = std::max(most, classes[static_cast<size_t>(i)]);
  }
  std::string out = begin_svg(kStep * 32, kHeight, label);
  out += print("<line class=\"grid\" x1=\"0\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kHeight - 0.5,
               kStep * 32, kHeight - 0.5);
  for (int i = 0; i <= std::min(last, 31); ++i) {
    const uint64_t count = classes[static_cast<size_t>(i)];
    if (count == 0) continue;
    const double up = 3 + (kHeight - 4) * std::log2(1.0 + static_cast<double>(count)) /
                              std::log2(1.0 + static_cast<double>(most));
    out += box(kStep * i + 0.5, kHeight - std::min(up, kHeight), kStep - 1, std::min(up, kHeight), "k-bytes",
               class_words(i) + ": " + count_words(count) + " calls");
  }
  return out + "</svg>";
}

}  // namespace hearth::profile
