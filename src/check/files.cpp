#include "check/files.h"

#include <string_view>

namespace hearth::check {
namespace {

/// Classes of errors that a correct program does not cause by this call. A program may ask by an open
/// whether a file exists, and the system may refuse any call.
bool is_misuse(const Arguments& call, int error_class) {
  switch (error_class) {
    case MPI_ERR_AMODE:
    case MPI_ERR_ARG:
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_FILE:
    case MPI_ERR_NOT_SAME:
    case MPI_ERR_OTHER:
    case MPI_ERR_REQUEST:
    case MPI_ERR_TYPE:
    case MPI_ERR_UNSUPPORTED_OPERATION:
      return true;
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
      return call.has("fh") && call.function() != Call::file_open;
    default:
      return false;
  }
}

}  // namespace

bool Files::is_collective(Call function) {
  switch (function) {
    case Call::file_open:
    case Call::file_close:
    case Call::file_set_size:
    case Call::file_preallocate:
    case Call::file_set_info:
    case Call::file_set_view:
    case Call::file_set_atomicity:
    case Call::file_seek_shared:
    case Call::file_sync:
      return true;
    default: {
      // MPI_File_write_at_all_begin and the like.
      const std::string_view name = abi::call_table[static_cast<size_t>(function)].name;
      const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
      return has("MPI_File_") && (name.ends_with("_all") || has("_all_") || has("_ordered"));
    }
  }
}

uint64_t Files::equal_arguments(const Arguments& call, Types& types) {
  uint64_t equal = 0;
  for (const char* name : {"amode", "size", "flag", "whence"}) {
    if (call.has(name)) equal = mix(equal, call.word(name));
  }
  if (call.function() == Call::file_seek_shared) equal = mix(equal, call.word("offset"));
  if (call.function() != Call::file_set_view) return equal;
  // MPI 5.0 section 14.3: the extent of the etype, and the representation.
  const TypePointer etype = types.find(call.handle<MPI_Datatype>("etype"));
  const char* const representation = call.pointer<const char>("datarep");
  if (etype != nullptr) equal = mix(equal, static_cast<uint64_t>(etype->extent));
  return representation == nullptr ? equal : mix(equal, hash_of(representation));
}

bool Files::begins_split(const Arguments& call) {
  const std::string_view name = call.name();
  return name.starts_with("MPI_File_") && (name.ends_with("_begin") || name.ends_with("_begin_c"));
}

bool Files::ends_split(const Arguments& call) {
  const std::string_view name = call.name();
  return name.starts_with("MPI_File_") && name.ends_with("_end");
}

void Files::read_access(const Arguments& call, Types& types, Operation& operation) {
  if (!call.has("buf") || !call.has("datatype") || call.number("count") < 0) return;
  const bool writes = std::string_view(call.name()).find("write") != std::string_view::npos;
  Side& side = writes ? operation.send : operation.receive;
  side.buffer.add(reinterpret_cast<uintptr_t>(call.pointer<void>("buf")), call.number("count"),
                  types.find(call.handle<MPI_Datatype>("datatype")));
}

MPI_File Files::handle_of(const Arguments& call) {
  if (!call.has("fh")) return MPI_FILE_NULL;
  if (call.kind(call.find("fh")) == abi::Kind::file) return call.handle<MPI_File>("fh");
  const auto* const at = call.pointer<const MPI_File>("fh");
  return at == nullptr ? MPI_FILE_NULL : *at;
}

CommPointer Files::find(const Arguments& call) const {
  // The handle of an open is not set yet.
  if (call.function() == Call::file_open) return nullptr;
  const auto found = known_.find(handle_of(call));
  return found == known_.end() ? nullptr : found->second;
}

void Files::add(const Arguments& call, const CommPointer& parent, uint64_t number) {
  if (parent == nullptr) return;
  MPI_Group group = MPI_GROUP_NULL;
  const MPI_File file = handle_of(call);
  if (PMPI_File_get_group(file, &group) != MPI_SUCCESS) return;
  const char* const name = call.pointer<const char>("filename");
  known_[file] = communicators_.add_file(file, group, std::string("file '") + name + "'",
                                         mix(mix(parent->id, number), hash_of("file")));
  PMPI_Group_free(&group);
}

void Files::take_out(const Comm& file) {
  std::erase_if(known_, [&](const auto& entry) { return entry.second.get() == &file; });
}

void Files::put_back(const CommPointer& file) {
  if (file != nullptr) known_[file->file] = file;
}

void Files::tell_refused(const Arguments& call, int code, uint32_t site) {
  int error_class = MPI_SUCCESS;
  PMPI_Error_class(code, &error_class);
  if (!is_misuse(call, error_class)) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  Finding finding;
  finding.kind = shm::CheckClass::file_refused;
  finding.what = std::string(call.name()) + " was refused: " + text;
  finding.details = {"called by rank " + std::to_string(report_.rank()) + " at " + report_.site_words(site)};
  finding.why =
      "Errors of files are returned as codes unless the program sets another error handler (MPI 5.0 section "
      "14.7), so a program that does not test the codes goes on without the data. Remedy: correct the call, "
      "and test the codes or set MPI_ERRORS_ARE_FATAL on MPI_FILE_NULL";
  finding.key = mix(hash_of("file refused"), hash_of(finding.details[0]));
  report_.add(finding);
}

}  // namespace hearth::check
