#include "launch/words.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace hearth::launch {

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

Words split(const std::string& text, char separator) {
  Words words;
  size_t start = 0;
  for (;;) {
    const size_t end = text.find(separator, start);
    words.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return words;
    start = end + 1;
  }
}

bool to_number(const std::string& text, int least, int most, int& value) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || number < least || number > most) return false;
  value = static_cast<int>(number);
  return true;
}

}  // namespace hearth::launch
