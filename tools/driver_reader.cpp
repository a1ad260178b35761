#include "driver_reader.h"

#include <string_view>

#include "mpi.h"
#include "program_lines.h"

namespace hearth::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Appends a line to the header and parses the complete header. False if it cannot be parsed.
bool take_header(std::string& header, const std::string& line, Json& document) {
  constexpr std::string_view kEnd = "\"results\": [";
  header += line;
  if (!header.ends_with(kEnd)) {
    header += ',';
    return true;
  }
  document = Json::parse(header + "]}", nullptr, false);
  return !document.is_discarded();
}

}  // namespace

Status read_driver(const std::vector<std::string>& command, const std::function<void(const Json&)>& begin,
                   const std::function<void(Json&)>& add, Json& document) {
  std::string header;
  document = Json();
  const auto take = [&](std::string line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == ',' || line.back() == ' '))
      line.pop_back();
    if (document.is_null()) {
      if (!take_header(header, line, document)) return false;
      if (!document.is_null()) begin(document);
      return true;
    }
    if (line.find("\"case\"") == std::string::npos) return true;  // the closing brackets
    Json result = Json::parse(line, nullptr, false);
    if (result.is_discarded()) return false;
    add(result);
    document["results"].push_back(std::move(result));
    return true;
  };
  HEARTH_TRY(for_each_line(command, take));
  if (document.is_null()) return fail(MPI_ERR_OTHER, "the benchmark printed nothing");
  return {};
}

}  // namespace hearth::tools
