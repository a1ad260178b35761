// Text functions for the parsing of mpiexec's command line.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

using Words = std::vector<std::string>;

std::string lower(std::string text);
/// Splits at each separator; empty parts are kept.
Words split(const std::string& text, char separator);
/// Whether the whole text is a decimal number from `least` to `most`.
bool to_number(const std::string& text, int least, int most, int& value);

/// Letters to change, insert or delete to convert one word into the other (Levenshtein distance).
size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace hearth::launch
