// Sentences about one rank: what it waits for, where, since when. Used by whatever tells a person about a
// running or failed job.
#pragma once

#include <string>
#include <vector>

#include "launch/snapshot.h"

namespace hearth::launch {

/// "rank 3", "ranks 1 and 2", "ranks 0 to 63", "ranks 1, 4 and 30 others".
std::string ranks_words(const std::vector<int>& ranks);
/// "MPI_COMM_WORLD", "'rows'", "a communicator of 4 ranks (context 16)"; as that rank shows it.
std::string comm_words(const SeenRank& rank, uint32_t context);
/// A send, a receive or a probe, which has a peer and a tag.
bool is_message(shm::WaitKind kind);
/// Whether the context is that of a window's own communicator, whose messages are not the program's.
bool is_of_window(const SeenRank& rank, uint32_t context);
/// "a message from rank 1, tag 7".
std::string operation_words(const SeenOperation& operation);
/// The name of the call: "MPI_Recv", or what is known of it: "a receive".
std::string call_words(const SeenWait& wait);
/// "waits in MPI_Recv for a message from rank 1, tag 7, on MPI_COMM_WORLD, for 2.5 s, called from main+0x1c
/// in solver".
std::string wait_words(const SeenRank& rank, const SeenWait& wait, uint64_t now_ns);
/// What a rank that is not in a wait does: "is outside MPI and computes (1.0 processors)".
std::string outside_words(const SeenRank& rank, uint64_t now_ns);
/// Whichever of the two holds; with several waiting threads, all of them.
std::string rank_state_words(const SeenRank& rank, uint64_t now_ns);
/// Whether it looks for messages again and again, without waiting in a call.
bool polls(const SeenRank& rank, uint64_t now_ns);
/// By a signal; SIGCONT lets it go on.
bool is_stopped(const SeenProcess& process);

}  // namespace hearth::launch
