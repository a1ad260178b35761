#include "io/aggregation.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/system_call.h"
#include "mpi.h"
#include "objects/group.h"
#include "objects/pools.h"

namespace hearth::io {
namespace {

datatype::Type& byte_type() {
  return datatype::predefined_type(MPI_BYTE);
}

}  // namespace

int64_t Aggregation::end_of_cycle(int64_t begin, int64_t end) const {
  return std::min(end, (begin / cycle_bytes_ + 1) * cycle_bytes_);
}

/// The first process of each machine, by turns of the machines.
int Aggregation::root_of(int64_t cycle) const {
  const objects::Machines* const machines = comm_.group->machines.get();
  return machines == nullptr ? 0 : machines->rank_on(static_cast<int>(cycle % machines->count()), 0);
}

/// Length of the longest message of this process in a cycle.
int64_t Aggregation::message_bytes_max(const View& view, const Part& part) const {
  int64_t longest = 0;
  int64_t cycle = -1;
  int64_t bytes = 0;
  view.for_each_run(part.data_offset, part.bytes, [&](int64_t offset, int64_t length) {
    while (length > 0) {
      const int64_t piece = std::min(length, end_of_cycle(offset, INT64_MAX) - offset);
      if (offset / cycle_bytes_ != cycle) bytes = static_cast<int64_t>(sizeof(int64_t));
      cycle = offset / cycle_bytes_;
      bytes += static_cast<int64_t>(sizeof(Run)) + piece;
      longest = std::max(longest, bytes);
      offset += piece;
      length -= piece;
    }
    return true;
  });
  return longest;
}

Status Aggregation::reserve(int64_t own_max, int64_t all_max) {
  const auto size = static_cast<size_t>(comm_.size);
  counts_.resize(size);
  places_.resize(size);
  runs_.reserve(static_cast<size_t>(own_max) / sizeof(Run));
  message_.reserve(static_cast<size_t>(own_max));
  const objects::Machines* const machines = comm_.group->machines.get();
  const bool is_root = machines == nullptr ? comm_.rank == 0 : machines->place == 0;
  if (!is_root) return {};
  received_.resize(static_cast<size_t>(all_max));
  cycle_.resize(static_cast<size_t>(cycle_bytes_));
  return {};
}

/// Makes the message of the pieces in [begin, end) of the file. Within the reserved memory.
void Aggregation::pack_cycle(const View& view, const Data& data, int64_t begin, int64_t end, Rest& rest) {
  runs_.clear();
  int64_t bytes = 0;
  view.for_each_run(rest.data_offset, rest.bytes, [&](int64_t offset, int64_t length) {
    if (offset >= end) return false;
    const int64_t piece = std::min(length, end - offset);
    runs_.push_back({offset - begin, piece});
    bytes += piece;
    return piece == length;
  });
  const auto number = static_cast<int64_t>(runs_.size());
  const size_t head = sizeof number + runs_.size() * sizeof(Run);
  message_.resize(number == 0 ? 0 : head + static_cast<size_t>(bytes));
  if (number == 0) return;
  std::memcpy(message_.data(), &number, sizeof number);
  std::memcpy(message_.data() + sizeof number, runs_.data(), runs_.size() * sizeof(Run));
  datatype::pack(*data.type, data.buffer, rest.done, message_.data() + head, static_cast<size_t>(bytes));
  rest.data_offset += bytes;
  rest.bytes -= bytes;
  rest.done += bytes;
}

Status Aggregation::gather(int root) {
  const auto own = static_cast<int64_t>(message_.size());
  datatype::Type& word = datatype::predefined_type(MPI_INT64_T);
  HEARTH_TRY(coll::run<coll::gather>(comm_, &own, Count{1}, word, counts_.data(), Count{1}, word, root));
  int64_t place = 0;
  for (size_t rank = 0; comm_.rank == root && rank < counts_.size(); ++rank) {
    places_[rank] = place;
    place += counts_[rank];
  }
  return coll::run<coll::gatherv>(comm_, message_.data(), own, byte_type(), received_.data(),
                                  CountArray(counts_.data()), CountArray(places_.data()), byte_type(), root);
}

/// Copies the received pieces to their places in the cycle. `bytes`: the length of the cycle.
Status Aggregation::place_pieces(int64_t bytes) {
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    if (counts_[rank] == 0) continue;
    const std::byte* const message = received_.data() + places_[rank];
    int64_t number = 0;
    std::memcpy(&number, message, sizeof number);
    const std::byte* runs = message + sizeof number;
    const std::byte* data = runs + static_cast<size_t>(number) * sizeof(Run);
    for (; number > 0; --number, runs += sizeof(Run)) {
      Run run;
      std::memcpy(&run, runs, sizeof run);
      if (run.offset < 0 || run.bytes < 0 || run.bytes > bytes - run.offset)
        return fail(MPI_ERR_INTERN, "a message with pieces of '%.200s' is inconsistent",
                    medium_.name.c_str());
      std::memcpy(cycle_.data() + run.offset, data, static_cast<size_t>(run.bytes));
      data += run.bytes;
    }
  }
  return {};
}

Status Aggregation::write_cycle(int64_t begin, int64_t end) {
  HEARTH_TRY(place_pieces(end - begin));
  int error;
  {
    const ShownCall shown(comm_, "write", end - begin);
    const Unlocked unlocked;
    error = write_counted(medium_, cycle_.data(), end - begin, begin).error;
  }
  return error == 0 ? Status() : fail_for(error, "write to", medium_.name);
}

Status Aggregation::write(const View& view, const Data& data, const Part& part, bool& fits) {
  fits = false;
  const int64_t own_max = message_bytes_max(view, part);
  int64_t all_max = 0;
  datatype::Type& word = datatype::predefined_type(MPI_INT64_T);
  HEARTH_TRY(coll::run<coll::allreduce>(
      comm_, &own_max, &all_max, Count{1}, word,
      *static_cast<objects::Op*>(objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_SUM)])));
  // Each byte of a cycle is in exactly one run, and a run has at least one byte.
  all_max = std::min(all_max, cycle_bytes_ * static_cast<int64_t>(1 + sizeof(Run)) +
                                  comm_.size * static_cast<int64_t>(sizeof(int64_t)));
  const Status reserved = agree(comm_, attempt([&] { return reserve(own_max, all_max); }));
  if (reserved.error_class() == MPI_ERR_NO_MEM) return {};
  HEARTH_TRY(reserved);
  fits = true;
  Rest rest = {part.data_offset, part.bytes, 0};
  KeptFailure outcome{Status()};
  int64_t cycle = part.begin / cycle_bytes_;
  for (int64_t begin = part.begin; begin < part.end; ++cycle) {
    const int64_t end = end_of_cycle(begin, part.end);
    const int root = root_of(cycle);
    pack_cycle(view, data, begin, end, rest);
    HEARTH_TRY(gather(root));
    if (comm_.rank == root && outcome.again().ok()) outcome = KeptFailure(write_cycle(begin, end));
    begin = end;
  }
  // No process returns before all data are written.
  return agree(comm_, outcome.again());
}

}  // namespace hearth::io
