// The file as the system has it, and the engines that move bytes between it and memory:
//
//   calls   one read or write call for each run of consecutive bytes of the file
//   map     loads and stores to a mapping of the file. A process accesses only its own bytes, so that strided
//           writes need neither read-modify-write nor a lock, and never overwrite another process's data
//
// Any thread may move data; the library's lock is not needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/os_file.h"
#include "datatype/type.h"
#include "io/view.h"
#include "shm/layout.h"

namespace hearth::io {

/// The value of the hint hearth_engine.
enum class EngineChoice : uint8_t { automatic, calls, map, window };

/// The value of the hint hearth_queue: which queue takes non-blocking accesses.
enum class QueueChoice : uint8_t { automatic, ring, thread };

/// The most recently used mappings of parts of a file. They take address space only.
class MappedParts {
 public:
  static constexpr int64_t kPartBytes = int64_t{64} << 20;

  MappedParts() = default;
  ~MappedParts();
  MappedParts(const MappedParts&) = delete;
  MappedParts& operator=(const MappedParts&) = delete;

  /// The part that begins at `offset`, a multiple of kPartBytes; nullptr if the system refuses.
  std::byte* part(int descriptor, int64_t offset, bool writable);

  std::mutex mutex;  // held while the parts are in use

 private:
  struct Part {
    std::byte* begin = nullptr;
    int64_t offset = 0;
    uint64_t used = 0;
  };
  std::array<Part, 8> parts_ = {};
  uint64_t uses_ = 0;
};

struct Medium {
  std::string name;
  os::Descriptor descriptor;
  os::FileFacts facts;
  bool reads = false;  // the descriptor allows it, also where the user's mode does not
  bool writes = false;
  EngineChoice choice = EngineChoice::automatic;
  QueueChoice queue = QueueChoice::automatic;
  MappedParts parts;
  shm::LongTraffic* traffic = nullptr;  // of this rank, for tools
  /// The file had this length, or more, after a call of this process that waited for calls of others that
  /// lengthen it: see make_room(). Guarded by parts.mutex.
  int64_t settled_bytes = 0;
};

/// Counts bytes in the traffic of the rank.
void count_moved(const Medium& medium, bool writing, int64_t bytes);
/// os::read_file() and os::write_file(), counted in the traffic of the rank while they go on.
os::Moved read_counted(const Medium& medium, std::byte* to, int64_t bytes, int64_t offset);
os::Moved write_counted(const Medium& medium, const std::byte* from, int64_t bytes, int64_t offset);

/// The user's buffer.
struct Data {
  void* buffer;
  Count count;
  datatype::Type* type;

  int64_t bytes() const { return count * type->size; }
};

/// Moves the data between the buffer and data bytes of the view from `data_offset` on. Returns the packed
/// bytes moved: fewer at the end of the file, or with an error. Pre: the representation is native.
os::Moved move_data(Medium& medium, const View& view, int64_t data_offset, bool writing, const Data& data);
/// The same for consecutive memory.
os::Moved move_piece(Medium& medium, const View& view, int64_t data_offset, bool writing, std::byte* memory,
                     int64_t bytes);

}  // namespace hearth::io
