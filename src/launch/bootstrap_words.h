// Reading and writing the small words of launchers: numbers in variables, bytes as letters. Pure functions,
// called when the library starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::launch {

/// Takes a decimal number off the beginning of the text; false when there is none, or it is too large.
bool take_number(std::string_view& text, uint64_t& value);
/// The whole text as a number from 0 to 2^30.
bool parse_small(std::string_view text, int& value);
/// The same of an environment variable; false when it is not there.
bool small_variable(const char* name, int& value);
/// An environment variable, "" when it is not there.
std::string_view variable(const char* name);

/// Two hexadecimal digits for each byte: letters that every launcher carries.
std::string to_hex(std::span<const std::byte> bytes);
/// False for anything that to_hex() does not write.
bool from_hex(std::string_view text, std::vector<std::byte>& bytes);

/// What somebody else sent, for a message: without what a terminal would obey, and cut where it is long.
std::string printable(std::string_view text);

}  // namespace hearth::launch
