// The man page of hearth, made from the same declarations of options as --help. Called by hearth.cpp.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace hearth::tools {

/// The page for troff. `app` has all commands and options.
std::string man_page_text(const CLI::App& app);

}  // namespace hearth::tools
