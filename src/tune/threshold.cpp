#include "tune/threshold.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/launcher_rank.h"
#include "base/vector_set.h"
#include "mpi.h"

namespace hearth::tune {
namespace {

constexpr uint64_t KiB = 1024;
constexpr uint64_t MiB = 1024 * KiB;
constexpr uint64_t never = kNever;

/// Defaults that were measured on AMD Zen 5, and those of other processors.
uint64_t on_zen5(uint64_t zen5, uint64_t others) {
  return is_amd_zen5() ? zen5 : others;
}

const Threshold kThresholds[] = {
#define HEARTH_THRESHOLD(parameter, self, smt, l2, l3, numa, package, machine, unknown, network, why) \
  {param::Id::parameter, #parameter, {self, smt, l2, l3, numa, package, machine, unknown, network}, why},
#include "tune/threshold.def"
};
constexpr size_t kCount = std::size(kThresholds);

constexpr Limit kLimits[] = {
#define HEARTH_LIMIT(parameter, why) {param::Id::parameter, #parameter, why},
#include "tune/threshold.def"
};

constexpr const char* kNeverWord = "never";
constexpr std::string_view kHintPrefix = "hearth_";

template <class Row, size_t kRows>
size_t row_in(const Row (&rows)[kRows], param::Id parameter) {
  size_t row = 0;
  while (row < kRows && rows[row].parameter != parameter) ++row;
  HEARTH_CHECK(row < kRows);
  return row;
}

size_t row_of(param::Id parameter) {
  return row_in(kThresholds, parameter);
}

bool is_default(param::Id parameter) {
  return std::strcmp(param::source(parameter), "default") == 0;
}

/// The values from a profile, by row.
class Table {
 public:
  Table() {
    const char* words = std::getenv(kVariable);
    if (words == nullptr || *words == '\0') return;
    std::vector<Tuned> values;
    if (!from_words(words, values).ok()) {
      if (is_first_rank()) std::fprintf(stderr, "hearth: %s; using defaults\n", last_failure_text());
    }
    take(values);
  }

  void take(std::span<const Tuned> values) {
    values_ = {};
    limits_ = {};
    for (const Tuned& tuned : values) {
      if (tuned.relation) {
        values_[row_of(tuned.parameter)][static_cast<size_t>(*tuned.relation)] = tuned.value;
      } else {
        limits_[row_in(kLimits, tuned.parameter)] = tuned.value;
      }
    }
  }

  std::optional<uint64_t> at(size_t row, topo::Relation relation) const {
    return values_[row][static_cast<size_t>(relation)];
  }
  std::optional<uint64_t> limit(param::Id parameter) const { return limits_[row_in(kLimits, parameter)]; }

 private:
  std::array<std::array<std::optional<uint64_t>, topo::kRelations>, kCount> values_;
  std::array<std::optional<uint64_t>, std::size(kLimits)> limits_;
};

Table& table() {
  static Table table;
  return table;
}

bool parse_value(std::string_view text, uint64_t& value) {
  if (text == kNeverWord) {
    value = kNever;
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value != kNever;
}

bool parse_one(const std::string& word, Tuned& tuned) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = word.substr(0, equals);
  if (const Limit* limit = find_limit(name); limit != nullptr) {
    tuned.parameter = limit->parameter;
  } else {
    const size_t colon = name.find(':');
    if (colon == std::string::npos) return false;
    const Threshold* threshold = find_threshold(name.substr(0, colon));
    topo::Relation relation;
    if (threshold == nullptr || !topo::find_relation(name.substr(colon + 1).c_str(), relation)) return false;
    tuned.parameter = threshold->parameter;
    tuned.relation = relation;
  }
  return parse_value(std::string_view(word).substr(equals + 1), tuned.value);
}

}  // namespace

std::span<const Threshold> thresholds() {
  return kThresholds;
}

const Threshold* find_threshold(const std::string& name) {
  for (const Threshold& threshold : kThresholds) {
    if (name == threshold.name) return &threshold;
  }
  return nullptr;
}

std::span<const Limit> limits() {
  return kLimits;
}

const Limit* find_limit(const std::string& name) {
  for (const Limit& limit : kLimits) {
    if (name == limit.name) return &limit;
  }
  return nullptr;
}

const char* name_of(param::Id parameter) {
  for (const Limit& limit : kLimits) {
    if (limit.parameter == parameter) return limit.name;
  }
  return kThresholds[row_of(parameter)].name;
}

std::optional<uint64_t> Hints::at(param::Id parameter) const {
  for (const auto& [id, value] : values_) {
    if (id == parameter) return value;
  }
  return std::nullopt;
}

namespace {

/// nullptr: not a hint, or a threshold that is not looked up per communicator.
const Threshold* threshold_of_hint(const std::string& key) {
  if (!key.starts_with(kHintPrefix)) return nullptr;
  const Threshold* threshold = find_threshold(key.substr(kHintPrefix.size()));
  if (threshold == nullptr || threshold->parameter == param::Id::p2p_eager_bytes_max) return nullptr;
  return threshold;
}

}  // namespace

bool Hints::knows(const std::string& key) {
  return threshold_of_hint(key) != nullptr;
}

Status Hints::read(std::span<const std::pair<std::string, std::string>> entries) {
  std::vector<std::pair<param::Id, uint64_t>> values = values_;
  for (const auto& [key, text] : entries) {
    const Threshold* threshold = threshold_of_hint(key);
    if (threshold == nullptr) continue;
    int64_t number = 0;
    if (text != kNeverWord && !param::parse(threshold->parameter, text, number)) {
      return fail(MPI_ERR_INFO_VALUE, "%s is \"%s\": expected %s, never or auto", key.c_str(), text.c_str(),
                  param::expected_form(threshold->parameter).c_str());
    }
    std::erase_if(values, [threshold](const auto& entry) { return entry.first == threshold->parameter; });
    if (number == param::kAutomatic) continue;
    values.emplace_back(threshold->parameter, text == kNeverWord ? kNever : static_cast<uint64_t>(number));
  }
  values_ = std::move(values);
  return {};
}

uint64_t value(param::Id parameter, topo::Relation relation, const Hints* hints) {
  if (hints != nullptr && std::strcmp(param::source(parameter), "environment") != 0) {
    if (const std::optional<uint64_t> hint = hints->at(parameter)) return *hint;
  }
  if (!param::is_automatic(parameter)) return static_cast<uint64_t>(param::get_number(parameter));
  const size_t row = row_of(parameter);
  return table().at(row, relation).value_or(kThresholds[row].standard[static_cast<size_t>(relation)]);
}

const char* source(param::Id parameter, topo::Relation relation) {
  if (!param::is_automatic(parameter)) return param::source(parameter);
  return table().at(row_of(parameter), relation) ? "profile" : "default";
}

uint64_t limit(param::Id parameter) {
  const auto own = static_cast<uint64_t>(param::get_number(parameter));
  return is_default(parameter) ? table().limit(parameter).value_or(own) : own;
}

const char* limit_source(param::Id parameter) {
  return is_default(parameter) && table().limit(parameter) ? "profile" : param::source(parameter);
}

std::string to_words(std::span<const Tuned> values) {
  std::string words;
  for (const Tuned& tuned : values) {
    if (!words.empty()) words += ';';
    words += name_of(tuned.parameter);
    if (tuned.relation) words += std::string(":") + topo::relation_name(*tuned.relation);
    words += "=";
    words += tuned.value == kNever ? kNeverWord : std::to_string(tuned.value);
  }
  return words;
}

Status from_words(const std::string& words, std::vector<Tuned>& values) {
  values.clear();
  for (size_t begin = 0; begin <= words.size();) {
    const size_t end = std::min(words.find(';', begin), words.size());
    Tuned tuned = {};
    if (!parse_one(words.substr(begin, end - begin), tuned)) {
      values.clear();
      return fail(MPI_ERR_ARG, "%s: '%s' is not name:relation=value or name=value, as mpiexec writes it",
                  kVariable, words.substr(begin, end - begin).c_str());
    }
    values.push_back(tuned);
    begin = end + 1;
  }
  return {};
}

void use(std::span<const Tuned> values) {
  table().take(values);
}

}  // namespace hearth::tune
