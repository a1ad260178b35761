// Messages about one rank: what it waits for, where, and since when. Used by every report about a running or
// failed job.
#pragma once

#include <string>
#include <vector>

#include "launch/snapshot.h"

namespace hearth::launch {

/// "rank 3", "ranks 1 and 2", "ranks 0 to 63", "ranks 1, 4 and 30 others".
std::string ranks_words(const std::vector<int>& ranks);
/// A process in an operation or a message of this rank: "rank 3", "rank 1 of another job (process 4711)".
std::string process_words(const SeenRank& rank, int process);
/// Several of them: "ranks 1 to 3 and rank 0 of another job (process 4711)".
std::string processes_words(const SeenRank& rank, const std::vector<int>& processes);
/// "MPI_COMM_WORLD", "'rows'", "a communicator of 4 ranks (context 16)", as that rank publishes it.
std::string comm_words(const SeenRank& rank, uint32_t context);
/// Whether it is a send, a receive or a probe: these have a peer and a tag.
bool is_message(shm::WaitKind kind);
/// Whether the context belongs to a window's internal communicator, whose messages are not the program's.
bool is_of_window(const SeenRank& rank, uint32_t context);
/// "a message from rank 1, tag 7".
std::string operation_words(const SeenRank& rank, const SeenOperation& operation);
/// The name of the call: "MPI_Recv"; "a receive" if the call is unknown.
std::string call_words(const SeenWait& wait);
/// "waits in MPI_Recv for a message from rank 1, tag 7, on MPI_COMM_WORLD, for 2.5 s, called from main+0x1c
/// in solver".
std::string wait_words(const SeenRank& rank, const SeenWait& wait, uint64_t now_ns);
/// What a rank outside any wait does: "is outside MPI and computes (1.0 processors)".
std::string outside_words(const SeenRank& rank, uint64_t now_ns);
/// wait_words() or outside_words(); with several waiting threads, all of them.
std::string rank_state_words(const SeenRank& rank, uint64_t now_ns);
/// Whether the rank polls repeatedly without blocking in a call.
bool polls(const SeenRank& rank, uint64_t now_ns);
/// Whether a signal has stopped the process; SIGCONT continues it.
bool is_stopped(const SeenProcess& process);

}  // namespace hearth::launch
