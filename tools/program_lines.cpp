#include "program_lines.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "mpi.h"

namespace hearth::tools {
namespace {

struct ClosePipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

Status for_each_line(const std::vector<std::string>& command,
                     const std::function<bool(const std::string& line)>& take) {
  std::string words;
  for (const std::string& word : command) words += quoted(word) + ' ';
  std::unique_ptr<std::FILE, ClosePipe> pipe(popen(words.c_str(), "r"));
  if (pipe == nullptr)
    return fail(MPI_ERR_OTHER, "cannot start '%s': %s", words.c_str(), std::strerror(errno));
  char line[4096];
  bool understood = true;
  while (std::fgets(line, sizeof line, pipe.get()) != nullptr) understood = take(line) && understood;
  if (const int code = pclose(pipe.release()); code != 0) {
    return fail(MPI_ERR_OTHER, "the benchmark did not come to its end (code %d); it was started as: %s",
                code >= 256 ? code / 256 : code, words.c_str());
  }
  if (!understood) {
    return fail(
        MPI_ERR_OTHER,
        "the benchmark printed what this program does not understand. Likely cause: hearth and %s are "
        "of different versions",
        command.front().c_str());
  }
  return {};
}

}  // namespace hearth::tools
