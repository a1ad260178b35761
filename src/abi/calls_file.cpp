// MPI 5.0 chapter 14: opening and closing files, their properties, views and pointers. src/io implements
// them.
#include <cstring>
#include <string>
#include <utility>

#include "abi/comm_making.h"
#include "abi/error.h"
#include "abi/handle.h"
#include "abi/hints.h"
#include "abi/runtime.h"
#include "base/attempt.h"
#include "base/os_file.h"
#include "coll/collective_region.h"
#include "datatype/construct.h"
#include "hearth_calls.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/file.h"
#include "io/representation.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Comm;
using objects::File;
using objects::Info;

void discard(File& file) {
  delete file.open;
  if (file.comm != nullptr) file.comm->of_file = nullptr;
  objects::free_handle(file);
}

Status keep_hints(File& file, const Info* info) {
  if (info == nullptr) return {};
  if (file.info == nullptr) file.info = objects::pools.infos.create();
  if (file.info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the file's hints");
  abi::keep_hints(*info, abi::kFileHints, *file.info);
  return {};
}

/// Creates the objects of this process for the file, before its communicator can be used. Local. Errors of
/// requests on the communicator go to the file's error handler.
Status prepare(Comm& comm, const char* filename, int amode, const Info* info, abi::OwnedAllocation owned,
               File*& made) {
  made = objects::pools.files.create();
  if (made == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another file handle");
  File& file = *made;
  file.errhandler = &abi::default_file_errhandler();
  objects::retain(*file.errhandler);
  HEARTH_TRY(keep_hints(file, info));
  objects::retain(*comm.group);
  HEARTH_TRY(abi::make_intracomm(*comm.errhandler, std::move(owned), comm.group, file.comm));
  file.comm->of_window = true;  // shown by its own name
  file.comm->of_file = &file;
  file.comm->name = std::string("file '") + filename + "'";
  file.open = new io::OpenFile(*file.comm, abi::on_one_machine(comm.group->peers), amode);
  // Created here, because a failure in the first collective would leave the other ranks waiting.
  static_cast<void>(coll::CollectiveRegion::of(*file.comm));
  return {};
}

/// Returns a type to the user: itself if it is predefined, otherwise a copy, which the user frees.
Status hand_out(Type& type, Type*& given) {
  if (!type.is_predefined()) return datatype::make_twin(type, given);
  given = &type;
  return {};
}

}  // namespace

Status file_open(Comm& comm, const char* filename, int amode, Info* info, File*& fh) {
  if (comm.is_inter()) {
    return fail(MPI_ERR_COMM, "files are opened by intracommunicators, and this one has two groups");
  }
  abi::OwnedAllocation owned;
  HEARTH_TRY(abi::agree_on_allocation(comm, owned));
  File* file = nullptr;
  const auto make = [&] { return prepare(comm, filename, amode, info, std::move(owned), file); };
  Status opened = io::agree(comm, attempt(make));
  if (opened.ok()) opened = file->open->open(filename, file->info);
  if (opened.ok()) {
    fh = file;
  } else if (file != nullptr) {
    discard(*file);
  }
  return opened;
}

Status file_close(File*& fh) {
  const Status closed = fh->open->close();
  // Accesses that have not ended still need the file.
  if (closed.error_class() == MPI_ERR_REQUEST) return closed;
  const Status blamed = closed.ok() ? closed : abi::blame(*fh->errhandler, closed);
  discard(*fh);
  fh = nullptr;
  return blamed;
}

Status file_delete(const char* filename, Info*) {
  const std::string name = io::without_prefix(filename);
  const int error = os::remove_file(name.c_str());
  return error == 0 ? Status() : io::fail_for(error, "delete", name);
}

Status file_get_amode(File& fh, int& amode) {
  amode = fh.open->amode();
  return {};
}

Status file_get_group(File& fh, objects::Group*& group) {
  return abi::make_group(fh.comm->group->peers, fh.comm->group->session, group);
}

Status file_set_info(File& fh, Info* info) {
  HEARTH_TRY(keep_hints(fh, info));
  if (info != nullptr) fh.open->set_hints(*fh.info);
  return {};
}

Status file_get_info(File& fh, Info*& info_used) {
  info_used = objects::pools.infos.create();
  if (info_used == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another info object");
  abi::list_hints(fh.info, abi::kFileHints, *info_used);
  return {};
}

Status file_get_size(File& fh, MPI_Offset& size) {
  return fh.open->bytes(size);
}

Status file_set_size(File& fh, MPI_Offset size) {
  return fh.open->set_bytes(size);
}

Status file_preallocate(File& fh, MPI_Offset size) {
  return fh.open->preallocate(size);
}

Status file_sync(File& fh) {
  return fh.open->sync();
}

Status file_get_atomicity(File& fh, int& flag) {
  flag = fh.open->atomic() ? 1 : 0;
  return {};
}

Status file_set_atomicity(File& fh, int flag) {
  return fh.open->set_atomicity(flag != 0);
}

Status file_set_view(File& fh, MPI_Offset disp, Type& etype, Type& filetype, const char* datarep,
                     Info* info) {
  const Status hints = attempt([&] { return file_set_info(fh, info); });
  return fh.open->set_view(hints, disp, etype, filetype, datarep);
}

Status file_get_view(File& fh, MPI_Offset& disp, Type*& etype, Type*& filetype, char* datarep) {
  const io::View& view = fh.open->view();
  disp = view.displacement();
  HEARTH_TRY(hand_out(view.etype(), etype));
  HEARTH_TRY(hand_out(view.filetype(), filetype));
  const std::string& name = view.representation().name();
  std::memcpy(datarep, name.c_str(), name.size() + 1);
  return {};
}

Status file_get_type_extent(File& fh, Type& datatype, Count& extent) {
  datatype::Shape shape;
  HEARTH_TRY(fh.open->view().representation().shape_in_file(datatype, shape));
  extent = shape.extent;
  return {};
}

Status file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset& disp) {
  return fh.open->byte_offset(offset, disp);
}

Status file_get_position(File& fh, MPI_Offset& offset) {
  return fh.open->position(offset);
}

Status file_seek(File& fh, MPI_Offset offset, int whence) {
  return fh.open->seek(offset, whence);
}

Status file_get_position_shared(File& fh, MPI_Offset& offset) {
  return fh.open->shared_position(offset);
}

Status file_seek_shared(File& fh, MPI_Offset offset, int whence) {
  return fh.open->seek_shared(offset, whence);
}

Status register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                        MPI_Datarep_conversion_function* write_conversion_fn,
                        MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
  return io::register_representation(datarep, {.read = read_conversion_fn,
                                               .write = write_conversion_fn,
                                               .extent = dtype_file_extent_fn,
                                               .extra_state = extra_state});
}

Status register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                          MPI_Datarep_conversion_function_c* write_conversion_fn,
                          MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
  return io::register_representation(datarep, {.read_large = read_conversion_fn,
                                               .write_large = write_conversion_fn,
                                               .extent = dtype_file_extent_fn,
                                               .extra_state = extra_state});
}

}  // namespace hearth::mpi
