// mpiexec and hearth as one program, for small installations (HEARTH_ONE_PROGRAM): they share half of their
// code. It is hearth if its name is, or if the first word is --as-hearth: a wheel cannot hold links, and the
// script that it has in place of the link cannot choose the name.
#include <string_view>

#include "hearth.h"
#include "launch/mpiexec.h"

extern char** environ;

int main(int count, char** words) {
  const std::string_view path = count > 0 ? words[0] : "";
  if (path.substr(path.rfind('/') + 1) == "hearth") return hearth::tools::run_hearth(count, words);
  if (count > 1 && std::string_view(words[1]) == "--as-hearth") {
    static char name[] = "hearth";
    words[1] = name;
    return hearth::tools::run_hearth(count - 1, words + 1);
  }
  return hearth::launch::mpiexec(words, environ);
}
