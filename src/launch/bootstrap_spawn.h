// The protocol between a rank and the mpiexec that it starts for MPI_Comm_spawn, over a socket that the
// mpiexec inherits (--spawned-by DESCRIPTOR). Packets, in this order:
//
//   rank     ->  mpiexec   order: uint64 length, then that many bytes in packets of at most kSpawnPieceBytes
//   mpiexec  ->  rank      SpawnReport, if the job ends before the ranks are connected: they could not be
//                          started, or one ended without MPI_Init
//   rank     ->  mpiexec   SpawnWord::connected, then SpawnWord::parted when no connection is left
//
// The end of the rank's side of the socket, without `parted`, means that the rank has ended: the job ends
// too. Both sides come from one installation, so the format has no version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::launch {

constexpr size_t kSpawnPieceBytes = 32 << 10;
constexpr size_t kSpawnTextBytes = 1024;

struct SpawnReport {
  int32_t code;  // exit code of the job
  char text[kSpawnTextBytes];
};

enum class SpawnWord : uint32_t { connected = 1, parted };

/// One command of MPI_Comm_spawn_multiple.
struct SpawnedProgram {
  std::vector<std::string> command;  // the program and its arguments
  int ranks = 1;
  std::string folder;                                          // key `wdir`; "" for that of the spawning rank
  std::string search_path;                                     // key `path`; "" for PATH
  std::vector<std::pair<std::string, std::string>> variables;  // key `env`
};

struct SpawnOrder {
  std::string port;       // the ranks connect to it
  uint64_t launcher = 0;  // process whose processors the ranks may use; 0: those of the spawning rank
  uint64_t others = 0;    // processes of the spawning rank's job
  std::string hosts;      // key `host`, by commas
  std::string map_by;
  std::string bind_to;
  std::string errhandler;  // key `mpi_initial_errhandler`
  std::vector<SpawnedProgram> programs;
};

namespace spawn_order {

inline void put(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
inline void put(std::string& bytes, std::string_view text) {
  put(bytes, text.size());
  bytes.append(text);
}
inline bool take(std::string_view& bytes, uint64_t& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}
inline bool take(std::string_view& bytes, std::string& text) {
  uint64_t letters = 0;
  if (!take(bytes, letters) || letters > bytes.size()) return false;
  text = bytes.substr(0, letters);
  bytes.remove_prefix(letters);
  return true;
}

}  // namespace spawn_order

inline std::string to_bytes(const SpawnOrder& order) {
  using spawn_order::put;
  std::string bytes;
  put(bytes, order.launcher);
  put(bytes, order.others);
  for (const std::string* text :
       {&order.port, &order.hosts, &order.map_by, &order.bind_to, &order.errhandler})
    put(bytes, *text);
  put(bytes, order.programs.size());
  for (const SpawnedProgram& program : order.programs) {
    put(bytes, static_cast<uint64_t>(program.ranks));
    put(bytes, program.folder);
    put(bytes, program.search_path);
    put(bytes, program.variables.size());
    for (const auto& [name, value] : program.variables) {
      put(bytes, name);
      put(bytes, value);
    }
    put(bytes, program.command.size());
    for (const std::string& word : program.command) put(bytes, word);
  }
  return bytes;
}

/// False if the bytes are not a valid order.
inline bool from_bytes(std::string_view bytes, SpawnOrder& order) {
  using spawn_order::take;
  if (!take(bytes, order.launcher) || !take(bytes, order.others)) return false;
  for (std::string* text : {&order.port, &order.hosts, &order.map_by, &order.bind_to, &order.errhandler}) {
    if (!take(bytes, *text)) return false;
  }
  uint64_t programs = 0;
  if (!take(bytes, programs)) return false;
  for (; programs > 0; --programs) {
    SpawnedProgram program;
    uint64_t ranks = 0;
    uint64_t variables = 0;
    uint64_t words = 0;
    if (!take(bytes, ranks) || ranks == 0 || ranks > 1 << 20 || !take(bytes, program.folder) ||
        !take(bytes, program.search_path) || !take(bytes, variables)) {
      return false;
    }
    program.ranks = static_cast<int>(ranks);
    for (; variables > 0; --variables) {
      auto& [name, value] = program.variables.emplace_back();
      if (!take(bytes, name) || !take(bytes, value)) return false;
    }
    if (!take(bytes, words) || words == 0) return false;
    for (; words > 0; --words) {
      if (!take(bytes, program.command.emplace_back())) return false;
    }
    order.programs.push_back(std::move(program));
  }
  return bytes.empty() && !order.programs.empty();
}

}  // namespace hearth::launch
