// Parses the output of the benchmark driver as it arrives: a header over several lines up to `"results": [`,
// then one result per line. Used by `hearth bench`, in one thread.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace hearth::tools {

/// Runs the driver. `begin` gets the header, `add` each result, to which it may add fields; `document` gets
/// all.
Status read_driver(const std::vector<std::string>& command,
                   const std::function<void(const nlohmann::ordered_json& header)>& begin,
                   const std::function<void(nlohmann::ordered_json& result)>& add,
                   nlohmann::ordered_json& document);

}  // namespace hearth::tools
