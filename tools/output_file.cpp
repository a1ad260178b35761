#include "output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/os_process.h"
#include "mpi.h"

namespace hearth::tools {
namespace {

Status cannot_write(const std::string& name, const std::string& why) {
  return fail(MPI_ERR_OTHER, "cannot write '%s': %s", name.c_str(), why.c_str());
}

// Plain files are replaced: the text is written to another file, which is then renamed. Concurrent readers,
// such as another job's mpiexec, see the old file or the new one. Devices and pipes are written directly.
bool is_replaced(const std::string& name) {
  std::error_code error;
  return !std::filesystem::exists(name, error) || std::filesystem::is_regular_file(name, error);
}

std::string draft_of(const std::string& name) {
  return is_replaced(name) ? name + "." + std::to_string(os::process_id()) : name;
}

Status write_draft(const std::string& name, const std::string& draft, const std::string& text) {
  std::error_code error;
  const std::filesystem::path path(name);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return cannot_write(name, error.message());
  std::ofstream file(draft);
  file << text;
  file.close();
  return file ? Status() : cannot_write(name, std::strerror(errno));
}

}  // namespace

Status write_file(const std::string& name, const std::string& text) {
  if (name == "-") {
    fmt::print("{}", text);
    return {};
  }
  const std::string draft = draft_of(name);
  HEARTH_TRY(write_draft(name, draft, text));
  std::error_code error;
  if (draft != name) std::filesystem::rename(draft, name, error);
  return error ? cannot_write(name, error.message()) : Status();
}

Status check_writable(const std::string& name) {
  if (name == "-") return {};
  const std::string draft = draft_of(name);
  if (draft == name) return {};
  HEARTH_TRY(write_draft(name, draft, ""));
  std::error_code error;
  std::filesystem::remove(draft, error);
  return {};
}

}  // namespace hearth::tools
