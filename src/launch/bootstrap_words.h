// Parsing and formatting of the short texts that launchers exchange: numbers in variables, bytes as
// hexadecimal digits. Pure functions, called when the library starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::launch {

/// Removes a decimal number from the beginning of the text; false if there is none or it is too large.
bool take_number(std::string_view& text, uint64_t& value);
/// Parses the whole text as a number from 0 to 2^30.
bool parse_small(std::string_view text, int& value);
/// Parses an environment variable likewise; false if it is not set.
bool small_variable(const char* name, int& value);
/// The value of an environment variable, "" if it is not set.
std::string_view variable(const char* name);

/// Two hexadecimal digits for each byte, because every launcher carries such text unchanged.
std::string to_hex(std::span<const std::byte> bytes);
/// False if to_hex() cannot have written the text.
bool from_hex(std::string_view text, std::vector<std::byte>& bytes);

/// Makes text of unknown origin safe for a message: control characters are replaced, long text is cut.
std::string printable(std::string_view text);

}  // namespace hearth::launch
