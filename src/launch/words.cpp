#include "launch/words.h"

#include <algorithm>
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

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace hearth::launch
